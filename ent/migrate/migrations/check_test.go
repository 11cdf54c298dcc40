package migrations_test

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/magpie-search/magpie/ent/migrate/migrations"
	"github.com/magpie-search/magpie/internal/testkit"
)

const (
	floorStep = 20261101003600
	laterStep = 20991231000000
	lastStep  = 20991231000100
)

// with returns the steps of this checkout and additional ones.
func with(t *testing.T, further map[int64]string) fs.FS {
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
		files[fmt.Sprintf("%d_further.sql", version)] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + content)}
	}
	return files
}

// application opens a database as the role of the application.
func application(t *testing.T, url string) *sql.DB {
	t.Helper()
	db := open(t, url)
	db.SetMaxOpenConns(1)
	execute(t, db, "set role magpie_app")
	return db
}

func TestAProcessWorksOnTheSchemaThatItKnows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change string // by a superuser
		want   []string
	}{
		"as it is":             {"", nil},
		"no tables":            {"drop schema public cascade; create schema public; create extension vector", []string{"no tables of Magpie", "run magpie migrate up"}},
		"no pgvector":          {"drop extension vector cascade", []string{"no pgvector", "create extension vector"}},
		"an old pgvector":      {"update pg_extension set extversion = '0.7.4' where extname = 'vector'", []string{"has pgvector 0.7.4", "0.8 or later", "alter extension vector update"}},
		"a newer pgvector":     {"update pg_extension set extversion = '0.12.0' where extname = 'vector'", nil},
		"an even newer one":    {"update pg_extension set extversion = '1.0' where extname = 'vector'", nil},
		"one step less":        {"delete from goose_db_version where version_id = (select max(version_id) from goose_db_version)", []string{"older than this program", "lacks 1 of", "run magpie migrate up"}},
		"a step left out":      {"delete from goose_db_version where version_id = 20261101000400", []string{"lacks 1 of", "20261101000400"}},
		"before the floor":     {"drop table schema_floor", []string{"older than this program", "run magpie migrate up"}},
		"a table less":         {"drop table passages cascade", []string{"lacks the table passages", "restore a backup"}},
		"a function less":      {"drop function magpie_model_changes", []string{"lacks the function magpie_model_changes()"}},
		"no privileges":        {"revoke all on all tables in schema public from magpie_app", []string{"magpie_app may not read", "run magpie migrate up"}},
		"a privilege less":     {"revoke insert on passages from magpie_app", []string{"lacks the privilege INSERT on the table passages", "run magpie migrate up"}},
		"more privileges":      {"grant all on passages to magpie_app", nil},
		"an expanded schema":   {"insert into goose_db_version (version_id, is_applied) values (20991231000000, true)", nil},
		"a contracted one":     {"insert into goose_db_version (version_id, is_applied) values (20991231000000, true); update schema_floor set step = 20991231000000", []string{"newer than this program", "20991231000000", "run a newer release of Magpie"}},
		"a floor without rows": {"delete from schema_floor", []string{"schema_floor is empty"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := testkit.Database(t)
			db := application(t, database.AppURL)
			if c.change != "" {
				execute(t, open(t, database.AdminURL), c.change)
			}
			err := migrations.Check(t.Context(), db)
			if c.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			mismatch(t, err, c.want...)
		})
	}
}

func TestADatabaseThatDoesNotAnswerIsNoMismatch(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := migrations.Check(ctx, application(t, testkit.Database(t).AppURL)); err == nil || strings.Contains(err.Error(), "run ") {
		t.Errorf("%v", err)
	}
}

