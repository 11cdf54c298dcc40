package main_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/testkit"
)

// A finding is one of magpie doctor.
type finding struct{ Check, Status, Text, Action string }

// diagnose runs magpie doctor, and returns its findings and exit code.
func (i *installation) diagnose() (found []finding, code int) {
	i.t.Helper()
	out, stderr, code := i.run("--json", "doctor")
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		i.t.Fatalf("%v: %s%s", err, out, stderr)
	}
	failed := slices.ContainsFunc(found, func(f finding) bool { return f.Status == "error" })
	if failed != (code == 1) || code > 1 || failed != strings.Contains(stderr, "found") {
		i.t.Errorf("exit %d, %q for %+v", code, stderr, found)
	}
	return found, code
}

// A checked is an installation with a model and a place for files, of which a test breaks a part.
type checked struct {
	t        *testing.T
	db       *testkit.DB
	redis    string
	blobs    string
	settings []string
}

func newChecked(t *testing.T) *checked {
	t.Helper()
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" && r.Header.Get("Authorization") != "Bearer canary-of-a-model" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(model.Close)
	return &checked{t: t, db: testkit.Database(t), redis: testkit.Redis(t), blobs: filepath.Join(t.TempDir(), "blobs"),
		settings: []string{"LLM_BASE_URL=" + model.URL + "/v1", "LLM_MODEL=test", "LLM_API_KEY=canary-of-a-model", "BASE_URL=" + model.URL}}
}

func (c *checked) installation(more ...string) *installation {
	c.t.Helper()
	return configure(c.t, c.db.AdminURL, c.db.OwnerURL, c.db.AppURL, c.redis, c.blobs, append(slices.Clone(c.settings), more...)...)
}

// seal stores the credentials of a connector, sealed with the key of the settings.
func (c *checked) seal() {
	c.t.Helper()
	i := c.installation()
	i.mustRun("users", "create", "owner@example.com", "--new-workspace", "Test")
	i.mustRun("collections", "create", "Docs")
	i.mustRun("connectors", "create", "--name", "Canary bucket", "--type", "s3", "--collection", "Docs", "--option", "bucket=canary", "--option", "endpoint=http://127.0.0.1:1",
		"--credential", "accessKeyId=me", "--credential", "secretAccessKey=canary")
}

// execute runs a statement as the superuser.
func (c *checked) execute(statement string) {
	c.t.Helper()
	connection, err := pgx.Connect(context.WithoutCancel(c.t.Context()), c.db.AdminURL)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = connection.Close(context.WithoutCancel(c.t.Context())) }()
	if _, err := connection.Exec(context.WithoutCancel(c.t.Context()), statement); err != nil {
		c.t.Fatalf("%s: %v", statement, err)
	}
}

func TestDoctorSaysThatAnInstallationWorks(t *testing.T) {
	t.Parallel()
	c := newChecked(t)
	c.seal()
	i := c.installation()
	i.start("worker")
	testkit.WaitFor(t, "a worker that is known", func() bool {
		found, _ := i.diagnose()
		return slices.ContainsFunc(found, func(f finding) bool { return f.Check == "system" && f.Status == "ok" })
	})
	found, code := i.diagnose()
	for _, check := range []string{"settings", "postgresql", "schema", "redis", "blob store", "mail", "models", "address", "system"} {
		if !slices.ContainsFunc(found, func(f finding) bool { return f.Check == check && f.Status == "ok" }) {
			t.Errorf("%s: nothing is in order", check)
		}
	}
	out, stderr, shown := i.run("doctor")
	full := slices.ContainsFunc(found, func(f finding) bool { return f.Check == "machine" && f.Status == "error" }) // the disk of the tests
	if !full && (code != 0 || shown != 0 || !strings.Contains(stderr, "The installation works")) {
		t.Errorf("exit %d: %s%s", shown, out, stderr)
	}
	if strings.Contains(out+stderr, "canary") {
		t.Errorf("a secret is shown: %s%s", out, stderr)
	}
}

func TestDoctorFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	other := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("x"), 32))
	for name, c := range map[string]struct {
		settings func(c *checked) []string
		check    string
		texts    []string
	}{
		"Redis is down": {func(c *checked) []string { c.redis = "redis://:canary@127.0.0.1:1"; return nil }, "redis", []string{"cannot be reached", "REDIS_URL"}},
		"PostgreSQL is down": {func(c *checked) []string {
			c.db.AppURL = "postgres://me:canary@127.0.0.1:1/magpie"
			return nil
		}, "postgresql", []string{"cannot be reached", "DATABASE_URL"}},
		"another key": {func(c *checked) []string { c.seal(); return []string{"SECRET_KEYS=test:" + other} }, "schema", []string{"do not open", `"test"`, "docs/secrets.md"}},
		"the schema is behind": {func(c *checked) []string {
			c.execute("delete from goose_db_version where version_id = (select max(version_id) from goose_db_version)")
			return nil
		}, "schema", []string{"older than this program", "magpie migrate up"}},
		"no schema": {func(c *checked) []string {
			c.db = testkit.EmptyDatabase(c.t)
			return nil
		}, "schema", []string{"magpie migrate up"}},
		"no pgvector": {func(c *checked) []string {
			c.execute("drop extension vector cascade")
			return nil
		}, "schema", []string{"pgvector", "create extension vector"}},
		"a login that is no member": {func(c *checked) []string {
			name := "stranger_" + strings.ToLower(c.db.Name)
			c.execute("create role " + name + " login password 'x'")
			c.t.Cleanup(func() { c.execute("drop role " + name) })
			u, err := url.Parse(c.db.AdminURL)
			if err != nil {
				c.t.Fatal(err)
			}
			u.User = url.UserPassword(name, "x")
			c.db.AppURL = u.String()
			return nil
		}, "schema", []string{"no member", "grant magpie_app to"}},
		"a model that is down":    {func(*checked) []string { return []string{"LLM_BASE_URL=http://127.0.0.1:1/v1"} }, "models", []string{"cannot be reached", "chat model test"}},
		"a model refuses the key": {func(*checked) []string { return []string{"LLM_API_KEY=canary-of-nobody"} }, "models", []string{"refuses the key", "401"}},
		"no mail server": {func(*checked) []string {
			return []string{"SMTP_URL=smtp://me:canary@127.0.0.1:1", "SMTP_FROM=magpie@example.com"}
		}, "mail", []string{"cannot be reached", "SMTP_URL"}},
		"an address without TLS": {func(*checked) []string { return []string{"BASE_URL=http://magpie.example.invalid"} }, "address", []string{"https://"}},
		"a setting is missing":   {func(*checked) []string { return []string{"SESSION_KEY="} }, "settings", []string{"SESSION_KEY is not set", "docs/configuration.md"}},
		"a bucket that is not there": {func(c *checked) []string {
			s3 := testkit.S3(c.t)
			return []string{"BLOB_URL=s3://absent?region=" + s3.Region + "&endpoint=" + s3.Endpoint, "BLOB_ACCESS_KEY_ID=" + s3.AccessKey, "BLOB_SECRET_ACCESS_KEY=" + s3.SecretKey}
		}, "blob store", []string{"there is no bucket absent", "BLOB_URL"}},
		"a folder that cannot be written": {func(c *checked) []string {
			// The folder of unfinished files cannot be made, whoever the tests run as.
			if err := os.MkdirAll(c.blobs, 0o700); err != nil {
				c.t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(c.blobs, "doctor"), nil, 0o600); err != nil {
				c.t.Fatal(err)
			}
			return nil
		}, "blob store", []string{"does not work", "rights"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken := newChecked(t)
			found, code := broken.installation(c.settings(broken)...).diagnose()
			text := ""
			for _, f := range found {
				if f.Check == c.check && f.Status == "error" {
					text += f.Text + " " + f.Action + " "
				}
				if strings.Contains(f.Text+f.Action, "canary") {
					t.Errorf("a secret is shown: %+v", f)
				}
			}
			for _, part := range c.texts {
				if !strings.Contains(text, part) {
					t.Errorf("the errors are %q, which lack %q; all findings: %+v", text, part, found)
				}
			}
			if code != 1 {
				t.Errorf("exit %d, want 1", code)
			}
		})
	}
}

// unzip returns the files of a bundle as one text.
func unzip(t *testing.T, path string) (names []string, text string) {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	for _, f := range archive.File {
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, f.Name)
		text += "=== " + f.Name + "\n" + string(data)
	}
	return names, text
}

