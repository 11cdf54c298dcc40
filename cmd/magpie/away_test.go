package main_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/devstack"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
)

// installStack returns an installation on its own PostgreSQL and Redis.
func installStack(t *testing.T, extra ...string) (*installation, *devstack.Stack) {
	t.Helper()
	stack := testkit.Stack(t)
	if err := store.Migrate(t.Context(), stack.OwnerURL); err != nil {
		t.Fatal(err)
	}
	return install(t, adminOf(stack.AdminURL), stack.OwnerURL, stack.DatabaseURL, stack.RedisURL, extra...), stack
}

// serve starts a server on a free port and waits until it answers.
func (i *installation) serve(arguments ...string) (server *process, address string) {
	i.t.Helper()
	host := freePort(i.t)
	server = i.start(append([]string{"serve", "--listen", host}, arguments...)...)
	waitFor(i.t, func() (bool, string) {
		select {
		case <-server.exited:
			i.t.Fatalf("the server exited:\n%s", server.output(i.t))
		default:
		}
		r, err := http.NewRequestWithContext(i.t.Context(), http.MethodGet, "http://"+host+"/livez", http.NoBody)
		if err != nil {
			i.t.Fatal(err)
		}
		response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			return false, err.Error()
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK, response.Status
	})
	return server, "http://" + host
}

// waitLog waits until the log of the process contains a text.
func (p *process) waitLog(t *testing.T, text string) {
	t.Helper()
	waitFor(t, func() (bool, string) { output := p.output(t); return strings.Contains(output, text), output })
}

func TestProcessesWaitForPostgreSQLAtStartup(t *testing.T) {
	t.Parallel()
	i, stack := installStack(t)
	connector := i.uploadFiles(3)
	var keys struct{ SecretKey string }
	i.runJSON(&keys, "keys", "create", "--name", "Test", "--host", "*", "--all-collections")
	if err := stack.StopPostgres(t.Context()); err != nil {
		t.Fatal(err)
	}
	server, address := i.serve()
	worker := i.start("worker")
	for _, p := range []*process{server, worker} {
		p.waitLog(t, `msg="waiting for PostgreSQL"`)
	}
	if status, body := get(t, address+"/healthz", ""); status != http.StatusOK {
		t.Errorf("/healthz without a database: %d %s", status, body)
	}
	if status, body := get(t, address+"/readyz", ""); status != http.StatusServiceUnavailable || !strings.Contains(body, `"database":"unavailable"`) || !strings.Contains(body, `"status":"starting"`) {
		t.Errorf("/readyz without a database: %d %s", status, body)
	}
	for _, path := range []string{"/v1/docs/search?query=page", "/graphql"} {
		if status, body := get(t, address+path, keys.SecretKey); status != http.StatusServiceUnavailable || !strings.Contains(body, `"code":"unavailable"`) {
			t.Errorf("%s without a database: %d %s", path, status, body)
		}
	}
	// A waiting process stops when it is asked to.
	second := i.start("worker")
	second.waitLog(t, `msg="waiting for PostgreSQL"`)
	second.signal(syscall.SIGTERM)
	second.waitExit(t, 0)
	other, _ := i.serve()
	other.signal(syscall.SIGTERM)
	other.waitExit(t, 0)

	if err := stack.RestartPostgres(t.Context()); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() (bool, string) {
		status, body := get(t, address+"/readyz", "")
		return status == http.StatusOK, body
	})
	if status, body := get(t, address+"/v1/docs/search?query=page", keys.SecretKey); status != http.StatusOK {
		t.Errorf("a search with the database: %d %s", status, body)
	}
	j := i.startSync(connector)
	if j = i.waitJob(j.ID, time.Minute, finished); j.Status != "COMPLETED" {
		t.Errorf("a sync with the database: %+v", j)
	}
}

// Waiting cannot correct a wrong setting.
func TestAProcessDoesNotWaitWithAWrongSetting(t *testing.T) {
	t.Parallel()
	database := testkit.Database(t)
	redis := testkit.Redis(t)
	i := install(t, database.AdminURL, database.OwnerURL, database.AppURL, redis, "LISTEN_ADDR=127.0.0.1:0")
	address, err := url.Parse(database.AppURL)
	if err != nil {
		t.Fatal(err)
	}
	noDatabase, noLogin := *address, *address
	noDatabase.Path = "/there_is_none"
	noLogin.User = url.UserPassword("nobody_at_all", "hunter2")
	for name, flags := range map[string][]string{
		"missing database":       {"--database-url", noDatabase.String()},
		"missing login":          {"--database-url", noLogin.String()},
		"missing Redis database": {"--redis-url", strings.Replace(redis, "db=0", "db=4000", 1)},
		"missing Redis login":    {"--redis-url", strings.Replace(redis, "unix://", "unix://ghost:hunter2@", 1)},
	} {
		for _, command := range []string{"serve", "worker"} {
			p := i.start(append([]string{command}, flags...)...)
			p.waitExit(t, 1)
			lines := strings.Split(strings.TrimSpace(p.output(t)), "\n")
			if last := lines[len(lines)-1]; !strings.HasPrefix(last, "magpie: ") || strings.Contains(p.output(t), "hunter2") {
				t.Errorf("%s, %s: %s", name, command, p.output(t))
			}
		}
	}
}

