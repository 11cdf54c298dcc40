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
	manyFiles = 500
	// someFiles is the number of stored files at the time of the fault.
	someFiles = 100
)

func TestASyncSurvivesTheKillOfItsWorker(t *testing.T) {
	t.Parallel()
	database := testkit.Database(t)
	i := install(t, database.AdminURL, database.OwnerURL, database.AppURL, testkit.Redis(t))
	connector := i.uploadFiles(manyFiles)
	worker := i.start("worker")
	j := i.startSync(connector)
	i.waitStored(someFiles)
	worker.kill()
	if j = i.waitJob(j.ID, time.Minute, func(job) bool { return true }); j.Status != "RUNNING" {
		t.Fatalf("the sync was not running when the worker was killed: %+v", j)
	}
	var before int
	i.query(`select count(*) from documents where status = 'INDEXED'`, &before)
	if before == 0 || before >= manyFiles {
		t.Fatalf("%d documents were stored when the worker was killed", before)
	}
	t.Logf("killed with %d of %d documents stored", before, manyFiles)
	i.start("worker")
	start := time.Now()
	j = i.waitJob(j.ID, 3*time.Minute, finished)
	if j.Status != "COMPLETED" || j.Stats.Errors != 0 || j.Progress.Collected != manyFiles {
		t.Errorf("%+v", j)
	}
	t.Logf("finished %s after the restart: %+v", time.Since(start).Round(time.Millisecond), j.Stats)
	i.checkComplete(manyFiles)
}

func TestASyncSurvivesTheLossOfRedis(t *testing.T) {
	t.Parallel()
	stack := testkit.Stack(t)
	if err := store.Migrate(t.Context(), stack.OwnerURL); err != nil {
		t.Fatal(err)
	}
	i := install(t, adminOf(stack.AdminURL), stack.OwnerURL, stack.DatabaseURL, stack.RedisURL)
	connector := i.uploadFiles(manyFiles)
	i.start("worker")
	j := i.startSync(connector)
	i.waitStored(someFiles)
	if err := stack.FlushRedis(t.Context()); err != nil {
		t.Fatal(err)
	}
	j = i.waitJob(j.ID, 3*time.Minute, finished)
	if j.Status != "COMPLETED" || j.Stats.Errors != 0 {
		t.Errorf("%+v", j)
	}
	i.checkComplete(manyFiles)
	// A queued job, too, is recovered from PostgreSQL.
	j = i.startSync(connector)
	if err := stack.FlushRedis(t.Context()); err != nil {
		t.Fatal(err)
	}
	if j = i.waitJob(j.ID, 3*time.Minute, finished); j.Status != "COMPLETED" || j.Stats.Unchanged != manyFiles {
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
	connector := i.uploadFiles(manyFiles)
	var keys struct{ SecretKey string }
	i.runJSON(&keys, "keys", "create", "--name", "Test", "--host", "*", "--all-collections")
	server := i.start("serve", "--listen", "127.0.0.1:0")
	address := server.address(t)
	i.start("worker")
	j := i.startSync(connector)
	i.waitStored(someFiles)
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
	if _, stderr, code := i.run("collections"); code != 1 || !strings.HasPrefix(stderr, "magpie: reach the database") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("a command without a database: %d %q", code, stderr)
	}
	if err := stack.RestartPostgres(t.Context()); err != nil {
		t.Fatal(err)
	}
	j = i.waitJob(j.ID, 3*time.Minute, finished)
	if j.Status != "COMPLETED" || j.Stats.Errors != 0 {
		t.Errorf("%+v", j)
	}
	i.checkComplete(manyFiles)
	if status, body := get(t, address+"/readyz", ""); status != http.StatusOK {
		t.Errorf("/readyz with the database: %d %s", status, body)
	}
	if status, body := get(t, address+"/v1/docs/search?query=page&min_score=0", keys.SecretKey); status != http.StatusOK || !strings.Contains(body, `"total":`) {
		t.Errorf("a search with the database: %d %s", status, body)
	}
}

// A stopping worker saves its progress, and another worker continues immediately.
func TestAnotherWorkerContinuesTheSyncOfAStoppedOne(t *testing.T) {
	t.Parallel()
	database := testkit.Database(t)
	i := install(t, database.AdminURL, database.OwnerURL, database.AppURL, testkit.Redis(t))
	connector := i.uploadFiles(manyFiles)
	worker := i.start("worker")
	j := i.startSync(connector)
	i.waitStored(someFiles)
	worker.signal(syscall.SIGTERM)
	<-worker.exited
	if code := worker.command.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the exit code of the worker is %d:\n%s", code, worker.output(t))
	}
	i.start("worker")
	if j = i.waitJob(j.ID, time.Minute, finished); j.Status != "COMPLETED" || j.Stats.Added != manyFiles {
		t.Errorf("%+v", j)
	}
	i.checkComplete(manyFiles)
}

// adminOf returns the administrator's URL of the application's database.
func adminOf(address string) string {
	return strings.Replace(address, "/postgres?", "/magpie?", 1)
}

// address waits until the server logs its address, and returns its URL.
func (p *process) address(t *testing.T) string {
	t.Helper()
	var address string
	testkit.WaitFor(t, "the address of the server", func() bool {
		_, after, found := strings.Cut(p.output(t), "msg=serving address=")
		line, _, complete := strings.Cut(after, "\n")
		address, _, _ = strings.Cut(line, " ")
		return found && complete
	})
	return "http://" + address
}

func get(t *testing.T, address, key string) (status int, body string) {
	t.Helper()
	if key == "" {
		return request(t, http.MethodGet, address, "")
	}
	return request(t, http.MethodGet, address, "", "X-Service-Key", key)
}

func post(t *testing.T, address, content string, headers ...string) (status int, body string) {
	t.Helper()
	return request(t, http.MethodPost, address, content, append(headers, "Content-Type", "application/json")...)
}

func request(t *testing.T, method, address, content string, headers ...string) (status int, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
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
