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

// alone is an installation on a PostgreSQL and a Redis of its own.
func alone(t *testing.T, further ...string) (*installation, *devstack.Stack) {
	t.Helper()
	stack := testkit.Stack(t)
	if err := store.Migrate(t.Context(), stack.OwnerURL); err != nil {
		t.Fatal(err)
	}
	return install(t, adminOf(stack.AdminURL), stack.OwnerURL, stack.DatabaseURL, stack.RedisURL, further...), stack
}

// listens waits until the server answers at an address of its own.
func (i *installation) listens(arguments ...string) (server *process, address string) {
	i.t.Helper()
	host := freePort(i.t)
	server = i.start(append([]string{"serve", "--listen", host}, arguments...)...)
	within(i.t, func() (bool, string) {
		select {
		case <-server.ended:
			i.t.Fatalf("the server ended:\n%s", server.wrote(i.t))
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

// logged waits until the process has written something.
func (p *process) logged(t *testing.T, text string) {
	t.Helper()
	within(t, func() (bool, string) { wrote := p.wrote(t); return strings.Contains(wrote, text), wrote })
}

func TestProcessesWaitForPostgreSQLAtTheirStart(t *testing.T) {
	t.Parallel()
	i, stack := alone(t)
	connector := i.corpus(3)
	var keys struct{ SecretKey string }
	i.read(&keys, "keys", "create", "--name", "Test", "--host", "*", "--all-collections")
	if err := stack.StopPostgres(t.Context()); err != nil {
		t.Fatal(err)
	}
	server, address := i.listens()
	worker := i.start("worker")
	for _, p := range []*process{server, worker} {
		p.logged(t, `msg="waiting for PostgreSQL"`)
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
	// Whoever is told to stop while it waits does.
	impatient := i.start("worker")
	impatient.logged(t, `msg="waiting for PostgreSQL"`)
	impatient.signal(syscall.SIGTERM)
	impatient.ends(t, 0)
	other, _ := i.listens()
	other.signal(syscall.SIGTERM)
	other.ends(t, 0)

	if err := stack.RestartPostgres(t.Context()); err != nil {
		t.Fatal(err)
	}
	within(t, func() (bool, string) {
		status, body := get(t, address+"/readyz", "")
		return status == http.StatusOK, body
	})
	if status, body := get(t, address+"/v1/docs/search?query=page", keys.SecretKey); status != http.StatusOK {
		t.Errorf("a search afterwards: %d %s", status, body)
	}
	j := i.startSync(connector)
	if j = i.until(j.ID, time.Minute, ended); j.Status != "COMPLETED" {
		t.Errorf("a sync afterwards: %+v", j)
	}
}

// Waiting does not mend a wrong setting.
func TestAProcessDoesNotWaitForWhatIsSetWrong(t *testing.T) {
	t.Parallel()
	database := testkit.Database(t)
	redis := testkit.Redis(t)
	i := install(t, database.AdminURL, database.OwnerURL, database.AppURL, redis, "LISTEN_ADDR=127.0.0.1:0")
	address, err := url.Parse(database.AppURL)
	if err != nil {
		t.Fatal(err)
	}
	nowhere, nobody := *address, *address
	nowhere.Path = "/there_is_none"
	nobody.User = url.UserPassword("nobody_at_all", "hunter2")
	for what, wrong := range map[string][]string{
		"a database that is not there": {"--database-url", nowhere.String()},
		"a login that is not there":    {"--database-url", nobody.String()},
		"a number that Redis has not":  {"--redis-url", strings.Replace(redis, "db=0", "db=4000", 1)},
		"a login that Redis has not":   {"--redis-url", strings.Replace(redis, "unix://", "unix://ghost:hunter2@", 1)},
	} {
		for _, part := range []string{"serve", "worker"} {
			p := i.start(append([]string{part}, wrong...)...)
			p.ends(t, 1)
			lines := strings.Split(strings.TrimSpace(p.wrote(t)), "\n")
			if last := lines[len(lines)-1]; !strings.HasPrefix(last, "magpie: ") || strings.Contains(p.wrote(t), "hunter2") {
				t.Errorf("%s, %s: %s", what, part, p.wrote(t))
			}
		}
	}
}

// operate sends a GraphQL operation and gives its data.
func operate(t *testing.T, address, token, query string, variables map[string]any) (data map[string]any, took time.Duration) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	var headers []string
	if token != "" {
		headers = []string{"Authorization", "Bearer " + token}
	}
	began := time.Now()
	status, answer := post(t, address+"/graphql", string(body), headers...)
	took = time.Since(began)
	var read struct {
		Data   map[string]any
		Errors []any
	}
	if err := json.Unmarshal([]byte(answer), &read); err != nil || status != http.StatusOK || len(read.Errors) > 0 {
		t.Fatalf("%s: %d %s", query, status, answer)
	}
	return read.Data, took
}

// Redis is missing when the processes start, and again later. What needs it is
// made up for; what was queued meanwhile is found in PostgreSQL.
func TestMagpieDoesWithoutRedis(t *testing.T) {
	t.Parallel()
	i, stack := alone(t)
	connector := i.corpus(3)
	var second struct{ Password string }
	i.read(&second, "users", "create", "second@example.com", "--role", "admin")
	var keys struct{ SecretKey string }
	i.read(&keys, "keys", "create", "--name", "Test", "--host", "*", "--all-collections")
	if err := stack.StopRedis(t.Context()); err != nil {
		t.Fatal(err)
	}
	server, address := i.listens()
	worker := i.start("worker")
	for _, p := range []*process{server, worker} {
		p.logged(t, `msg="waiting for Redis`)
	}
	without := func() {
		t.Helper()
		within(t, func() (bool, string) {
			status, body := get(t, address+"/readyz", "")
			return status == http.StatusServiceUnavailable && strings.Contains(body, `"redis":"unavailable"`) && strings.Contains(body, `"database":"ok"`), body
		})
		if status, body := get(t, address+"/readyz?exclude=redis", ""); status != http.StatusOK {
			t.Errorf("/readyz for who does not mind: %d %s", status, body)
		}
		for range 5 {
			began := time.Now()
			if status, body := get(t, address+"/v1/docs/search?query=page", keys.SecretKey); status != http.StatusOK {
				t.Errorf("a search: %d %s", status, body)
			}
			soon(t, "a search", time.Since(began))
		}
	}
	without()
	data, took := operate(t, address, "", `mutation($in: SignInInput!) { signIn(input: $in) { accessToken } }`,
		map[string]any{"in": map[string]any{"email": "second@example.com", "password": second.Password}})
	soon(t, "a sign-in", took)
	token, _ := data["signIn"].(map[string]any)["accessToken"].(string)
	_, took = operate(t, address, token, `{ collections(first: 5) { totalCount } }`, nil)
	soon(t, "a list", took)
	began := time.Now()
	j := i.startSync(connector)
	soon(t, "the start of a sync", time.Since(began))
	if j.Status != "QUEUED" {
		t.Errorf("a sync that nobody can be told of: %+v", j)
	}
	if err := stack.RestartRedis(t.Context()); err != nil {
		t.Fatal(err)
	}
	if j = i.until(j.ID, time.Minute, ended); j.Status != "COMPLETED" {
		t.Errorf("the sync, with Redis: %+v", j)
	}
	within(t, func() (bool, string) {
		status, body := get(t, address+"/readyz", "")
		return status == http.StatusOK, body
	})

	if err := stack.StopRedis(t.Context()); err != nil {
		t.Fatal(err)
	}
	without()
	for _, p := range []*process{server, worker} {
		for line := range strings.Lines(p.wrote(t)) {
			if !strings.HasPrefix(line, "time=") {
				t.Errorf("a line that is not the log's: %s", line)
			}
		}
	}
	worker.signal(syscall.SIGTERM)
	worker.ends(t, 0)
	server.signal(syscall.SIGTERM)
	server.ends(t, 0)
}

// soon checks that nobody waited for what is away.
func soon(t *testing.T, what string, took time.Duration) {
	t.Helper()
	if took > 5*time.Second {
		t.Errorf("%s took %v", what, took)
	}
}
