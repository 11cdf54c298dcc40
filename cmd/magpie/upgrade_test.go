package main_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"

	"github.com/magpie-search/magpie/internal/testkit"
)

// previous asks for the test with the program of the previous schema, which takes minutes.
var previous = flag.Bool("previous-program", false, "build the program of the previous schema and run it on the present one")

const migrationsFolder = "ent/migrate/migrations"

// git runs git in the repository.
func git(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	var stderr bytes.Buffer
	command := exec.CommandContext(t.Context(), "git", append([]string{"-C", filepath.Join("..", "..")}, arguments...)...)
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", strings.Join(arguments, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), err
}

// previousProgram builds the program of the commit before the newest step of the schema was added, and returns its newest step.
func previousProgram(t *testing.T) (path string, newest int64) {
	t.Helper()
	added, err := git(t, "log", "-1", "--format=%H", "--diff-filter=A", "--", migrationsFolder+"/*.sql")
	if err != nil || added == "" {
		t.Skipf("the history of the repository is not here (a shallow or exported copy): %v", err)
	}
	commit, err := git(t, "rev-parse", "--verify", "--quiet", added+"^")
	if err != nil {
		t.Skipf("the history of the repository ends at the newest step of the schema: %v", err)
	}
	folder := filepath.Join(t.TempDir(), "previous")
	if _, err := git(t, "worktree", "add", "--detach", folder, commit); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		out, err := exec.Command("git", "-C", filepath.Join("..", ".."), "worktree", "remove", "--force", folder).CombinedOutput()
		if err != nil {
			t.Errorf("remove the worktree: %v\n%s", err, out)
		}
	})
	path = filepath.Join(t.TempDir(), "magpie")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./cmd/magpie")
	build.Dir = folder
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program of %s: %v\n%s", commit, err, output)
	}
	steps, err := filepath.Glob(filepath.Join(folder, migrationsFolder, "*.sql"))
	if err != nil || len(steps) == 0 {
		t.Fatalf("%d steps, %v", len(steps), err)
	}
	if newest, err = goose.NumericComponent(slices.Max(steps)); err != nil {
		t.Fatal(err)
	}
	t.Logf("the previous program is that of %s, with the step %d", commit, newest)
	return path, newest
}

// refuses checks that a program of before the floor of the schema ends with a line that says so.
func (i *installation) refuses(program string) {
	i.t.Helper()
	for _, arguments := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"worker"}} {
		out, err := programCommand(program, append(append([]string{}, i.flags...), arguments...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "the schema is newer than this program") || !strings.Contains(string(out), "run a newer release of Magpie") {
			i.t.Errorf("%s of the previous program: %v\n%s", arguments[0], err, out)
		}
	}
}

// The program of the previous schema signs people in, searches, uploads and syncs on the present
// schema, beside the present program, and finds what that has made. If the schema does not serve it any more, it refuses to work.
func TestThePreviousProgramRunsOnThisSchema(t *testing.T) {
	t.Parallel()
	if !*previous {
		t.Skip("takes minutes; make test-upgrade runs it")
	}
	old, newest := previousProgram(t)
	database := testkit.Database(t) // migrated by the present program
	i := install(t, database.AdminURL, database.OwnerURL, database.AppURL, testkit.Redis(t), "SECRET_RATE_LIMIT=0")
	connection, err := pgx.Connect(t.Context(), database.OwnerURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close(context.WithoutCancel(t.Context())) }()
	var floor int64
	if err := connection.QueryRow(t.Context(), "select step from schema_floor").Scan(&floor); err != nil {
		t.Fatal(err)
	}
	if floor > newest {
		i.refuses(old)
		return
	}
	oldRun := func(arguments ...string) string {
		t.Helper()
		var stderr bytes.Buffer
		command := programCommand(old, append(append([]string{}, i.flags...), arguments...)...)
		command.Stderr = &stderr
		out, err := command.Output()
		if err != nil {
			t.Fatalf("the previous program: %s: %v\n%s%s", strings.Join(arguments, " "), err, out, stderr.String())
		}
		return string(out)
	}
	name := i.uploadFiles(6)
	var keys struct{ SecretKey string }
	i.runJSON(&keys, "keys", "create", "--name", "Test", "--host", "*", "--all-collections")
	oldServer, oldWorker := i.startProgram(old, "serve", "--listen", "127.0.0.1:0"), i.startProgram(old, "worker")
	newServer := i.start("serve", "--listen", "127.0.0.1:0")
	i.mustRun("sync", "start", name) // by the previous worker
	password := strings.TrimSpace(oldRun("users", "create", "ada@example.com"))
	_, password, _ = strings.Cut(password, "password")
	password = strings.TrimSpace(password)
	for _, p := range []*process{oldServer, newServer} {
		address := p.address(t)
		if status, body := get(t, address+"/v1/docs/search?min_score=0&query=page3", keys.SecretKey); status != http.StatusOK || !strings.Contains(body, `"title":"Page 3"`) {
			t.Errorf("search: %d %s", status, body)
		}
		if status, body := request(t, http.MethodPost, address+"/api/v1/auth/login", `{"email":"ada@example.com","password":"`+password+`"}`, "Content-Type", "application/json"); status != http.StatusOK {
			t.Errorf("sign in: %d %s", status, body)
		}
	}
	more := filepath.Join(t.TempDir(), "more.md")
	if err := os.WriteFile(more, []byte("# More\n\nThe previous program has uploaded this giraffe."), 0o600); err != nil {
		t.Fatal(err)
	}
	oldRun("files", "upload", name, more)
	oldRun("sync", "start", name)
	oldWorker.stop()
	i.start("worker")
	i.mustRun("sync", "start", name, "--mode", "full") // by the present worker
	for _, p := range []*process{oldServer, newServer} {
		if status, body := get(t, p.address(t)+"/v1/docs/search?min_score=0&query=giraffe", keys.SecretKey); status != http.StatusOK || !strings.Contains(body, `"title":"More"`) {
			t.Errorf("search after both: %d %s", status, body)
		}
	}
	i.checkComplete(7)
}
