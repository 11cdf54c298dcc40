package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/model/llm/llmtest"
)

// statement is a model's call of query_database.
func statement(sql string) llmtest.Reply {
	arguments, err := json.Marshal(map[string]string{"database": "shop", "query": sql})
	if err != nil {
		panic(err)
	}
	return llmtest.Reply{Calls: []llm.ToolCall{{ID: "call_1", Name: "query_database", Arguments: string(arguments)}}}
}

func TestQuestionsAboutDatabasesAreJudged(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	set := t.TempDir()
	for name, content := range map[string]string{
		"shop_pgsql.sql": "create table customer (id int primary key, name text);\ncreate table purchase (customer_id int, total numeric);\n" +
			"insert into customer values (1, 'Ada'), (2, 'Bo');\ninsert into purchase values (1, 5), (1, 7), (2, 3);\n",
		"a_postgres.csv": "question,query,db_name,query_category\n" +
			"How much did each customer spend?,\"SELECT name, sum(total) FROM customer JOIN purchase ON customer_id = id GROUP BY name\",shop,join\n" +
			"How many customers are there?,SELECT count(*) FROM customer,shop,count\n" +
			"Who wrote 1984?,SELECT 'not known' AS answer,shop,count\n" +
			"How many purchases are there?,SELECT count(*) FROM no_such_table,shop,count\n",
		"b_mysql.csv": "question,query,db_name,query_category\n" +
			"Who are the customers?,SELECT `name` FROM `customer`,shop,list\n" +
			"Who are the users?,SELECT `name` FROM `user`,forum,list\n",
		"forum_pgsql.sql": "create table users (name text, tags text[]);\n",
		"c_tsql.csv":      "question,query,db_name,query_category\nWho is the first customer?,SELECT TOP 1 [name] FROM [customer],shop,list\n",
	} {
		if err := os.WriteFile(filepath.Join(set, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	done := llmtest.Reply{Parts: []string{"Here it is."}}
	model := llmtest.NewServer(t,
		statement("select sum(total) as spent, name as who from purchase join customer on id = customer_id group by 2 order by 1"), done,
		statement("select count(*) from purchase"), done,
		llmtest.Reply{Parts: []string{"The database does not say."}},
		statement("select count(*) from purchase"), done,
		statement("select `name` from customer order by 1 desc"), done,
	)
	settings := filepath.Join(t.TempDir(), "settings")
	if err := os.WriteFile(settings, []byte("LLM_BASE_URL="+model.URL+"\nLLM_API_KEY=hunter3\nLLM_MODEL=small\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := l.run("--json", "--config", settings, "eval", "--sql", set)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got struct {
		Retrieval []struct {
			Database, Type string
			Questions      int
			Recall         float64 `json:"recall@8"`
		}
		Answers []struct {
			Database, Type, Category   string
			Questions, Right, Unjudged int
		}
	}
	if err := json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if r := got.Retrieval; len(r) != 4 || r[0].Database != "shop" || r[0].Questions != 2 || r[0].Recall != 1 || r[1].Database != "" || r[2].Type != "mysql" || r[2].Questions != 1 || r[2].Recall != 1 {
		t.Errorf("%+v", r)
	}
	type line struct{ questions, right, unjudged int }
	found := map[string]line{}
	for _, a := range got.Answers {
		found[a.Database+" "+a.Type+" "+a.Category] = line{a.Questions, a.Right, a.Unjudged}
	}
	for key, want := range map[string]line{
		"shop postgresql join": {1, 1, 0}, "shop postgresql count": {1, 0, 1}, "shop postgresql unanswerable": {1, 1, 0}, " postgresql ": {3, 2, 1},
		"shop mysql list": {1, 1, 0}, " mysql ": {1, 1, 0},
	} {
		if found[key] != want {
			t.Errorf("%q: %+v, want %+v", key, found[key], want)
		}
	}
	for _, note := range []string{
		"Left out 1 questions in the dialect mysql about forum, whose script runs on PostgreSQL only", "Left out 1 questions in the dialect mssql: no databases are made for it",
	} {
		if !strings.Contains(out, note) {
			t.Errorf("%q is not in %s", note, out)
		}
	}
	if _, err := os.Stat(filepath.Join(l.data, "eval-sql")); err == nil {
		t.Error("its data is still there")
	}
}
