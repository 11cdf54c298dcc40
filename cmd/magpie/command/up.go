package command

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/magpie-search/magpie/cmd/magpie/local"
	"github.com/magpie-search/magpie/internal/devstack"
)

type upCommand struct {
	Listen   string `placeholder:"HOST:PORT" help:"Where to serve; 127.0.0.1:8080 or a port after it when left out."`
	DemoDocs string `hidden:"" type:"path" help:"Folder of the demo documents."`
}

// Run starts Magpie in the background, or finds it running.
func (c upCommand) Run(r *runtime) error {
	folder, err := r.folder()
	if err != nil {
		return err
	}
	run, err := c.find(r, folder)
	if errors.Is(err, errNobody) {
		var docs string
		if docs, err = r.demoFolder(c.DemoDocs); err != nil {
			return err
		}
		err = r.console.Step("Magpie is up", func() (err error) {
			run, err = c.start(r, folder, docs)
			return err
		})
	}
	if err != nil {
		return err
	}
	dev, err := devOf(folder)
	if err != nil {
		return err
	}
	return r.console.Result(dev, func() {
		address(r.console, dev)
		r.console.Note("  keys          %s", folder.DevPath())
		r.console.Note("  log           %s (process %d)", folder.Log(), run.PID)
		r.console.Note("  stop          magpie down")
		r.console.Note("")
	})
}

var errNobody = errors.New("nobody runs here")

// find returns the Magpie that runs in the folder once it is ready.
func (c upCommand) find(r *runtime, folder *local.Folder) (local.Run, error) {
	pid, held, err := folder.Holder()
	if err != nil {
		return local.Run{}, err
	}
	if !held {
		return local.Run{}, errNobody
	}
	state, found, err := folder.Running()
	if err != nil {
		return local.Run{}, err
	}
	if !found || state.Demo {
		r.console.Note("Magpie already runs in %s (process %d).", folder.Path(), pid)
	}
	run, err := folder.AwaitDemo(r)
	if busy := (*local.BusyError)(nil); errors.As(err, &busy) {
		return local.Run{}, fmt.Errorf("it has no demo documents: %w", err)
	}
	return run, err
}

func (c upCommand) start(r *runtime, folder *local.Folder, docs string) (local.Run, error) {
	program, err := os.Executable()
	if err != nil {
		return local.Run{}, fmt.Errorf("find this program: %w", err)
	}
	arguments := []string{"dev", "--demo", "--demo-docs", docs, "--data", folder.Path()}
	for flag, value := range map[string]string{
		"--listen": c.Listen, "--config": r.Config, "--log-format": r.LogFormat, "--log-level": orElse(r.LogLevel, "info"),
		"--database-url": r.DatabaseURL, "--redis-url": r.RedisURL,
	} {
		if value != "" {
			arguments = append(arguments, flag, value)
		}
	}
	return folder.Background(r, program, arguments...)
}

func orElse(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}

type downCommand struct {
	Purge bool `help:"Delete the private databases and everything else in the data folder, too."`
}

// Run stops what runs in the data folder. Nothing running is no failure.
func (c downCommand) Run(r *runtime) error {
	settings, err := r.settings(nil)
	if err != nil {
		return err
	}
	folder, err := local.Find(settings.DataDir)
	if errors.Is(err, local.ErrNone) {
		r.console.Note("Nothing runs here.")
		return nil
	}
	if err != nil {
		return err
	}
	stopped, err := folder.End(r)
	if err != nil {
		return err
	}
	// A process that was killed has left its services behind.
	services := servicesOf(folder)
	if err := devstack.Shutdown(r, services); err != nil {
		return err
	}
	if err := folder.RemoveDev(); err != nil {
		return err
	}
	if c.Purge {
		if err := purge(r, folder, services); err != nil {
			return err
		}
	}
	return r.console.Result(map[string]bool{"stopped": stopped, "purged": c.Purge}, func() {
		switch {
		case c.Purge:
			r.console.Note("Magpie is stopped and its data is deleted.")
		case stopped:
			r.console.Note("Magpie is stopped; its data stays in %s.", folder.Path())
		default:
			r.console.Note("Nothing ran here.")
		}
	})
}

func servicesOf(folder *local.Folder) devstack.Options {
	return devstack.Options{Dir: folder.Services()}
}

func purge(ctx context.Context, folder *local.Folder, services devstack.Options) error {
	if err := devstack.Remove(ctx, services); err != nil {
		return err
	}
	return folder.Purge()
}
