package support_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/system/doctor"
	"github.com/magpie-search/magpie/internal/system/support"
	"github.com/magpie-search/magpie/internal/testkit"
)

const id = "00000000-0000-0000-0000-00000000000a"

// bundle returns the content of a bundle as one text.
func bundle(t *testing.T, o support.Options) (text string, names []string) {
	t.Helper()
	var archive bytes.Buffer
	names, err := support.Write(t.Context(), &archive, o)
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.File {
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(f.Name, ".json") && !json.Valid(data) {
			t.Errorf("%s is no JSON", f.Name)
		}
		text += "=== " + f.Name + "\n" + string(data)
	}
	return text, names
}

// hostile are texts that people or other systems may put into errors: titles and paths without quotes, mail addresses, addresses
// with tokens, lines that look like something else. A known error follows, which is kept.
func hostile() string {
	return "cannot read Canary Layoffs Berlin draft 7.docx: \n# HELP canary\nAda Lovelace <canary.person@example.com> (" +
		"https://canary.example.com/s/canary?token=canary&sig=abc, \\\\canary\\share\\plan, /srv/Canary salaries/plan.docx, C:\\Users\\Canary, canary.internal, 10.1.2.3, ::ffff:10.1.2.3): " +
		"Gehälter Müllerstraße 秘密, “Canary”, mgp_pat_canarycanary1, canary-llm, SQLSTATE CANARY, status canary: dial tcp 10.1.2.3:5432: connection refused (SQLSTATE 57P03), answered with status 503"
}