// The bundle of an installation that runs, with documents, a connector that fails, and names that people gave.
func TestASupportBundleHasStatesAndNothingPrivate(t *testing.T) {
	t.Parallel()
	c := newChecked(t)
	c.seal()
	c.settings = append(c.settings, "ALLOWED_PRIVATE_NETWORKS=127.0.0.0/8")
	i := c.installation()
	i.start("worker")
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "Zanzibar merger.md"), []byte("# Zanzibar merger\n\nPassages of quicksilver are secret."), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "Zanzibar ledger.pdf"), []byte("no PDF at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	i.mustRun("connectors", "create", "--name", "Zanzibar files", "--type", "file_upload", "--collection", "Docs")
	i.mustRun("files", "upload", "Zanzibar files", folder)
	i.run("sync", "start", "Zanzibar files") // a file fails
	i.run("sync", "start", "Canary bucket")  // the bucket cannot be reached
	served := i.start("serve", "--listen", "127.0.0.1:0").address(t)
	if status, body := get(t, served+"/v1/docs/search?query=quicksilver", "svc_sk_of_nobody"); status != http.StatusUnauthorized { // is counted
		t.Errorf("a search with a wrong key: %d %s", status, body)
	}
	listen := strings.TrimPrefix(served, "http://")
	address := []string{"LISTEN_ADDR=" + listen}
	i = c.installation(address...)
	path := filepath.Join(t.TempDir(), "bundle.zip")
	var written struct {
		File    string
		Content []string
	}
	i.runJSON(&written, "support-bundle", path)
	names, text := unzip(t, path)
	want := []string{"about.json", "connectors.json", "doctor.json", "errors.txt", "extensions.json", "failures.json", "metrics-server.txt", "migrations.json", "postgresql.json", "runs.json",
		"settings.json", "syncs.json", "system.json", "tables.json", "waiting.json"}
	if written.File != path || !slices.Equal(written.Content, names) || !slices.Equal(names, want) {
		t.Errorf("%s has %v, and is said to have %v", written.File, names, written.Content)
	}
	for _, private := range []string{"canary", "zanzibar", "merger", "ledger", "quicksilver", "owner@example.com", "127.0.0.1", base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32)), c.db.Name} {
		if at := strings.Index(strings.ToLower(text), strings.ToLower(private)); at >= 0 {
			t.Errorf("the bundle shows %q: …%s…", private, text[max(0, at-200):min(len(text), at+100)])
		}
	}
	for _, useful := range []string{`"type": "file_upload"`, `"type": "s3"`, `"check": "redis"`, "magpie_http_requests_total", `"status": "FAILED"`, `"relname": "passages"`, `"SEARCH_MEMORY": "`, `"DATABASE_URL": "postgres`, "connection refused"} {
		if !strings.Contains(text, useful) {
			t.Errorf("the bundle lacks %q", useful)
		}
	}
	if state, err := os.Stat(path); err != nil || state.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", state, err)
	}
	// A file that is there is not overwritten.
	if _, stderr, code := i.run("support-bundle", path); code != 1 || !strings.Contains(stderr, "exists") {
		t.Errorf("over a file: %d %s", code, stderr)
	}
	// What the person who runs it is told differs.
	if _, stderr, code := i.run("support-bundle", filepath.Join(t.TempDir(), "names.zip"), "--with-names"); code != 0 || !strings.Contains(stderr, "but names and the texts of errors") {
		t.Errorf("with names: %d %s", code, stderr)
	}
	// Without stores, it has what can be told.
	away := configure(t, c.db.AdminURL, c.db.OwnerURL, "postgres://me:canary@127.0.0.1:1/magpie", "redis://127.0.0.1:1", c.blobs)
	path = filepath.Join(t.TempDir(), "away.zip")
	away.runJSON(&written, "support-bundle", path)
	names, text = unzip(t, path)
	if !slices.Equal(names, []string{"about.json", "doctor.json", "metrics-server.txt", "settings.json", "system.json"}) || strings.Contains(text, "canary") || strings.Contains(text, "127.0.0.1") ||
		!strings.Contains(text, "PostgreSQL cannot be reached: … ") {
		t.Errorf("without stores: %v %s", names, text)
	}
}
