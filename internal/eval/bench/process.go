package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/magpie-search/magpie/internal/client"
)

// Programs starts processes of a Magpie.
type Programs struct {
	// Dir is the folder of the benchmark. The logs of the processes are there.
	Dir string
	// Path is the program. Arguments follow those of each process.
	Path      string
	Arguments []string
	// Settings are entries of the environment of every process.
	Settings []string
}

// A process is a running program.
type process struct {
	what    string
	command *exec.Cmd
	exited  chan struct{}
	log     string
}

const (
	// processTimeout is the time to start and to stop a process.
	processTimeout = time.Minute
	readyInterval  = 2 * time.Millisecond
	// idleConnections exceeds the number of clients, so that no connection is made
	// while time is taken.
	idleConnections = 256
)

// start starts the program. The process ends with ctx; the caller stops it before.
func (p *Programs) start(ctx context.Context, what string, arguments ...string) (*process, error) {
	started := &process{what: what, exited: make(chan struct{}), log: filepath.Join(p.Dir, what+".log")}
	log, err := os.OpenFile(started.log, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create a log: %w", err)
	}
	defer func() { _ = log.Close() }()                                                                           // the process has a descriptor of its own
	command := exec.CommandContext(ctx, p.Path, append(append([]string{what}, arguments...), p.Arguments...)...) //nolint:gosec // this program
	command.Env = append(command.Environ(), p.Settings...)
	command.Stdout, command.Stderr = log, log
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = processTimeout
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start magpie %s: %w", what, err)
	}
	started.command = command
	go func() {
		defer close(started.exited)
		_ = command.Wait() // a failure shows in the log and in failed requests
	}()
	return started, nil
}

// output returns the log of the process.
func (p *process) output() string {
	content, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(content))
}

// stop ends the process and waits for it.
func (p *process) stop() error {
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop magpie %s: %w", p.what, err)
	}
	timeout := time.NewTimer(processTimeout)
	defer timeout.Stop()
	select {
	case <-p.exited:
		return nil
	case <-timeout.C:
		return errors.Join(fmt.Errorf("magpie %s did not stop within %s", p.what, processTimeout), p.kill())
	}
}

// kill ends the process at once, without a chance to finish anything.
func (p *process) kill() error {
	if err := p.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill magpie %s: %w", p.what, err)
	}
	<-p.exited
	return nil
}

// startWorker starts a worker. The caller stops it.
func (p *Programs) startWorker(ctx context.Context) (*process, error) {
	return p.start(ctx, "worker")
}

// A server is `magpie serve` in a process of its own, or a server elsewhere, which
// has no process.
type server struct {
	*process

	url         string
	startupTime time.Duration // from its start until it was ready
	client      *http.Client
}

// newHTTPClient returns a client that keeps the connections of n callers.
func newHTTPClient(n int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: max(n, idleConnections)}}
}

// startServer starts a server and waits until it is ready. The caller stops it.
func (p *Programs) startServer(ctx context.Context) (*server, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	s := &server{url: "http://" + address, client: newHTTPClient(0)}
	if err := p.restart(ctx, s); err != nil {
		return nil, err
	}
	return s, nil
}

// restart starts a server that is not running, at its address, and waits until it is ready.
func (p *Programs) restart(ctx context.Context, s *server) (err error) {
	start := time.Now()
	if s.process, err = p.start(ctx, "serve", "--listen", strings.TrimPrefix(s.url, "http://")); err != nil {
		return err
	}
	if err := s.waitReady(ctx); err != nil {
		return errors.Join(err, s.stop())
	}
	s.startupTime = time.Since(start)
	return nil
}

// freeAddress returns a loopback address with a port that is free now.
func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("choose a port: %w", err)
	}
	if err := listener.Close(); err != nil {
		return "", fmt.Errorf("choose a port: %w", err)
	}
	return listener.Addr().String(), nil
}

// stop ends the server and the connections to it.
func (s *server) stop() error {
	s.client.CloseIdleConnections()
	return s.process.stop()
}

// waitReady waits until the server is ready.
func (s *server) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, processTimeout)
	defer cancel()
	ticker := time.NewTicker(readyInterval)
	defer ticker.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/readyz", http.NoBody)
		if err != nil {
			return fmt.Errorf("ask whether the server is ready: %w", err)
		}
		if response, err := s.client.Do(request); err == nil {
			_ = response.Body.Close() // only the status counts
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ticker.C:
		case <-s.exited:
			return fmt.Errorf("the server ended at its start: %s", s.output())
		case <-ctx.Done():
			return fmt.Errorf("wait for the server: %w", context.Cause(ctx))
		}
	}
}

// rest returns a client of the server's public API.
func (s *server) rest(key string) *client.REST {
	return &client.REST{BaseURL: s.url, Key: key, Client: *s.client}
}

// metrics reads the metrics of the server.
func (s *server) metrics(ctx context.Context) (Metrics, error) {
	return ReadMetrics(ctx, s.client, s.url)
}

// post sends a JSON body with the token of a session, unless it is "", and
// returns the body of the answer.
func (s *server) post(ctx context.Context, token, path string, body any) ([]byte, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode a request: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("create a request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", path, err)
	}
	defer func() { _ = response.Body.Close() }() // only read
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", path, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s: %.300s", path, response.Status, answer)
	}
	return answer, nil
}

// graphql executes an operation and returns the body of the answer.
func (s *server) graphql(ctx context.Context, token, query string, variables map[string]any) ([]byte, error) {
	return s.post(ctx, token, "/graphql", map[string]any{"query": query, "variables": variables})
}

// signIn opens a session and returns its token.
func (s *server) signIn(ctx context.Context, login Login) (token string, err error) {
	const query = "mutation($email: String!, $password: String!) { signIn(input: {email: $email, password: $password}) { accessToken } }"
	body, err := s.graphql(ctx, "", query, map[string]any{"email": login.Email, "password": login.Password})
	if err != nil {
		return "", fmt.Errorf("sign in: %w", err)
	}
	var answer struct {
		Data struct{ SignIn struct{ AccessToken string } }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return "", fmt.Errorf("read the answer of the sign-in: %w", err)
	}
	if answer.Data.SignIn.AccessToken == "" {
		return "", fmt.Errorf("sign in: %.300s", body)
	}
	return answer.Data.SignIn.AccessToken, nil
}
