package command

import (
	"errors"

	"magpie/cmd/magpie/stack"
	"magpie/cmd/magpie/wire"
)

type serveCommand struct {
	Listen string `placeholder:"HOST:PORT" help:"LISTEN_ADDR."`
}

// Run serves HTTP until it is told to stop.
func (c serveCommand) Run(r *runtime) error {
	further := map[string]string{}
	if c.Listen != "" {
		further["LISTEN_ADDR"] = c.Listen
	}
	return r.process(further, []string{"DATABASE_URL", "REDIS_URL", "BLOB_URL", "SESSION_KEY", "SECRET_KEYS"}, func(app *wire.App) error {
		return stack.RunHTTP(r, app, Version())
	})
}

type workerCommand struct{}

// Run works until it is told to stop.
func (workerCommand) Run(r *runtime) error {
	return r.process(nil, []string{"DATABASE_URL", "REDIS_URL", "BLOB_URL", "SECRET_KEYS"}, func(app *wire.App) error {
		return stack.RunWorker(r, app)
	})
}

// process runs a long-lived part of Magpie on the given settings.
func (r *runtime) process(further map[string]string, needed []string, run func(*wire.App) error) error {
	c, err := r.settings(further)
	if err != nil {
		return err
	}
	if err := c.Require(needed...); err != nil {
		return err
	}
	app, err := wire.Open(r, c, r.logger(c))
	if err != nil {
		return err
	}
	return errors.Join(run(app), app.Close())
}
