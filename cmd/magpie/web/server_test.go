package web_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/web"
)

func serve(t *testing.T, h http.HandlerFunc) (*web.Server, string) {
	t.Helper()
	listener, err := web.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return web.Serve(t.Context(), listener, h, slog.New(slog.DiscardHandler)), "http://" + listener.Addr().String()
}

// begin starts a request and returns a function that waits for its body.
func begin(t *testing.T, address string) func() (string, error) {
	t.Helper()
	type ended struct {
		body string
		err  error
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan ended, 1)
	go func() {
		body, err := io.ReadAll(response.Body)
		done <- ended{string(body), errors.Join(err, response.Body.Close())}
	}()
	return func() (string, error) { e := <-done; return e.body, e.err }
}

func TestShutdownWaitsForRunningRequests(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server, address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begun ")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-release:
			_, _ = io.WriteString(w, "ended")
		case <-r.Context().Done():
		}
	})
	body := begin(t, address)
	stopped := make(chan error, 1)
	go func() { stopped <- server.Shutdown(context.Background(), time.Minute) }()
	wait, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	select {
	case err := <-stopped:
		t.Fatalf("the server stopped during a request: %v", err)
	case <-wait.Done():
	}
	close(release)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if got, err := body(); err != nil || got != "begun ended" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestShutdownCancelsEndlessStreams(t *testing.T) {
	t.Parallel()
	server, address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begun")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	body := begin(t, address)
	if err := server.Shutdown(t.Context(), 50*time.Millisecond); err != nil {
		t.Error(err)
	}
	if got, _ := body(); got != "begun" {
		t.Errorf("%q", got)
	}
	if err := <-server.Failed(); err != nil {
		t.Error(err)
	}
}

func TestListenReportsAnAddressInUse(t *testing.T) {
	t.Parallel()
	listener, err := web.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, err = web.Listen(t.Context(), listener.Addr().String())
	if !errors.Is(err, web.ErrInUse) || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("got %v", err)
	}
}
