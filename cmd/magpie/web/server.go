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
	// closeTimeout is the time that canceled requests have to end.
	closeTimeout = 3 * time.Second
)

// ErrInUse is the error when another program listens at an address.
var ErrInUse = errors.New("is in use by another program")

// Listen listens at an address. Its errors say what to do, and are ErrInUse if another
// program uses the address.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	return ListenBy(ctx, address, "--listen")
}

// ListenBy is like Listen for an address that another flag or setting has.
func ListenBy(ctx context.Context, address, setting string) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	switch {
	case err == nil:
		return listener, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("the address %s %w; choose another one with %s", address, ErrInUse, setting)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("this user may not listen at the address %s; choose a port above 1023 with %s", address, setting)
	default:
		return nil, fmt.Errorf("listen at %s: %w", address, err)
	}
}

// Server is an HTTP server.
type Server struct {
	http    http.Server
	cancel  context.CancelCauseFunc
	running sync.WaitGroup // requests, including hijacked ones
	served  chan error
}

// Serve starts a server, which owns the listener.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, log *slog.Logger) *Server {
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	s := &Server{cancel: cancel, served: make(chan error, 1)}
	s.http = http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.running.Add(1)
			defer s.running.Done()
			handler.ServeHTTP(w, r)
		}),
		// There is no write timeout, since responses are streamed. Streams set a
		// deadline for each write.
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext:       withConnection,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	go func() {
		err := s.http.Serve(jsonErrorListener{listener})
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		s.served <- err
	}()
	return s
}

// Failed returns a channel with the error of a server that has stopped unexpectedly.
func (s *Server) Failed() <-chan error { return s.served }

// Settle closes the listener and idle connections, and reports whether all requests
// ended within the timeout. Shutdown may follow.
func (s *Server) Settle(ctx context.Context, timeout time.Duration) bool {
	grace, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return s.http.Shutdown(grace) == nil
}

// stopping returns the cause of canceled request contexts, which streams send to their
// clients.
func stopping() error {
	return &apierr.Error{Code: apierr.Unavailable, Message: "The server is stopping; try again.", RetryAfter: time.Second}
}

// Shutdown closes the listener, waits for the running requests until the timeout, and
// then cancels the remaining requests and closes WebSocket connections.
func (s *Server) Shutdown(ctx context.Context, timeout time.Duration) error {
	grace, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := s.http.Shutdown(grace)
	s.cancel(stopping())
	if !s.wait(closeTimeout) || err != nil {
		err = s.http.Close()
	}
	if err != nil {
		return fmt.Errorf("shut down HTTP server: %w", err)
	}
	return nil
}

// wait reports whether all requests end within a timeout.
func (s *Server) wait(timeout time.Duration) bool {
	done := make(chan struct{})
	go func() { // ends with the canceled requests
		s.running.Wait()
		close(done)
	}()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
