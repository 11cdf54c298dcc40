package main_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/testkit"
)

// Behind a load balancer that checks /readyz and keeps connections open, no
// request fails while the servers are restarted one after the other.
func TestNoRequestFailsDuringARollingRestart(t *testing.T) {
	t.Parallel()
	database := testkit.Database(t)
	i := install(t, database.AdminURL, database.OwnerURL, database.AppURL, testkit.Redis(t), "DRAIN_TIME=1s", "SECRET_RATE_LIMIT=0")
	i.mustRun("collections", "create", "Docs")
	var keys struct{ SecretKey string }
	i.runJSON(&keys, "keys", "create", "--name", "Test", "--host", "*", "--all-collections")
	addresses := []string{freePort(t), freePort(t)}
	servers := make([]*process, len(addresses))
	for n, address := range addresses {
		servers[n] = i.start("serve", "--listen", address)
	}
	b := startBalancer(t, addresses)
	b.waitHealth(t, addresses[0], true)
	b.waitHealth(t, addresses[1], true)
	load := startLoad(t, b.url, keys.SecretKey, 6)
	const rounds = 2
	for range rounds {
		for n, address := range addresses {
			before := load.answered.Load()
			servers[n].signal(syscall.SIGTERM)
			b.waitHealth(t, address, false)
			servers[n].waitExit(t, 0)
			servers[n] = i.start("serve", "--listen", address)
			b.waitHealth(t, address, true)
			load.waitAnswers(t, before+50)
		}
	}
	load.stop()
	if failed := load.failed.Load(); failed > 0 {
		first, _ := load.first.Load().(string)
		t.Errorf("%d of %d requests failed in %d restarts; the first: %s", failed, load.answered.Load(), rounds*len(addresses), first)
	}
	t.Logf("%d requests in %d restarts", load.answered.Load(), rounds*len(addresses))
}

// A draining server answers and closes each connection; a second signal ends the
// draining.
func TestADrainingServerServesAndClosesItsConnections(t *testing.T) {
	t.Parallel()
	database := testkit.Database(t)
	i := install(t, database.AdminURL, database.OwnerURL, database.AppURL, testkit.Redis(t), "DRAIN_TIME=10m")
	i.mustRun("collections", "create", "Docs")
	var keys struct{ SecretKey string }
	i.runJSON(&keys, "keys", "create", "--name", "Test", "--host", "*", "--all-collections")
	server := i.start("serve", "--listen", "127.0.0.1:0")
	address := server.address(t)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	request := func(path string) (status int, closes bool, body string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Service-Key", keys.SecretKey)
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		b, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, response.Close, string(b)
	}
	if status, closes, body := request("/readyz"); status != http.StatusOK || closes {
		t.Errorf("/readyz before: %d, closes %v, %s", status, closes, body)
	}
	server.signal(syscall.SIGTERM)
	waitFor(t, func() (bool, string) {
		status, closes, body := request("/readyz")
		return status == http.StatusServiceUnavailable && closes && strings.Contains(body, `"status":"draining"`), body
	})
	for path, want := range map[string]int{"/v1/docs/search?query=page": 200, "/healthz": 200, "/livez": 200, "/v1/nothing": 404} {
		if status, closes, body := request(path); status != want || !closes {
			t.Errorf("%s while draining: %d, closes %v, %s", path, status, closes, body)
		}
	}
	select {
	case <-server.exited:
		t.Error("the server did not drain")
	default:
	}
	server.signal(syscall.SIGTERM)
	server.waitExit(t, 0)
}

// waitExit waits for the exit of the process and checks its exit code.
func (p *process) waitExit(t *testing.T, code int) {
	t.Helper()
	testkit.Receive(t, "the exit of the process", p.exited)
	if got := p.command.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d:\n%s", got, code, p.output(t))
	}
}

