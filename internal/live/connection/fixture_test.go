package connection_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/live/connection"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

// schema returns an executable schema without resolvers: wait has one event and then
// none, flood has endless large events, panic panics.
func schema() graphql.ExecutableSchema {
	parsed := gqlparser.MustLoadSchema(&ast.Source{Input: `
		type Query { name: String! }
		type Subscription { wait: String! flood: String! panic: String! }`})
	large, _ := json.Marshal(map[string]string{"flood": strings.Repeat("x", 256<<10)})
	return &graphql.ExecutableSchemaMock{
		SchemaFunc:     func() *ast.Schema { return parsed },
		ComplexityFunc: func(context.Context, string, string, int, map[string]any) (int, bool) { return 1, true },
		ExecFunc: func(ctx context.Context) graphql.ResponseHandler {
			field, _ := graphql.GetOperationContext(ctx).Operation.SelectionSet[0].(*ast.Field)
			told := false
			return func(ctx context.Context) *graphql.Response {
				switch {
				case field.Name == "panic":
					panic("secret detail")
				case ctx.Err() != nil:
					return nil
				case field.Name == "flood":
					return &graphql.Response{Data: large}
				case !told:
					told = true
					return &graphql.Response{Data: []byte(`{"` + field.Name + `":"first"}`)}
				case field.Name == "wait":
					<-ctx.Done()
				}
				return nil
			}
		},
	}
}

// people has the roles of sessions.
type people struct {
	mu    sync.Mutex
	roles map[uuid.UUID]viewer.Role
	err   error
}

func (p *people) Roles(_ context.Context, sessions []uuid.UUID) (map[uuid.UUID]viewer.Role, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	roles := map[uuid.UUID]viewer.Role{}
	for _, id := range sessions {
		if role, ok := p.roles[id]; ok {
			roles[id] = role
		}
	}
	return roles, p.err
}

func (p *people) set(change func(map[uuid.UUID]viewer.Role)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p.roles)
}

func (p *people) fail() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = errors.New("the database is away")
}

// A fixture is a server of streams over HTTP with its sessions. The token of a person
// is the id of their session.
type fixture struct {
	*testing.T
	people *people
	server *connection.Server
	http   *httptest.Server
	client *http.Client
}

func open(t *testing.T, o connection.Options) *fixture {
	t.Helper()
	p := &fixture{T: t, people: &people{roles: map[uuid.UUID]viewer.Role{}}}
	o.Sessions, o.Log = p.people, slog.New(slog.DiscardHandler)
	o.Init = func(_ context.Context, payload map[string]any) (viewer.Viewer, error) {
		token, _ := payload["token"].(string)
		return p.recognise(token)
	}
	if o.Recheck == 0 {
		o.Recheck = 10 * time.Millisecond
	}
	p.server = connection.New(t.Context(), o)
	s := handler.New(schema())
	s.AddTransport(p.server.WebSocket(func(context.Context) string { return "192.0.2.1" }))
	s.AddTransport(events{p.server})
	p.http = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := p.recognise(r.Header.Get("Token"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		s.ServeHTTP(w, r.WithContext(viewer.With(r.Context(), v)))
	}))
	p.http.Start()
	transport := &http.Transport{}
	p.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		p.server.Close(context.Background())
		transport.CloseIdleConnections()
		p.http.Close()
	})
	return p
}

func (p *fixture) recognise(token string) (viewer.Viewer, error) {
	if token == "" {
		return viewer.Viewer{Kind: viewer.KindAnonymous}, nil
	}
	id, err := uuid.Parse(token)
	p.people.mu.Lock()
	role, ok := p.people.roles[id]
	p.people.mu.Unlock()
	if err != nil || !ok {
		return viewer.Viewer{}, apierr.New(apierr.Unauthorized, "Session required")
	}
	return viewer.Viewer{Kind: viewer.KindSession, Subject: uuid.NewSHA1(id, nil), Session: id, Role: role}, nil
}

// signIn returns the session of a new person.
func (p *fixture) signIn() (session uuid.UUID) {
	session = uuid.New()
	p.people.set(func(roles map[uuid.UUID]viewer.Role) { roles[session] = viewer.RoleEditor })
	return session
}

// events is the transport of event streams.
type events struct{ server *connection.Server }

func (events) Supports(r *http.Request) bool { return r.Method == http.MethodPost }

func (t events) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	params := &graphql.RawParams{Query: r.Header.Get("Query"), Headers: r.Header}
	rc, wrong := exec.CreateOperationContext(r.Context(), params)
	if err := t.server.Events(r.Context(), w, exec, rc, wrong, "192.0.2.1"); err != nil {
		http.Error(w, err.Error(), apierr.From(err).Code.Status())
	}
}

// A socket is the client of a WebSocket.
type socket struct {
	*fixture
	*websocket.Conn
}

func (p *fixture) dial(protocols ...string) *socket {
	p.Helper()
	if protocols == nil {
		protocols = []string{connection.Protocol}
	}
	conn, response, err := websocket.Dial(p.Context(), p.http.URL, &websocket.DialOptions{HTTPClient: p.client, Subprotocols: protocols})
	if err != nil {
		p.Fatal(err)
	}
	if response.Body != nil {
		_ = response.Body.Close()
	}
	conn.SetReadLimit(-1)
	p.Cleanup(func() { _ = conn.CloseNow() })
	return &socket{p, conn}
}

// enter opens and initializes a connection.
func (p *fixture) enter(session uuid.UUID) *socket {
	p.Helper()
	s := p.dial()
	token := ""
	if session != uuid.Nil {
		token = session.String()
	}
	s.send(`{"type":"connection_init","payload":{"token":"` + token + `"}}`)
	if m := s.receive(); m.Type != "connection_ack" {
		p.Fatalf("%+v", m)
	}
	return s
}

// send sends a message.
func (s *socket) send(text string) {
	s.Helper()
	if err := s.Write(s.Context(), websocket.MessageText, []byte(text)); err != nil {
		s.Fatal(err)
	}
}

func (s *socket) subscribe(id, field string) {
	s.Helper()
	s.send(`{"type":"subscribe","id":"` + id + `","payload":{"query":"subscription { ` + field + ` }"}}`)
}

type message struct {
	ID, Type string
	Payload  json.RawMessage
	closed   websocket.StatusCode // not 0 when the connection was closed
	reason   string
}

// receive waits for the next message or the end.
func (s *socket) receive() message {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	_, b, err := s.Read(ctx)
	if err != nil {
		var end websocket.CloseError
		if errors.As(err, &end) {
			return message{closed: end.Code, reason: end.Reason}
		}
		return message{closed: -1, reason: err.Error()}
	}
	var m message
	if err := json.Unmarshal(bytes.TrimSpace(b), &m); err != nil {
		s.Fatalf("%s: %v", b, err)
	}
	return m
}

// end receives until the connection is closed.
func (s *socket) end() message {
	s.Helper()
	for {
		if m := s.receive(); m.closed != 0 {
			return m
		}
	}
}

// waitFor waits until done reports true.
func (p *fixture) waitFor(what string, done func() bool) {
	p.Helper()
	testkit.WaitFor(p, what, done)
}

// stall opens a flood and reads nothing.
func (p *fixture) stall(session uuid.UUID) {
	p.Helper()
	s := p.enter(session)
	s.subscribe("1", "flood")
}
