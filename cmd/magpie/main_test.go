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
	"github.com/magpie-search/magpie/internal/testkit"
)

// program returns the path of the binary, which is built once for all tests.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(folder, "magpie")
	output, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build magpie: %w\n%s", err, output)
	}
	return path, nil
})

// folder holds the built binary.
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

// programCommand returns a command whose environment has no settings of Magpie.
func programCommand(path string, arguments ...string) *exec.Cmd {
	c := exec.Command(path, arguments...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.Getenv("TMPDIR")} //nolint:forbidigo // the variables that every program needs
	return c
}

// installation is the configuration and the processes of one test's Magpie.
type installation struct {
	t     *testing.T
	flags []string
	admin string // the database URL of a superuser

	running []*process
}

// install returns an installation on a migrated database and creates its first
// user. The extra settings override the others.
func install(t *testing.T, adminURL, ownerURL, appURL, redisURL string, extra ...string) *installation {
	t.Helper()
	i := configure(t, adminURL, ownerURL, appURL, redisURL, filepath.Join(t.TempDir(), "blobs"), extra...)
	i.mustRun("users", "create", "owner@example.com", "--new-workspace", "Test")
	return i
}

// configure writes the settings of an installation without connecting to its
// servers. The extra settings override the others.
func configure(t *testing.T, adminURL, ownerURL, appURL, redisURL, blobs string, extra ...string) *installation {
	t.Helper()
	key := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32))
	settings := filepath.Join(t.TempDir(), "settings")
	content := strings.Join(append([]string{
		"DATABASE_URL=" + appURL, "MIGRATE_DATABASE_URL=" + ownerURL, "REDIS_URL=" + redisURL,
		"SESSION_KEY=" + key, "SECRET_KEYS=test:" + key, "BLOB_URL=file://" + blobs,
		"WORKER_LOST_AFTER=10s", "DRAIN_TIME=0s", "SHUTDOWN_TIMEOUT=5s",
	}, extra...), "\n") + "\n"
	if err := os.WriteFile(settings, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return &installation{t: t, admin: adminURL, flags: []string{
		"--config", settings, "--database-url", appURL, "--redis-url", redisURL,
	}}
}

// run runs a command in this process.
func (i *installation) run(arguments ...string) (stdout, stderr string, code int) {
	var o, e bytes.Buffer
	code = command.Run(i.t.Context(), append(append([]string{}, i.flags...), arguments...),
		command.Streams{In: strings.NewReader(""), Out: &o, Err: &e})
	return o.String(), e.String(), code
}

// mustRun runs a command that must succeed, and returns its output.
func (i *installation) mustRun(arguments ...string) string {
	i.t.Helper()
	stdout, stderr, code := i.run(arguments...)
	if code != 0 {
		i.t.Fatalf("magpie %s: %d\n%s%s", strings.Join(arguments, " "), code, stdout, stderr)
	}
	return stdout
}

