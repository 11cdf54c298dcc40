package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/magpie-search/magpie/internal/apierr"
)

const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
	// closing is what connections get to end once they were told to.
	closing = 3 * time.Second
)

// ErrInUse says that another program listens at an address.
var ErrInUse = errors.New("is in use by another program")

// Listen takes an address for a Server. The error of one that cannot be had
// says what to do, and is ErrInUse where another program has it.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	switch {
	case err == nil:
		return listener, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("the address %s %w; give another one with --listen or LISTEN_ADDR", address, ErrInUse)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("the address %s may not be used by this user; give a port over 1023 with --listen or LISTEN_ADDR", address)
	default:
		return nil, fmt.Errorf("listen at %s: %w", address, err)
	}
}

// Server serves a handler until it is shut down.
type Server struct {
	http    http.Server
	cancel  context.CancelCauseFunc
	running sync.WaitGroup // requests, those that left net/http among them
	served  chan error
}

// Serve starts to serve. The listener belongs to the server then.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, log *slog.Logger) *Server {
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	s := &Server{cancel: cancel, served: make(chan error, 1)}
	s.http = http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.running.Add(1)
			defer s.running.Done()
			handler.ServeHTTP(w, r)
		}),
		// There is no time limit on writing: answers are streamed. The streams
		// set one for each write.
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext:       withConnection,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	go func() {
		err := s.http.Serve(outspoken{listener})
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		s.served <- err
	}()
	return s
}

// Failed gives the error of a server that stopped by itself.
func (s *Server) Failed() <-chan error { return s.served }

// Settle takes no new connections and reports whether all requests ended within
// the patience. Connections that are quiet are closed. It may be called before
// Shutdown, which ends what is left.
func (s *Server) Settle(ctx context.Context, patience time.Duration) bool {
	grace, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.http.Shutdown(grace) == nil
}

// stopping is the cause with which the contexts of requests end that are not
// waited for: streams tell it to their clients.
func stopping() error {
	return &apierr.Error{Code: apierr.Unavailable, Message: "The server is stopping; try again.", RetryAfter: time.Second}
}

// Shutdown takes no new requests, lets those that run end for as long as
// patience, and ends the rest. WebSockets, which never end by themselves, are
// closed once the requests are done.
func (s *Server) Shutdown(ctx context.Context, patience time.Duration) error {
	grace, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := s.http.Shutdown(grace)
	s.cancel(stopping())
	if !s.wait(closing) || err != nil {
		err = s.http.Close()
	}
	if err != nil {
		return fmt.Errorf("shut the HTTP server down: %w", err)
	}
	return nil
}

// wait reports whether all requests have ended within the time.
func (s *Server) wait(patience time.Duration) bool {
	ended := make(chan struct{})
	go func() { // ends with the requests, which have been cancelled
		s.running.Wait()
		close(ended)
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-ended:
		return true
	case <-timer.C:
		return false
	}
}
