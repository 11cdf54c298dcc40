// Package stacktest starts a whole Magpie in a test: server and worker with real
// PostgreSQL and Redis.
package stacktest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/cmd/magpie/stack"
	"github.com/magpie-search/magpie/cmd/magpie/web"
	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/testkit"
)

// The owner of the workspace.
const (
	Email    = "owner@example.com"
	Password = "a good password"
)

// Magpie is a running Magpie with a workspace.
type Magpie struct {
	// URL is the address without a slash at the end.
	URL string

	t        *testing.T
	token    string // of the owner
	http     *http.Client
	database *testkit.DB
	settings map[string]string
}

// Settings returns the lines of a settings file for further processes of the same Magpie.
func (m *Magpie) Settings() []string {
	lines := make([]string, 0, len(m.settings))
	for name, value := range m.settings {
		lines = append(lines, name+"="+value)
	}
	return lines
}

// Start starts a Magpie with further settings: names and values in turn. It ends with
// the test.
func Start(t *testing.T, settings ...string) *Magpie {
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
	listener, err := web.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if flags["BASE_URL"] == "" {
		flags["BASE_URL"] = "http://" + listener.Addr().String()
	}
	c, err := config.Load(config.Source{Environment: []string{}, Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	app, err := wire.Open(t.Context(), c, slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Accounts.CreateOwner(t.Context(), "Test", Email, "Owner", Password); err != nil {
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
	m := &Magpie{t: t, URL: "http://" + listener.Addr().String(), http: &http.Client{Transport: transport, Timeout: time.Minute}, database: database, settings: flags}
	var in struct{ SignIn struct{ AccessToken string } }
	m.GraphQL(&in, `mutation($input: SignInInput!) { signIn(input: $input) { accessToken } }`,
		map[string]any{"input": map[string]any{"email": Email, "password": Password}})
	m.token = in.SignIn.AccessToken
	return m
}

// Member makes a member with a role, such as VIEWER, and returns the email address and
// the password.
func (m *Magpie) Member(role string) (email, password string) {
	m.t.Helper()
	email, password = strings.ToLower(role)+"@example.com", "a password of 1 "+role
	var made struct{ InviteMember struct{ Token string } }
	m.GraphQL(&made, `mutation($input: InviteMemberInput!) { inviteMember(input: $input) { token } }`,
		map[string]any{"input": map[string]any{"email": email, "role": role}})
	stranger := *m
	stranger.token = ""
	stranger.GraphQL(nil, `mutation($input: AcceptInvitationInput!) { acceptInvitation(input: $input) { accessToken } }`,
		map[string]any{"input": map[string]any{"token": made.InviteMember.Token, "name": "A " + strings.ToLower(role), "password": password}})
	return email, password
}

// Converse puts turns of a question and an answer before what the newest conversation has, numbered from 1.
func (m *Magpie) Converse(turns int) {
	m.t.Helper()
	m.Execute(`
		insert into messages (id, created_at, updated_at, workspace_id, subject_id, conversation_id, role, content)
		select ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, c.created_at, c.created_at, c.workspace_id, c.subject_id, c.id,
			case n % 2 when 0 then 'USER' else 'ASSISTANT' end, case n % 2 when 0 then 'Question ' else 'Answer ' end || n / 2 + 1 || repeat(E'\n\nMore of it.', n % 7)
		from (select * from conversations order by created_at desc limit 1) c, generate_series(0, 2 * $1 - 1) n`, turns)
}

// Execute executes a statement as a superuser of the database, for a state that no request makes.
func (m *Magpie) Execute(statement string, arguments ...any) {
	m.t.Helper()
	connection, err := pgx.Connect(m.t.Context(), m.database.AdminURL)
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = connection.Close(context.WithoutCancel(m.t.Context())) }()
	if _, err := connection.Exec(m.t.Context(), statement, arguments...); err != nil {
		m.t.Fatal(err)
	}
}

// Session signs somebody in as a page of the dashboard does, and returns the cookie of the session.
func (m *Magpie) Session(email, password string) *http.Cookie {
	m.t.Helper()
	body, err := json.Marshal(map[string]string{"email": email, "password": password})
	if err != nil {
		m.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(m.t.Context(), http.MethodPost, m.URL+"/api/v1/auth/login?cookie=1", bytes.NewReader(body))
	if err != nil {
		m.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	response, err := m.http.Do(request)
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if len(response.Cookies()) != 1 {
		m.t.Fatalf("%s gets %s and no session", email, response.Status)
	}
	return response.Cookies()[0]
}

// Get requests a path with a header and returns the status of the response.
func (m *Magpie) Get(path string, header http.Header) (status int) {
	m.t.Helper()
	request, err := http.NewRequestWithContext(m.t.Context(), http.MethodGet, m.URL+path, http.NoBody)
	if err != nil {
		m.t.Fatal(err)
	}
	request.Header = header
	response, err := m.http.Do(request)
	if err != nil {
		m.t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// GraphQL runs an operation as the owner and stores its data.
func (m *Magpie) GraphQL(into any, query string, variables map[string]any) {
	m.t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		m.t.Fatal(err)
	}
	m.Post("application/json", bytes.NewReader(body), into)
}

// Follow runs a subscription as the owner until one of its events contains a text.
func (m *Magpie) Follow(query string, variables map[string]any, last string) {
	m.t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		m.t.Fatal(err)
	}
	response := m.send("application/json", "text/event-stream", bytes.NewReader(body))
	defer func() { _ = response.Body.Close() }()
	var lines []string
	for events := bufio.NewScanner(response.Body); events.Scan(); {
		lines = append(lines, events.Text())
		if strings.Contains(events.Text(), last) {
			return
		}
	}
	m.t.Fatalf("no event of the subscription contains %s: %q", last, lines)
}

// send posts a body of a media type to /graphql as the owner.
func (m *Magpie) send(kind, accept string, body io.Reader) *http.Response {
	m.t.Helper()
	request, err := http.NewRequestWithContext(m.t.Context(), http.MethodPost, m.URL+"/graphql", body)
	if err != nil {
		m.t.Fatal(err)
	}
	request.Header.Set("Content-Type", kind)
	request.Header.Set("Accept", accept)
	if m.token != "" {
		request.Header.Set("Authorization", "Bearer "+m.token)
	}
	response, err := m.http.Do(request)
	if err != nil {
		m.t.Fatal(err)
	}
	return response
}

// Post posts a body of a media type to /graphql as the owner and stores the data.
func (m *Magpie) Post(kind string, body io.Reader, into any) {
	m.t.Helper()
	response := m.send(kind, "application/json", body)
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
	if into == nil {
		return
	}
	if err := json.Unmarshal(answer.Data, into); err != nil {
		m.t.Fatal(err)
	}
}

// Store uploads files, by path, to a connector of the kind file_upload.
func (m *Magpie) Store(connector string, files map[string]string) {
	t := m.t
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	places, empty, paths := map[string][]string{}, []any{}, []string{}
	for path := range files {
		places[fmt.Sprint(len(paths))] = []string{fmt.Sprintf("variables.files.%d", len(paths))}
		paths, empty = append(paths, path), append(empty, nil)
	}
	field := func(name string, value any) {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		_ = form.WriteField(name, string(text)) // writing to a buffer cannot fail
	}
	field("operations", map[string]any{
		"query":     `mutation($c: ID!, $files: [Upload!]!, $paths: [String!]) { uploadFiles(connectorId: $c, files: $files, paths: $paths) { path } }`,
		"variables": map[string]any{"c": connector, "files": empty, "paths": paths},
	})
	field("map", places)
	for i, path := range paths {
		part, err := form.CreateFormFile(fmt.Sprint(i), "file")
		if err == nil {
			_, err = io.WriteString(part, files[path])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	m.Post(form.FormDataContentType(), &body, nil)
}

// Upload stores files as Store does, syncs them, and returns the status of the job.
func (m *Magpie) Upload(connector string, files map[string]string) (status string) {
	t := m.t
	t.Helper()
	m.Store(connector, files)
	var started struct{ StartSync struct{ ID string } }
	m.GraphQL(&started, `mutation($c: ID!) { startSync(connectorId: $c) { id } }`, map[string]any{"c": connector})
	testkit.WaitWithin(t, time.Minute, "the sync of the files", func() bool {
		var job struct {
			SyncJob struct {
				Status     string
				FinishedAt *time.Time
			}
		}
		m.GraphQL(&job, `query($id: ID!) { syncJob(id: $id) { status finishedAt } }`, map[string]any{"id": started.StartSync.ID})
		status = job.SyncJob.Status
		return job.SyncJob.FinishedAt != nil
	})
	return status
}
