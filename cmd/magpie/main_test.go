package main_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/cmd/magpie/command"
)

// program is the built binary, made once for all tests.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(folder, "magpie")
	output, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build magpie: %w\n%s", err, output)
	}
	return path, nil
})

// folder is where the binary is built.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "magpie-program-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// commandOf prepares the program without the settings of whoever runs the tests.
func commandOf(path string, arguments ...string) *exec.Cmd {
	c := exec.Command(path, arguments...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.Getenv("TMPDIR")} //nolint:forbidigo // only what programs need to be found
	return c
}

// installation is the settings of one test's Magpie.
type installation struct {
	t     *testing.T
	flags []string
	admin string // the database, as superuser

	running []*process
}

// install makes an installation and its first person over a migrated database.
// Further settings win.
func install(t *testing.T, adminURL, ownerURL, appURL, redisURL string, further ...string) *installation {
	t.Helper()
	i := configure(t, adminURL, ownerURL, appURL, redisURL, filepath.Join(t.TempDir(), "blobs"), further...)
	i.ok("users", "create", "owner@example.com", "--new-workspace", "Test")
	return i
}

// configure writes the settings of an installation and asks nothing of its servers.
// Further settings win.
func configure(t *testing.T, adminURL, ownerURL, appURL, redisURL, blobs string, further ...string) *installation {
	t.Helper()
	key := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32))
	settings := filepath.Join(t.TempDir(), "settings")
	content := strings.Join(append([]string{
		"DATABASE_URL=" + appURL, "MIGRATE_DATABASE_URL=" + ownerURL, "REDIS_URL=" + redisURL,
		"SESSION_KEY=" + key, "SECRET_KEYS=test:" + key, "BLOB_URL=file://" + blobs,
		"WORKER_LOST_AFTER=10s", "DRAIN_TIME=0s", "SHUTDOWN_TIMEOUT=5s",
	}, further...), "\n") + "\n"
	if err := os.WriteFile(settings, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return &installation{t: t, admin: adminURL, flags: []string{
		"--config", settings, "--database-url", appURL, "--redis-url", redisURL,
	}}
}

// run runs a command in this process.
func (i *installation) run(arguments ...string) (out, problem string, code int) {
	var o, e bytes.Buffer
	code = command.Run(i.t.Context(), append(append([]string{}, i.flags...), arguments...),
		command.Streams{In: strings.NewReader(""), Out: &o, Err: &e})
	return o.String(), e.String(), code
}

func (i *installation) ok(arguments ...string) string {
	i.t.Helper()
	out, problem, code := i.run(arguments...)
	if code != 0 {
		i.t.Fatalf("magpie %s: %d\n%s%s", strings.Join(arguments, " "), code, out, problem)
	}
	return out
}

