package doctor_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/connector/blob"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/system/doctor"
	"github.com/magpie-search/magpie/internal/testkit"
)

func key(letter string) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte(letter), 32))
}

// fixture is an installation of which tests break a part.
type fixture struct {
	t        *testing.T
	db       *testkit.DB
	settings map[string]string
	offset   time.Duration // of the clock of this machine
	blobs    func(context.Context) (blob.Store, error)
}

func install(t *testing.T) *fixture {
	t.Helper()
	db := testkit.Database(t)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" && r.Header.Get("Authorization") != "Bearer canary-right" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(service.Close)
	folder := t.TempDir()
	return &fixture{
		t: t, db: db, settings: map[string]string{
			"DATABASE_URL": db.AppURL, "REDIS_URL": testkit.Redis(t), "BLOB_URL": "file://" + folder, "SECRET_KEYS": "first:" + key("a"), "SESSION_KEY": key("s"),
			"BASE_URL": service.URL, "LLM_BASE_URL": service.URL + "/v1", "LLM_MODEL": "test", "LLM_API_KEY": "canary-right",
		},
		blobs: func(context.Context) (blob.Store, error) { return blob.NewDir(folder) },
	}
}

// findings runs all checks, and fails if one shows a secret.
func (f *fixture) findings() []doctor.Finding {
	f.t.Helper()
	c, err := config.Load(config.Source{Environment: []string{}, Flags: f.settings})
	if err != nil {
		f.t.Fatal(err)
	}
	found := doctor.Run(f.t.Context(), doctor.Options{
		Config: c, Blobs: f.blobs, Now: func() time.Time { return time.Now().Add(f.offset) },
		HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second},
		Redis: func(address string) (redis.UniversalClient, error) {
			o, err := redis.ParseURL(address)
			if err != nil {
				return nil, err
			}
			return redis.NewClient(o), nil
		},
	})
	for _, one := range found {
		for _, canary := range []string{"canary", key("a"), key("s")} {
			if strings.Contains(one.Text+one.Action, canary) {
				f.t.Errorf("a finding shows a secret: %+v", one)
			}
		}
		if one.Text == "" || (one.Action == "") != (one.Status == doctor.OK) {
			f.t.Errorf("a finding is not whole: %+v", one)
		}
	}
	return found
}

func (f *fixture) execute(statements ...string) {
	f.t.Helper()
	conn, err := pgx.Connect(f.t.Context(), f.db.AdminURL)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, statement := range statements {
		if _, err := conn.Exec(f.t.Context(), statement); err != nil {
			f.t.Fatalf("%s: %v", statement, err)
		}
	}
}

// of returns the findings of a check with a status.
func of(found []doctor.Finding, check string, status doctor.Status) (all string) {
	for _, f := range found {
		if f.Check == check && f.Status == status {
			all += f.Text + " " + f.Action + " "
		}
	}
	return all
}

func TestAnInstallationInOrderHasNoErrors(t *testing.T) {
	t.Parallel()
	found := install(t).findings()
	for _, f := range found {
		if f.Status == doctor.Error && f.Check != "machine" { // whose disk may be full
			t.Errorf("%+v", f)
		}
	}
	for _, check := range []string{"settings", "postgresql", "schema", "redis", "blob store", "mail", "models", "address"} {
		if of(found, check, doctor.OK) == "" {
			t.Errorf("%s: nothing is in order: %+v", check, found)
		}
	}
}