// The current release, the next one, which adds a column, and the one after that, which drops a function.
func TestProcessesOfTheReleaseBeforeWorkThroughAMigration(t *testing.T) {
	t.Parallel()
	database := testkit.Database(t)
	owner, app := open(t, database.OwnerURL), application(t, database.AppURL)
	today := migrations.Files
	next := with(t, map[int64]string{laterStep: "alter table workspaces add column motto text;"})
	last := with(t, map[int64]string{
		laterStep: "-- as before",
		lastStep:  fmt.Sprintf("drop function magpie_model_changes;\nupdate schema_floor set step = greatest(step, %d);", laterStep),
	})
	check := func(release string, files fs.FS, want ...string) {
		t.Helper()
		err := migrations.CheckWith(t.Context(), app, files)
		switch {
		case len(want) > 0:
			mismatch(t, err, want...)
		case err != nil:
			t.Errorf("%s: %v", release, err)
		}
	}
	up := func(files fs.FS) {
		t.Helper()
		if err := migrations.UpWith(t.Context(), owner, files); err != nil {
			t.Fatal(err)
		}
	}
	check("today", today)
	check("next", next, "older than this program", "lacks 1 of", strconv.Itoa(laterStep))
	up(next)
	check("today", today)
	check("next", next)
	check("last", last, "lacks 1 of", strconv.Itoa(lastStep))
	up(today) // by a process of the release before: it leaves alone what it does not know
	up(last)
	check("next", next)
	check("last", with(t, map[int64]string{laterStep: "", lastStep: ""}), "lacks the function magpie_model_changes()") // its list is today's
	check("today", today, "newer than this program", fmt.Sprintf("serves programs that know step %d", laterStep))
	mismatch(t, migrations.UpWith(t.Context(), owner, today), "newer than this program", "run a newer release")
}

// A failed step rolls back its floor.
func TestAFloorIsRaisedWithItsStep(t *testing.T) {
	t.Parallel()
	database := testkit.Database(t)
	files := with(t, map[int64]string{laterStep: fmt.Sprintf("update schema_floor set step = greatest(step, %d);\ndrop table no_such_table;", laterStep)})
	if err := migrations.UpWith(t.Context(), open(t, database.OwnerURL), files); err == nil || !strings.Contains(err.Error(), "no_such_table") {
		t.Fatalf("%v", err)
	}
	if err := migrations.Check(t.Context(), application(t, database.AppURL)); err != nil {
		t.Error(err)
	}
}

// breaking returns the statement of a step that breaks an older program, or "".
func breaking(step string) string {
	step, _, _ = strings.Cut(step, "-- +goose Down")
	var code []string
	for line := range strings.Lines(step) {
		line, _, _ = strings.Cut(line, "--")
		code = append(code, strings.TrimSpace(line))
	}
	text := strings.ToLower(strings.Join(code, " "))
	for _, dropped := range regexp.MustCompile(`\bdrop\s+"?(\w+)( null)?`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains([]string{"index", "constraint", "trigger", "policy", "expression"}, dropped[1]) && dropped[1]+dropped[2] != "not null" {
			return dropped[0] // also a column, without the word
		}
	}
	for _, pattern := range []string{
		`\brename\s+(to|column|"?\w+"?\s+to)\b[^;]*`,
		`\balter\s+(column\s+)?"?\w+"?\s+(set\s+data\s+)?type\b[^;]*`,
		`\bset\s+not\s+null\b`,
		`\brevoke\b[^;]*\bfrom\s+magpie_app\b`,
	} {
		for _, found := range regexp.MustCompile(pattern).FindAllString(text, -1) {
			if table := regexp.MustCompile(`^revoke .* on (?:table )?"?(\w+)"? from magpie_app$`).FindStringSubmatch(found); table != nil &&
				regexp.MustCompile(`create table "?`+table[1]+`"? `).MatchString(text) {
				continue // of a table that nobody knows yet
			}
			if strings.HasPrefix(found, "rename") && regexp.MustCompile(`alter index [^;]*`+regexp.QuoteMeta(found)).MatchString(text) {
				continue // no statement names an index
			}
			return found
		}
	}
	for _, added := range regexp.MustCompile(`add column[^,;]*not null[^,;]*`).FindAllString(text, -1) {
		if !strings.Contains(added, "default") && !strings.Contains(added, "generated") {
			return added
		}
	}
	return ""
}

