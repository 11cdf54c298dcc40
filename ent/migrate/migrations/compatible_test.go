package migrations_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"

	"github.com/magpie-search/magpie/ent/migrate/migrations"
)

// recorded is the newest step of the schema before the rule began to be checked.
const recorded = 20261129000200

// breaks are what a program of the previous release would notice.
var breaks = []struct {
	what    string
	pattern *regexp.Regexp
}{
	{"drops a table", regexp.MustCompile(`(?i)\bdrop\s+table\b`)},
	{"drops a column", regexp.MustCompile(`(?i)\balter\s+table\b.*\bdrop\s+(column\s+)?(if\s+exists\s+)?"?[a-z_]+"?`)},
	{"drops a function", regexp.MustCompile(`(?i)\bdrop\s+function\b`)},
	{"renames", regexp.MustCompile(`(?i)\brename\s+(to|column|constraint)\b|\balter\s+table\b.*\brename\b`)},
	{"changes the type of a column", regexp.MustCompile(`(?i)\balter\s+(column\s+)?"?[a-z_]+"?\s+(set\s+data\s+)?type\b`)},
	{"makes a column required", regexp.MustCompile(`(?i)\bset\s+not\s+null\b`)},
	{"takes a default away", regexp.MustCompile(`(?i)\bdrop\s+default\b`)},
	{"takes a privilege away", regexp.MustCompile(`(?i)\brevoke\b.*\bfrom\s+magpie_app\b`)},
}

var (
	comments  = regexp.MustCompile(`(?m)--.*$`)
	added     = regexp.MustCompile(`(?is)\badd\s+column\s+(if\s+not\s+exists\s+)?"?([a-z_]+)"?([^,;]*)`)
	notDrop   = regexp.MustCompile(`(?i)\bdrop\s+(constraint|not\s+null|expression)\b`)
	created   = regexp.MustCompile(`(?is)\bcreate\s+table\s+(if\s+not\s+exists\s+)?"?([a-z_]+)"?`)
	revokedOf = regexp.MustCompile(`(?is)\bon\s+(table\s+)?"?([a-z_]+)"?\s+from`)
)

// incompatible returns what a step does that the previous release would notice.
func incompatible(content string) (found []string) {
	content, _, _ = strings.Cut(content, "-- +goose Down")
	content = comments.ReplaceAllString(content, "")
	if strings.Contains(strings.ToLower(content), "update schema_floor") {
		return nil // the step says that older programs may no longer run
	}
	own := map[string]bool{}
	for _, m := range created.FindAllStringSubmatch(content, -1) {
		own[m[2]] = true
	}
	for statement := range strings.SplitSeq(content, ";") {
		line := strings.Join(strings.Fields(statement), " ")
		for _, b := range breaks {
			if !b.pattern.MatchString(notDrop.ReplaceAllString(line, "")) {
				continue
			}
			if m := revokedOf.FindStringSubmatch(line); b.what == "takes a privilege away" && m != nil && own[m[2]] {
				continue // of a table that the step makes
			}
			found = append(found, b.what+": "+line)
		}
		for _, m := range added.FindAllStringSubmatch(line, -1) {
			definition := strings.ToLower(m[3])
			if strings.Contains(definition, "not null") && !strings.Contains(definition, "default") && !strings.Contains(definition, "generated") {
				found = append(found, "adds the required column "+m[2]+" without a default: "+line)
			}
		}
	}
	return found
}

// The program of the previous release runs on the schema of this one (docs/upgrade.md).
func TestNoStepBreaksThePreviousRelease(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			t.Fatal(err)
		}
		if version <= recorded {
			continue
		}
		content, err := fs.ReadFile(migrations.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range incompatible(string(content)) {
			t.Errorf("%s %s. Do it in a later release, in a step that raises schema_floor (docs/upgrade.md)", name, problem)
		}
	}
}

func TestIncompatibleStepsAreRecognized(t *testing.T) {
	t.Parallel()
	for _, step := range []string{
		`drop table tokens;`, `ALTER TABLE "a" DROP COLUMN "b";`, `alter table a add column c int, drop b;`, `alter table a rename column b to c;`, `alter table a rename to b;`,
		"alter table a\n  alter column b type bigint;", `alter table a alter b set data type text;`, `ALTER TABLE "a" ADD COLUMN "c" uuid NOT NULL;`,
		`alter table a add column b int not null default 0, add column c text not null;`, `alter table a alter column b set not null;`, `alter table a alter b drop default;`,
		`revoke insert on documents from magpie_app;`, `drop function magpie_hits(uuid);`,
	} {
		if len(incompatible("-- +goose Up\n"+step)) == 0 {
			t.Errorf("not recognized: %s", step)
		}
		if found := incompatible("-- +goose Up\nselect 1;\n-- +goose Down\n" + step); len(found) > 0 {
			t.Errorf("of the way back: %v", found)
		}
		if found := incompatible(step + " update schema_floor set step = greatest(step, 1);"); len(found) > 0 {
			t.Errorf("with a floor: %v", found)
		}
	}
	for _, step := range []string{
		`ALTER TABLE "a" ADD COLUMN "c" uuid NULL, ADD COLUMN "d" text NOT NULL DEFAULT '';`, `create table x (id uuid not null); revoke all on x from magpie_app;`,
		`alter table a drop constraint a_b_fk;`, `alter table a alter column b drop not null;`, `create index i on a (b); drop index j;`, `-- drop table a`,
		`create or replace function f() returns int language sql as 'select 1';`,
	} {
		if found := incompatible("-- +goose Up\n" + step); len(found) > 0 {
			t.Errorf("%s: %v", step, found)
		}
	}
}
