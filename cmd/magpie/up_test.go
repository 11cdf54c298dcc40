package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/testkit"
)

// dev is the content of dev.json.
type dev struct {
	BaseURL        string `json:"base_url"`
	GraphQLURL     string `json:"graphql_url"`
	AdminEmail     string `json:"admin_email"`
	AdminPassword  string `json:"admin_password"`
	PublishableKey string `json:"publishable_key"`
	SecretKey      string `json:"secret_key"`
	CollectionID   string `json:"collection_id"`
}

// local is a data folder of `magpie up`.
type local struct {
	t    *testing.T
	data string
	docs string // the demo documents; empty for the program's own
	dir  string // the working directory; empty for that of the test, in the checkout
}

func newLocal(t *testing.T) *local {
	t.Helper()
	l := &local{t: t, data: filepath.Join(t.TempDir(), "data"), docs: t.TempDir()}
	for name, content := range map[string]string{
		"v1/start.md": "---\nversion: v1\n---\n# Getting started\n\nInstall it with the old installer.\n",
		"v2/start.md": "---\nversion: v2\n---\n# Getting started\n\nInstall it with the new package.\n",
	} {
		path := filepath.Join(l.docs, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if out, err := l.run("down", "--purge"); err != nil {
			t.Errorf("down --purge: %v\n%s", err, out)
		}
		if entries, err := os.ReadDir(l.data); err == nil && len(entries) > 0 {
			t.Errorf("the purge left %v", entries)
		}
	})
	return l
}

// run runs the built program, since `up` starts its own executable.
func (l *local) run(arguments ...string) (string, error) {
	l.t.Helper()
	path, err := program()
	if err != nil {
		l.t.Fatal(err)
	}
	command := programCommand(path, append([]string{"--data", l.data}, arguments...)...)
	command.Dir = l.dir
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err = command.Run()
	return out.String(), err
}

func (l *local) up(arguments ...string) dev {
	l.t.Helper()
	if l.docs != "" {
		arguments = append(arguments, "--demo-docs", l.docs)
	}
	out, err := l.run(append([]string{"--json", "up"}, arguments...)...)
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(l.data, "magpie.log"))
		l.t.Fatalf("up: %v\n%s\n%s", err, out, log)
	}
	var printed, stored dev
	if err := json.Unmarshal([]byte(out), &printed); err != nil {
		l.t.Fatalf("%v\n%s", err, out)
	}
	content, err := os.ReadFile(filepath.Join(l.data, "dev.json"))
	if err != nil {
		l.t.Fatal(err)
	}
	if err := json.Unmarshal(content, &stored); err != nil || stored != printed {
		l.t.Errorf("dev.json has %+v, printed %+v (%v)", stored, printed, err)
	}
	return stored
}

