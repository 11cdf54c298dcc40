package command_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

func TestCollectionsAndConnectors(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	id := strings.TrimSpace(s.ok("collections", "create", "Docs", "--description", "What we know"))
	var collection struct{ ID, Name, Description string }
	s.read(&collection, "collections", "show", "Docs")
	if collection.ID != id || collection.Description != "What we know" {
		t.Errorf("%+v", collection)
	}
	s.fails("give something to change", "collections", "update", "Docs")
	s.fails("embeddingModel", "collections", "update", "Docs", "--model", "unknown")
	var renamed struct {
		Name        string
		Description *string
	}
	if s.read(&renamed, "collections", "update", "Docs", "--name", "Handbook", "--description", ""); renamed.Name != "Handbook" || renamed.Description != nil {
		t.Errorf("%+v", renamed)
	}
	s.ok("collections", "update", id, "--name", "Docs")
	if out := s.ok("collections"); !strings.Contains(out, id) || !strings.Contains(out, "DOCUMENTS") {
		t.Errorf("%q", out)
	}
	connector := strings.TrimSpace(s.ok("connectors", "create", "--name", "Bucket", "--type", "s3", "--collection", "Docs",
		"--option", "bucket=docs", "--option", "endpoint=http://127.0.0.1:9", "--schedule", "1h",
		"--credential", "accessKeyId=12345", "--credential", "secretAccessKey=hunter2"))
	out := s.ok("connectors", "show", "Bucket")
	if !strings.Contains(out, connector) || !strings.Contains(out, "scheduled 1h") || strings.Contains(out, "hunter2") {
		t.Errorf("%s", out)
	}
	var changed struct {
		Name   string
		Config map[string]any
	}
	s.read(&changed, "connectors", "update", connector, "--name", "Pail", "--option", "prefix=handbook/")
	if changed.Name != "Pail" || changed.Config["prefix"] != "handbook/" || changed.Config["bucket"] != "docs" {
		t.Errorf("%+v", changed)
	}
	s.fails("config.endpoint", "connectors", "update", "Pail", "--option", "endpoint=http://127.0.0.1:8")
	s.ok("connectors", "update", "Pail", "--option", "endpoint=http://127.0.0.1:8", "--credential", "accessKeyId=12345", "--credential", "secretAccessKey=hunter2")
	if out := s.ok("connectors", "kinds"); !strings.Contains(out, "file_upload") || !strings.Contains(out, "bucket=") {
		t.Errorf("%s", out)
	}
	for operation, status := range map[string]string{"pause": "PAUSED", "resume": "ACTIVE"} {
		if operation == "resume" {
			s.ok("connectors", "pause", "Pail")
		}
		var row struct{ Status string }
		if s.read(&row, "connectors", operation, "Pail"); row.Status != status {
			t.Errorf("after %s the connector is %s", operation, row.Status)
		}
	}
	s.ok("connectors", "resume", "Pail")
	s.fails("give something to change", "connectors", "update", "Pail")
	s.fails("the connection does not work", "connectors", "test", "Pail")
	s.fails("--yes", "connectors", "delete", "Pail")
	s.ok("connectors", "delete", "Pail", "--yes")
	s.fails("there is no collection", "collections", "delete", "Nothing")
	s.fails("--yes", "collections", "delete", "Docs")
	s.ok("collections", "delete", "Docs", "--yes")
	s.fails("there is no collection", "collections", "show", "Docs")
	s.fails("not found", "collections", "show", id)
}

