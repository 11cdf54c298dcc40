package mssql_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors/mssql"
)

// aliases are words that T-SQL does not reserve, and that have a meaning in some place of a
// query, so that a table or column can have them as an alias.
var aliases = strings.Fields(`window apply offset first next path root raw auto elements sets rollup cube within ties rows row only time zone char nchar varchar decimal
 float binary value system_time xml json partition range absent abs max upper cast openjson string_split at contained filter respect nulls using limit recursive lateral a [for] "where"`)

// maxWritten bounds the depth of the statements that are written.
const maxWritten = 4

// A writer writes statements and notes which tables they read.
type writer struct {
	*rand.Rand
	tables []string
	ctes   []string
	depth  int
}

func (w *writer) one(of ...string) string { return of[w.IntN(len(of))] }

// table returns what can be in FROM, with an alias or without.
func (w *writer) table() string {
	alias := w.one("", " "+w.one(aliases...), " as "+w.one(aliases...))
	w.depth++
	switch w.IntN(6) {
	case 0:
		if w.depth < maxWritten {
			return "(" + w.query() + ") as " + w.one(aliases...) + w.one("", " (a, b)")
		}
	case 1:
		if w.depth < maxWritten {
			return "(" + w.from() + ")"
		}
	case 2:
		if len(w.ctes) > 0 {
			return w.one(w.ctes...) + alias
		}
	case 3:
		return "openjson(x)" + alias
	}
	name := fmt.Sprintf("t%d", w.IntN(1000))
	w.tables = append(w.tables, name)
	return w.one("", "dbo.", "[dbo].", "dbo . ", "shop..", "shop.dbo.") + w.one(name, "["+name+"]") +
		w.one("", "", "", " for system_time all", " for system_time as of '2020'", " for system_time between 1 and 2") + alias + w.one("", "", " with (nolock)", " tablesample (10 percent)")
}

// from returns the tables of a query.
func (w *writer) from() string {
	out := w.table()
	for range w.IntN(3) {
		switch w.IntN(5) {
		case 0, 1:
			out += w.one(", ", ",", "\n,") + w.table()
		case 2:
			out += w.one(" cross join ", " cross apply ", " outer apply ") + w.table()
		default:
			out += w.one(" join ", " left join ", " full outer join ") + w.table() + " on " + w.condition()
		}
	}
	return out
}

func (w *writer) condition() string {
	switch w.IntN(6) {
	case 0:
		w.depth++
		if w.depth < maxWritten {
			return "exists (" + w.query() + ")"
		}
		return "1 = 1"
	case 1:
		return "(x) = (y)"
	case 2:
		return "x is not distinct from y"
	case 3:
		return "string_agg(x, ',') within group (order by y) = z"
	case 4:
		return "x in (1, 2)"
	default:
		return "left(x, 2) > 'a, b'"
	}
}

func (w *writer) query() string {
	out := "select " + w.one("", "top (1) ", "distinct ", "top 5 percent ") + w.one("*", "x", "(x)", "abs(x) "+w.one(aliases...), "trim('x' from y)", "count(*)", "1, 2") + " from " + w.from()
	if w.IntN(2) == 0 {
		out += " where " + w.condition()
	}
	out += w.one("", "", " group by x, y", " group by rollup (x)")
	if w.IntN(3) == 0 {
		out += " having " + w.condition()
	}
	if w.depth < maxWritten && w.IntN(6) == 0 {
		w.depth++
		out += w.one(" union ", " union all ", " except ") + w.query()
	}
	return out
}

// statement returns a statement.
func (w *writer) statement() string {
	w.tables, w.ctes, w.depth = nil, nil, 0
	var out string
	for i := range w.IntN(3) {
		name := fmt.Sprint(w.one("window", "apply", "first", "secrets"), i)
		out += []string{"with ", ", "}[i] + name + w.one("", " (a, b)") + " as (" + w.query() + ")" + w.one("", " ")
		w.ctes = append(w.ctes, name)
	}
	out += " "
	body := w.query()
	return out + w.one(body, "("+body+")", body+w.one("", " order by x, y", " order by 1 offset 1 rows fetch next 5 rows only", " for json path", " option (maxdop 1)", " window w as (order by x), v as (w)"))
}

// Whatever is accepted has its tables noted, and is refused with a second statement behind it.
func TestNoTableIsMissedAndNoStatementFollows(t *testing.T) {
	t.Parallel()
	w := &writer{Rand: rand.New(rand.NewPCG(1, 2))} // the same statements in each run
	const count = 2_000
	accepted := 0
	for range count {
		sql := w.statement()
		s, err := mssql.Inspect(sql)
		if err != nil {
			continue
		}
		accepted++
		var names []string
		for _, table := range s.Tables {
			names = append(names, table.Name)
		}
		for _, table := range w.tables {
			if !slices.Contains(names, table) {
				t.Fatalf("%s\nreads %v, but not %s", sql, names, table)
			}
		}
		followed(t, sql, w.one("", " "+w.one(aliases...), " as "+w.one(aliases...)))
	}
	if accepted < count/2 {
		t.Errorf("only %d of %d statements are accepted", accepted, count)
	}
	for _, sql := range statements(t, "reads.txt") {
		if !strings.Contains(sql, "--") {
			followed(t, strings.TrimRight(sql, "; "), "")
		}
	}
}

// followed fails unless a statement is refused with another one behind it.
func followed(t *testing.T, sql, alias string) {
	t.Helper()
	for _, second := range []string{"select word from secrets", "(select word from secrets)", "with x as (select 1 as a) select a from x", "delete from t", "exec p", ";select 1"} {
		if s, err := mssql.Inspect(sql + alias + " " + second); err == nil {
			t.Fatalf("%s\nis accepted behind\n%s%s\nand reads %v", second, sql, alias, s.Tables)
		}
	}
}
