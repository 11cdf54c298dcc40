package mssql_test

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/mssql"
)

// statements reads a file of testdata with one statement in a line.
func statements(t testing.TB, name string) []string {
	t.Helper()
	content, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, `"`) {
			if lines[i], err = strconv.Unquote(line); err != nil {
				t.Fatalf("%s, line %d: %v", name, i+1, err)
			}
		}
	}
	return lines
}

func isRefused(err error) bool {
	wrong, ok := errors.AsType[*connectors.QueryError](err)
	return ok && wrong.Refused && wrong.Message != "" && len(wrong.Message) <= 4*1000
}

func TestReadingStatementsAreAllowed(t *testing.T) {
	t.Parallel()
	for _, sql := range statements(t, "reads.txt") {
		s, err := mssql.Inspect(sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if again, err := mssql.Inspect(s.Text); err != nil || again.Text != s.Text {
			t.Errorf("%s is sent as %s, which is %v, %v", sql, s.Text, again, err)
		}
	}
}

// What the check alone refuses, without the server's answer about a name.
func TestHostileStatementsAreRefusedOrNameATable(t *testing.T) {
	t.Parallel()
	for _, sql := range statements(t, "hostile.txt") {
		s, err := mssql.Inspect(sql)
		if err == nil && !slices.ContainsFunc(s.Tables, isHidden) {
			t.Errorf("%q is allowed and reads %v", sql, s.Tables)
		}
		if err != nil && !isRefused(err) {
			t.Errorf("%q: %v", sql, err)
		}
	}
}

// isHidden reports whether a connector of dbo, without secrets, does not show a table.
func isHidden(n mssql.Name) bool {
	return n.Database != "" && n.Database != "shop" || n.Schema != "" && n.Schema != "dbo" || strings.EqualFold(n.Name, "secrets") || n.Name == "synonym_of_secrets"
}

func TestTablesOfAStatement(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"select * from a, b.c, [d e].[f]]g]":                                         "..a .b.c .d e.f]g",
		"select * from a x join b as y on x.i = y.i cross apply (select 1 from c) z": "..a ..b ..c",
		"with x as (select * from a) select * from x, y":                             "..a ..y",
		"with x as (select * from y), y as (select 1 as i) select * from x, y":       "..y",
		"select trim('a' from b) from c where d is distinct from e":                  "..c",
		"select * from d..t": "d..t",
		"select (select 1 from a) from (select * from b union all (select * from c)) q where d in (select e from f)": "..a ..b ..c ..f",
		"select * from (a join b on a.x = b.x) join (values (c.d, e.f)) v(g, h) on 1 = 1":                            "..a ..b",
		"select 1 from a order by (select 1 from b), c offset 1 rows":                                                "..a ..b",
	} {
		s, err := mssql.Inspect(sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		var names []string
		for _, table := range s.Tables {
			names = append(names, table.Database+"."+table.Schema+"."+table.Name)
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
		"deep comments": "select 1 " + strings.Repeat("/*", 9000),
	} {
		if _, err := mssql.Inspect(sql); !isRefused(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzInspect(f *testing.F) {
	for _, file := range []string{"reads.txt", "hostile.txt"} {
		for _, sql := range statements(f, file) {
			f.Add(sql)
		}
	}
	first := regexp.MustCompile(`(?i)^[\s(]*(select|with)\b`)
	f.Fuzz(func(t *testing.T, sql string) {
		s, err := mssql.Inspect(sql)
		if err != nil {
			if !isRefused(err) {
				t.Fatalf("%q: %v", sql, err)
			}
			return
		}
		if !first.MatchString(s.Text) {
			t.Fatalf("%q is sent as %q", sql, s.Text)
		}
		again, err := mssql.Inspect(s.Text)
		if err != nil || again.Text != s.Text || !slices.Equal(again.Tables, s.Tables) {
			t.Fatalf("%q is sent as %q, which is %v, %v", sql, s.Text, again, err)
		}
	})
}