func TestCredentialsComeFromAFileOrTheInput(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.ok("collections", "create", "Docs")
	arguments := []string{"connectors", "create", "--name", "Bucket", "--type", "s3", "--collection", "Docs", "--option", "bucket=docs", "--credentials", "-"}
	if o := s.runWith(`{"accessKeyId": "id", "secretAccessKey": "hunter2"}`, arguments...); o.code != 0 {
		t.Errorf("%+v", o)
	}
	if o := s.runWith(`{"accessKeyId": "hunter2"`, arguments...); o.code == 0 || strings.Contains(o.err, "hunter2") {
		t.Errorf("%+v", o)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.ok("collections", "create", "Docs")
	s.ok("connectors", "create", "--name", "Files", "--type", "file", "--collection", "Docs")
	folder := t.TempDir()
	for name, content := range map[string]string{"a.md": "# A", "b/c.md": "# C", ".git/config": "secret", "empty.txt": ""} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(folder, "link.txt")); err != nil {
		t.Fatal(err)
	}
	var upload struct{ Uploaded, Unchanged int }
	s.read(&upload, "files", "upload", "Files", folder, "--prefix", "/handbook/")
	if upload.Uploaded != 3 || upload.Unchanged != 0 {
		t.Errorf("%+v", upload)
	}
	s.read(&upload, "files", "upload", "Files", folder, "--prefix", "handbook")
	if upload.Uploaded != 0 || upload.Unchanged != 3 {
		t.Errorf("the second time: %+v", upload)
	}
	var files []struct{ Path string }
	s.read(&files, "files", "list", "Files")
	if len(files) != 3 || files[0].Path != "handbook/a.md" || files[1].Path != "handbook/b/c.md" {
		t.Errorf("%+v", files)
	}
	if out := s.ok("files", "delete", "Files", "handbook/a.md", "nope.md"); out != "handbook/a.md\n" {
		t.Errorf("%q", out)
	}
	s.fails("no such file", "files", "upload", "Files", filepath.Join(folder, "nope"))
	s.fails("there is no file", "files", "upload", "Files", t.TempDir())
	pipe, link := filepath.Join(t.TempDir(), "pipe"), filepath.Join(t.TempDir(), "link")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink(folder, link)); err != nil {
		t.Fatal(err)
	}
	s.fails("/dev/zero is a device", "files", "upload", "Files", "/dev/zero")
	s.fails(pipe+" is no regular file", "files", "upload", "Files", pipe)
	s.fails("/dev/zero: is a device", "connectors", "update", "Files", "--credentials", "/dev/zero")
	s.fails("nobody writes to", "connectors", "update", "Files", "--credentials", pipe)
	s.read(&upload, "files", "upload", "Files", link, "--prefix", "handbook")
	if upload.Uploaded != 1 || upload.Unchanged != 2 {
		t.Errorf("through a link: %+v", upload)
	}
}

func TestKeysAreShownOnce(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.ok("collections", "create", "Docs")
	var created struct {
		PublishableKey, SecretKey string
		APIKey                    struct{ ID string } `json:"apiKey"`
	}
	s.read(&created, "keys", "create", "--name", "Site", "--host", "example.com", "--collection", "Docs", "--default", "Docs", "--expires", "24h")
	if !strings.HasPrefix(created.PublishableKey, "svc_pk_") || !strings.HasPrefix(created.SecretKey, "svc_sk_") {
		t.Errorf("%+v", created)
	}
	out := s.ok("keys", "list")
	if strings.Contains(out, created.SecretKey) || !strings.Contains(out, "valid") || !strings.Contains(out, "example.com") {
		t.Errorf("%s", out)
	}
	s.ok("keys", "revoke", created.APIKey.ID)
	if out := s.ok("keys"); !strings.Contains(out, "revoked") {
		t.Errorf("%s", out)
	}
	s.fails("--collection", "keys", "create", "--name", "x", "--host", "*")
	s.fails("--collection", "keys", "create", "--name", "x", "--host", "*", "--all-collections", "--collection", "Docs")
	s.fails("host", "keys", "create", "--name", "x", "--all-collections")
}