// planted returns a configuration in which every setting that is a text has a value of somebody's.
func planted(t *testing.T) *config.Config {
	t.Helper()
	c, err := config.Load(config.Source{Environment: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	values := reflect.ValueOf(c).Elem()
	n := 0
	for i := range values.NumField() {
		name, _, _ := strings.Cut(values.Type().Field(i).Tag.Get("env"), ",")
		field := values.Field(i)
		text := "canary of " + name
		if strings.HasSuffix(name, "_URL") {
			text = "https://me:hunter2canary@canary.example.com/" + name
		}
		switch _, isSecret := field.Interface().(config.Secret); {
		case name == "" || name == "-":
		case isSecret, field.Kind() == reflect.String && !slices.Contains(closed(), name):
			field.SetString(text)
			n++
		case field.Type() == reflect.TypeFor[[]string]():
			field.Set(reflect.ValueOf([]string{text, text}))
			n++
		}
	}
	if n < 60 {
		t.Fatalf("only %d settings are texts", n)
	}
	c.ChatModels = []config.ChatModel{{Name: "Canary", Endpoint: config.Endpoint{Key: "canary-llm"}}}
	return c
}

// closed are the settings that have one of a few values.
func closed() []string {
	return []string{"SIGN_UP", "OIDC_AUTO_JOIN_ROLE", "SAML_AUTO_JOIN_ROLE", "SCIM_DEFAULT_ROLE", "RERANK_PROVIDER", "QUERY_LOG", "LOG_FORMAT",
		"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_TRACES_EXPORTER", "OTEL_TRACES_SAMPLER"}
}

// plant puts hostile texts into every place of the database that a bundle reads, and many that it does not.
func plant(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	text := hostile()
	warnings, err := json.Marshal([]string{text, text})
	if err != nil {
		t.Fatal(err)
	}
	execute(t, pool, `insert into workspaces (id, created_at, updated_at, name) values ($1, now(), now(), 'Canary workspace')`, id)
	execute(t, pool, `insert into users (id, created_at, updated_at, email, name, password_hash) values ($1, now(), now(), 'canary@example.com', 'Ada Canary', 'canary')`, id)
	execute(t, pool, `create table "Canary invoices" (id int)`)
	execute(t, pool, `insert into collections (id, created_at, updated_at, workspace_id, name, embedding_model) values ($1, now(), now(), $1, 'Canary collection', 'builtin')`, id)
	execute(t, pool, `insert into connectors (id, created_at, updated_at, workspace_id, collection_id, name, type, config, credentials, last_error, status)
		values ($1, now(), now(), $1, $1, 'Canary connector', 's3', '{"bucket": "canary"}', 'canary', $2, 'ERROR')`, id, text)
	execute(t, pool, `insert into documents (id, created_at, updated_at, workspace_id, collection_id, connector_id, source_id, path, title, failure)
		values ($1, now(), now(), $1, $1, $1, 'canary', 'canary.md', 'Canary title', $2)`, id, text)
	execute(t, pool, `insert into sync_jobs (id, created_at, updated_at, workspace_id, connector_id, status, warnings, error, heartbeat_at, failed)
		values ($1, now(), now(), $1, $1, 'FAILED', $2, $3, now(), 3)`, id, string(warnings), text)
}

func execute(t *testing.T, pool *pgxpool.Pool, statement string, values ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), statement, values...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// options are those of a bundle whose every source tells hostile texts.
func options(t *testing.T, pool *pgxpool.Pool) support.Options {
	t.Helper()
	text := hostile()
	return support.Options{
		Config: planted(t), Pool: pool, Now: time.Unix(0, 0).UTC(), About: map[string]string{"version": "v1.2.3"},
		Sentences: []string{"The file cannot be read: {1}", "cannot read {1}: {2}", "plan", "share {1}"},
		Doctor: []doctor.Finding{
			{Check: "system", Status: doctor.Warning, Text: text, Action: text},
			{Check: "models", Status: doctor.Error, Text: text, Form: "The service of the %s%s cannot be reached: %s", Values: []any{doctor.Known("chat model"), " Canary", text}},
			{Check: "redis", Status: doctor.OK, Text: text, Form: "Redis %s answers.", Values: []any{"7.0.15"}},
			{Check: "redis", Status: doctor.OK, Text: text, Form: "Redis %s answers in %s (%d).", Values: []any{"10.1.2.3", time.Second, 7}},
		},
		States: []map[string]any{{
			"version": "v1.2.3", "services": []map[string]any{{"name": "postgresql", "version": "16.4"}}, "workers": []map[string]any{{"id": "canary.internal:1", "running": []map[string]any{{"name": "sync"}}}},
			"models":   []map[string]any{{"kind": "chat", "name": "canary-model", "lastFailure": map[string]any{"reason": text, "at": "2026-11-29T20:00:00Z"}}},
			"warnings": []map[string]any{{"code": "MODEL_FAILING", "text": text, "action": text}},
		}},
		Metrics: map[string]string{
			"server": "# HELP magpie_searches_total Canary\n# TYPE magpie_searches_total counter\nmagpie_searches_total 7\nmagpie_model_calls_total{kind=\"chat\",model=\"Canary \\\"x\\\"\"} 1\n" +
				"canary_total 1\nmagpie_up{outcome=\"Ada Lovelace <canary@example.com>\"} 1\nmagpie_x{queue=\"default\"} canary\n# canary\n" + text,
			"worker": "# not collected: " + text,
		},
	}
}

// Whatever people and other systems put into the places that a bundle is made from, it shows only what the program itself
// says: what a bundle has is chosen.
func TestABundleHasNothingThatSomebodyElseWrote(t *testing.T) {
	t.Parallel()
	pool := open(t, testkit.Database(t).AdminURL)
	plant(t, pool)
	o := options(t, pool)
	text, names := bundle(t, o)
	low := strings.ToLower(text)
	for _, planted := range []string{
		"canary", "layoffs", "berlin", "draft", "docx", "ada ", "lovelace", "salaries", "gehälter", "müller", "秘密", "10.1.2.3", "::ffff", "srv", `users\\`, "example.com", "token=", "sig=", "@",
	} {
		if at := strings.Index(low, planted); at >= 0 {
			t.Errorf("the bundle shows %q: …%s…", planted, low[max(0, at-200):min(len(low), at+100)])
		}
	}
	// It is of use all the same.
	for _, wanted := range []string{
		"v1.2.3", id, "FAILED", "magpie_searches_total 7", `kind="chat"`, "shared_buffers", `"relname": "passages"`, "20261101000000", "LLM_BASE_URL", "https://(address)", "MODEL_FAILING", "16.4",
		"cannot read …", "dial tcp … connection refused … status 503 SQLSTATE 57P03 #", "The service of the chat model", "Redis 7.0.15 answers.", "(7)", `"(2)"`, `"SIGN_UP": "first"`,
	} {
		if !strings.Contains(text, wanted) {
			t.Errorf("the bundle lacks %q", wanted)
		}
	}
	for _, name := range []string{"about.json", "connectors.json", "doctor.json", "errors.txt", "extensions.json", "failures.json", "metrics-server.txt", "metrics-worker.txt", "migrations.json",
		"postgresql.json", "runs.json", "settings.json", "syncs.json", "system.json", "tables.json", "waiting.json"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is missing in %v", name, names)
		}
	}
	for part := range strings.SplitSeq(text, "=== ") {
		if strings.HasPrefix(part, "errors.txt") && strings.Count(part, "\n") > 2 { // pg_stat_statements is not there
			t.Errorf("not collected: %s", part)
		}
	}
	// The same text has the same hash in a bundle, and another one in the next.
	hash := regexp.MustCompile(`SQLSTATE 57P03 (#[0-9a-f]{8})`)
	again, _ := bundle(t, o)
	first, second := hash.FindAllStringSubmatch(text, -1), hash.FindAllStringSubmatch(again, -1)
	for _, found := range first {
		if found[1] != first[0][1] {
			t.Errorf("hashes: %v", first)
		}
	}
	if len(first) < 5 || len(second) != len(first) || first[0][1] == second[0][1] {
		t.Errorf("hashes: %v, and later %v", first, second)
	}
	// With names, secrets, mail addresses and queries of addresses are left out still.
	o.Names = true
	text, _ = bundle(t, o)
	if !strings.Contains(text, "Canary Layoffs Berlin") || !strings.Contains(text, "canary.internal") {
		t.Error("the bundle with names has none")
	}
	for _, secret := range []string{"canary-llm", "hunter2", "canary of SESSION_KEY", "canary of SECRET_KEYS", "canary@example.com", "canary.person@", "mgp_pat_canary", "token=canary", "sig=abc"} {
		if strings.Contains(text, secret) {
			t.Errorf("the bundle with names shows %q", secret)
		}
	}
}

// An error of a query may contain what rows do.
func TestWhatCannotBeCollectedTellsNothing(t *testing.T) {
	t.Parallel()
	pool := open(t, testkit.Database(t).AdminURL)
	execute(t, pool, "alter table connectors rename to moved")
	execute(t, pool, `create function planted() returns text language plpgsql as $$ begin raise exception 'Canary plan of Ada for canary@example.com'; end $$`)
	execute(t, pool, "insert into workspaces (id, created_at, updated_at, name) values ($1, now(), now(), 'x')", id)
	execute(t, pool, "create view connectors as select w.id, w.id as workspace_id, w.id as collection_id, 's3' as type, 'ERROR' as status, true as enabled, '' as sync_strategy, now() as last_sync, now() as next_sync_at, planted() as last_error from workspaces w")
	o := options(t, pool)
	text, names := bundle(t, o)
	if !slices.Contains(names, "errors.txt") || slices.Contains(names, "connectors.json") || !strings.Contains(text, "connectors.json: ") {
		t.Errorf("files: %v", names)
	}
	if strings.Contains(strings.ToLower(text), "canary") || strings.Contains(text, "Ada") {
		t.Error("the bundle shows the error")
	}
}

func open(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// Without PostgreSQL, there is what can be told without it.
func TestABundleWithoutADatabaseIsWritten(t *testing.T) {
	t.Parallel()
	c, err := config.Load(config.Source{Environment: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	text, names := bundle(t, support.Options{Config: c, About: "x", Now: time.Unix(0, 0)})
	if len(names) != 4 || !strings.Contains(text, "SEARCH_MEMORY") {
		t.Errorf("%v: %s", names, text)
	}
}

// The login of DATABASE_URL may be used by hand. Of its statements, a bundle has those about
// tables of Magpie, without what is constant in them.
func TestStatementsOfOthersAreNotInABundle(t *testing.T) {
	t.Parallel()
	pool := open(t, testkit.Database(t).AdminURL)
	execute(t, pool, `create table pg_stat_statements (dbid oid, userid oid,
		calls bigint default 1, total_exec_time float default 1, mean_exec_time float default 1, max_exec_time float default 1, rows bigint default 1, query text)`)
	for _, statement := range []string{
		`select id from canary_invoices where name = $1`,
		`select 'documents' from canary_invoices`,
		`select 1 /* documents */ from canary_invoices`,
		`select id, 'shown 1' from documents where title = E'it\'s canary' and path = $1`,
		`select id, e'it\'s', 'canary' from documents where path = $2 and title = 'a\' and status = $3`,
		`select $tag1$ canary $other$ canary $tag1$ from documents where path = $4`,
		`select $$ canary $1 $$ from "documents" as "Canary of Ada" where path = $5`,
		`select 1 /* canary /* canary */ canary */ from documents -- canary`,
		`select "documents"."id" from documents where path = $6 and title = 'canary`,
		`select "documents"."id" from documents where path = $7 and title = $t$canary`,
	} {
		execute(t, pool, "insert into pg_stat_statements (dbid, userid, query) select oid, to_regrole('magpie_app')::oid, $1 from pg_database where datname = current_database()", statement)
	}
	text, names := bundle(t, support.Options{Config: planted(t), Pool: pool, Now: time.Unix(0, 0), Names: true})
	_, text, _ = strings.Cut(text, "=== statements.json\n")
	text, _, _ = strings.Cut(text, "=== ")
	if !slices.Contains(names, "statements.json") || strings.Count(text, `"query"`) != 7 {
		t.Errorf("the statements: %s", text)
	}
	if strings.Contains(strings.ToLower(text), "canary") || strings.Contains(text, "shown 1") || strings.Contains(text, "Ada") {
		t.Errorf("the statements show texts: %s", text)
	}
	for _, kept := range []string{"path = $1", "path = $2", "status = $3", "path = $4", "path = $5", `\"documents\".\"id\"`, "path = $7"} {
		if !strings.Contains(text, kept) {
			t.Errorf("the statements lack %s: %s", kept, text)
		}
	}
}
