package command

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/magpie-search/magpie/cmd/magpie/stack"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/system"
)

type serveCommand struct {
	Listen string `placeholder:"HOST:PORT" help:"LISTEN_ADDR."`
}

// Run serves HTTP until a signal stops it.
func (s serveCommand) Run(r *runtime) error {
	further := map[string]string{}
	if s.Listen != "" {
		further["LISTEN_ADDR"] = s.Listen
	}
	c, err := r.needing(further, "DATABASE_URL", "REDIS_URL", "BLOB_URL", "SESSION_KEY", "SECRET_KEYS")
	if err != nil {
		return err
	}
	skip, stop := secondSignal(r)
	defer stop()
	log := r.logger(c)
	r.drivers(log)
	return stack.RunHTTP(r, c, log, system.Version(), skip)
}

type workerCommand struct {
	Listen string `placeholder:"HOST:PORT" help:"WORKER_LISTEN_ADDR: where health and metrics are served."`
}

// Run works until a signal stops it.
func (w workerCommand) Run(r *runtime) error {
	further := map[string]string{}
	if w.Listen != "" {
		further["WORKER_LISTEN_ADDR"] = w.Listen
	}
	c, err := r.needing(further, "DATABASE_URL", "REDIS_URL", "BLOB_URL", "SECRET_KEYS")
	if err != nil {
		return err
	}
	log := r.logger(c)
	r.drivers(log)
	return stack.RunWorker(r, c, log)
}

// needing reads the settings of a long-lived part of Magpie, which cannot do
// without some of them.
func (r *runtime) needing(further map[string]string, needed ...string) (*config.Config, error) {
	c, err := r.settings(further)
	if err != nil {
		return nil, err
	}
	return c, c.Require(needed...)
}

// secondSignal gives a channel that is closed with the second signal to stop.
// The third ends the process at once. stop ends the listening and is called once.
func secondSignal(ctx context.Context) (second <-chan struct{}, stop func()) {
	signals, closed := make(chan os.Signal, 2), make(chan struct{})
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer close(ended)
		defer signal.Stop(signals)
		for range 2 {
			select {
			case <-signals:
			case <-life.Done():
				return
			}
		}
		close(closed)
	}()
	return closed, func() {
		cancel()
		<-ended
	}
}