func (i *installation) read(into any, arguments ...string) {
	i.t.Helper()
	out := i.ok(append([]string{"--json"}, arguments...)...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		i.t.Fatalf("magpie %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
}

// process is the program running on its own.
type process struct {
	command *exec.Cmd
	log     string
	ended   chan struct{}
}

// start runs the program and ends it with the test at the latest.
func (i *installation) start(arguments ...string) *process {
	i.t.Helper()
	path, err := program()
	if err != nil {
		i.t.Fatal(err)
	}
	log, err := os.CreateTemp(i.t.TempDir(), "log")
	if err != nil {
		i.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	p := &process{command: commandOf(path, append(append([]string{}, i.flags...), arguments...)...), log: log.Name(), ended: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = log, log
	if err := p.command.Start(); err != nil {
		i.t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.command.Wait()
	}()
	i.running = append(i.running, p)
	i.t.Cleanup(func() {
		p.stop()
		if i.t.Failed() {
			content, _ := os.ReadFile(p.log)
			i.t.Logf("%s wrote:\n%s", strings.Join(arguments, " "), content)
		}
	})
	return p
}

func (p *process) signal(s syscall.Signal) { _ = p.command.Process.Signal(s) } // an ended one is as good

// stop asks the process to end, and kills it when it does not.
func (p *process) stop() {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		p.kill()
	}
}

// stopAll ends what was started, so that nothing changes the database any more.
func (i *installation) stopAll() {
	for _, p := range i.running {
		p.stop()
	}
}

// kill ends the process the hard way and waits until it is gone.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

func (p *process) wrote(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// job is what sync status answers.
type job struct {
	ID, Status string
	Progress   struct{ Collected, Parsed, Indexed int }
	Stats      struct{ Added, Modified, Deleted, Unchanged, Skipped, Errors int }
	Error      *string
	Warnings   []string
}

// corpus makes a connector with so many uploaded files and returns its name.
func (i *installation) corpus(files int) string {
	i.t.Helper()
	root := i.t.TempDir()
	for n := range files {
		path := filepath.Join(root, fmt.Sprintf("part-%02d", n%20), fmt.Sprintf("page-%04d.md", n))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			i.t.Fatal(err)
		}
		text := fmt.Sprintf("# Page %d\n\nThis is page %d.\n\n", n, n)
		for section := range 6 {
			text += fmt.Sprintf("## Part %d\n\nWhat part %d of page%d says about topic%d. %s\n\n", section, section, n, n%97, strings.Repeat("More words follow here. ", 30))
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			i.t.Fatal(err)
		}
	}
	i.ok("collections", "create", "Docs")
	i.ok("connectors", "create", "--name", "Files", "--type", "file_upload", "--collection", "Docs")
	i.ok("files", "upload", "Files", root)
	return "Files"
}

func (i *installation) startSync(connector string) job {
	i.t.Helper()
	var j job
	i.read(&j, "sync", "start", connector, "--detach")
	return j
}

// until reads the job again and again until it is as wanted.
func (i *installation) until(id string, patience time.Duration, wanted func(job) bool) job {
	i.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		var j job
		out, problem, code := i.run("--json", "sync", "status", id)
		if code == 0 {
			if err := json.Unmarshal([]byte(out), &j); err != nil {
				i.t.Fatal(err)
			}
			if wanted(j) {
				return j
			}
		}
		if time.Now().After(deadline) {
			i.t.Fatalf("the job did not come to what was waited for within %s: %+v %s", patience, j, problem)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// untilStored waits until so many documents are stored. It asks the database
// itself, over and over, so that what the test does then comes in the middle of
// a sync on a fast machine, too.
func (i *installation) untilStored(documents int) {
	i.t.Helper()
	ctx, cancel := context.WithTimeout(i.t.Context(), time.Minute)
	defer cancel()
	connection, err := pgx.Connect(ctx, i.admin)
	if err != nil {
		i.t.Fatal(err)
	}
	defer func() { _ = connection.Close(ctx) }()
	for stored := 0; stored < documents; {
		if err := connection.QueryRow(ctx, `select count(*) from documents where status = 'INDEXED'`).Scan(&stored); err != nil {
			i.t.Fatalf("the sync does not come to %d documents: %v", documents, err)
		}
		<-time.After(2 * time.Millisecond)
	}
}

func ended(j job) bool { return j.Status != "QUEUED" && j.Status != "RUNNING" }

// query asks the database as a superuser, from whom no policy hides a row.
func (i *installation) query(statement string, into ...any) {
	i.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	connection, err := pgx.Connect(ctx, i.admin)
	if err != nil {
		i.t.Fatal(err)
	}
	defer func() { _ = connection.Close(ctx) }()
	if err := connection.QueryRow(ctx, statement).Scan(into...); err != nil {
		i.t.Fatal(err)
	}
}

// complete checks that every one of so many files is there once, with all its
// passages once, and that the ledger agrees.
func (i *installation) complete(files int) {
	i.t.Helper()
	var documents, paths, bare, lost, ledger int
	i.query(`select count(*), count(distinct path) from documents where status = 'INDEXED'`, &documents, &paths)
	if documents != files || paths != files {
		i.t.Errorf("%d documents with %d paths, want %d", documents, paths, files)
	}
	i.query(`select count(*) from documents d
		where passage_count = 0 or passage_count <> (select count(*) from passages p where p.document_id = d.id)`, &bare)
	if bare != 0 {
		i.t.Errorf("%d documents have not the passages they say", bare)
	}
	i.query(`select (select count(*) from passages) - (select count(*) from passage_index)`, &lost)
	if lost != 0 {
		i.t.Errorf("%d passages are not searchable", lost)
	}
	i.query(`select count(*) from sync_items where status in ('INDEXED', 'UNCHANGED')`, &ledger)
	if ledger != files {
		i.t.Errorf("the ledger has %d items as indexed, want %d", ledger, files)
	}
}