// pid returns the process ID of the background process.
func (l *local) pid() int {
	l.t.Helper()
	var run struct{ PID int }
	content, err := os.ReadFile(filepath.Join(l.data, "run.json"))
	if err == nil {
		err = json.Unmarshal(content, &run)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return run.PID
}

func TestUpStartsAStackAndKeepsItsKeys(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	first := l.up("--listen", "127.0.0.1:0")
	l.check(first)
	pid := l.pid()
	if again := l.up(); again != first || l.pid() != pid {
		t.Errorf("second up: %+v", again)
	}
	// Operating commands find the running server by the folder.
	if out, err := l.run("collections"); err != nil || !strings.Contains(out, first.CollectionID) {
		t.Errorf("%v %s", err, out)
	}
	l.checkRefused(pid, first.BaseURL, "magpie up", "dev")
	l.checkRefused(pid, first.BaseURL, "magpie up", "dev", "--listen", strings.TrimPrefix(first.BaseURL, "http://"))
	l.check(first)
	// A killed process leaves its services; the next process adopts them.
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	l.waitExit(pid)
	second := l.up("--listen", strings.TrimPrefix(first.BaseURL, "http://"))
	if second != first {
		t.Errorf("after a kill: %+v, before %+v", second, first)
	}
	l.check(second)
	pid = l.pid()
	if out, err := l.run("down"); err != nil {
		t.Errorf("%v %s", err, out)
	}
	l.waitExit(pid)
	for _, name := range []string{"dev.json", "run.json"} {
		if _, err := os.Stat(filepath.Join(l.data, name)); err == nil {
			t.Errorf("%s exists after down", name)
		}
	}
	if out, err := l.run("down"); err != nil {
		t.Errorf("down twice: %v %s", err, out)
	}
	third := l.up("--listen", "127.0.0.1:0")
	if third.SecretKey != first.SecretKey || third.PublishableKey != first.PublishableKey || third.AdminPassword != first.AdminPassword || third.CollectionID != first.CollectionID {
		t.Errorf("after down: %+v, before %+v", third, first)
	}
	log, err := os.ReadFile(filepath.Join(l.data, "magpie.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{first.AdminPassword, first.SecretKey, first.PublishableKey} {
		if strings.Contains(string(log), secret) {
			t.Error("the log contains a secret")
		}
	}
}

// waitExit waits until the background process has exited. A killed process may
// stay as a zombie, but its lock is released.
func (l *local) waitExit(pid int) {
	l.t.Helper()
	testkit.WaitFor(l.t, fmt.Sprintf("the exit of process %d", pid), func() bool {
		return !isLocked(filepath.Join(l.data, "run.lock"))
	})
}

func isLocked(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	return syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
}

// check uses every address and key of dev.json.
func (l *local) check(d dev) {
	l.t.Helper()
	if d.GraphQLURL != d.BaseURL+"/graphql" || d.AdminEmail != "admin@magpie.local" {
		l.t.Errorf("%+v", d)
	}
	status, body := post(l.t, d.GraphQLURL, `{"query": "mutation($i: SignInInput!) { signIn(input: $i) { accessToken } }", "variables": {"i": {"email": "`+
		d.AdminEmail+`", "password": "`+d.AdminPassword+`"}}}`)
	if status != http.StatusOK || !strings.Contains(body, "accessToken") {
		l.t.Errorf("sign in: %d %s", status, body)
	}
	search := `{"query": "install it", "min_score": 0}`
	for name, headers := range map[string][]string{
		"secret":      {"X-Service-Key", d.SecretKey},
		"publishable": {"X-Service-Key", d.PublishableKey, "Origin", "http://localhost:5173"},
		"at loopback": {"X-Service-Key", d.PublishableKey, "Origin", "http://127.0.0.1:5173"},
	} {
		if status, body := post(l.t, d.BaseURL+"/v1/docs/search", search, headers...); status != http.StatusOK || !strings.Contains(body, `"total":2`) {
			l.t.Errorf("%s key: %d %s", name, status, body)
		}
	}
	if status, _ := post(l.t, d.BaseURL+"/v1/docs/search", search, "X-Service-Key", d.PublishableKey, "Origin", "https://evil.example.com"); status != http.StatusForbidden {
		l.t.Errorf("the publishable key from another origin: %d", status)
	}
	out, err := l.run("--json", "keys", "list")
	if err != nil || !strings.Contains(out, d.CollectionID) || !strings.Contains(out, `"allowAllCollections": false`) {
		l.t.Errorf("%v %s", err, out)
	}
}

func TestDevSyncsAFolderAndReportsTheSync(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	l.dir = t.TempDir() // it needs no checkout
	if err := os.WriteFile(filepath.Join(l.docs, "film.mp4"), []byte("\x00\x00\x00\x18ftypmp42"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := l.run("dev", "--once", "--listen", "127.0.0.1:0", "--corpus", l.docs)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"3 seen: 2 added", "1 skipped", "files/s", "passages/s", "skipped 1: format not supported", "film.mp4"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
	if err := os.Remove(filepath.Join(l.docs, "v1", "start.md")); err != nil {
		t.Fatal(err)
	}
	var rep struct {
		Job struct {
			Status string
			Stats  struct{ Unchanged, Deleted int }
		}
	}
	if out, err = l.run("--json", "dev", "--once", "--listen", "127.0.0.1:0", "--corpus", l.docs); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := json.Unmarshal([]byte(out), &rep); err != nil || rep.Job.Status != "COMPLETED" || rep.Job.Stats.Unchanged != 1 {
		t.Errorf("%v %s", err, out)
	}
	l.checkSite()
	if out, err := l.run("dev", "--once", "--listen", "127.0.0.1:0", "--corpus", l.docs, "--base-url", "docs.example.com"); err == nil || !strings.Contains(out, "must be an address") {
		t.Errorf("a wrong address: %v %s", err, out)
	}
	if out, err := l.run("dev", "--once", "--listen", "127.0.0.1:0", "--corpus", t.TempDir()); err == nil || !strings.Contains(out, "there is no file in") {
		t.Errorf("an empty folder: %v %s", err, out)
	}
}

// checkSite serves the documents as those of a site. Results link to its pages, and what is
// printed has the address and a key.
func (l *local) checkSite() {
	l.t.Helper()
	path, err := program()
	if err != nil {
		l.t.Fatal(err)
	}
	command := programCommand(path, "--data", l.data, "dev", "--listen", "127.0.0.1:0", "--corpus", l.docs, "--base-url", "https://docs.example.com", "--strip-extension")
	said, err := os.Create(filepath.Join(l.t.TempDir(), "said"))
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = said.Close() }()
	command.Stdout, command.Stderr = said, said
	if err := command.Start(); err != nil {
		l.t.Fatal(err)
	}
	var printed string
	testkit.WaitFor(l.t, "what is printed", func() bool {
		content, err := os.ReadFile(said.Name())
		printed = string(content)
		return err == nil && strings.Contains(printed, "Ctrl+C")
	})
	var d dev
	if content, err := os.ReadFile(filepath.Join(l.data, "dev.json")); err != nil || json.Unmarshal(content, &d) != nil {
		l.t.Errorf("%v %s", err, content)
	}
	for _, want := range []string{"Open " + d.BaseURL, "sign in       " + d.AdminEmail + "  " + d.AdminPassword, "curl -H 'X-Service-Key: svc_sk_", d.SecretKey + "' '" + d.BaseURL + "/v1/docs/search?query="} {
		if !strings.Contains(printed, want) {
			l.t.Errorf("%q is missing in:\n%s", want, printed)
		}
	}
	l.checkOrigins(d.BaseURL)
	status, body := post(l.t, d.BaseURL+"/v1/docs/search", `{"query": "install it", "min_score": 0}`, "X-Service-Key", d.SecretKey)
	if status != http.StatusOK || !strings.Contains(body, `"url":"https://docs.example.com/v2/start`) {
		l.t.Errorf("%d %s", status, body)
	}
	if err := command.Process.Signal(os.Interrupt); err != nil {
		l.t.Error(err)
	}
	if err := command.Wait(); err != nil {
		l.t.Error(err)
	}
}

// checkOrigins asks as browsers do before a page of another origin calls /graphql.
func (l *local) checkOrigins(address string) {
	l.t.Helper()
	for origin, want := range map[string]string{"http://localhost:5173": "http://localhost:5173", "https://evil.example.com": ""} {
		r, err := http.NewRequestWithContext(l.t.Context(), http.MethodOptions, address+"/graphql", http.NoBody)
		if err != nil {
			l.t.Fatal(err)
		}
		r.Header.Set("Origin", origin)
		r.Header.Set("Access-Control-Request-Method", http.MethodPost)
		r.Header.Set("Access-Control-Request-Headers", "authorization,content-type")
		response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			l.t.Fatal(err)
		}
		_ = response.Body.Close()
		if got := response.Header.Get("Access-Control-Allow-Origin"); got != want {
			l.t.Errorf("a page of %s: %d, allowed is %q", origin, response.StatusCode, got)
		}
	}
}

func TestDevUsesConfiguredServices(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	database := testkit.Database(t)
	given := []string{"--database-url", database.AppURL, "--redis-url", testkit.Redis(t)}
	settings := filepath.Join(t.TempDir(), "settings")
	if err := os.WriteFile(settings, []byte("MIGRATE_DATABASE_URL="+database.OwnerURL+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := l.run(append(given, "--config", settings, "dev", "--once", "--listen", "127.0.0.1:0", "--corpus", l.docs)...)
	if err != nil || !strings.Contains(out, "2 added") {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(l.data, "services")); err == nil {
		t.Error("private services were started")
	}
	for _, half := range [][]string{given[:2], given[2:]} {
		if out, err := l.run(append(half, "dev", "--once", "--corpus", l.docs)...); err == nil || !strings.Contains(out, "set both") {
			t.Errorf("%v: %v\n%s", half[0], err, out)
		}
	}
	// Commands with the same settings find the keys of the folder.
	d := l.up(append(given, "--config", settings, "--listen", "127.0.0.1:0")...)
	if out, err := l.run(append(given, "collections")...); err != nil || !strings.Contains(out, d.CollectionID) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestDemoLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	for _, c := range []struct{ dir, bucket string }{
		{t.TempDir(), "The bucket is left out"}, // the documents are in the program, the server of the bucket is not
		{"", "the bucket is synced"},            // the demonstration is repeatable
	} {
		l.dir = c.dir
		out, err := l.run("demo")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, want := range []string{"POST /v1/docs/search", "*signing*", "POST /v1/chat/stream", "[1]", c.bucket, "Open http://127.0.0.1:", "sign in"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is missing in:\n%s", want, out)
			}
		}
	}
	var place struct{ Base string }
	content, err := os.ReadFile(filepath.Join(l.data, "services", "place.json"))
	if err == nil {
		err = json.Unmarshal(content, &place)
	}
	if err != nil {
		t.Fatal(err)
	}
	if place.Base == "." {
		place.Base = filepath.Join(l.data, "services")
	}
	if _, err := os.Stat(filepath.Join(place.Base, "postgres", "postmaster.pid")); err == nil {
		t.Error("PostgreSQL is still running")
	}
	if isLocked(filepath.Join(l.data, "run.lock")) {
		t.Error("the folder is still in use")
	}
}

func TestUpFindsAFreePort(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:8080")
	if err == nil {
		defer func() { _ = listener.Close() }()
	} // otherwise another program uses the port
	l := newLocal(t)
	l.dir, l.docs = t.TempDir(), "" // nothing of a checkout
	d := l.up()
	if d.BaseURL == "http://127.0.0.1:8080" || !strings.HasPrefix(d.BaseURL, "http://127.0.0.1:") {
		t.Errorf("%+v", d)
	}
	if status, body := post(t, d.BaseURL+"/v1/docs/search", `{"query": "rotate the signing key"}`, "X-Service-Key", d.SecretKey); status != http.StatusOK || !strings.Contains(body, `"title":"`) {
		t.Errorf("the program's own documents: %d %s", status, body)
	}
	other := newLocal(t)
	occupied, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = occupied.Close() }()
	out, err := other.run("up", "--demo-docs", other.docs, "--listen", occupied.Addr().String())
	if err == nil || !strings.Contains(out, "is in use by another program") {
		t.Errorf("%v %s", err, out)
	}
}

// checkRefused runs a command that must fail with one line, which describes the
// process that uses the folder.
func (l *local) checkRefused(pid int, address, command string, arguments ...string) {
	l.t.Helper()
	out, err := l.run(arguments...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	last := lines[len(lines)-1]
	if err == nil || len(lines) != 1 {
		l.t.Errorf("%v: %v %s", arguments, err, out)
	}
	for _, part := range []string{"magpie: ", command, "process " + strconv.Itoa(pid), address, "magpie down", "--data"} {
		if !strings.Contains(last, part) {
			l.t.Errorf("%v: %q, want %q in it", arguments, last, part)
		}
	}
}

func TestDevKeepsOthersFromItsFolder(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	command := programCommand(path, "--data", l.data, "dev", "--listen", "127.0.0.1:0")
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- command.Wait() }()
	var run struct {
		PID     int
		Ready   bool
		BaseURL string `json:"base_url"`
	}
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for !run.Ready {
		select {
		case err := <-exited:
			t.Fatalf("dev: %v\n%s", err, &out)
		case <-ticker.C:
			if content, err := os.ReadFile(filepath.Join(l.data, "run.json")); err == nil {
				_ = json.Unmarshal(content, &run) // the file is replaced atomically
			}
		}
	}
	l.checkRefused(run.PID, run.BaseURL, "magpie dev", "dev")
	l.checkRefused(run.PID, run.BaseURL, "magpie dev", "up", "--demo-docs", l.docs)
	l.checkRefused(run.PID, run.BaseURL, "magpie dev", "up")
	if status, body := post(t, run.BaseURL+"/graphql", `{"query": "{ __typename }"}`); status != http.StatusOK {
		t.Errorf("/graphql: %d %s", status, body)
	}
	if out, err := l.run("down"); err != nil {
		t.Errorf("%v %s", err, out)
	}
	if err := <-exited; err != nil {
		t.Errorf("dev exited with %v\n%s", err, &out)
	}
}
