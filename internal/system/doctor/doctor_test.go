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
	nodes    []doctor.EngineNode
	away     error // of the search engine
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
		Engine: func(context.Context) ([]doctor.EngineNode, error) { return f.nodes, f.away },
		Config: c, Blobs: f.blobs, Now: func() time.Time { return time.Now().Add(f.offset) },
		HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
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

// engine sets up a search engine, whose nodes cannot be asked for a reason that is not "".
func (f *fixture) engine(reason string) {
	f.settings["ENGINE_URL"], f.settings["ENGINE_API_KEY"] = "http://127.0.0.1:1", "canary2"
	f.nodes = []doctor.EngineNode{{"a", "1.39.0", true}, {"b", "1.39.0", true}}
	if reason != "" {
		f.away = errors.New(reason)
	}
}

// projected adds a collection to the search engine, and changes its row.
func (f *fixture) projected(change string) {
	const id = "00000000-0000-0000-0000-00000000000a"
	f.execute("insert into workspaces (id, created_at, updated_at, name) values ('"+id+"', now(), now(), 'W')",
		"insert into collections (id, created_at, updated_at, workspace_id, name, embedding_model) values ('"+id+"', now(), now(), '"+id+"', 'C', 'm')",
		"insert into engine_collections (collection_id, workspace_id, class, class_generation, index_generation, model, dimensions, shards, replicas, history) values ('"+id+"', '"+id+"', 'M1', 1, 0, 'm', 0, 0, 1, '')",
		"update engine_collections set "+change)
}

func TestASearchEngineIsChecked(t *testing.T) {
	t.Parallel()
	f := install(t)
	if found := f.findings(); of(found, "search engine", doctor.OK)+of(found, "search engine", doctor.Error) != "" {
		t.Errorf("without one: %+v", found)
	}
	f.engine("")
	f.projected("state = 'READY'")
	if text := of(f.findings(), "search engine", doctor.OK); !strings.Contains(text, "2 nodes of version 1.39.0") || !strings.Contains(text, "1 collection in the search engine") {
		t.Errorf("in order: %s", text)
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

// models sets files of models.
func (f *fixture) models(chat, embedding string) {
	f.t.Helper()
	for name, text := range map[string]string{"LLM_CONFIG": chat, "EMBEDDING_CONFIG": embedding} {
		f.settings[name] = filepath.Join(f.t.TempDir(), "models.json")
		if err := os.WriteFile(f.settings[name], []byte(text), 0o600); err != nil {
			f.t.Fatal(err)
		}
	}
}

// Models that are reached by credentials of a cloud, or at the address of their provider, are asked by the first call alone.
func TestModelsOfProvidersAreNotAsked(t *testing.T) {
	t.Parallel()
	f := install(t)
	f.models(`[{"name": "claude", "provider": "bedrock", "region": "eu-central-1", "model": "anthropic.claude"}, {"name": "near", "provider": "ollama"}]`,
		`[{"name": "voyage", "provider": "voyage", "api_key": "canary", "dimensions": 8}]`)
	f.settings["RERANK_PROVIDER"], f.settings["RERANK_API_KEY"], f.settings["RERANK_MODEL"] = "jina", "canary", "m"
	found := f.findings()
	if wrong := of(found, "models", doctor.Error); wrong != "" {
		t.Error(wrong)
	}
	for _, name := range []string{"chat model claude", "chat model near", "embedding model voyage", "reranker"} {
		if !strings.Contains(of(found, "models", doctor.OK), "The service of the "+name+" is not asked") {
			t.Errorf("nothing is said of the %s: %+v", name, found)
		}
	}
}

func TestAServiceThatHangsUsesUpNoTimeOfOthers(t *testing.T) {
	t.Parallel()
	f := install(t)
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(hanging.Close)
	f.models(`[{"name": "away", "provider": "openai", "base_url": "`+hanging.URL+`"}]`,
		`[{"name": "there", "provider": "tei", "base_url": "`+f.settings["BASE_URL"]+`", "dimensions": 8}]`)
	found := f.findings()
	if wrong := of(found, "models", doctor.Error); !strings.Contains(wrong, "chat model away cannot be reached") || strings.Contains(wrong, "there") {
		t.Errorf("wrong: %s", wrong)
	}
	if right := of(found, "models", doctor.OK); !strings.Contains(right, "embedding model there answers") {
		t.Errorf("right: %s", right)
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
		"no search engine":         {func(f *fixture) { f.engine("refused by canary2") }, "search engine", doctor.Error, []string{"cannot be reached", "ENGINE_URL"}},
		"an engine without nodes": {func(f *fixture) {
			f.engine("")
			f.nodes = nil
		}, "search engine", doctor.Error, []string{"no node"}},
		"a node is away": {func(f *fixture) {
			f.engine("")
			f.nodes[1].Healthy = false
		}, "search engine", doctor.Warning, []string{"1 of 2 nodes", "b"}},
		"an engine that refuses": {func(f *fixture) {
			f.engine("")
			f.projected("state = 'FAILED'")
		}, "search engine", doctor.Warning, []string{"1 of the collections", "log"}},
		"an engine that is behind": {func(f *fixture) {
			f.engine("")
			f.projected("state = 'READY', behind_since = now() - interval '20 minutes'")
		}, "search engine", doctor.Warning, []string{"not confirmed changes for", "worker"}},
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
