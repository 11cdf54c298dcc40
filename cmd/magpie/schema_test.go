package main_test

import (
	"database/sql"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/pressly/goose/v3"

	"github.com/magpie-search/magpie/ent/migrate/migrations"
	"github.com/magpie-search/magpie/internal/testkit"
)

const (
	expandStep   = 20991231000000
	contractStep = 20991231000100
)

// migrateLater applies the migrations of this checkout and further ones, as a
// later release would.
func migrateLater(t *testing.T, ownerURL string, further map[int64]string) {
	t.Helper()
	files := fstest.MapFS{}
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		content, err := fs.ReadFile(migrations.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: content}
	}
	for version, content := range further {
		files[fmt.Sprintf("%d_later.sql", version)] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + content)}
	}
	db, err := sql.Open("pgx", ownerURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// checkRefused starts a process, which must exit with an error that has these texts.
func (i *installation) checkRefused(arguments []string, texts ...string) {
	i.t.Helper()
	p := i.start(arguments...)
	p.checkExit(i.t, 30*time.Second, texts...)
}

// checkExit waits for exit code 1 and checks that the last line has these texts.
func (p *process) checkExit(t *testing.T, timeout time.Duration, texts ...string) {
	t.Helper()
	testkit.ReceiveWithin(t, timeout, "the exit of the process", p.exited)
	lines := strings.Split(strings.TrimSuffix(p.output(t), "\n"), "\n")
	line := lines[len(lines)-1]
	if code := p.command.ProcessState.ExitCode(); code != 1 || !strings.HasPrefix(line, "magpie: ") {
		t.Errorf("exit code %d, want 1:\n%s", code, p.output(t))
	}
	for _, text := range texts {
		if !strings.Contains(line, text) {
			t.Errorf("last line %q, want %q in it", line, text)
		}
	}
}

func TestProcessesDoNotStartOnAnUnsupportedSchema(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change string
		want   []string
	}{
		"no tables":         {"", []string{"no tables of Magpie", "magpie migrate up"}},
		"a new schema":      {"drop schema public cascade; create schema public; create extension vector", []string{"magpie_app may not use the schema of pgvector", `grant usage on schema "public" to magpie_app`}},
		"no pgvector":       {"drop extension vector cascade", []string{"no pgvector", "create extension vector"}},
		"an old pgvector":   {"update pg_extension set extversion = '0.7.4' where extname = 'vector'", []string{"pgvector 0.7.4", "0.8", "alter extension vector update"}},
		"an older schema":   {"delete from goose_db_version where version_id = (select max(version_id) from goose_db_version)", []string{"older than this program", "magpie migrate up"}},
		"a newer schema":    {fmt.Sprintf("insert into goose_db_version (version_id, is_applied) values (%[1]d, true); update schema_floor set step = %[1]d", contractStep), []string{"newer than this program", "run a newer release"}},
		"a missing table":   {"drop table passages cascade", []string{"lacks the table passages"}},
		"without privilege": {"revoke select on passages from magpie_app", []string{"lacks the privilege SELECT on the table passages", "magpie migrate up"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := testkit.Database(t)
			if c.change == "" {
				database = testkit.EmptyDatabase(t)
			}
			i := configure(t, database.AdminURL, database.OwnerURL, database.AppURL, testkit.Redis(t), t.TempDir())
			i.execute(c.change)
			for _, arguments := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"worker"}} {
				i.checkRefused(arguments, c.want...)
			}
		})
	}
}

func TestRunningProcessesCheckTheSchema(t *testing.T) {
	t.Parallel()
	database := testkit.Database(t)
	i := install(t, database.AdminURL, database.OwnerURL, database.AppURL, testkit.Redis(t))
	address := i.start("serve", "--listen", "127.0.0.1:0").address(t)
	worker := i.start("worker")
	ready := func(want int, texts ...string) {
		t.Helper()
		status, body := get(t, address+"/readyz", "")
		if status != want {
			t.Errorf("/readyz: %d %s", status, body)
		}
		for _, text := range texts {
			if !strings.Contains(body, text) {
				t.Errorf("/readyz: %s, want %q", body, text)
			}
		}
	}
	ready(http.StatusOK, `"schema":"ok"`)

	// After an expanding migration of a later release the running processes work,
	// and new ones of this release start.
	expand := "alter table workspaces add column motto text;"
	migrateLater(t, database.OwnerURL, map[int64]string{expandStep: expand})
	ready(http.StatusOK, `"schema":"ok"`)
	connector := i.uploadFiles(3)
	var synced job
	if i.runJSON(&synced, "sync", "start", connector); synced.Status != "COMPLETED" || synced.Stats.Added != 3 {
		t.Errorf("a sync on the expanded schema: %+v", synced)
	}
	i.start("serve", "--listen", "127.0.0.1:0").address(t)
	i.mustRun("migrate", "up") // by the older release: nothing to do
	i.mustRun("migrate", "status")

	// A contracting migration drops an object that this release needs.
	migrateLater(t, database.OwnerURL, map[int64]string{
		expandStep:   expand,
		contractStep: fmt.Sprintf("drop function magpie_model_changes;\nupdate schema_floor set step = greatest(step, %d);", expandStep),
	})
	ready(http.StatusServiceUnavailable, `"schema":"unavailable"`, `"database":"ok"`, `"reasons":{"schema":"the schema is newer than this program`, "run a newer release of Magpie")
	if status, body := get(t, address+"/healthz", ""); status != http.StatusOK {
		t.Errorf("/healthz: %d %s", status, body)
	}
	worker.checkExit(t, 30*time.Second, "newer than this program")
	i.checkRefused([]string{"serve", "--listen", "127.0.0.1:0"}, "newer than this program", "run a newer release")
	if _, stderr, code := i.run("migrate", "up"); code != 1 || !strings.Contains(stderr, "newer than this program") {
		t.Errorf("migrate up: %d %s", code, stderr)
	}

	// After a rollback the processes work without a restart. The reason names an
	// object that was dropped by hand.
	i.execute(fmt.Sprintf("delete from goose_db_version where version_id >= %d; update schema_floor set step = 20261101003600", expandStep))
	ready(http.StatusServiceUnavailable, "lacks the function magpie_model_changes()")
	i.execute("create function magpie_model_changes() returns void language sql as ''; alter function magpie_model_changes() owner to magpie_owner")
	ready(http.StatusServiceUnavailable, "lacks the privilege EXECUTE on the function magpie_model_changes()", "magpie migrate up")
	i.mustRun("migrate", "up")
	ready(http.StatusOK, `"schema":"ok"`)
	i.execute("delete from goose_db_version where version_id = (select max(version_id) from goose_db_version)")
	ready(http.StatusServiceUnavailable, "older than this program", "magpie migrate up")
	i.execute("drop schema public cascade; create schema public")
	ready(http.StatusServiceUnavailable, `"schema":"unavailable"`, "no pgvector")
}
