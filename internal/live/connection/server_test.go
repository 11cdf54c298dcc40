package connection_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/live/connection"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestAConnectionSpeaksTheProtocol(t *testing.T) {
	t.Parallel()
	p := open(t, connection.Options{})
	s := p.dial()
	s.send(`{"type":"ping","payload":{"n":1}}`) // allowed before connection_init
	if m := s.receive(); m.Type != "pong" || string(m.Payload) != `{"n":1}` {
		t.Errorf("%+v", m)
	}
	s.send(`{"type":"connection_init"}`)
	if m := s.receive(); m.Type != "connection_ack" {
		t.Fatalf("%+v", m)
	}
	s.send(`{"type":"pong"}`)
	s.send(`{"type":"subscribe","id":"a","payload":{"query":"{ name }","operationName":null,"variables":null,"extensions":null}}`)
	if m := s.receive(); m.Type != "next" || m.ID != "a" || string(m.Payload) != `{"data":{"name":"first"}}` {
		t.Errorf("%+v", m)
	}
	if m := s.receive(); m.Type != "complete" || m.ID != "a" {
		t.Errorf("%+v", m)
	}
	for range 3 { // an id may be reused as soon as either side has completed it
		s.subscribe("a", "wait")
		if m := s.receive(); m.Type != "next" {
			t.Fatalf("%+v", m)
		}
		s.send(`{"type":"complete","id":"a"}`)
	}
	s.send(`{"type":"complete","id":"nothing"}`)
	s.send(`{"type":"subscribe","id":"b","payload":{"query":"{ nothing }"}}`)
	if m := s.receive(); m.Type != "error" || m.ID != "b" || !strings.Contains(string(m.Payload), "Cannot query field") {
		t.Errorf("%+v", m)
	}
	s.subscribe("c", "panic")
	if m := s.receive(); m.Type != "error" || strings.Contains(string(m.Payload), "secret") {
		t.Errorf("%s", m.Payload)
	}
	p.waitFor("all operations have ended", func() bool { return p.server.Stats().Operations == 0 })
	if n := p.server.Stats().WebSockets; n != 1 {
		t.Errorf("%d connections are counted", n)
	}
}

func TestProtocolErrorsCloseTheConnection(t *testing.T) {
	t.Parallel()
	const begin, wait = `{"type":"connection_init"}`, `{"type":"subscribe","id":"a","payload":{"query":"subscription { wait }"}}`
	if end := open(t, connection.Options{Times: connection.Times{Hello: 20 * time.Millisecond}}).dial().end(); end.closed != 4408 {
		t.Errorf("no message: closed with %d %q", end.closed, end.reason)
	}
	p := open(t, connection.Options{})
	for name, c := range map[string]struct {
		code     websocket.StatusCode
		messages []string
	}{
		"no JSON":                   {4400, []string{"x"}},
		"a list":                    {4400, []string{"[]"}},
		"no type":                   {4400, []string{"{}"}},
		"an unknown type":           {4400, []string{begin, `{"type":"start"}`}},
		"a long unknown type":       {4400, []string{begin, `{"type":"` + strings.Repeat("ü", 500) + `"}`}},
		"a wrong payload":           {4400, []string{`{"type":"connection_init","payload":[]}`}},
		"no id":                     {4400, []string{begin, `{"type":"subscribe","payload":{"query":"{ name }"}}`}},
		"a long id":                 {4400, []string{begin, `{"type":"subscribe","id":"` + strings.Repeat("i", 257) + `","payload":{"query":"{ name }"}}`}},
		"no query":                  {4400, []string{begin, `{"type":"subscribe","id":"a","payload":{}}`}},
		"variables that are a list": {4400, []string{begin, `{"type":"subscribe","id":"a","payload":{"query":"{ name }","variables":[]}}`}},
		"before the init":           {4401, []string{wait}},
		"a forged token":            {4403, []string{`{"type":"connection_init","payload":{"token":"forged"}}`}},
		"twice the same id":         {4409, []string{begin, wait, wait}},
		"twice the init":            {4429, []string{begin, begin}},
		"large before the init":     {1009, []string{`{"type":"ping","payload":{"x":"` + strings.Repeat("x", 65<<10) + `"}}`}},
		"large from nobody":         {1009, []string{begin, `{"type":"ping","payload":{"x":"` + strings.Repeat("x", 65<<10) + `"}}`}},
		"nested too deeply":         {4400, []string{begin, `{"type":"ping","payload":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`}},
		"too large":                 {1009, []string{begin, `{"type":"ping","payload":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`}},
	} {
		s := p.dial()
		for _, m := range c.messages {
			s.send(m)
		}
		if end := s.end(); end.closed != c.code || end.reason == "" {
			t.Errorf("%s: closed with %d %q, want %d", name, end.closed, end.reason, c.code)
		}
	}
	large := p.enter(p.signIn())
	large.send(`{"type":"ping","payload":{"x":"` + strings.Repeat("x", 900<<10) + `"}}`)
	if m := large.receive(); m.Type != "pong" {
		t.Errorf("a large message of a person: %d %q", m.closed, m.reason)
	}
	if err := large.CloseNow(); err != nil {
		t.Error(err)
	}
	for _, protocols := range [][]string{{"graphql-ws"}, {"soap", "xmpp"}, {}} {
		if end := p.dial(protocols...).end(); end.closed != 4406 {
			t.Errorf("%v: closed with %d %q", protocols, end.closed, end.reason)
		}
	}
	s := p.enter(uuid.Nil)
	if err := s.Write(t.Context(), websocket.MessageBinary, []byte(`{"type":"ping"}`)); err != nil {
		t.Fatal(err)
	}
	if end := s.end(); end.closed != 4400 {
		t.Errorf("binary: %+v", end)
	}
	p.waitFor("everything is counted out", func() bool { return p.server.Stats() == connection.Stats{} })
}