// runJSON runs a command with --json and decodes its output.
func (i *installation) runJSON(into any, arguments ...string) {
	i.t.Helper()
	out := i.mustRun(append([]string{"--json"}, arguments...)...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		i.t.Fatalf("magpie %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
}

// process is a running process of the program.
type process struct {
	command *exec.Cmd
	log     string
	exited  chan struct{} // closed after the exit
}

// start starts the program. The process is stopped at the end of the test.
func (i *installation) start(arguments ...string) *process {
	i.t.Helper()
	path, err := program()
	if err != nil {
		i.t.Fatal(err)
	}
	return i.startProgram(path, arguments...)
}

// startProgram is start of another build of the program.
func (i *installation) startProgram(path string, arguments ...string) *process {
	i.t.Helper()
	log, err := os.CreateTemp(i.t.TempDir(), "log")
	if err != nil {
		i.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	p := &process{command: programCommand(path, append(append([]string{}, i.flags...), arguments...)...), log: log.Name(), exited: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = log, log
	if err := p.command.Start(); err != nil {
		i.t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		_ = p.command.Wait()
	}()
	i.running = append(i.running, p)
	i.t.Cleanup(func() {
		p.stop()
		if i.t.Failed() {
			content, _ := os.ReadFile(p.log)
			i.t.Logf("output of %s:\n%s", strings.Join(arguments, " "), content)
		}
	})
	return p
}

func (p *process) signal(s syscall.Signal) { _ = p.command.Process.Signal(s) } // fails after the exit

// stop sends SIGTERM, and SIGKILL when the process does not exit.
func (p *process) stop() {
	p.signal(syscall.SIGTERM)
	timer := time.AfterFunc(20*time.Second, func() { p.signal(syscall.SIGKILL) })
	defer timer.Stop()
	<-p.exited
}

// stopAll stops every process, so that the database does not change any more.
func (i *installation) stopAll() {
	for _, p := range i.running {
		p.stop()
	}
}

// kill sends SIGKILL and waits for the exit.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.exited
}

// output returns the log of the process.
func (p *process) output(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// job is the answer of sync status.
type job struct {
	ID, Status string
	Progress   struct{ Collected, Parsed, Indexed int }
	Stats      struct{ Added, Modified, Deleted, Unchanged, Skipped, Errors int }
	Error      *string
	Warnings   []string
}

// uploadFiles creates a connector with a number of uploaded files and returns its name.
func (i *installation) uploadFiles(files int) string {
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
	i.mustRun("collections", "create", "Docs")
	i.mustRun("connectors", "create", "--name", "Files", "--type", "file_upload", "--collection", "Docs")
	i.mustRun("files", "upload", "Files", root)
	return "Files"
}

func (i *installation) startSync(connector string) job {
	i.t.Helper()
	var j job
	i.runJSON(&j, "sync", "start", connector, "--detach")
	return j
}

// waitJob polls a job until a condition holds. Failures of the command are
// tolerated, since some tests stop the servers.
func (i *installation) waitJob(id string, timeout time.Duration, condition func(job) bool) job {
	i.t.Helper()
	var j job
	testkit.WaitWithin(i.t, timeout, "the job "+id, func() bool {
		stdout, _, code := i.run("--json", "sync", "status", id)
		if code != 0 {
			return false
		}
		j = job{}
		if err := json.Unmarshal([]byte(stdout), &j); err != nil {
			i.t.Fatal(err)
		}
		return condition(j)
	})
	return j
}

// waitStored waits until a number of documents is stored. It polls the database
// in very short intervals, so that the test continues in the middle of a sync
// on a fast machine, too.
func (i *installation) waitStored(documents int) {
	i.t.Helper()
	ctx, cancel := context.WithTimeout(i.t.Context(), time.Minute)
	defer cancel()
	connection, err := pgx.Connect(ctx, i.admin)
	if err != nil {
		i.t.Fatal(err)
	}
	defer func() { _ = connection.Close(ctx) }()
	testkit.WaitFor(i.t, fmt.Sprintf("%d stored documents", documents), func() (enough bool) {
		if err := connection.QueryRow(ctx, `select count(*) >= $1 from documents where status = 'INDEXED'`, documents).Scan(&enough); err != nil {
			i.t.Fatalf("count the stored documents: %v", err)
		}
		return enough
	})
}

func finished(j job) bool { return j.Status != "QUEUED" && j.Status != "RUNNING" }

// query reads one row as a superuser, who sees every row.
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

// checkComplete checks that every file is stored once, with all its passages
// once, and that the ledger agrees.
func (i *installation) checkComplete(files int) {
	i.t.Helper()
	var documents, paths, incomplete, unindexed, ledger int
	i.query(`select count(*), count(distinct path) from documents where status = 'INDEXED'`, &documents, &paths)
	if documents != files || paths != files {
		i.t.Errorf("%d documents with %d paths, want %d", documents, paths, files)
	}
	i.query(`select count(*) from documents d
		where passage_count = 0 or passage_count <> (select count(*) from passages p where p.document_id = d.id)`, &incomplete)
	if incomplete != 0 {
		i.t.Errorf("passage_count of %d documents is wrong", incomplete)
	}
	i.query(`select (select count(*) from passages) - (select count(*) from passage_index)`, &unindexed)
	if unindexed != 0 {
		i.t.Errorf("%d passages are not in passage_index", unindexed)
	}
	i.query(`select count(*) from sync_items where status in ('INDEXED', 'UNCHANGED')`, &ledger)
	if ledger != files {
		i.t.Errorf("the ledger has %d indexed items, want %d", ledger, files)
	}
}
