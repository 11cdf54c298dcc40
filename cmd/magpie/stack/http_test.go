package stack_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime/multipart"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"github.com/magpie-search/magpie/cmd/magpie/stack"
	"github.com/magpie-search/magpie/cmd/magpie/web"
	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/testkit"
)

const (
	email    = "owner@example.com"
	password = "a good password"
	origin   = "https://app.example.com"
)

// service is a whole Magpie that serves and works in the test.
type service struct {
	t     *testing.T
	app   *wire.App
	url   string
	token string
	http  *http.Client
}

// start serves with the settings of further, on top of what every test needs.
func start(t *testing.T, further ...map[string]string) *service {
	t.Helper()
	database := testkit.Database(t)
	key := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32))
	settings := map[string]string{
		"DATABASE_URL": database.AppURL, "REDIS_URL": testkit.Redis(t), "SESSION_KEY": key, "SECRET_KEYS": "test:" + key,
		"BLOB_URL": "file://" + filepath.Join(t.TempDir(), "blobs"), "DASHBOARD_ORIGINS": origin, "UPLOAD_LIMIT": "100KiB",
		"SHUTDOWN_TIMEOUT": "5s",
	}
	for _, more := range further {
		maps.Copy(settings, more)
	}
	c, err := config.Load(config.Source{Environment: []string{}, Flags: settings})
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
	s := &service{t: t, app: app, url: "http://" + listener.Addr().String(), http: &http.Client{Transport: transport}}
	s.token = s.signIn(email)
	return s
}

// signIn opens a session of a person.
func (s *service) signIn(email string) (token string) {
	s.t.Helper()
	var in struct {
		SignIn struct{ AccessToken string }
	}
	s.graphql(&in, `mutation($input: SignInInput!) { signIn(input: $input) { accessToken } }`,
		map[string]any{"input": map[string]any{"email": email, "password": password}})
	return in.SignIn.AccessToken
}

