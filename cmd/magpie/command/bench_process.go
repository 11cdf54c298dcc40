package command

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/web"
)

// benchProcess is this program in a process of its own, on the bench's services.
type benchProcess struct {
	what    string
	command *exec.Cmd
	ended   chan struct{}
	log     string
}

const (
	processPatience = time.Minute
	serverPoll      = 2 * time.Millisecond
	// idleConnections is enough for every client that asks at once, so that no
	// connection is made while time is taken.
	idleConnections = 256
)

// start starts the program. It ends with ctx at the latest; the caller stops it before.
func (b *benchStack) start(ctx context.Context, what string, arguments ...string) (*benchProcess, error) {
	p := &benchProcess{what: what, ended: make(chan struct{}), log: filepath.Join(b.folder.Path(), what+".log")}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make a log: %w", err)
	}
	defer func() { _ = log.Close() }()                                                                               // the process has its own copy
	p.command = exec.CommandContext(ctx, b.program, append(append([]string{what}, arguments...), b.arguments...)...) //nolint:gosec // this program
	p.command.Env = append(p.command.Environ(), b.settings...)
	p.command.Stdout, p.command.Stderr = log, log
	p.command.Cancel = func() error { return p.command.Process.Signal(syscall.SIGTERM) }
	p.command.WaitDelay = processPatience
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start magpie %s: %w", what, err)
	}
	go func() {
		defer close(p.ended)
		_ = p.command.Wait() // who stopped it knows; an end of its own shows in what it does not do
	}()
	return p, nil
}

// wrote is the process's log.
func (p *benchProcess) wrote() string {
	content, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(content))
}

// stop ends the process and waits for it.
func (p *benchProcess) stop() error {
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop magpie %s: %w", p.what, err)
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(processPatience):
		err := p.command.Process.Kill()
		<-p.ended
		return errors.Join(fmt.Errorf("magpie %s did not stop when it was told to", p.what), err)
	}
}

// work starts a worker.
func (b *benchStack) work(ctx context.Context) (*benchProcess, error) {
	return b.start(ctx, "worker")
}

// benchServer is `magpie serve` in a process of its own.
type benchServer struct {
	*benchProcess

	url    string
	ready  time.Duration // from its start until it was ready
	client *http.Client
}

// serve starts a server and waits until it is ready. The caller stops it.
func (b *benchStack) serve(ctx context.Context) (*benchServer, error) {
	// The port is free again when the server takes it; nobody else is likely to.
	listener, err := web.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, fmt.Errorf("choose a port: %w", err)
	}
	s := &benchServer{url: "http://" + address, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: idleConnections}}}
	began := time.Now()
	if s.benchProcess, err = b.start(ctx, "serve", "--listen", address); err != nil {
		return nil, err
	}
	if err := s.await(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	s.ready = time.Since(began)
	return s, nil
}

// stop ends the server and the connections to it.
func (s *benchServer) stop() error {
	s.client.CloseIdleConnections()
	return s.benchProcess.stop()
}

// await asks until the server is ready.
func (s *benchServer) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, processPatience)
	defer cancel()
	ticker := time.NewTicker(serverPoll)
	defer ticker.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/readyz", http.NoBody)
		if err != nil {
			return fmt.Errorf("ask whether the server is ready: %w", err)
		}
		if response, err := s.client.Do(request); err == nil {
			_ = response.Body.Close() // the status is all
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ticker.C:
		case <-s.ended:
			return fmt.Errorf("the server ended at its start: %s", s.wrote())
		case <-ctx.Done():
			return fmt.Errorf("wait for the server: %w", context.Cause(ctx))
		}
	}
}
