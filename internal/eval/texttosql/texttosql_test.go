package texttosql_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/eval/texttosql"
)

func load(t *testing.T, files map[string]string) (*texttosql.Set, error) {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return texttosql.Load(folder)
}

func TestLoad(t *testing.T) {
	t.Parallel()
	set, err := load(t, map[string]string{
		"shop_pgsql.sql": "create table item (id int)",
		"q_postgres.csv": "question,query,db_name,query_category,instructions\n\"How many?\",\"SELECT count(*) FROM item\",shop,count,Count all.\n",
		"q_tsql.csv":     "db_name,query,question\nshop,\"SELECT TOP 1 'a;b' FROM item; SELECT {x, y}, n FROM item GROUP BY {}\",Which?\n",
		"r.csv":          "db_name,db_type,query,question\nshop,mysql,SELECT 'no' AS answer,Who?\n",
		"notes.md":       "no questions",
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Questions) != 3 || set.Scripts["shop"] == "" {
		t.Fatalf("%+v", set)
	}
	count, which, who := set.Questions[0], set.Questions[1], set.Questions[2]
	if count.Type != "postgresql" || count.Instructions != "Count all." || count.Line != 2 || !count.Answerable() {
		t.Errorf("%+v", count)
	}
	want := []string{"SELECT TOP 1 'a;b' FROM item", "SELECT x, n FROM item GROUP BY x", "SELECT y, n FROM item GROUP BY y", "SELECT x, y, n FROM item GROUP BY x, y"}
	if which.Type != "mssql" || !slices.Equal(which.Gold, want) {
		t.Errorf("%+v", which)
	}
	if who.Type != "mysql" || who.Answerable() {
		t.Errorf("%+v", who)
	}
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for want, files := range map[string]map[string]string{
		"has no CSV file":             {"shop_pgsql.sql": "select 1"},
		"record 2 needs":              {"q.csv": "question,query,db_name\nHow many?,,shop\n"},
		`db_type "oracle" is none of`: {"q.csv": "question,query,db_name,db_type\nHow many?,select 1,shop,oracle\n"},
		"q.csv":                       {"q.csv": "question,query,db_name\n\"How many?\n"},
		"read the header":             {"q.csv": ""},
	} {
		if _, err := load(t, files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := texttosql.Load(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a folder that is not there")
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string]string{
		"SELECT 1":             "",
		"select * from author": "author",
		"SELECT a.x FROM public.Author AS a, writes w JOIN \"Pub\" p ON p.x=a.x": "author writes pub",
		"SELECT * FROM [dbo].[Order Line] l LEFT JOIN `b` ON 1=1":                "order line b",
		"SELECT * FROM (SELECT * FROM inner_t) t WHERE x IN (SELECT y FROM z)":   "inner_t z",
		"SELECT 'from fake' FROM a -- from b\n":                                  "a",
		"SELECT * FROM a, (SELECT 1) s":                                          "a",
		"SELECT * FROM":                                                          "",
		"SELECT * FROM a.":                                                       "a",
	} {
		if got := strings.Join(texttosql.Tables(statement), " "); got != want {
			t.Errorf("%s: %q, want %q", statement, got, want)
		}
	}
}

func rows(columns int, values ...any) texttosql.Rows {
	r := texttosql.Rows{Columns: make([]string, columns)}
	for row := range slices.Chunk(values, columns) {
		r.Values = append(r.Values, row)
	}
	return r
}

func TestSame(t *testing.T) {
	t.Parallel()
	gold := rows(2, "Ada", int64(3), "Bo", 2.5)
	for name, got := range map[string]texttosql.Rows{
		"itself":                    rows(2, "Ada", int64(3), "Bo", 2.5),
		"other order":               rows(2, "Bo", 2.5, "Ada", int64(3)),
		"other columns":             rows(3, json.Number("3.0"), "x", "Ada", "2.50", "x", "Bo"),
		"nearly equal":              rows(2, "Ada ", 3.0000001, "Bo", json.Number("2.50000001")),
		"a column that is the same": rows(3, "Ada", "Ada", int64(3), "Bo", "Bo", 2.5),
	} {
		if !texttosql.Same(gold, got) {
			t.Errorf("%s: not the same", name)
		}
	}
	truncated := rows(2, "Ada", int64(3), "Bo", 2.5)
	truncated.Truncated = true
	for name, got := range map[string]texttosql.Rows{
		"a row more":         rows(2, "Ada", int64(3), "Bo", 2.5, "Cy", int64(1)),
		"a column less":      rows(1, "Ada", "Bo"),
		"values exchanged":   rows(2, "Ada", 2.5, "Bo", int64(3)),
		"another value":      rows(2, "Ada", int64(4), "Bo", 2.5),
		"null, not the text": rows(2, "Ada", nil, "Bo", 2.5),
		"truncated":          truncated,
		"one column twice":   rows(2, "Ada", "Ada", "Bo", "Bo"),
	} {
		if texttosql.Same(gold, got) {
			t.Errorf("%s: the same", name)
		}
	}
	if !texttosql.Same(rows(1, "2024-01-01", true, nil), rows(1, "2024-01-01T00:00:00Z", int64(1), nil)) {
		t.Error("a date, a truth value and null of another engine")
	}
	wide := make([]any, 40)
	for i := range wide {
		wide[i] = int64(1)
	}
	if !texttosql.Same(rows(20, wide...), rows(20, wide...)) {
		t.Error("many equal columns")
	}
}

// The published set is read whole.
func TestTheSampleSet(t *testing.T) {
	t.Parallel()
	set, err := texttosql.Load("../../../../shared/databases/text2sql")
	if os.IsNotExist(err) || err != nil && strings.Contains(err.Error(), "no such file") {
		t.Skip("the sample questions are not at hand")
	}
	if err != nil {
		t.Fatal(err)
	}
	unanswerable, types := 0, map[string]int{}
	for _, q := range set.Questions {
		if strings.ContainsAny(q.Gold[0], "{}") {
			t.Errorf("%s:%d: %s", q.File, q.Line, q.Gold[0])
		}
		if !q.Answerable() {
			unanswerable++
			continue
		}
		types[q.Type]++
	}
	if len(set.Scripts) != 4 || unanswerable < 40 || types["postgresql"] < 100 || types["mysql"] < 80 || types["mssql"] < 80 {
		t.Errorf("%d scripts, %d unanswerable, %v", len(set.Scripts), unanswerable, types)
	}
}

// A portable script has nothing that only PostgreSQL understands of a dump: its data stays.
func TestPortable(t *testing.T) {
	t.Parallel()
	script := strings.Join([]string{
		"SET statement_timeout = 0;", "SELECT pg_catalog.set_config('search_path', '', false);",
		"CREATE TABLE public.item (id bigint, name text DEFAULT ''::text NOT NULL);", "CREATE TABLE IF NOT EXISTS public.part (id bigint);",
		"INSERT INTO public.item VALUES (1, 'see public.item, set it;');", "ALTER TABLE ONLY public.item ADD PRIMARY KEY (id);",
	}, "\n")
	want := strings.Join([]string{
		"", "", "CREATE TABLE item (id bigint, name text DEFAULT '' NOT NULL);", "CREATE TABLE IF NOT EXISTS part (id bigint);",
		"INSERT INTO item VALUES (1, 'see public.item, set it;');", "ALTER TABLE item ADD PRIMARY KEY (id);",
	}, "\n")
	if got := texttosql.Portable(script); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	const plain = "create table item (id int);\ninsert into item values (1);"
	if got := texttosql.Portable(plain); got != plain {
		t.Errorf("a portable script became %q", got)
	}
}
