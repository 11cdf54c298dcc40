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

// A balancer that asks for /readyz and keeps connections open, as any does, sees
// no request fail while its servers are restarted one after the other.
func TestNoRequestFailsWhileServersAreRestartedInTurn(t *testing.T) {
	t.Parallel()
	database := testkit.Database(t)
	i := install(t, database.AdminURL, database.OwnerURL, database.AppURL, testkit.Redis(t), "DRAIN_TIME=1s", "SECRET_RATE_LIMIT=0")
	i.ok("collections", "create", "Docs")
	var keys struct{ SecretKey string }
	i.read(&keys, "keys", "create", "--name", "Test", "--host", "*", "--all-collections")
	addresses := []string{freePort(t), freePort(t)}
	servers := make([]*process, len(addresses))
	for n, address := range addresses {
		servers[n] = i.start("serve", "--listen", address)
	}
	b := balance(t, addresses)
	b.until(t, addresses[0], true)
	b.until(t, addresses[1], true)
	load := begin(t, b.url, keys.SecretKey, 6)
	const rounds = 2
	for range rounds {
		for n, address := range addresses {
			before := load.answered.Load()
			servers[n].signal(syscall.SIGTERM)
			b.until(t, address, false)
			servers[n].ends(t, 0)
			servers[n] = i.start("serve", "--listen", address)
			b.until(t, address, true)
			load.until(t, before+50)
		}
	}
	load.stop()
	if failed := load.failed.Load(); failed > 0 {
		first, _ := load.first.Load().(string)
		t.Errorf("%d of %d requests failed in %d restarts, such as: %s", failed, load.answered.Load(), rounds*len(addresses), first)
	}
	t.Logf("%d requests in %d restarts", load.answered.Load(), rounds*len(addresses))
}

// What a server that drains says, and that a second signal ends the draining.
func TestADrainingServerServesAndSendsItsClientsAway(t *testing.T) {
	t.Parallel()
	database := testkit.Database(t)
	i := install(t, database.AdminURL, database.OwnerURL, database.AppURL, testkit.Redis(t), "DRAIN_TIME=10m")
	i.ok("collections", "create", "Docs")
	var keys struct{ SecretKey string }
	i.read(&keys, "keys", "create", "--name", "Test", "--host", "*", "--all-collections")
	server := i.start("serve", "--listen", "127.0.0.1:0")
	address := server.address(t)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	look := func(path string) (status int, closes bool, body string) {
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
	if status, closes, body := look("/readyz"); status != http.StatusOK || closes {
		t.Errorf("before: %d, closes %v, %s", status, closes, body)
	}
	server.signal(syscall.SIGTERM)
	within(t, func() (bool, string) {
		status, closes, body := look("/readyz")
		return status == http.StatusServiceUnavailable && closes && strings.Contains(body, `"status":"draining"`), body
	})
	for path, want := range map[string]int{"/v1/docs/search?query=page": 200, "/healthz": 200, "/livez": 200, "/v1/nothing": 404} {
		if status, closes, body := look(path); status != want || !closes {
			t.Errorf("%s while draining: %d, closes %v, %s", path, status, closes, body)
		}
	}
	select {
	case <-server.ended:
		t.Error("the server did not drain")
	default:
	}
	server.signal(syscall.SIGTERM)
	server.ends(t, 0)
}

// ends waits until the process has ended with a code.
func (p *process) ends(t *testing.T, code int) {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		t.Fatalf("the process does not end:\n%s", p.wrote(t))
	}
	if got := p.command.ProcessState.ExitCode(); got != code {
		t.Errorf("the process ended with %d, not %d:\n%s", got, code, p.wrote(t))
	}
}

// within asks again and again until something holds.
func within(t *testing.T, holds func() (bool, string)) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		ok, said := holds()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("what was waited for does not come; in the end: %s", said)
		}
		<-time.After(20 * time.Millisecond)
	}
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

// balancer is a reverse proxy over servers that it asks for their health.
type balancer struct {
	url     string
	servers []*backend
	next    atomic.Int64
}

type backend struct {
	address string
	healthy atomic.Bool
}

func balance(t *testing.T, addresses []string) *balancer {
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
	front := httptest.NewServer(proxy)
	b.url = front.URL
	ctx, stop := context.WithCancel(context.Background())
	var checks sync.WaitGroup
	health := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Second}
	for _, s := range b.servers {
		checks.Go(func() { s.check(ctx, health) })
	}
	t.Cleanup(func() {
		stop()
		checks.Wait()
		front.Close()
		connections.CloseIdleConnections()
	})
	return b
}

// check asks a server for its health until ctx ends.
func (s *backend) check(ctx context.Context, client *http.Client) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
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
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// choose gives the next healthy server.
func (b *balancer) choose() string {
	turn := int(b.next.Add(1)) // once: two requests that took turns by turns could each meet one server twice
	for i := range b.servers {
		if s := b.servers[(turn+i)%len(b.servers)]; s.healthy.Load() {
			return s.address
		}
	}
	return "127.0.0.1:1" // nobody listens there
}

func (b *balancer) until(t *testing.T, address string, healthy bool) {
	t.Helper()
	within(t, func() (bool, string) {
		for _, s := range b.servers {
			if s.address == address {
				return s.healthy.Load() == healthy, address
			}
		}
		return false, "there is no such server"
	})
}

// traffic is clients that search one time after the other.
type traffic struct {
	answered, failed atomic.Int64
	first            atomic.Value // the first failure: string
	end              context.CancelFunc
	clients          sync.WaitGroup
}

// begin lets so many clients ask. A search by POST is not sent again by any
// proxy or client: one that is lost is seen.
func begin(t *testing.T, address, key string, clients int) *traffic {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	l := &traffic{end: end}
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	for range clients {
		l.clients.Go(func() {
			for ctx.Err() == nil {
				l.ask(client, address, key)
				select {
				case <-time.After(5 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		})
	}
	t.Cleanup(func() {
		l.stop()
		transport.CloseIdleConnections()
	})
	return l
}

func (l *traffic) ask(client *http.Client, address, key string) {
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

func (l *traffic) fail(why string) {
	if l.failed.Add(1) == 1 {
		l.first.Store(why)
	}
}

// until waits for so many answers.
func (l *traffic) until(t *testing.T, answers int64) {
	t.Helper()
	within(t, func() (bool, string) { return l.answered.Load() >= answers, "requests are not answered any more" })
}

func (l *traffic) stop() {
	l.end()
	l.clients.Wait()
}
