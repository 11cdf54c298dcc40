package main_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
)

const (
	manyFiles = 2000
	// someFiles are stored when something goes wrong.
	someFiles = 200
)

func TestASyncSurvivesItsWorkersKill(t *testing.T) {
	t.Parallel()
	database := testkit.Database(t)
	i := install(t, database.AdminURL, database.OwnerURL, database.AppURL, testkit.Redis(t))
	connector := i.corpus(manyFiles)
	worker := i.start("worker")
	j := i.startSync(connector)
	i.untilStored(someFiles)
	worker.kill()
	if j = i.until(j.ID, time.Minute, func(job) bool { return true }); j.Status != "RUNNING" {
		t.Fatalf("the sync was not under way when the worker was killed: %+v", j)
	}
	var before int
	i.query(`select count(*) from documents where status = 'INDEXED'`, &before)
	if before == 0 || before >= manyFiles {
		t.Fatalf("%d documents were there when the worker was killed", before)
	}
	t.Logf("killed with %d of %d documents stored", before, manyFiles)
	i.start("worker")
	began := time.Now()
	j = i.until(j.ID, 3*time.Minute, ended)
	if j.Status != "COMPLETED" || j.Stats.Errors != 0 || j.Progress.Collected != manyFiles {
		t.Errorf("%+v", j)
	}
	t.Logf("finished %s after the restart: %+v", time.Since(began).Round(time.Millisecond), j.Stats)
	i.complete(manyFiles)
}

func TestASyncSurvivesTheLossOfRedis(t *testing.T) {
	t.Parallel()
	stack := testkit.Stack(t)
	if err := store.Migrate(t.Context(), stack.OwnerURL); err != nil {
		t.Fatal(err)
	}
	i := install(t, adminOf(stack.AdminURL), stack.OwnerURL, stack.DatabaseURL, stack.RedisURL)
	connector := i.corpus(manyFiles)
	i.start("worker")
	j := i.startSync(connector)
	i.untilStored(someFiles)
	if err := stack.FlushRedis(t.Context()); err != nil {
		t.Fatal(err)
	}
	j = i.until(j.ID, 3*time.Minute, ended)
	if j.Status != "COMPLETED" || j.Stats.Errors != 0 {
		t.Errorf("%+v", j)
	}
	i.complete(manyFiles)
	// What is queued, too, is found again from PostgreSQL.
	j = i.startSync(connector)
	if err := stack.FlushRedis(t.Context()); err != nil {
		t.Fatal(err)
	}
	if j = i.until(j.ID, 3*time.Minute, ended); j.Status != "COMPLETED" || j.Stats.Unchanged != manyFiles {
		t.Errorf("%+v", j)
	}
}

func TestASyncSurvivesARestartOfPostgreSQL(t *testing.T) {
	t.Parallel()
	stack := testkit.Stack(t)
	if err := store.Migrate(t.Context(), stack.OwnerURL); err != nil {
		t.Fatal(err)
	}
	i := install(t, adminOf(stack.AdminURL), stack.OwnerURL, stack.DatabaseURL, stack.RedisURL)
	connector := i.corpus(manyFiles)
	var keys struct{ SecretKey string }
	i.read(&keys, "keys", "create", "--name", "Test", "--host", "*", "--all-collections")
	server := i.start("serve", "--listen", "127.0.0.1:0")
	address := server.address(t)
	i.start("worker")
	j := i.startSync(connector)
	i.untilStored(someFiles)
	if err := stack.StopPostgres(t.Context()); err != nil {
		t.Fatal(err)
	}
	if status, body := get(t, address+"/readyz", ""); status != http.StatusServiceUnavailable || !strings.Contains(body, `"database":"unavailable"`) {
		t.Errorf("/readyz without a database: %d %s", status, body)
	}
	status, body := get(t, address+"/v1/docs/search?query=page", keys.SecretKey)
	if status != http.StatusInternalServerError && status != http.StatusServiceUnavailable || !strings.Contains(body, `"error"`) || strings.Contains(body, "sock") {
		t.Errorf("a search without a database: %d %s", status, body)
	}
	if _, problem, code := i.run("collections"); code != 1 || !strings.HasPrefix(problem, "magpie: reach the database") || strings.Count(problem, "\n") != 1 {
		t.Errorf("a command without a database: %d %q", code, problem)
	}
	if err := stack.RestartPostgres(t.Context()); err != nil {
		t.Fatal(err)
	}
	j = i.until(j.ID, 3*time.Minute, ended)
	if j.Status != "COMPLETED" || j.Stats.Errors != 0 {
		t.Errorf("%+v", j)
	}
	i.complete(manyFiles)
	if status, body := get(t, address+"/readyz", ""); status != http.StatusOK {
		t.Errorf("/readyz afterwards: %d %s", status, body)
	}
	if status, body := get(t, address+"/v1/docs/search?query=page&min_score=0", keys.SecretKey); status != http.StatusOK || !strings.Contains(body, `"total":`) {
		t.Errorf("a search afterwards: %d %s", status, body)
	}
}

// A worker that is asked to stop saves where it is, and another goes on at once.
func TestASyncGoesOnWhereAStoppedWorkerLeftIt(t *testing.T) {
	t.Parallel()
	database := testkit.Database(t)
	i := install(t, database.AdminURL, database.OwnerURL, database.AppURL, testkit.Redis(t))
	connector := i.corpus(manyFiles)
	worker := i.start("worker")
	j := i.startSync(connector)
	i.untilStored(someFiles)
	worker.signal(syscall.SIGTERM)
	<-worker.ended
	if code := worker.command.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the worker ended with %d:\n%s", code, worker.wrote(t))
	}
	i.start("worker")
	if j = i.until(j.ID, time.Minute, ended); j.Status != "COMPLETED" || j.Stats.Added != manyFiles {
		t.Errorf("%+v", j)
	}
	i.complete(manyFiles)
}

// adminOf points the administrator's address at the application's database.
func adminOf(address string) string {
	return strings.Replace(address, "/postgres?", "/magpie?", 1)
}

// address waits until the server has said where it serves.
func (p *process) address(t *testing.T) string {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		for line := range strings.SplitSeq(p.wrote(t), "\n") {
			if _, rest, found := strings.Cut(line, "msg=serving address="); found {
				address, _, _ := strings.Cut(rest, " ")
				return "http://" + address
			}
		}
		<-time.After(20 * time.Millisecond)
	}
	t.Fatalf("the server does not serve:\n%s", p.wrote(t))
	return ""
}

func get(t *testing.T, address, key string) (status int, body string) {
	t.Helper()
	if key == "" {
		return ask(t, http.MethodGet, address, "")
	}
	return ask(t, http.MethodGet, address, "", "X-Service-Key", key)
}

func post(t *testing.T, address, content string, headers ...string) (status int, body string) {
	t.Helper()
	return ask(t, http.MethodPost, address, content, append(headers, "Content-Type", "application/json")...)
}

func ask(t *testing.T, method, address, content string, headers ...string) (status int, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(read)
}