func TestStreamsEndWithTheirSession(t *testing.T) {
	t.Parallel()
	p := open(t, connection.Options{})
	gone, lowered, stays := p.signIn(), p.signIn(), p.signIn()
	first, second, third := p.enter(gone), p.enter(lowered), p.enter(stays)
	nobody := p.enter(uuid.Nil)
	stream := p.stream(gone, "wait")
	for _, s := range []*socket{first, second, third, nobody} {
		s.subscribe("a", "wait")
		if m := s.receive(); m.Type != "next" {
			t.Fatalf("%+v", m)
		}
	}
	p.people.set(func(roles map[uuid.UUID]viewer.Role) {
		delete(roles, gone)
		roles[lowered] = viewer.RoleViewer
	})
	if end := first.end(); end.closed != 4401 || end.reason != "Session ended" {
		t.Errorf("signed out: %+v", end)
	}
	if end := second.end(); end.closed != 4403 {
		t.Errorf("another role: %+v", end)
	}
	lines := stream()
	if !strings.Contains(lines, `"first"`) || !strings.Contains(lines, `"code":"unauthorized"`) || !strings.Contains(lines, "event: complete") {
		t.Errorf("signed out, events: %s", lines)
	}
	for _, s := range []*socket{third, nobody} {
		s.send(`{"type":"ping"}`)
		if m := s.receive(); m.Type != "pong" {
			t.Errorf("%+v", m)
		}
	}
}

func TestStreamsEndWhenSessionsCannotBeChecked(t *testing.T) {
	t.Parallel()
	p := open(t, connection.Options{Times: connection.Times{Blind: 50 * time.Millisecond}})
	s := p.enter(p.signIn())
	p.people.fail()
	if end := s.end(); end.closed != websocket.StatusTryAgainLater {
		t.Errorf("%+v", end)
	}
}

func TestOpenStreamsAreBounded(t *testing.T) {
	t.Parallel()
	p := open(t, connection.Options{Limits: connection.Limits{PerConnection: 2, PerPerson: 3, PerProcess: 5}})
	refused := func(s *socket, id string) string {
		t.Helper()
		s.subscribe(id, "wait")
		if m := s.receive(); m.Type == "error" && strings.Contains(string(m.Payload), "rate_limited") {
			return string(m.Payload)
		} else if m.Type != "next" {
			t.Fatalf("%+v", m)
		}
		return ""
	}
	ada, eve := p.signIn(), p.signIn()
	one := p.enter(ada)
	for _, id := range []string{"a", "b"} {
		if no := refused(one, id); no != "" {
			t.Errorf("%s: %s", id, no)
		}
	}
	if no := refused(one, "c"); !strings.Contains(no, "connection") {
		t.Errorf("a third one of a connection: %q", no)
	}
	two := p.enter(ada)
	if no := refused(two, "a"); no != "" {
		t.Error(no)
	}
	if no := refused(two, "b"); !strings.Contains(no, "You have") {
		t.Errorf("a fourth one of a person: %q", no)
	}
	one.send(`{"type":"complete","id":"a"}`)
	p.waitFor("there is room again", func() bool { return p.server.Stats().Operations == 2 })
	if no := refused(two, "c"); no != "" {
		t.Error(no)
	}
	other := p.enter(eve)
	for _, id := range []string{"a", "b"} {
		if no := refused(other, id); no != "" {
			t.Error(no)
		}
	}
	more := p.enter(eve)
	if no := refused(more, "a"); !strings.Contains(no, "server") {
		t.Errorf("a sixth one of all: %q", no)
	}
	response := p.post(eve, "wait")
	if response.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a stream of events: %d", response.StatusCode)
	}
	_ = response.Body.Close()
	p.enter(ada)
	s := p.dial()
	s.send(`{"type":"connection_init","payload":{"token":"` + ada.String() + `"}}`)
	if end := s.end(); end.closed != websocket.StatusTryAgainLater || !strings.Contains(end.reason, "connections") {
		t.Errorf("a connection too many: %+v", end)
	}
}