func TestWorkspacesAreChosen(t *testing.T) {
	t.Parallel()
	s := emptyShell(t)
	s.fails("there is no workspace yet", "collections")
	s.ok("users", "create", "one@example.com", "--new-workspace", "One")
	s.ok("collections", "create", "Docs of one")
	if o := s.runWith("a long password\n", "users", "create", "two@example.com", "--new-workspace", "Two", "--password-stdin"); o.code != 0 || strings.Contains(o.out, "long password") {
		t.Errorf("%+v", o)
	}
	s.fails("choose one with --workspace", "collections")
	s.fails("there is no workspace", "--workspace", "Three", "collections")
	if out := s.ok("--workspace", "Two", "collections"); strings.Contains(out, "Docs of one") {
		t.Errorf("another workspace's collection is shown: %s", out)
	}
	if out := s.ok("--workspace", "One", "collections"); !strings.Contains(out, "Docs of one") {
		t.Errorf("%s", out)
	}
	s.fails("exists already", "users", "create", "one@example.com", "--new-workspace", "Four")
	s.fails("email", "--workspace", "One", "users", "create", "no address")
	s.ok("--workspace", "One", "users", "create", "three@example.com", "--role", "viewer")
	s.ok("users", "create", "four@example.com", "--new-workspace", "Two")
	said := s.run("--workspace", "Two", "collections").err
	ids := regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`).FindAllString(said, -1)
	if !strings.Contains(said, `several workspaces are called "Two"`) || len(ids) != 2 || ids[0] == ids[1] {
		t.Errorf("a name of two workspaces: %s", said)
	}
	for _, id := range ids {
		s.ok("--workspace", id, "collections")
	}
}

func TestSearchAndChatWithNothingIndexed(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	if o := s.run("search", "anything"); o.code != 0 || !strings.Contains(o.err, "Nothing was found") {
		t.Errorf("%+v", o)
	}
	var found struct{ Total int }
	s.read(&found, "search", "anything", "--min-score", "0")
	s.fails("limit", "search", "anything", "--limit", "0")
	s.fails("must not be blank", "search", " ")
	if o := s.run("chat", "anything?"); o.code != 0 || !strings.Contains(o.err, "conversation ") {
		t.Errorf("%+v", o)
	}
	if out := s.ok("--json", "chat", "anything?"); !strings.Contains(out, `"kind":"ChatDone"`) {
		t.Errorf("%s", out)
	}
}

func TestAnalyticsOfNothing(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.ok("collections", "create", "Docs")
	s.ok("search", "what the shell asks is not logged")
	var report struct {
		Totals struct{ Searches *int }
		Daily  []struct{ Date string }
		Top    []any `json:"topQueries"`
	}
	s.read(&report, "analytics", "--days", "7")
	if len(report.Daily) != 7 || report.Totals.Searches == nil || *report.Totals.Searches != 0 || report.Top == nil || len(report.Top) != 0 {
		t.Errorf("%+v", report)
	}
	if out := s.ok("analytics", "--collection", "Docs"); !strings.Contains(out, "searches") || !strings.Contains(out, "without results") {
		t.Errorf("%s", out)
	}
	s.fails("--days", "analytics", "--days", "0")
	s.fails("at most 1100 days", "analytics", "--days", "2000")
	s.fails("first", "analytics", "--first", "0")
	s.fails("Nowhere", "analytics", "--collection", "Nowhere")
}

func TestMigrations(t *testing.T) {
	t.Parallel()
	s := emptyShell(t)
	s.ok("migrate", "up")
	var steps []struct {
		Version int64
		Applied bool
	}
	s.read(&steps, "migrate", "status")
	if len(steps) == 0 {
		t.Error("there are no migrations")
	}
	for _, step := range steps {
		if !step.Applied {
			t.Errorf("%d is not applied", step.Version)
		}
	}
}

func TestMistakesAreOneClearLine(t *testing.T) {
	t.Parallel()
	bare := &shell{t: t, flags: []string{"--data", filepath.Join(t.TempDir(), "none"), "--config", settingsFile(t)}}
	bare.fails("magpie up", "collections")
	bare.fails("DATABASE_URL is not set", "serve")
	bare.fails("DATABASE_URL is not set", "worker")
	bare.fails("magpie --help", "fly")
	bare.fails("magpie --help", "search")
	away := &shell{t: t, flags: []string{"--config", settingsFile(t), "--database-url", "postgres://someone:hunter2@127.0.0.1:1/x", "--redis-url", "redis://127.0.0.1:1"}}
	for _, arguments := range [][]string{{"collections"}, {"migrate", "up"}} { // serve and worker wait
		away.fails("127.0.0.1", arguments...)
		if o := away.run(arguments...); strings.Contains(o.err, "hunter2") {
			t.Errorf("a password was printed: %s", o.err)
		}
	}
	broken := &shell{t: t, flags: []string{"--config", settingsFile(t, "LOG_FORMAT=xml")}}
	broken.fails("LOG_FORMAT: must be text or json", "version")
	if o := (&shell{t: t}).run("--help"); o.code != 0 || !strings.Contains(o.out, "demo") || !strings.Contains(o.out, "--json") {
		t.Errorf("%+v", o)
	}
	if o := (&shell{t: t}).run(); o.code != 0 || !strings.Contains(o.out, "demo") {
		t.Errorf("%+v", o)
	}
	if o := bare.run("down"); o.code != 0 {
		t.Errorf("down with nothing running: %+v", o)
	}
}
