package widget_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/stack"
	"github.com/magpie-search/magpie/cmd/magpie/web"
	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/testkit"
)

const (
	email    = "owner@example.com"
	password = "a good password"
)

// magpie is a Magpie whose server and worker run in the test.
type magpie struct {
	t          *testing.T
	url        string // for the test
	public     string // for pages, from another site
	token      string
	collection string
	http       *http.Client
}

// start starts a Magpie with a collection of documents and further settings.
func start(t *testing.T, documents map[string]string, settings ...string) *magpie {
	t.Helper()
	database := testkit.Database(t)
	key := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32))
	flags := map[string]string{
		"DATABASE_URL": database.AppURL, "REDIS_URL": testkit.Redis(t), "SESSION_KEY": key, "SECRET_KEYS": "test:" + key,
		"BLOB_URL": "file://" + filepath.Join(t.TempDir(), "blobs"), "SHUTDOWN_TIMEOUT": "5s",
	}
	for i := 0; i < len(settings); i += 2 {
		flags[settings[i]] = settings[i+1]
	}
	c, err := config.Load(config.Source{Environment: []string{}, Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	app, err := wire.Open(t.Context(), c, slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Accounts.CreateOwner(t.Context(), "Test", email, "Owner", password); err != nil {
		t.Fatal(err)
	}
	listener, err := web.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served, err := stack.Serve(t.Context(), app, listener, "test", true)
	if err != nil {
		t.Fatal(err)
	}
	worker := stack.StartWorker(t.Context(), app)
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := served.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		worker.Stop()
		if err := app.Close(); err != nil {
			t.Error(err)
		}
	})
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	m := &magpie{
		t: t, url: "http://" + listener.Addr().String(), public: "http://search.example.com:" + port,
		http: &http.Client{Transport: transport, Timeout: patience},
	}
	var in struct{ SignIn struct{ AccessToken string } }
	m.graphql(&in, `mutation($input: SignInInput!) { signIn(input: $input) { accessToken } }`,
		map[string]any{"input": map[string]any{"email": email, "password": password}})
	m.token = in.SignIn.AccessToken
	m.index(documents)
	return m
}

func (m *magpie) post(kind string, body io.Reader, into any) {
	m.t.Helper()
	request, err := http.NewRequestWithContext(m.t.Context(), http.MethodPost, m.url+"/graphql", body)
	if err != nil {
		m.t.Fatal(err)
	}
	request.Header.Set("Content-Type", kind)
	if m.token != "" {
		request.Header.Set("Authorization", "Bearer "+m.token)
	}
	response, err := m.http.Do(request)
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Data   json.RawMessage
		Errors []struct{ Message string }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		m.t.Fatal(err)
	}
	if len(answer.Errors) > 0 {
		m.t.Fatalf("%+v", answer.Errors)
	}
	if err := json.Unmarshal(answer.Data, into); err != nil {
		m.t.Fatal(err)
	}
}

func (m *magpie) graphql(into any, query string, variables map[string]any) {
	m.t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		m.t.Fatal(err)
	}
	m.post("application/json", bytes.NewReader(body), into)
}

// index uploads documents and waits until they are searchable.
func (m *magpie) index(documents map[string]string) {
	m.t.Helper()
	var made struct {
		CreateCollection struct{ ID string }
		CreateConnector  struct{ ID string }
		StartSync        struct{ ID string }
		UploadFiles      []struct{ Path string }
	}
	m.graphql(&made, `mutation { createCollection(input: {name: "Handbook"}) { id } }`, nil)
	m.collection = made.CreateCollection.ID
	m.graphql(&made, `mutation($c: ID!) { createConnector(input: {name: "Files", type: "file_upload", collection: $c}) { id } }`,
		map[string]any{"c": m.collection})
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	places, empty, paths := map[string][]string{}, []any{}, []string{}
	for path := range documents {
		places[fmt.Sprint(len(paths))] = []string{fmt.Sprintf("variables.files.%d", len(paths))}
		paths, empty = append(paths, path), append(empty, nil)
	}
	operations, err := json.Marshal(map[string]any{
		"query":     `mutation($c: ID!, $files: [Upload!]!, $paths: [String!]) { uploadFiles(connectorId: $c, files: $files, paths: $paths) { path } }`,
		"variables": map[string]any{"c": made.CreateConnector.ID, "files": empty, "paths": paths},
	})
	if err != nil {
		m.t.Fatal(err)
	}
	mapped, err := json.Marshal(places)
	if err != nil {
		m.t.Fatal(err)
	}
	_, _ = form.WriteField("operations", string(operations)), form.WriteField("map", string(mapped)) // writing to a buffer cannot fail
	for i, path := range paths {
		part, err := form.CreateFormFile(fmt.Sprint(i), filepath.Base(path))
		if err == nil {
			_, err = io.WriteString(part, documents[path])
		}
		if err != nil {
			m.t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		m.t.Fatal(err)
	}
	m.post(form.FormDataContentType(), &body, &made)
	m.graphql(&made, `mutation($c: ID!) { startSync(connectorId: $c) { id } }`, map[string]any{"c": made.CreateConnector.ID})
	testkit.WaitWithin(m.t, patience, "the sync of the documents", func() bool {
		var job struct{ SyncJob struct{ Status string } }
		m.graphql(&job, `query($id: ID!) { syncJob(id: $id) { status } }`, map[string]any{"id": made.StartSync.ID})
		switch job.SyncJob.Status {
		case "COMPLETED":
			return true
		case "QUEUED", "RUNNING":
		default:
			m.t.Fatalf("the sync ended with %s", job.SyncJob.Status)
		}
		return false
	})
}

// key creates a pair of keys for a host, with further input of createAPIKey.
func (m *magpie) key(host string, input map[string]any) (publishable, secret string) {
	m.t.Helper()
	all := map[string]any{"name": "Site", "allowedHosts": []string{host}, "allowedCollections": []string{m.collection}, "rateLimitPerMinute": 0}
	for name, value := range input {
		all[name] = value
	}
	var made struct {
		CreateAPIKey struct{ PublishableKey, SecretKey string }
	}
	m.graphql(&made, `mutation($input: CreateAPIKeyInput!) { createAPIKey(input: $input) { publishableKey secretKey } }`, map[string]any{"input": all})
	return made.CreateAPIKey.PublishableKey, made.CreateAPIKey.SecretKey
}