func TestClientsThatDoNotReadAreDisconnected(t *testing.T) {
	t.Parallel()
	p := open(t, connection.Options{Times: connection.Times{Write: 300 * time.Millisecond}})
	p.stall(p.signIn())
	response := p.post(p.signIn(), "flood") // also without a reader
	defer func() { _ = response.Body.Close() }()
	quick := p.enter(p.signIn())
	p.waitFor("both are cut off", func() bool { return p.server.Stats().Slow >= 2 })
	quick.subscribe("a", "wait")
	if m := quick.receive(); m.Type != "next" {
		t.Errorf("%+v", m)
	}
	p.waitFor("what they had is freed", func() bool { s := p.server.Stats(); return s.WebSockets == 1 && s.Operations == 1 })
}

func TestQuietConnectionsArePingedAndUnusedOnesClosed(t *testing.T) {
	t.Parallel()
	p := open(t, connection.Options{Times: connection.Times{Ping: 200 * time.Millisecond}})
	s := p.enter(p.signIn())
	s.subscribe("a", "wait")
	for pings := 0; pings < 10; { // more than the limit without a pong
		m := s.receive()
		if m.closed != 0 {
			t.Fatalf("closed in spite of pongs: %+v", m)
		}
		if m.Type == "ping" {
			pings++
			s.send(`{"type":"pong"}`)
		}
	}
	if end := s.end(); end.closed != websocket.StatusGoingAway || end.reason != "No pong came" {
		t.Errorf("without a pong: %+v", end)
	}
	p = open(t, connection.Options{Times: connection.Times{Ping: 200 * time.Millisecond, Idle: time.Second}})
	s = p.enter(p.signIn())
	for {
		m := s.receive()
		if m.Type == "ping" {
			s.send(`{"type":"pong"}`)
			continue
		}
		if m.closed != websocket.StatusNormalClosure || m.reason != "Idle" {
			t.Errorf("unused: %+v", m)
		}
		return
	}
}

func TestAStoppingServerSendsClientsToAnother(t *testing.T) {
	t.Parallel()
	p := open(t, connection.Options{})
	sockets := make([]*socket, 20)
	for i := range sockets {
		sockets[i] = p.enter(p.signIn())
		sockets[i].subscribe("a", "wait")
		if m := sockets[i].receive(); m.Type != "next" {
			t.Fatalf("%+v", m)
		}
	}
	stream := p.stream(p.signIn(), "wait")
	closing := make(chan struct{})
	go func() {
		defer close(closing)
		p.server.Close(context.Background())
	}()
	for _, s := range sockets {
		if end := s.end(); end.closed != websocket.StatusGoingAway {
			t.Errorf("%+v", end)
		}
	}
	if lines := stream(); !strings.Contains(lines, `"unavailable"`) {
		t.Errorf("events: %s", lines)
	}
	<-closing
	if s := p.server.Stats(); s != (connection.Stats{}) {
		t.Errorf("open streams: %+v", s)
	}
	if end := p.dial().end(); end.closed != websocket.StatusGoingAway {
		t.Errorf("a later client: %+v", end)
	}
}

// post requests an event stream.
func (p *fixture) post(session uuid.UUID, field string) *http.Response {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), http.MethodPost, p.http.URL, nil)
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Token", session.String())
	r.Header.Set("Query", "subscription { "+field+" }")
	response, err := p.client.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// stream opens an event stream and returns after its first event. The returned
// function waits for the end and returns all lines.
func (p *fixture) stream(session uuid.UUID, field string) func() string {
	p.Helper()
	response := p.post(session, field)
	lines, all := bufio.NewScanner(response.Body), ""
	for lines.Scan() {
		if all += lines.Text() + "\n"; strings.Contains(all, "data:") {
			break
		}
	}
	return func() string {
		for lines.Scan() {
			all += lines.Text() + "\n"
		}
		return all
	}
}
