package support_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/config"
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

// Secrets and personal data are planted everywhere; none of them is in the bundle.
func TestABundleHasNoSecretsAndNoPersonalData(t *testing.T) {
	t.Parallel()
	db := testkit.Database(t)
	pool, err := pgxpool.New(t.Context(), db.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	key := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("c"), 32))
	c, err := config.Load(config.Source{Environment: []string{}, Flags: map[string]string{
		"DATABASE_URL": db.AppURL, "REDIS_URL": "redis://:canary-redis@127.0.0.1:1", "BLOB_URL": "file:///canary/folder", "SECRET_KEYS": "first:" + key, "SESSION_KEY": key,
		"LLM_BASE_URL": "https://llm.canary.example.com/v1", "LLM_MODEL": "test", "LLM_API_KEY": "canary-llm", "SMTP_URL": "smtp://me:canary-smtp@mail.canary.example.com", "SMTP_FROM": "canary@example.com",
		"BASE_URL": "https://canary.example.com", "OIDC_CLIENT_SECRET": "canary-oidc",
	}})
	if err != nil {
		t.Fatal(err)
	}
	failure := `cannot read \"Canary salary list.pdf\" at https://canary.example.com/canary/file?token=canary for canary.person@example.com (canary.internal, 10.1.2.3): key mgp_pat_canarycanary1 and canary-llm; Canary connector, /srv/canary/plan.docx`
	plain := strings.ReplaceAll(failure, `\"`, `"`)
	for _, statement := range []string{
		`insert into workspaces (id, created_at, updated_at, name) values ('` + id + `', now(), now(), 'Canary workspace')`,
		`insert into users (id, created_at, updated_at, email, name, password_hash) values ('` + id + `', now(), now(), 'canary@example.com', 'Ada Canary', 'canary')`,
		`insert into collections (id, created_at, updated_at, workspace_id, name, embedding_model) values ('` + id + `', now(), now(), '` + id + `', 'Canary collection', 'builtin')`,
		`insert into connectors (id, created_at, updated_at, workspace_id, collection_id, name, type, config, credentials, last_error, status)
			values ('` + id + `', now(), now(), '` + id + `', '` + id + `', 'Canary connector', 's3', '{"bucket": "canary"}', 'canary', '` + plain + `', 'ERROR')`,
		`insert into documents (id, created_at, updated_at, workspace_id, collection_id, connector_id, source_id, path, title, failure)
			values ('` + id + `', now(), now(), '` + id + `', '` + id + `', '` + id + `', 'canary', 'canary.md', 'Canary title', '` + plain + `')`,
		`insert into sync_jobs (id, created_at, updated_at, workspace_id, connector_id, status, warnings, error, heartbeat_at, failed)
			values ('` + id + `', now(), now(), '` + id + `', '` + id + `', 'FAILED', '["` + failure + `"]', '` + plain + `', now(), 3)`,
	} {
		if _, err := pool.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	o := support.Options{
		Config: c, Pool: pool, Now: time.Unix(0, 0).UTC(), About: map[string]string{"version": "v1.2.3"},
		Doctor: []map[string]string{{"text": plain}}, States: []map[string]any{{"warnings": []string{plain}}},
		Metrics: map[string]string{"server": "magpie_up{name=\"Canary connector\"} 1\nmagpie_searches_total 7\n"},
	}
	text, names := bundle(t, o)
	if at := strings.Index(strings.ToLower(text), "canary"); at >= 0 {
		t.Errorf("the bundle shows …%s…", text[max(0, at-200):min(len(text), at+100)])
	}
	for _, secret := range []string{key, "10.1.2.3", "salary", "plan.docx", "Ada"} {
		if strings.Contains(text, secret) {
			t.Errorf("the bundle shows %q", secret)
		}
	}
	// It is of use all the same.
	for _, wanted := range []string{"v1.2.3", id, "FAILED", "cannot read", "magpie_searches_total 7", "shared_buffers", `"relname": "passages"`, "20261101000000", "LLM_BASE_URL", "postgres://(address)"} {
		if !strings.Contains(text, wanted) {
			t.Errorf("the bundle lacks %q", wanted)
		}
	}
	for _, name := range []string{"about.json", "connectors.json", "doctor.json", "extensions.json", "failures.json", "metrics-server.txt", "migrations.json", "postgresql.json", "settings.json", "syncs.json", "system.json", "tables.json", "waiting.json"} {
		if !strings.Contains(fmt.Sprint(names), name) {
			t.Errorf("%s is missing in %v", name, names)
		}
	}
	for part := range strings.SplitSeq(text, "=== ") {
		if strings.HasPrefix(part, "errors.txt") && strings.Count(part, "\n") > 2 {
			t.Errorf("not collected: %s", part)
		}
	}
	// With names, secrets and mail addresses are left out still.
	o.Names = true
	text, _ = bundle(t, o)
	if !strings.Contains(text, "Canary connector") || !strings.Contains(text, "canary.internal") {
		t.Error("the bundle with names has none")
	}
	for _, secret := range []string{key, "canary-llm", "canary-redis", "canary-smtp", "canary-oidc", "canary@example.com", "canary.person@", "mgp_pat_canary"} {
		if strings.Contains(text, secret) {
			t.Errorf("the bundle with names shows %q", secret)
		}
	}
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