// Models that are reached by credentials of a cloud are asked by the first call alone.
func TestModelsOfCloudsAreNotAsked(t *testing.T) {
	t.Parallel()
	f := install(t)
	file := filepath.Join(t.TempDir(), "models.json")
	if err := os.WriteFile(file, []byte(`[{"name": "claude", "provider": "bedrock", "region": "eu-central-1", "model": "anthropic.claude"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	f.settings["LLM_CONFIG"] = file
	if wrong := of(f.findings(), "models", doctor.Error); wrong != "" {
		t.Error(wrong)
	}
}

func TestWhatIsBrokenIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		breaks func(f *fixture)
		check  string
		status doctor.Status
		texts  []string
	}{
		"no setting":     {func(f *fixture) { delete(f.settings, "SESSION_KEY") }, "settings", doctor.Error, []string{"SESSION_KEY", "docs/configuration.md"}},
		"no database":    {func(f *fixture) { f.settings["DATABASE_URL"] = "postgres://me:canary@127.0.0.1:1/magpie" }, "postgresql", doctor.Error, []string{"cannot be reached", "Start it"}},
		"a superuser":    {func(f *fixture) { f.settings["DATABASE_URL"] = f.db.AdminURL }, "postgresql", doctor.Warning, []string{"superuser", "magpie_app"}},
		"another clock":  {func(f *fixture) { f.offset = time.Hour }, "postgresql", doctor.Error, []string{"clocks", "NTP"}},
		"a slower clock": {func(f *fixture) { f.offset = -5 * time.Second }, "postgresql", doctor.Warning, []string{"clocks", "NTP"}},
		"an old schema": {func(f *fixture) {
			f.execute("delete from goose_db_version where version_id = (select max(version_id) from goose_db_version)")
		}, "schema", doctor.Error, []string{"older than this program", "magpie migrate up"}},
		"the primary as a replica": {func(f *fixture) { f.settings["DATABASE_READ_URL"] = f.db.AppURL }, "replicas", doctor.Warning, []string{"not in recovery"}},
		"no replica": {func(f *fixture) {
			f.settings["DATABASE_READ_URL"] = "postgres://me:canary@127.0.0.1:1/magpie,postgres://me:canary2@127.0.0.1:1/magpie"
		}, "replicas", doctor.Error, []string{"cannot be reached", "DATABASE_READ_URL"}},
		"no row-level security": {func(f *fixture) { f.execute("alter table passages disable row level security") }, "schema", doctor.Error, []string{"passages"}},
		"not forced":            {func(f *fixture) { f.execute("alter table usage_counters no force row level security") }, "schema", doctor.Error, []string{"usage_counters"}},
		"a lost key":            {func(f *fixture) { f.seal("gone") }, "schema", doctor.Error, []string{"1 of the tokens of OAuth grants", `"gone"`, "docs/secrets.md"}},
		"an older key": {func(f *fixture) {
			f.settings["SECRET_KEYS"] = "second:" + key("b") + ",first:" + key("a")
			f.seal("first")
		}, "schema", doctor.Warning, []string{"older key", "secrets rotate"}},
		"no redis": {func(f *fixture) { f.settings["REDIS_URL"] = "redis://:canary@127.0.0.1:1" }, "redis", doctor.Error, []string{"cannot be reached"}},
		"redis that forgets": {func(f *fixture) {
			o, err := redis.ParseURL(f.settings["REDIS_URL"])
			if err != nil {
				f.t.Fatal(err)
			}
			client := redis.NewClient(o)
			defer func() { _ = client.Close() }()
			if err := client.ConfigSet(f.t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
				f.t.Fatal(err)
			}
		}, "redis", doctor.Error, []string{"allkeys-lru", "noeviction"}},
		"a blob store that only reads": {func(f *fixture) {
			open := f.blobs
			f.blobs = func(ctx context.Context) (blob.Store, error) { s, err := open(ctx); return readOnly{s}, err }
		}, "blob store", doctor.Error, []string{"denied", "rights"}},
		"a mail server that says nothing": {func(f *fixture) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				f.t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					_ = conn.Close()
				}
			}()
			f.t.Cleanup(func() { _ = l.Close(); <-done })
			f.settings["SMTP_URL"], f.settings["SMTP_FROM"] = "smtp://me:canary@"+l.Addr().String(), "magpie@example.com"
		}, "mail", doctor.Error, []string{"does not greet"}},
		"a key that a model refuses": {func(f *fixture) { f.settings["LLM_API_KEY"] = "canary-wrong" }, "models", doctor.Error, []string{"refuses the key", "chat model"}},
		"no model": {func(f *fixture) {
			delete(f.settings, "LLM_BASE_URL")
			delete(f.settings, "LLM_MODEL")
			delete(f.settings, "LLM_API_KEY")
		}, "models", doctor.Warning, []string{"No chat model"}},
		"no address":             {func(f *fixture) { delete(f.settings, "BASE_URL") }, "address", doctor.Warning, []string{"BASE_URL", "webhooks"}},
		"an address without TLS": {func(f *fixture) { f.settings["BASE_URL"] = "http://magpie.example.invalid" }, "address", doctor.Error, []string{"https://"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := install(t)
			c.breaks(f)
			got := of(f.findings(), c.check, c.status)
			for _, text := range c.texts {
				if !strings.Contains(got, text) {
					t.Errorf("the finding is %q, which lacks %q", got, text)
				}
			}
		})
	}
}

// seal stores a grant that is sealed with a key of this id.
func (f *fixture) seal(id string) {
	f.t.Helper()
	box, err := secret.NewBox(map[string][]byte{id: bytes.Repeat([]byte("a"), 32)}, id)
	if err != nil {
		f.t.Fatal(err)
	}
	const row = "00000000-0000-0000-0000-00000000000a"
	sealed, err := box.Seal([]byte("x"), secret.AAD("oauth_grants", row))
	if err != nil {
		f.t.Fatal(err)
	}
	conn, err := pgx.Connect(f.t.Context(), f.db.AdminURL)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	f.execute("insert into workspaces (id, created_at, updated_at, name) values ('" + row + "', now(), now(), 'Test')")
	if _, err := conn.Exec(f.t.Context(), "insert into oauth_grants (id, created_at, updated_at, workspace_id, provider, scopes, tokens) values ($1, now(), now(), $1, 'test', '[]', $2)", row, sealed); err != nil {
		f.t.Fatal(err)
	}
}

type readOnly struct{ blob.Store }

func (readOnly) Put(context.Context, string, io.Reader, int64) error {
	return errors.New("access denied")
}

func (r readOnly) Close() error {
	if closer, ok := r.Store.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}
