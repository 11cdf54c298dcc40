package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/cmd/magpie/local"
	"github.com/magpie-search/magpie/cmd/magpie/web"
	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/viewer"
)

// WorkspaceName is the name of the workspace that a local Magpie begins with.
const WorkspaceName = "Magpie"

// portTries is how many ports after the usual one are tried when it is taken.
const portTries = 20

// DevOptions say how a Dev runs.
type DevOptions struct {
	Folder *local.Folder
	// Settings reads the settings, with further ones that win.
	Settings func(further map[string]string) (*config.Config, error)
	// Log makes the logger of some settings.
	Log func(*config.Config) *slog.Logger
	// Listen is the address to serve at; empty is the usual one or a port after it.
	Listen  string
	Console *console.Console
	Version string
	// Demo is told to others: this process keeps the demo documents.
	Demo bool
	// WithoutWorker leaves the work to other processes.
	WithoutWorker bool
}

// Dev is a whole Magpie in this process, over the services of a data folder.
type Dev struct {
	App       *wire.App
	Workspace uuid.UUID
	Secrets   local.Secrets
	BaseURL   string
	// Opening is how long the parts took to be connected and served, the stores
	// being there and the schema current.
	Opening time.Duration

	options  DevOptions
	claim    *local.Claim
	services *Services
	http     *HTTP
	worker   *Worker
}

// StartDev claims the folder, starts what is needed and returns when it serves.
// The caller must stop it.
func StartDev(ctx context.Context, o DevOptions) (*Dev, error) {
	claim, err := o.Folder.Claim(ctx)
	if err != nil {
		return nil, err
	}
	d := &Dev{options: o, claim: claim}
	if err := d.start(ctx); err != nil {
		return nil, errors.Join(err, d.Stop(context.WithoutCancel(ctx)))
	}
	return d, nil
}

func (d *Dev) start(ctx context.Context) error {
	say := d.options.Console
	c, err := d.options.Settings(nil)
	if err != nil {
		return err
	}
	// The port is taken first: nothing else has to be undone when there is none.
	listener, err := d.listen(ctx, c)
	if err != nil {
		return err
	}
	defer func() {
		if d.http == nil {
			_ = listener.Close() // nothing was served at it
		}
	}()
	if d.Secrets, err = d.options.Folder.Secrets(); err != nil {
		return err
	}
	if err := say.Step("PostgreSQL and Redis answer", func() (err error) {
		d.services, err = OpenServices(ctx, d.options.Folder, c, d.options.Log(c))
		return err
	}); err != nil {
		return err
	}
	if c, err = d.settle(c, listener); err != nil {
		return err
	}
	if err := say.Step("the database schema is current", func() error { return store.Migrate(ctx, c.OwnerURL()) }); err != nil {
		return err
	}
	began := time.Now()
	if d.App, err = wire.Open(ctx, c, d.options.Log(c)); err != nil {
		return err
	}
	if d.Workspace, err = d.owner(ctx); err != nil {
		return err
	}
	serving := "serving " + d.BaseURL
	if !d.options.WithoutWorker {
		serving += ", worker running"
	}
	return say.Step(serving, func() (err error) {
		if d.http, err = Serve(ctx, d.App, listener, d.options.Version, true); err != nil {
			return err
		}
		if !d.options.WithoutWorker {
			d.worker = StartWorker(ctx, d.App)
		}
		d.Opening = time.Since(began)
		return d.publish(false)
	})
}

// settle adds to the settings what the folder and the services decide.
func (d *Dev) settle(c *config.Config, listener net.Listener) (*config.Config, error) {
	d.BaseURL = baseURL(c, listener.Addr())
	further := map[string]string{
		"DATABASE_URL": d.services.DatabaseURL, "MIGRATE_DATABASE_URL": d.services.OwnerURL, "REDIS_URL": d.services.RedisURL,
		"LISTEN_ADDR": listener.Addr().String(), "BASE_URL": d.BaseURL,
	}
	for name, kept := range map[string]struct{ given, kept string }{
		"SESSION_KEY": {c.SessionKey.Reveal(), d.Secrets.SessionKey},
		"SECRET_KEYS": {c.SecretKeys.Reveal(), d.Secrets.SealingKeys},
		"BLOB_URL":    {c.BlobURL, (&url.URL{Scheme: "file", Path: d.options.Folder.Blobs()}).String()},
	} {
		if kept.given == "" {
			further[name] = kept.kept
		}
	}
	return d.options.Settings(further)
}

