package conformance_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/stack"
	"github.com/magpie-search/magpie/cmd/magpie/web"
	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest/passage"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/rest"
)

const (
	email    = "owner@example.com"
	password = "a good password"
	// host is where the publishable keys of the tests work.
	host   = "docs.example.com"
	origin = "https://" + host
)

// site is a whole Magpie that serves over HTTP, with two collections.
type site struct {
	app       *wire.App
	url       string
	home      string // where the dashboard is
	token     string
	workspace uuid.UUID
	client    *http.Client

	docs, notes place // the first is the older one
	open        pair  // keys to docs, without a limit
}

// place is a collection and the connector that its documents come from.
type place struct{ id, connector string }

// pair is what createAPIKey answers.
type pair struct{ ID, Publishable, Secret string }

// start serves a Magpie with the given settings beside those that every test needs.
func start(t testing.TB, settings map[string]string) *site {
	t.Helper()
	c := settled(t, settings)
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	app, err := wire.Open(t.Context(), c, log)
	must(t, err)
	listener, err := web.Listen(t.Context(), "127.0.0.1:0")
	must(t, err)
	served, err := stack.Serve(t.Context(), app, listener, "test", false)
	must(t, err)
	transport := &http.Transport{MaxIdleConnsPerHost: 128}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := served.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if err := app.Close(); err != nil {
			t.Error(err)
		}
	})
	at := "http://" + listener.Addr().String()
	s := &site{app: app, url: at, home: at, client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	s.furnish(t)
	return s
}

func settled(t testing.TB, settings map[string]string) *config.Config {
	t.Helper()
	key := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32))
	flags := map[string]string{
		"DATABASE_URL": testkit.Database(t).AppURL, "SESSION_KEY": key, "SECRET_KEYS": "test:" + key,
		"BLOB_URL": "file://" + filepath.Join(t.TempDir(), "blobs"), "SHUTDOWN_TIMEOUT": "5s",
		"SECRET_RATE_LIMIT": "0", "PUBLISHABLE_RATE_LIMIT": "0",
	}
	maps.Copy(flags, settings)
	if flags["REDIS_URL"] == "" {
		flags["REDIS_URL"] = testkit.Redis(t)
	}
	c, err := config.Load(config.Source{Environment: []string{}, Flags: flags})
	must(t, err)
	return c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// furnish makes the workspace, its collections and the keys without a limit.
func (s *site) furnish(t testing.TB) {
	t.Helper()
	_, err := s.app.Accounts.CreateOwner(t.Context(), "Test", email, "Owner", password)
	must(t, err)
	tokens, err := s.app.Accounts.SignIn(t.Context(), email, password)
	must(t, err)
	who, err := s.app.Accounts.Authenticate(t.Context(), tokens.Access)
	must(t, err)
	s.token, s.workspace = tokens.Access, who.Workspace
	s.docs, s.notes = s.collection(t, "Docs"), s.collection(t, "Notes")
	s.open = s.key(t, map[string]any{"allowedCollections": []string{s.docs.id}, "rateLimitPerMinute": 0})
}

// graphql runs a dashboard operation that must succeed.
func (s *site) graphql(t testing.TB, into any, query string, variables map[string]any) {
	t.Helper()
	var answer struct {
		Data   json.RawMessage
		Errors []struct{ Message string }
	}
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	must(t, err)
	home := *s
	home.url = s.home
	got := home.do(t, call{method: http.MethodPost, path: "/graphql", body: string(body), headers: []string{"Authorization", "Bearer " + s.token}})
	must(t, json.Unmarshal([]byte(got.body), &answer))
	if len(answer.Errors) > 0 || got.status != http.StatusOK {
		t.Fatalf("%s: %d %s", query, got.status, got.body)
	}
	must(t, json.Unmarshal(answer.Data, into))
}

