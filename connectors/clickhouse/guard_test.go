package clickhouse_test

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/clickhouse"
)

// statements reads a file of testdata with one statement in a line.
func statements(t testing.TB, name string) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, `"`) {
			if lines[i], err = strconv.Unquote(line); err != nil {
				t.Fatalf("%s, line %d: %v", name, i+1, err)
			}
		}
	}
	return lines
}

// hostile returns the hostile statements that the engine refuses, too, and the
// others.
func hostile(t testing.TB) (refused, harmless []string) {
	t.Helper()
	lines := statements(t, "hostile.txt")
	middle := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "# The engine may run these") })
	isComment := func(line string) bool { return strings.HasPrefix(line, "# ") }
	refused, harmless = slices.DeleteFunc(slices.Clone(lines[:middle]), isComment), slices.DeleteFunc(slices.Clone(lines[middle:]), isComment)
	if len(refused)+len(harmless) < 120 {
		t.Fatalf("only %d hostile statements", len(refused)+len(harmless))
	}
	return refused, harmless
}

func isRefused(err error) bool {
	wrong, ok := errors.AsType[*connectors.QueryError](err)
	return ok && wrong.Refused && wrong.Message != "" && len(wrong.Message) <= 4*1000
}

func TestReadingStatementsAreAllowed(t *testing.T) {
	t.Parallel()
	for _, sql := range statements(t, "reads.txt") {
		s, err := clickhouse.Inspect(sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if again, err := clickhouse.Inspect(s.Text); err != nil || again.Text != s.Text {
			t.Errorf("%s is sent as %s, which is %v, %v", sql, s.Text, again, err)
		}
	}
}

func TestTablesOfAStatement(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"select * from a, b.c":                                          ".a b.c",
		"select * from a join b using x":                                ".a .b",
		"select 1 in c, 2 in (d), 3 not in ((e)), x global in f.g":      ".c .d .e f.g",
		"select 1 in (a, b), 2 in [c], x in tuple(d)":                   "",
		"with x as (select * from a) select * from x, y":                ".a .y",
		"with (select max(i) from a) as m select m from b array join t": ".a .b",
		"select (select 1 from a) from (select * from b union all (select * from c)) where d in (select e from f)": ".a .b .c .f",
		"describe a.b":                     "a.b",
		"explain pipeline select * from a": ".a",
		"select case when 1 then (select 1 from a) end order by (select 1 from b)": ".a .b",
		"select arrayMap(x -> (select 1 from a), [1]) limit (select 1 from b)":     ".a .b",
		"select sum((select 1 from a)) over (partition by (select 1 from b))":      ".a .b",
	} {
		s, err := clickhouse.Inspect(sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		var names []string
		for _, table := range s.Tables {
			names = append(names, table.Database+"."+table.Name)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s reads %s, want %s", sql, got, want)
		}
	}
}

func TestLongAndDeepStatementsAreRefused(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"long": "select '" + strings.Repeat("x", connectors.MaxStatement) + "'", "deep": "select " + strings.Repeat("(", 9000) + "1" + strings.Repeat(")", 9000),
		"deep selects": strings.Repeat("select (", 2000) + "1" + strings.Repeat(")", 2000), "deep not": "select " + strings.Repeat("not ", 4900) + "true",
		"deep arrays": "select " + strings.Repeat("[", 9000) + "1" + strings.Repeat("]", 9000), "deep lambdas": "select " + strings.Repeat("x->", 6000) + "1",
		"deep choices": "select " + strings.Repeat("1?", 6000) + "1" + strings.Repeat(":1", 3000), "unions": "select 1" + strings.Repeat(" union all select 1", 1000),
	} {
		if _, err := clickhouse.Inspect(sql); !isRefused(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGrants(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		"GRANT SELECT ON shop.* TO r": "", "GRANT SHOW TABLES, SHOW COLUMNS, SELECT(a, b) ON shop.t TO r": "", "GRANT dictGet ON *.* TO r": "",
		"GRANT SELECT, INSERT(a, b), ALTER UPDATE ON shop.* TO r": "INSERT,ALTER UPDATE", "GRANT ALL ON *.* TO r WITH GRANT OPTION": "ALL,GRANT OPTION",
		"GRANT READ ON URL TO r": "READ", "GRANT SOURCES ON *.* TO r": "SOURCES", "GRANT CREATE TEMPORARY TABLE ON *.* TO r": "CREATE TEMPORARY TABLE",
		"GRANT SELECT ON *.* TO r\nREVOKE SELECT ON hr.* FROM r": "", "GRANT maker, `a b` TO r": " roles maker,a b", "what": "grants that cannot be read",
	} {
		more, roles := clickhouse.ExtraPrivileges(strings.Split(lines, "\n"))
		got := strings.Join(more, ",")
		if len(roles) > 0 {
			got += " roles " + strings.Join(roles, ",")
		}
		if got != want {
			t.Errorf("%s: %s, want %s", lines, got, want)
		}
	}
}

func TestValuesOfEnumeratedTypes(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string][]string{
		`Enum8('a' = 1, 'it\'s' = -2, 'tab\t\\' = 3)`: {"a", "it's", "tab\t\\"}, `Nullable(Enum16('x' = 1))`: {"x"}, `LowCardinality(String)`: nil, `Array(Enum8('a' = 1))`: nil,
		`Enum8('a, \'b\' = 5' = 1)`: {"a, 'b' = 5"},
	} {
		if got := clickhouse.EnumValues(kind); !slices.Equal(got, want) {
			t.Errorf("%s: %q", kind, got)
		}
	}
}

func FuzzInspect(f *testing.F) {
	for _, sql := range statements(f, "reads.txt") {
		f.Add(sql)
	}
	refused, harmless := hostile(f)
	for _, sql := range append(refused, harmless...) {
		f.Add(sql)
	}
	first := regexp.MustCompile(`(?i)^[\s(;]*(select|with|explain|describe|desc|show)\b`)
	f.Fuzz(func(t *testing.T, sql string) {
		s, err := clickhouse.Inspect(sql)
		if err != nil {
			if !isRefused(err) {
				t.Fatalf("%q: %v", sql, err)
			}
			return
		}
		if !first.MatchString(s.Text) {
			t.Fatalf("%q is sent as %q", sql, s.Text)
		}
		// What is sent means the same when it is read again.
		again, err := clickhouse.Inspect(s.Text)
		if err != nil || again.Text != s.Text || !slices.Equal(again.Tables, s.Tables) {
			t.Fatalf("%q is sent as %q, which is %v, %v", sql, s.Text, again, err)
		}
	})
}
