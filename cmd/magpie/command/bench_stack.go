package command

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/cmd/magpie/local"
	"github.com/magpie-search/magpie/cmd/magpie/stack"
	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/devstack"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/viewer"
)

// benchStack is a Magpie to measure: private services in a folder of their own,
// an application in this process that writes, and `magpie serve` in a process of
// its own that answers, so that its memory is its own and it can be started anew.
type benchStack struct {
	folder   *local.Folder
	claim    *local.Claim
	services *stack.Services
	app      *wire.App
	session  *session
	scope    viewer.Scope

	program   string
	arguments []string
	settings  []string // of the server, as entries of its environment
}

// openBenchStack starts the services and connects to them; data that an earlier
// run kept there is deleted. It must be closed, also after an error.
func openBenchStack(r *runtime, name string) (*benchStack, error) {
	parent, err := r.folder()
	if err != nil {
		return nil, err
	}
	folder, err := local.Make(filepath.Join(parent.Path(), name))
	if err != nil {
		return nil, err
	}
	b := &benchStack{folder: folder}
	if b.program, err = os.Executable(); err != nil {
		return b, fmt.Errorf("find this program: %w", err)
	}
	if b.claim, err = folder.Claim(r); err != nil {
		return b, err
	}
	if err := devstack.Remove(r, servicesOf(folder)); err != nil {
		return b, err
	}
	c, err := r.benchSettings(nil)
	if err != nil {
		return b, err
	}
	c.DatabaseURL, c.RedisURL = "", "" // whatever is set: the data of a bench goes nowhere else
	if err := r.console.Step("PostgreSQL and Redis answer", func() error {
		b.services, err = stack.OpenServices(r, folder, c, r.logger(c))
		return err
	}); err != nil {
		return b, err
	}
	return b, b.connect(r)
}

func (r *runtime) benchSettings(further map[string]string) (*config.Config, error) {
	source := r.source(further)
	source.Defaults = map[string]string{"DRAIN_TIME": "0s", "SHUTDOWN_TIMEOUT": "5s", "LOG_LEVEL": "warn"}
	return config.Load(source)
}

func (b *benchStack) connect(r *runtime) error {
	secrets, err := b.folder.Secrets()
	if err != nil {
		return err
	}
	settings := map[string]string{
		"DATABASE_URL": b.services.DatabaseURL, "MIGRATE_DATABASE_URL": b.services.OwnerURL, "REDIS_URL": b.services.RedisURL,
		"BLOB_URL": (&url.URL{Scheme: "file", Path: b.folder.Blobs()}).String(), "SESSION_KEY": secrets.SessionKey, "SECRET_KEYS": secrets.SealingKeys,
	}
	c, err := r.benchSettings(settings)
	if err != nil {
		return err
	}
	for name, value := range settings {
		b.settings = append(b.settings, name+"="+value)
	}
	b.settings = append(b.settings, "DRAIN_TIME="+c.DrainTime.String(), "SHUTDOWN_TIMEOUT="+c.ShutdownTimeout.String(), "LOG_LEVEL="+c.LogLevel.String())
	if r.Config != "" {
		b.arguments = append(b.arguments, "--config", r.Config)
	}
	if err := r.console.Step("the database schema is current", func() error { return store.Migrate(r, c.OwnerURL()) }); err != nil {
		return err
	}
	if b.app, err = wire.Open(r, c, r.logger(c)); err != nil {
		return err
	}
	if _, err := b.app.Accounts.CreateOwner(r, stack.WorkspaceName, secrets.AdminEmail, "Admin", secrets.AdminPassword); err != nil {
		return fmt.Errorf("make the workspace: %w", err)
	}
	workspace, err := chooseWorkspace(r, b.app.DB.Ent, "")
	if err != nil {
		return err
	}
	b.session = newSession(b.app, workspace)
	b.scope, err = viewer.System(workspace).Scope()
	return err
}

// close ends everything and, unless it is to be kept, deletes the data.
func (b *benchStack) close(r *runtime, keep bool) error {
	if b == nil {
		return nil
	}
	ctx := context.WithoutCancel(r)
	var failures []error
	if b.app != nil {
		failures = append(failures, b.app.Close())
	}
	if b.services != nil {
		failures = append(failures, b.services.Stop(ctx))
	}
	if b.claim == nil {
		return errors.Join(failures...) // the folder is somebody else's
	}
	failures = append(failures, b.claim.Release())
	if keep {
		r.console.Note("The data stays in %s.", b.folder.Path())
	} else {
		failures = append(failures, removeAll(ctx, b.folder))
	}
	return errors.Join(failures...)
}

// benchTarget is a collection to measure and the key that reaches it.
type benchTarget struct {
	collection, connector uuid.UUID
	key                   string
}

// benchCollection is the name of the collection that is measured.
const benchCollection = "Bench"

func (b *benchStack) target(ctx context.Context) (benchTarget, error) {
	f, err := ensure(ctx, b.session, benchCollection, "Generated documents", "Generator", "file_upload", nil)
	if err != nil {
		return benchTarget{}, err
	}
	created, err := createKey(ctx, b.session, variables{
		"name": "Bench", "allowedHosts": []string{"*"}, "allowedCollections": []uuid.UUID{f.collection.ID},
		"defaultCollection": f.collection.ID, "rateLimitPerMinute": 0,
	})
	return benchTarget{collection: f.collection.ID, connector: f.connector.ID, key: created.SecretKey}, err
}

// tidy does what workers and PostgreSQL do in quiet hours: statistics, and the
// indexes of large collections.
func (b *benchStack) tidy(ctx context.Context) (err error) {
	for {
		err := b.app.BuildIndexes(ctx)
		if err == nil {
			break
		}
		if !errors.Is(err, index.ErrBuilding) {
			return err
		}
		select { // the worker of this process is at it
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	owner, err := pgx.Connect(ctx, b.services.OwnerURL)
	if err != nil {
		return fmt.Errorf("connect as the owner: %w", err)
	}
	defer func() { err = errors.Join(err, owner.Close(context.WithoutCancel(ctx))) }()
	if _, err := owner.Exec(ctx, "vacuum analyze"); err != nil {
		return fmt.Errorf("analyze the tables: %w", err)
	}
	return nil
}