// graphQL runs a GraphQL operation and returns its data and duration.
func graphQL(t *testing.T, address, token, query string, variables map[string]any) (data map[string]any, took time.Duration) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	var headers []string
	if token != "" {
		headers = []string{"Authorization", "Bearer " + token}
	}
	start := time.Now()
	status, answer := post(t, address+"/graphql", string(body), headers...)
	took = time.Since(start)
	var read struct {
		Data   map[string]any
		Errors []any
	}
	if err := json.Unmarshal([]byte(answer), &read); err != nil || status != http.StatusOK || len(read.Errors) > 0 {
		t.Fatalf("%s: %d %s", query, status, answer)
	}
	return read.Data, took
}

// Redis is unavailable when the processes start, and again later. Requests
// succeed without it, and jobs that were queued meanwhile run afterwards.
func TestMagpieWorksWithoutRedis(t *testing.T) {
	t.Parallel()
	i, stack := installStack(t)
	connector := i.uploadFiles(3)
	var second struct{ Password string }
	i.runJSON(&second, "users", "create", "second@example.com", "--role", "admin")
	var keys struct{ SecretKey string }
	i.runJSON(&keys, "keys", "create", "--name", "Test", "--host", "*", "--all-collections")
	if err := stack.StopRedis(t.Context()); err != nil {
		t.Fatal(err)
	}
	server, address := i.serve()
	worker := i.start("worker")
	for _, p := range []*process{server, worker} {
		p.waitLog(t, `msg="waiting for Redis`)
	}
	checkWithoutRedis := func() {
		t.Helper()
		waitFor(t, func() (bool, string) {
			status, body := get(t, address+"/readyz", "")
			return status == http.StatusServiceUnavailable && strings.Contains(body, `"redis":"unavailable"`) && strings.Contains(body, `"database":"ok"`), body
		})
		if status, body := get(t, address+"/readyz?exclude=redis", ""); status != http.StatusOK {
			t.Errorf("/readyz?exclude=redis: %d %s", status, body)
		}
		for range 5 {
			start := time.Now()
			if status, body := get(t, address+"/v1/docs/search?query=page", keys.SecretKey); status != http.StatusOK {
				t.Errorf("a search: %d %s", status, body)
			}
			checkFast(t, "a search", time.Since(start))
		}
	}
	checkWithoutRedis()
	data, took := graphQL(t, address, "", `mutation($in: SignInInput!) { signIn(input: $in) { accessToken } }`,
		map[string]any{"in": map[string]any{"email": "second@example.com", "password": second.Password}})
	checkFast(t, "a sign-in", took)
	token, _ := data["signIn"].(map[string]any)["accessToken"].(string)
	_, took = graphQL(t, address, token, `{ collections(first: 5) { totalCount } }`, nil)
	checkFast(t, "a list", took)
	start := time.Now()
	j := i.startSync(connector)
	checkFast(t, "the start of a sync", time.Since(start))
	if j.Status != "QUEUED" {
		t.Errorf("a sync that cannot be queued in Redis: %+v", j)
	}
	if err := stack.RestartRedis(t.Context()); err != nil {
		t.Fatal(err)
	}
	if j = i.waitJob(j.ID, time.Minute, finished); j.Status != "COMPLETED" {
		t.Errorf("the sync with Redis: %+v", j)
	}
	waitFor(t, func() (bool, string) {
		status, body := get(t, address+"/readyz", "")
		return status == http.StatusOK, body
	})

	if err := stack.StopRedis(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkWithoutRedis()
	for _, p := range []*process{server, worker} {
		for line := range strings.Lines(p.output(t)) {
			if !strings.HasPrefix(line, "time=") {
				t.Errorf("not a log line: %s", line)
			}
		}
	}
	worker.signal(syscall.SIGTERM)
	worker.waitExit(t, 0)
	server.signal(syscall.SIGTERM)
	server.waitExit(t, 0)
}

// checkFast checks that a call did not wait for an unavailable service.
func checkFast(t *testing.T, what string, took time.Duration) {
	t.Helper()
	if took > 5*time.Second {
		t.Errorf("%s took %v", what, took)
	}
}