// waitFor polls until a condition holds. The string describes the state for the
// failure message.
func waitFor(t *testing.T, condition func() (bool, string)) {
	t.Helper()
	var met bool
	var state string
	defer func() {
		if !met {
			t.Log("last state:", state)
		}
	}()
	testkit.WaitFor(t, "a condition", func() bool {
		met, state = condition()
		return met
	})
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// balancer is a reverse proxy that checks the health of its servers.
type balancer struct {
	url     string
	servers []*backend
	next    atomic.Int64
}

type backend struct {
	address string
	healthy atomic.Bool
}

func startBalancer(t *testing.T, addresses []string) *balancer {
	t.Helper()
	b := &balancer{}
	for _, address := range addresses {
		b.servers = append(b.servers, &backend{address: address})
	}
	connections := &http.Transport{MaxIdleConnsPerHost: 32}
	proxy := &httputil.ReverseProxy{
		Transport: connections, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: b.choose()}) },
	}
	server := httptest.NewServer(proxy)
	b.url = server.URL
	ctx, stop := context.WithCancel(context.Background())
	var checks sync.WaitGroup
	health := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Second}
	for _, s := range b.servers {
		checks.Go(func() { s.check(ctx, health) })
	}
	t.Cleanup(func() {
		stop()
		checks.Wait()
		server.Close()
		connections.CloseIdleConnections()
	})
	return b
}

// check polls the health of a server until ctx ends.
func (s *backend) check(ctx context.Context, client *http.Client) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+"/readyz", http.NoBody)
		if err != nil {
			return
		}
		response, err := client.Do(r)
		if err == nil {
			_ = response.Body.Close()
		}
		s.healthy.Store(err == nil && response.StatusCode == http.StatusOK)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// choose returns the address of the next healthy server.
func (b *balancer) choose() string {
	turn := int(b.next.Add(1)) // one turn a request, not one a server
	for i := range b.servers {
		if s := b.servers[(turn+i)%len(b.servers)]; s.healthy.Load() {
			return s.address
		}
	}
	return "127.0.0.1:1" // no server listens there
}

func (b *balancer) waitHealth(t *testing.T, address string, healthy bool) {
	t.Helper()
	waitFor(t, func() (bool, string) {
		for _, s := range b.servers {
			if s.address == address {
				return s.healthy.Load() == healthy, address
			}
		}
		return false, "no such server"
	})
}

// load is a number of clients, each of which sends one search after the other.
type load struct {
	answered, failed atomic.Int64
	first            atomic.Value // string: the first failure
	cancel           context.CancelFunc
	clients          sync.WaitGroup
}

// startLoad starts the clients. They search by POST, which no proxy or client
// retries, so that every failure is seen.
func startLoad(t *testing.T, address, key string, clients int) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{cancel: cancel}
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	for range clients {
		l.clients.Go(func() {
			for ctx.Err() == nil {
				l.search(client, address, key)
				_ = testkit.Delay(ctx, 5*time.Millisecond)
			}
		})
	}
	t.Cleanup(func() {
		l.stop()
		transport.CloseIdleConnections()
	})
	return l
}

func (l *load) search(client *http.Client, address, key string) {
	defer l.answered.Add(1)
	r, err := http.NewRequest(http.MethodPost, address+"/v1/docs/search", strings.NewReader(`{"query":"page"}`))
	if err != nil {
		l.fail(err.Error())
		return
	}
	r.Header.Set("X-Service-Key", key)
	r.Header.Set("Content-Type", "application/json")
	response, err := client.Do(r)
	if err != nil {
		l.fail(err.Error())
		return
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		l.fail(response.Status + " " + string(body))
	}
}

func (l *load) fail(reason string) {
	if l.failed.Add(1) == 1 {
		l.first.Store(reason)
	}
}

// waitAnswers waits for a total number of answers.
func (l *load) waitAnswers(t *testing.T, answers int64) {
	t.Helper()
	waitFor(t, func() (bool, string) { return l.answered.Load() >= answers, "requests are not answered" })
}

func (l *load) stop() {
	l.cancel()
	l.clients.Wait()
}