func (s *service) request(method, path, kind string, body io.Reader, headers ...string) *http.Response {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := s.http.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func encode(t *testing.T, value any) io.Reader {
	t.Helper()
	content, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(content)
}

type answer struct {
	Data   json.RawMessage
	Errors []struct {
		Message    string
		Extensions struct{ Code string }
	}
}

// graphql runs an operation that must succeed.
func (s *service) graphql(into any, query string, variables map[string]any) {
	s.t.Helper()
	s.decode(into, s.request(http.MethodPost, "/graphql", "application/json", encode(s.t, map[string]any{"query": query, "variables": variables})))
}

func (s *service) decode(into any, response *http.Response) {
	s.t.Helper()
	var a answer
	if err := json.NewDecoder(response.Body).Decode(&a); err != nil {
		s.t.Fatal(err)
	}
	if len(a.Errors) > 0 || response.StatusCode != http.StatusOK {
		s.t.Fatalf("%d %+v", response.StatusCode, a.Errors)
	}
	if err := json.Unmarshal(a.Data, into); err != nil {
		s.t.Fatal(err)
	}
}

// connector makes a collection with a connector for files.
func (s *service) connector() (id string) {
	s.t.Helper()
	id, _ = s.connectorOf("")
	return id
}

// connectorOf creates a collection with an embedding model, the default one when empty,
// and a connector for uploads.
func (s *service) connectorOf(model string) (id, collection string) {
	s.t.Helper()
	var made struct {
		CreateCollection struct{ ID string }
		CreateConnector  struct{ ID string }
	}
	input := map[string]any{"name": strings.TrimSpace("Docs " + model)}
	if model != "" {
		input["embeddingModel"] = model
	}
	s.graphql(&made, `mutation($i: CreateCollectionInput!) { createCollection(input: $i) { id } }`, map[string]any{"i": input})
	s.graphql(&made, `mutation($c: ID!) { createConnector(input: {name: "Files", type: "file_upload", collection: $c}) { id } }`,
		map[string]any{"c": made.CreateCollection.ID})
	return made.CreateConnector.ID, made.CreateCollection.ID
}

// upload sends files as a multipart form of the GraphQL multipart request convention.
func (s *service) upload(connector string, files map[string]string) *http.Response {
	s.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	field := func(name string, value any) {
		content, err := json.Marshal(value)
		if err == nil {
			err = form.WriteField(name, string(content))
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	places, empty, paths := map[string][]string{}, []any{}, []string{}
	for path := range files {
		places[fmt.Sprint(len(paths))] = []string{fmt.Sprintf("variables.files.%d", len(paths))}
		paths, empty = append(paths, path), append(empty, nil)
	}
	field("operations", map[string]any{
		"query":     `mutation($c: ID!, $files: [Upload!]!, $paths: [String!]) { uploadFiles(connectorId: $c, files: $files, paths: $paths) { path bytes } }`,
		"variables": map[string]any{"c": connector, "files": empty, "paths": paths},
	})
	field("map", places)
	for i, path := range paths {
		part, err := form.CreateFormFile(fmt.Sprint(i), filepath.Base(path))
		if err == nil {
			_, err = io.WriteString(part, files[path])
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		s.t.Fatal(err)
	}
	return s.request(http.MethodPost, "/graphql", form.FormDataContentType(), &body)
}

type progress struct {
	SyncProgress struct {
		Status   string
		Progress struct{ Collected, Indexed int }
		Stats    struct{ Added int }
	}
}

const watchSync = `subscription($job: ID!) { syncProgress(jobId: $job) { status progress { collected indexed } stats { added } } }`

func (s *service) startSync(connector string) (job string) {
	s.t.Helper()
	var started struct{ StartSync struct{ ID string } }
	s.graphql(&started, `mutation($c: ID!) { startSync(connectorId: $c) { id } }`, map[string]any{"c": connector})
	return started.StartSync.ID
}

func TestUploadSyncWatchAndSearch(t *testing.T) {
	t.Parallel()
	s := start(t)
	connector := s.connector()
	var uploaded struct{ UploadFiles []struct{ Path string } }
	s.decode(&uploaded, s.upload(connector, map[string]string{
		"guides/keys.md": "# Rotate the key\n\nThe signing key is rotated once a year.\n", "faq.md": "# Questions\n\nIs there a warranty? No.\n",
	}))
	if len(uploaded.UploadFiles) != 2 {
		t.Fatalf("%+v", uploaded)
	}
	states := s.watchOverWebSocket(s.startSync(connector))
	last := states[len(states)-1].SyncProgress
	if last.Status != "COMPLETED" || last.Stats.Added != 2 || last.Progress.Collected != 2 {
		t.Errorf("%+v", states)
	}
	for i := 1; i < len(states); i++ {
		if states[i].SyncProgress.Stats.Added < states[i-1].SyncProgress.Stats.Added {
			t.Errorf("the counters go back: %+v", states)
		}
	}
	// A subscription to a job that has ended sends one event.
	states = s.watchOverSSE(s.startSync(connector))
	if len(states) == 0 || states[len(states)-1].SyncProgress.Status != "COMPLETED" {
		t.Errorf("%+v", states)
	}
	var found struct {
		Search struct {
			Total   int
			Results []struct{ Title, Snippet string }
		}
	}
	s.graphql(&found, `{ search(input: {query: "signing key", highlight: true}) { total results { title snippet } } }`, nil)
	if found.Search.Total == 0 || found.Search.Results[0].Title != "Rotate the key" || !strings.Contains(found.Search.Results[0].Snippet, "<mark>") {
		t.Errorf("%+v", found)
	}
	response := s.request(http.MethodGet, "/api/v1/collections", "", nil)
	if content, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK || !strings.Contains(string(content), `"documentCount":2`) {
		t.Errorf("REST: %d %s", response.StatusCode, content)
	}
}

// watchOverWebSocket collects the states of a job until it ends.
func (s *service) watchOverWebSocket(job string) []progress {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	socket := s.dial(ctx, map[string]any{"authorization": "Bearer " + s.token})
	defer func() { _ = socket.CloseNow() }()
	s.send(ctx, socket, map[string]any{"id": "1", "type": "subscribe", "payload": map[string]any{
		"query": watchSync, "variables": map[string]any{"job": job},
	}})
	var states []progress
	for {
		frame := s.receive(ctx, socket)
		switch frame.Type {
		case "next":
			var a answer
			var p progress
			if err := json.Unmarshal(frame.Payload, &a); err != nil {
				s.t.Fatal(err)
			}
			if err := json.Unmarshal(a.Data, &p); err != nil {
				s.t.Fatalf("%v: %s", err, frame.Payload)
			}
			states = append(states, p)
		case "complete":
			return states
		case "ping", "pong":
		default:
			s.t.Fatalf("%+v", frame)
		}
	}
}

type frame struct {
	Type    string
	Payload json.RawMessage
}

// dial opens a connection, from a page of an origin if one is given, and says who it is.
func (s *service) dial(ctx context.Context, who map[string]any, from ...string) *websocket.Conn {
	s.t.Helper()
	header := http.Header{}
	if len(from) > 0 {
		header["Origin"] = from
	}
	socket, response, err := websocket.Dial(ctx, s.url+"/graphql", &websocket.DialOptions{
		HTTPClient: s.http, Subprotocols: []string{"graphql-transport-ws"}, HTTPHeader: header,
	})
	if err != nil {
		s.t.Fatalf("%v (%v)", err, response)
	}
	s.send(ctx, socket, map[string]any{"type": "connection_init", "payload": who})
	for {
		switch frame := s.receive(ctx, socket); frame.Type {
		case "connection_ack":
			return socket
		case "ping", "pong":
		default:
			s.t.Fatalf("%s %s", frame.Type, frame.Payload)
		}
	}
}

func (s *service) send(ctx context.Context, socket *websocket.Conn, message any) {
	s.t.Helper()
	if err := wsjson.Write(ctx, socket, message); err != nil {
		s.t.Fatal(err)
	}
}

func (s *service) receive(ctx context.Context, socket *websocket.Conn) frame {
	s.t.Helper()
	var f frame
	if err := wsjson.Read(ctx, socket, &f); err != nil {
		s.t.Fatal(err)
	}
	return f
}

// watchOverSSE does the same over server-sent events.
func (s *service) watchOverSSE(job string) []progress {
	s.t.Helper()
	response := s.request(http.MethodPost, "/graphql", "application/json",
		encode(s.t, map[string]any{"query": watchSync, "variables": map[string]any{"job": job}}), "Accept", "text/event-stream")
	if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" {
		s.t.Fatalf("content type %q", kind)
	}
	var states []progress
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		data, found := strings.CutPrefix(lines.Text(), "data: ")
		if !found || data == "" {
			continue
		}
		var a answer
		var p progress
		if err := json.Unmarshal([]byte(data), &a); err != nil {
			s.t.Fatal(err)
		}
		if err := json.Unmarshal(a.Data, &p); err != nil {
			s.t.Fatalf("%v: %s", err, data)
		}
		states = append(states, p)
	}
	return states
}

func TestWebSocketsWithoutASessionGetNothing(t *testing.T) {
	t.Parallel()
	s := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for name, who := range map[string]map[string]any{
		"a wrong token": {"authorization": "Bearer nonsense"},
		"an API key":    {"authorization": "Bearer svc_sk_x"},
		"a key header":  {"X-Service-Key": "svc_sk_x"},
	} {
		socket, _, err := websocket.Dial(ctx, s.url+"/graphql", &websocket.DialOptions{HTTPClient: s.http, Subprotocols: []string{"graphql-transport-ws"}})
		if err != nil {
			t.Fatal(err)
		}
		s.send(ctx, socket, map[string]any{"type": "connection_init", "payload": who})
		for {
			var f frame
			err := wsjson.Read(ctx, socket, &f)
			if err != nil {
				break // refused
			}
			if f.Type == "connection_ack" {
				t.Errorf("%s: was let in", name)
				break
			}
		}
		_ = socket.CloseNow()
	}
	// Nobody at all may connect, to sign in, but sees nothing.
	nobody := &service{t: t, url: s.url, http: s.http}
	socket := nobody.dial(ctx, map[string]any{})
	defer func() { _ = socket.CloseNow() }()
	nobody.send(ctx, socket, map[string]any{"id": "1", "type": "subscribe", "payload": map[string]any{"query": "{ me { role } }"}})
	for {
		f := nobody.receive(ctx, socket)
		if f.Type == "ping" || f.Type == "pong" {
			continue
		}
		if !strings.Contains(string(f.Payload), "unauthorized") {
			t.Errorf("%s %s", f.Type, f.Payload)
		}
		break
	}
}

func TestPagesOfOtherOriginsAreRefused(t *testing.T) {
	t.Parallel()
	s := start(t)
	for from, allowed := range map[string]bool{origin: true, "https://evil.example.com": false} {
		response := s.request(http.MethodOptions, "/graphql", "", nil, "Origin", from,
			"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type")
		if got := response.Header.Get("Access-Control-Allow-Origin"); (got == from) != allowed {
			t.Errorf("%s: %q", from, got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		socket, _, err := websocket.Dial(ctx, s.url+"/graphql", &websocket.DialOptions{
			HTTPClient: s.http, Subprotocols: []string{"graphql-transport-ws"}, HTTPHeader: http.Header{"Origin": {from}},
		})
		if (err == nil) != allowed {
			t.Errorf("a WebSocket from %s: %v", from, err)
		}
		if err == nil {
			_ = socket.CloseNow()
		}
		cancel()
	}
}

func TestUploadsAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t)
	connector := s.connector()
	response := s.upload(connector, map[string]string{"large.txt": strings.Repeat("x", 200<<10)})
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), `"errors"`) || strings.Contains(string(content), `"path":"large.txt"`) {
		t.Errorf("%d %s", response.StatusCode, content)
	}
}