// listen takes the address that was asked for. Where none was and the usual
// one is taken, it takes the next free port.
func (d *Dev) listen(ctx context.Context, c *config.Config) (net.Listener, error) {
	address := c.ListenAddr
	if d.options.Listen != "" {
		address = d.options.Listen
	}
	listener, err := web.Listen(ctx, address)
	if d.options.Listen != "" || !errors.Is(err, web.ErrInUse) {
		return listener, err
	}
	host, port, splitErr := net.SplitHostPort(address)
	first, numberErr := strconv.Atoi(port)
	if splitErr != nil || numberErr != nil {
		return nil, err
	}
	for next := first + 1; next <= first+portTries; next++ {
		listener, nextErr := web.Listen(ctx, net.JoinHostPort(host, strconv.Itoa(next)))
		if nextErr == nil {
			d.options.Console.Note("Port %d is taken; using %d.", first, next)
			return listener, nil
		}
	}
	return nil, err
}

// baseURL is where a listener is reached from this machine.
func baseURL(c *config.Config, address net.Addr) string {
	if c.BaseURL != "" {
		return c.PublicURL()
	}
	tcp, ok := address.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return "http://" + address.String()
	}
	return "http://127.0.0.1:" + strconv.Itoa(tcp.Port)
}

// owner finds the workspace of the folder's owner, and makes both when the
// database is new.
func (d *Dev) owner(ctx context.Context) (uuid.UUID, error) {
	system := viewer.With(ctx, viewer.System(uuid.Nil))
	person, err := d.App.DB.Ent.User.Query().Where(user.Email(d.Secrets.AdminEmail)).Only(system)
	switch {
	case ent.IsNotFound(err):
		person, err = d.App.Accounts.CreateOwner(ctx, WorkspaceName, d.Secrets.AdminEmail, "Admin", d.Secrets.AdminPassword)
	case err == nil:
		same, matchErr := authn.NewPasswords().Match(ctx, d.Secrets.AdminPassword, person.PasswordHash)
		if err = matchErr; err == nil && !same {
			d.options.Console.Warn("%s has another password in this database than %s keeps.", d.Secrets.AdminEmail, d.options.Folder.Path())
		}
	}
	if err != nil {
		return uuid.Nil, fmt.Errorf("find the owner: %w", err)
	}
	member, err := d.App.DB.Ent.Membership.Query().Where(membership.UserID(person.ID)).Order(membership.ByCreatedAt()).First(system)
	if err != nil {
		return uuid.Nil, fmt.Errorf("find the owner's workspace: %w", err)
	}
	return member.WorkspaceID, nil
}

// publish tells other processes about this one.
func (d *Dev) publish(ready bool) error {
	return d.claim.Publish(local.Run{
		BaseURL: d.BaseURL, DatabaseURL: d.services.DatabaseURL, OwnerURL: d.services.OwnerURL, RedisURL: d.services.RedisURL,
		BlobURL: d.App.Config.BlobURL, Demo: d.options.Demo, Ready: ready,
	})
}

// Ready tells other processes that everything there is to begin with is there.
func (d *Dev) Ready() error { return d.publish(true) }

// Wait returns when ctx ends or a part fails.
func (d *Dev) Wait(ctx context.Context) error {
	var worker <-chan error
	if d.worker != nil {
		worker = d.worker.Failed()
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-d.http.Failed():
		return err
	case err := <-worker:
		return err
	}
}

// Stop stops what was started, the latest first, and gives the folder back.
func (d *Dev) Stop(ctx context.Context) error {
	var failures []error
	if d.http != nil {
		d.http.Drain(nil)
		failures = append(failures, d.http.Stop(ctx))
	}
	if d.worker != nil {
		d.worker.Stop()
	}
	if d.App != nil {
		failures = append(failures, d.App.Close())
	}
	if d.services != nil {
		failures = append(failures, d.services.Stop(ctx))
	}
	failures = append(failures, d.claim.Release())
	return errors.Join(failures...)
}

// Console is where this Magpie tells what it does.
func (d *Dev) Console() *console.Console { return d.options.Console }

// Folder is the data folder that it runs in.
func (d *Dev) Folder() *local.Folder { return d.options.Folder }