var raised = regexp.MustCompile(`(?m)^update schema_floor set step = greatest\(step, (\d+)\);$`)

// unsafeStep returns the problem of the step of a version, or "".
func unsafeStep(version int64, text string, known []int64) string {
	taken := breaking(text)
	statements := raised.FindAllStringSubmatch(text, -1)
	switch {
	case taken == "" && len(statements) == 0:
		return ""
	case len(statements) == 0:
		return fmt.Sprintf("%q breaks programs of the release before: let it wait for a release in which no program needs it,"+
			" and add: update schema_floor set step = greatest(step, <the newest step of the release since which none does>);", taken)
	case len(statements) > 1:
		return "it raises the floor twice"
	}
	floor, err := strconv.ParseInt(statements[0][1], 10, 64)
	if err != nil || floor > version || !slices.Contains(known, floor) {
		return fmt.Sprintf("the floor %s is no step up to this one", statements[0][1])
	}
	return ""
}

// Every program knows the steps up to the one that introduced the floor.
func TestAStepThatTakesSomethingAwayRaisesTheFloor(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d steps, %v", len(names), err)
	}
	var known []int64
	texts := map[int64]string{}
	for _, name := range names {
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		content, err := fs.ReadFile(migrations.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		known, texts[version] = append(known, version), string(content)
	}
	for _, version := range known {
		if problem := unsafeStep(version, texts[version], known); problem != "" && version > floorStep {
			t.Errorf("step %d: %s", version, problem)
		}
	}
	// The test itself detects unsafe steps.
	older := map[int64]bool{20261101000700: true, 20261101001200: true, 20261101001700: true, 20261101002500: true, 20261101002600: true}
	for version := range maps.Keys(older) {
		if breaking(texts[version]) == "" {
			t.Errorf("step %d takes something away, and was not seen to", version)
		}
	}
	for text, broken := range map[string]bool{
		"drop function magpie_hits;":                                                                         true,
		"alter table users drop column name, drop column x;":                                                 true,
		"ALTER TABLE \"users\" DROP COLUMN \"name\";":                                                        true,
		"ALTER TABLE users DROP name;":                                                                       true,
		"alter table users alter name drop not null, drop mail;":                                             true,
		"alter table users alter name drop not null;":                                                        false,
		"alter table users alter name drop default;":                                                         true,
		"alter table users rename name to title;":                                                            true,
		"alter table users rename to people;":                                                                true,
		"alter index a rename to b;":                                                                         false,
		"alter table users alter column name type bigint;":                                                   true,
		"alter table users alter name set not null;":                                                         true,
		"alter table users add column a text not null;":                                                      true,
		"alter table users add column a text not null default ''; alter table users add b text;":             false,
		"ALTER TABLE \"users\" ADD COLUMN \"a\" boolean NOT NULL DEFAULT false, ADD COLUMN \"b\" text NULL;": false,
		"revoke insert on users from magpie_app;":                                                            true,
		"create table a (b bigint); revoke all on a from magpie_app; grant select on a to magpie_app;":       false,
		"-- drop table users\ncreate index a on users (id);":                                                 false,
		"-- +goose Down\ndrop table users;":                                                                  false,
		"drop index a; alter table a drop constraint b;":                                                     false,
		"drop trigger a on b; create or replace function a() returns void language sql as '';":               false,
	} {
		if got := unsafeStep(laterStep, text, []int64{laterStep}) != ""; got != broken {
			t.Errorf("%q: %v", text, got)
		}
		raise := text + fmt.Sprintf("\nupdate schema_floor set step = greatest(step, %d);\n", laterStep)
		if problem := unsafeStep(laterStep, raise, []int64{laterStep}); problem != "" {
			t.Errorf("%q: %s", raise, problem)
		}
		if broken && unsafeStep(laterStep, raise, nil) == "" {
			t.Errorf("%q: a floor that is no step", raise)
		}
	}
}