func (s *site) collection(t testing.TB, name string) place {
	t.Helper()
	var made struct{ CreateCollection, CreateConnector struct{ ID string } }
	s.graphql(t, &made, `mutation($n: String!) { createCollection(input: {name: $n}) { id } }`, map[string]any{"n": name})
	s.graphql(t, &made, `mutation($c: ID!) { createConnector(input: {name: "Files", type: "file_upload", collection: $c}) { id } }`,
		map[string]any{"c": made.CreateCollection.ID})
	return place{made.CreateCollection.ID, made.CreateConnector.ID}
}

// key makes a pair of keys that works from host unless the input names others.
func (s *site) key(t testing.TB, input map[string]any) pair {
	t.Helper()
	in := map[string]any{"name": "Site", "allowedHosts": []string{host}}
	maps.Copy(in, input)
	if in["allowedCollections"] == nil && in["allowAllCollections"] == nil {
		in["allowedCollections"] = []string{s.docs.id}
	}
	var made struct {
		CreateAPIKey struct {
			PublishableKey, SecretKey string
			APIKey                    struct{ ID string }
		}
	}
	s.graphql(t, &made, `mutation($in: CreateAPIKeyInput!) { createAPIKey(input: $in) { publishableKey secretKey apiKey { id } } }`, map[string]any{"in": in})
	return pair{made.CreateAPIKey.APIKey.ID, made.CreateAPIKey.PublishableKey, made.CreateAPIKey.SecretKey}
}

// document is one that a test wants to find.
type document struct {
	path, title, url, section, version, docType, language string
	tags                                                  []string
	created, updated                                      string   // days
	texts                                                 []string // its passages
	metadata                                              map[string]any
}

// put stores documents as a sync does, without one.
func (s *site) put(t testing.TB, in place, documents ...document) {
	t.Helper()
	scope, err := viewer.System(s.workspace).Scope()
	must(t, err)
	model := s.app.Models.Default()
	for _, d := range documents {
		text := strings.Join(d.texts, "\n\n")
		titled, passages, at := make([]string, len(d.texts)), make([]passage.Passage, len(d.texts)), 0
		for i, text := range d.texts {
			titled[i], passages[i] = d.title+"\n"+text, passage.Passage{Ordinal: i, Text: text, Start: at, End: at + len(text)}
			at += len(text) + 2
		}
		vectors, err := model.Embed(t.Context(), titled, embed.Passage)
		must(t, err)
		language := d.language
		if language == "" {
			language = "en"
		}
		_, err = s.app.Index.Put(t.Context(), scope, index.Fence{}, &index.Record{
			Connector: uuid.MustParse(in.connector), Collection: uuid.MustParse(in.id), SourceID: d.path, Path: d.path, Title: d.title, URL: d.url,
			Section: d.section, Version: d.version, DocType: d.docType, Language: language, Tags: d.tags, Metadata: d.metadata,
			CreatedAt: day(t, d.created), UpdatedAt: day(t, d.updated), Hash: []byte(d.path), Text: text, Bytes: int64(len(text)),
			Passages: passages, Vectors: vectors, Model: model.Model(),
		})
		must(t, err)
	}
}

func day(t testing.TB, text string) time.Time {
	t.Helper()
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.DateOnly, text)
	must(t, err)
	return at.Add(12 * time.Hour)
}

// with serves the same application once more, with other options of the REST
// surface: a clock, a limit, a shorter wait.
func (s *site) with(t testing.TB, change func(*rest.Options)) *site {
	t.Helper()
	server := httptest.NewServer(s.handler(t, change))
	t.Cleanup(server.Close)
	other := *s
	transport := &http.Transport{MaxIdleConnsPerHost: 128}
	t.Cleanup(transport.CloseIdleConnections)
	other.url, other.client = server.URL, &http.Client{Transport: transport}
	return &other
}

// handler is the REST surface of the application alone.
func (s *site) handler(t testing.TB, change func(*rest.Options)) http.Handler {
	t.Helper()
	o := s.app.REST()
	change(&o)
	transport, err := rest.New(o)
	must(t, err)
	server := s.app.GraphQL()
	server.AddTransport(transport)
	return transport.Handler(server, http.NotFoundHandler())
}
