package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/local"
	"github.com/magpie-search/magpie/cmd/magpie/stack"
	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/devstack"
	"github.com/magpie-search/magpie/internal/eval/bench"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

// benchStack is a Magpie to measure with private services in a folder of its own.
type benchStack struct {
	settings map[string]string // of all processes, beside those that are given
	folder   *local.Folder
	claim    *local.Claim
	services *stack.Services
	app      *wire.App
}

// withBenchStack runs a benchmark on a new Magpie in a folder below the data
// folder. It deletes an earlier run's data first, and this run's data at the end
// unless keep is set.
func withBenchStack(r *runtime, name string, keep bool, measure func(*bench.Stack) error) error {
	return withBenchStackOf(r, name, nil, keep, measure)
}

// withBenchStackOf is withBenchStack with further settings.
func withBenchStackOf(r *runtime, name string, settings map[string]string, keep bool, measure func(*bench.Stack) error) (err error) {
	parent, err := r.folder()
	if err != nil {
		return err
	}
	folder, err := local.Make(filepath.Join(parent.Path(), name))
	if err != nil {
		return err
	}
	b := &benchStack{folder: folder, settings: settings}
	defer func() { err = errors.Join(err, b.close(r, keep)) }()
	s, err := b.open(r)
	if err != nil {
		return err
	}
	return measure(s)
}

// open starts the services and connects to them.
func (b *benchStack) open(r *runtime) (s *bench.Stack, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	if b.claim, err = b.folder.Claim(r); err != nil {
		return nil, err
	}
	if err := devstack.Remove(r, servicesOf(b.folder)); err != nil {
		return nil, err
	}
	c, err := r.benchSettings(b.settings)
	if err != nil {
		return nil, err
	}
	c.DatabaseURL, c.RedisURL = "", "" // a benchmark never writes to a given database
	if err := r.console.Step("PostgreSQL and Redis answer", func() error {
		b.services, err = stack.OpenServices(r, b.folder, c, r.logger(c))
		return err
	}); err != nil {
		return nil, err
	}
	s = &bench.Stack{
		Programs: bench.Programs{Dir: b.folder.Path(), Path: program},
		OwnerURL: b.services.OwnerURL, DatabaseURL: b.services.DatabaseURL, RedisURL: b.services.RedisURL, Display: reporter{r.console},
	}
	if r.Config != "" {
		s.Arguments = []string{"--config", r.Config}
	}
	return s, b.connect(r, s)
}

func (r *runtime) benchSettings(further map[string]string) (*config.Config, error) {
	source := r.source(further)
	source.Defaults = map[string]string{"DRAIN_TIME": "0s", "SHUTDOWN_TIMEOUT": "5s", "LOG_LEVEL": "warn"}
	return config.Load(source)
}

// connect opens the application in this process and completes s.
func (b *benchStack) connect(r *runtime, s *bench.Stack) error {
	secrets, err := b.folder.Secrets()
	if err != nil {
		return err
	}
	settings := map[string]string{
		"DATABASE_URL": b.services.DatabaseURL, "MIGRATE_DATABASE_URL": b.services.OwnerURL, "REDIS_URL": b.services.RedisURL,
		"BLOB_URL": (&url.URL{Scheme: "file", Path: b.folder.Blobs()}).String(), "SESSION_KEY": secrets.SessionKey, "SECRET_KEYS": secrets.SealingKeys,
	}
	maps.Copy(settings, b.settings)
	c, err := r.benchSettings(settings)
	if err != nil {
		return err
	}
	for name, value := range settings {
		s.Settings = append(s.Settings, name+"="+value)
	}
	s.Settings = append(s.Settings, "DRAIN_TIME="+c.DrainTime.String(), "SHUTDOWN_TIMEOUT="+c.ShutdownTimeout.String(), "LOG_LEVEL="+c.LogLevel.String())
	if err := r.console.Step("the database schema is current", func() error { return store.Migrate(r, c.OwnerURL()) }); err != nil {
		return err
	}
	if b.app, err = wire.Open(r, c, r.logger(c)); err != nil {
		return err
	}
	person, err := b.app.Accounts.CreateOwner(r, stack.WorkspaceName, secrets.AdminEmail, "Admin", secrets.AdminPassword)
	if err != nil {
		return fmt.Errorf("create the workspace: %w", err)
	}
	s.Admin = bench.Login{ID: person.ID, Email: secrets.AdminEmail, Password: secrets.AdminPassword}
	workspace, err := chooseWorkspace(r, b.app.DB.Ent, "")
	if err != nil {
		return err
	}
	s.Parser, s.Embedder, s.Index = b.app.Parser, b.app.Models.Default(), b.app.Index
	s.BuildIndexes, s.SearchMemory = b.app.BuildIndexes, int64(c.SearchMemory)
	s.NewWorkspace = func(ctx context.Context, name string) (*bench.Stack, error) {
		made, err := b.app.Accounts.CreateWorkspace(ctx, name, person.ID)
		if err != nil {
			return nil, fmt.Errorf("create a workspace: %w", err)
		}
		own := *s
		return &own, b.enter(&own, made.ID)
	}
	s.ClaimJob = func(ctx context.Context, job uuid.UUID, attempt int) error {
		_, err := b.app.Jobs.Claim(ctx, queue.Sync{JobID: job, Attempt: attempt})
		return err
	}
	return b.enter(s, workspace)
}

// enter makes a stack that of a workspace.
func (b *benchStack) enter(s *bench.Stack, workspace uuid.UUID) (err error) {
	s.Workspace = workspace
	if s.Scope, err = viewer.System(workspace).Scope(); err != nil {
		return fmt.Errorf("reach the workspace: %w", err)
	}
	s.StartJob = func(ctx context.Context, connector uuid.UUID) (uuid.UUID, error) {
		job, err := b.app.Jobs.Start(viewer.With(ctx, viewer.System(workspace)), connector, syncjob.StartOptions{})
		if err != nil {
			return uuid.Nil, err
		}
		return job.ID, nil
	}
	s.Client, err = newClient(b.app, workspace)
	return err
}

// close stops everything and deletes the data unless keep is set.
func (b *benchStack) close(r *runtime, keep bool) error {
	ctx := context.WithoutCancel(r)
	var failures []error
	if b.app != nil {
		failures = append(failures, b.app.Close())
	}
	if b.services != nil {
		failures = append(failures, b.services.Stop(ctx))
	}
	if b.claim == nil {
		return errors.Join(failures...) // another process has the folder
	}
	failures = append(failures, b.claim.Release())
	if keep {
		r.console.Note("The data stays in %s.", b.folder.Path())
	} else {
		failures = append(failures, removeAll(ctx, b.folder))
	}
	return errors.Join(failures...)
}

// removeAll deletes a folder with its services.
func removeAll(ctx context.Context, folder *local.Folder) error {
	if err := purge(ctx, folder, servicesOf(folder)); err != nil {
		return err
	}
	if err := os.RemoveAll(folder.Path()); err != nil {
		return fmt.Errorf("delete the data of the benchmark: %w", err)
	}
	return nil
}
