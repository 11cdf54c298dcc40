package stack

import (
	"context"
	"sync"
	"time"
)

const (
	// streamsPatience is what clients get to leave when the process stops.
	streamsPatience = 5 * time.Second
	// runsPatience is what runs of agents get to store that they were ended.
	runsPatience = 5 * time.Second
)

// Drain sends clients elsewhere while it goes on to serve: /readyz is 503 and
// every answer ends its connection. It returns after DRAIN_TIME, or when skip
// can be read from.
func (h *HTTP) Drain(skip <-chan struct{}) {
	h.drain.Begin()
	over := time.NewTimer(h.app.Config.DrainTime)
	defer over.Stop()
	select {
	case <-over.C:
	case <-skip:
	case <-h.server.Failed():
	}
}

// Stop takes no new connections, sends the clients of subscriptions elsewhere
// and lets running requests end. After SHUTDOWN_TIMEOUT the runs of agents are
// ended, so that their streams tell so, and then the requests that are left.
func (h *HTTP) Stop(ctx context.Context) error {
	h.drain.Begin()
	h.cool()
	var leaving sync.WaitGroup
	leaving.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, streamsPatience)
		defer cancel()
		h.streams.Close(ctx)
	})
	if !h.server.Settle(ctx, h.app.Config.ShutdownTimeout) {
		h.endRuns()
	}
	err := h.server.Shutdown(ctx, 0)
	leaving.Wait()
	h.warming.Wait()
	return err
}

// endRuns ends the runs of agents and waits a while for what they say of it. The
// application waits for the rest when it is closed.
func (h *HTTP) endRuns() {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.app.Runs.Close()
	}()
	late := time.NewTimer(runsPatience)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
	}
}
