package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os/user"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/local"
	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/workspace"
	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/viewer"
)

// operate lets do work on the Magpie that the command line, the settings, the profiles
// or the data folder name: over HTTP, or in this process on the stores of one.
func (r *runtime) operate(do func(*client.Client) error) error {
	return r.operateAt(func(api *client.Client, _ string) error { return do(api) })
}

// operateAt is like operate and tells the address of the dashboard.
func (r *runtime) operateAt(do func(api *client.Client, dashboard string) error) error {
	to, err := r.remote()
	if err != nil {
		return err
	}
	if to != nil {
		return r.over(*to, do)
	}
	return r.inWorkspace(func(app *wire.App, workspace uuid.UUID) error {
		api, err := newClient(app, workspace)
		if err != nil {
			return err
		}
		return do(api, app.Config.DashboardAddress())
	})
}

// inWorkspace opens the Magpie whose stores are reached and chooses a workspace.
func (r *runtime) inWorkspace(do func(*wire.App, uuid.UUID) error) error {
	return r.open(func(app *wire.App) error {
		id, err := chooseWorkspace(r, app.DB.Ent, r.Workspace)
		if err != nil {
			return err
		}
		return do(app, id)
	})
}

// open opens the Magpie whose stores are reached, without choosing a workspace. Commands
// that no token may do use it.
func (r *runtime) open(do func(*wire.App) error) error {
	to, err := r.remote()
	if err != nil {
		return err
	}
	if to != nil && to.chosen {
		return fmt.Errorf("this needs the stores of Magpie (DATABASE_URL, REDIS_URL), and %s is reached over HTTP", to.url)
	}
	c, err := r.reach()
	if err != nil {
		return err
	}
	return r.openWith(c, do)
}

// openWith opens the Magpie of these settings.
func (r *runtime) openWith(c *config.Config, do func(*wire.App) error) error {
	log := slog.New(slog.DiscardHandler) // errors are printed; the rest is of no use here
	if r.LogLevel != "" {
		log = r.logger(c)
		r.drivers(log)
	}
	r.Context = viewer.WithCommandActor(r.Context, login())
	app, err := wire.Open(r, c, log)
	if err != nil {
		return err
	}
	return errors.Join(do(app), app.Close())
}

// login is who the audit log names for what is done at this shell.
func login() string {
	if me, err := user.Current(); err == nil {
		return me.Username
	}
	return ""
}

// newClient returns a client that operates a workspace as the system.
func newClient(app *wire.App, workspace uuid.UUID) (*client.Client, error) {
	return clientOf(app, viewer.System(workspace))
}

// clientOf returns a client that acts as a viewer.
func clientOf(app *wire.App, v viewer.Viewer) (*client.Client, error) {
	operations, err := client.Operations()
	if err != nil {
		return nil, err
	}
	return client.New(wire.NewLocal(app.GraphQL(), operations, v)), nil
}

// reach finds the settings of the Magpie to operate on: those given, else those
// of the one that runs in the data folder.
func (r *runtime) reach() (*config.Config, error) {
	c, err := r.settings(nil)
	if err != nil {
		return nil, err
	}
	folder, err := local.Find(c.DataDir)
	if err != nil && !errors.Is(err, local.ErrNone) {
		return nil, err
	}
	if err == nil {
		run, found, err := folder.Running()
		if err != nil {
			return nil, err
		}
		if found && (c.DatabaseURL == "" && c.RedisURL == "" || run.DatabaseURL == c.DatabaseURL.Reveal()) {
			return r.settingsOf(folder, run)
		}
	}
	if c.DatabaseURL != "" || c.RedisURL != "" {
		return c, c.Require("DATABASE_URL", "REDIS_URL", "SECRET_KEYS", "BLOB_URL")
	}
	return nil, errors.New("no Magpie runs here; start one with `magpie up`, log in to one with `magpie login URL`, or set DATABASE_URL and REDIS_URL")
}

// settingsOf are the settings of the process that runs in a folder.
func (r *runtime) settingsOf(folder *local.Folder, run local.Run) (*config.Config, error) {
	secrets, err := folder.Secrets()
	if err != nil {
		return nil, err
	}
	settings := map[string]string{
		"DATABASE_URL": run.DatabaseURL, "MIGRATE_DATABASE_URL": run.OwnerURL, "REDIS_URL": run.RedisURL,
		"BLOB_URL": run.BlobURL, "BASE_URL": run.BaseURL,
		"SESSION_KEY": secrets.SessionKey, "SECRET_KEYS": secrets.SealingKeys,
		"ALLOWED_PRIVATE_NETWORKS": devNetworks,
	}
	if address, err := url.Parse(run.BaseURL); err == nil && address.Port() != "" {
		settings["LISTEN_ADDR"] = address.Host // it took a free port
	}
	return r.settings(settings)
}

// chooseWorkspace finds the named workspace, or the only one.
func chooseWorkspace(ctx context.Context, client *ent.Client, nameOrID string) (uuid.UUID, error) {
	system := viewer.With(ctx, viewer.System(uuid.Nil))
	all, err := client.Workspace.Query().Order(workspace.ByCreatedAt()).All(system)
	if err != nil {
		return uuid.Nil, fmt.Errorf("list the workspaces: %w", err)
	}
	names := make([]string, 0, len(all))
	var found []uuid.UUID
	for _, w := range all {
		names = append(names, fmt.Sprintf("%s (%s)", w.Name, w.ID))
		if nameOrID == "" && len(all) == 1 || nameOrID != "" && (w.ID.String() == nameOrID || w.Name == nameOrID) {
			found = append(found, w.ID)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		ids := make([]string, len(found))
		for i, id := range found {
			ids[i] = id.String()
		}
		return uuid.Nil, fmt.Errorf("several workspaces are called %q; give one of the ids with --workspace: %s", nameOrID, strings.Join(ids, ", "))
	case len(all) == 0:
		return uuid.Nil, errors.New("there is no workspace yet; make one with `magpie users create EMAIL --new-workspace NAME`")
	case nameOrID == "":
		return uuid.Nil, fmt.Errorf("there are several workspaces; choose one with --workspace: %s", strings.Join(names, ", "))
	default:
		return uuid.Nil, fmt.Errorf("there is no workspace %q; there are: %s", nameOrID, strings.Join(names, ", "))
	}
}
