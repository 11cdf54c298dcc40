package connectortest

import (
	"context"
	"fmt"
	"io"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/magpie-search/magpie/connectors"
)

// A WireFaultInjection describes a kind that attaches databases to
// [RunWireFaultInjection].
type WireFaultInjection struct {
	// Kind makes the kind with the suite's dialer, which connects with Dial;
	// nil means the net package's.
	Kind func(dial connectors.Dial) connectors.Kind
	Dial connectors.Dial
	// Settings attach the database, without TLS.
	Settings connectors.Settings
	// Query is a statement whose rows are compared.
	Query string
}

// RunWireFaultInjection is [RunFaultInjection] for databases, which have
// protocols of their own. Each thing that the server says is replaced by a web
// page, noise, its first half, or nothing. Reading the schema, the connection
// test and a query must then fail with a retryable error or return the correct
// result.
func RunWireFaultInjection(t *testing.T, setup func(t *testing.T) WireFaultInjection) {
	t.Helper()
	injection := setup(t)
	want, turns := injection.use(t, -1, nil)
	for part, err := range want.errs {
		t.Fatalf("the correct %s: %v", part, err)
	}
	if turns < 3 {
		t.Fatalf("the server had %d turns", turns)
	}
	if len(want.tables) == 0 || want.rows == nil || len(want.rows.Values) == 0 {
		t.Fatalf("the correct schema has %d tables, the correct rows are %+v", len(want.tables), want.rows)
	}
	for name, fault := range map[string]func(sent []byte) []byte{
		"a web page": func([]byte) []byte {
			return []byte("HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\n\r\n" + proxyPage)
		},
		"noise":          func([]byte) []byte { return []byte(strings.Repeat("\x00\xff\x10Magpie", 100)) },
		"the first half": func(sent []byte) []byte { return sent[:len(sent)/2] },
		"nothing":        func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for turn := range turns {
				got, total := injection.use(t, turn, fault)
				if total <= turn {
					t.Errorf("turn %d was not repeated", turn)
				}
				description := fmt.Sprintf("turn %d of %d, answered with %s", turn, turns, name)
				if err := got.errs["schema"]; err == nil && !reflect.DeepEqual(got.tables, want.tables) {
					t.Errorf("%s: the schema is %+v, want %+v", description, got.tables, want.tables)
				}
				if err := got.errs["query"]; err == nil && !reflect.DeepEqual(got.rows.Values, want.rows.Values) {
					t.Errorf("%s: the rows are %v, want %v", description, got.rows.Values, want.rows.Values)
				}
				for part, err := range got.errs {
					if _, retryable := connectors.RetryAfterOf(err); !retryable || strings.ContainsAny(err.Error(), "\n\r<") {
						t.Errorf("%s: %s: %v (retryable %v)", description, part, err, retryable)
					}
				}
			}
		})
	}
}

// A databaseResult is the result of using a database.
type databaseResult struct {
	tables []connectors.Table
	rows   *connectors.Rows
	errs   map[string]error
}

// use reads the schema, tests the connection and runs the query, with a fault
// at one turn. It returns the number of turns.
func (l WireFaultInjection) use(t *testing.T, turn int, fault func([]byte) []byte) (*databaseResult, int) {
	t.Helper()
	dial := l.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	counter := &turnCounter{faultyTurn: turn, fault: fault}
	registry, err := connectors.NewRegistry(l.Kind(func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &faultyConn{Conn: conn, counter: counter, turn: -1}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	database, err := registry.Kinds()[0].Attach(t.Context(), l.Settings)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = database.Close() }()
	got := &databaseResult{errs: map[string]error{}}
	note := func(part string, err error) {
		if err != nil {
			got.errs[part] = err
		}
	}
	got.tables, err = database.Schema(t.Context())
	note("schema", err)
	if !counter.wasInjected() {
		note("check", database.Check(t.Context()))
	}
	if !counter.wasInjected() {
		got.rows, err = database.Query(t.Context(), l.Query, connectors.QueryLimits{})
		note("query", err)
	} else {
		got.errs["query"] = connectors.Retryable(context.Canceled, 0) // not run
	}
	return got, counter.total()
}

// A turnCounter counts the turns of servers: how often one began to send.
type turnCounter struct {
	mutex      sync.Mutex
	count      int
	faultyTurn int
	injected   bool
	fault      func([]byte) []byte
}

func (c *turnCounter) next() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.count++
	return c.count - 1
}

func (c *turnCounter) total() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.count
}

func (c *turnCounter) wasInjected() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.injected
}

// A faultyConn is a connection whose server sends a fault at one turn.
type faultyConn struct {
	net.Conn
	counter *turnCounter

	mutex  sync.Mutex
	turn   int  // of the server, -1 after the client has sent
	closed bool // by a fault
	unread []byte
}

// Write implements net.Conn.
func (w *faultyConn) Write(p []byte) (int, error) {
	w.mutex.Lock()
	w.turn = -1
	w.mutex.Unlock()
	return w.Conn.Write(p)
}

// Read implements net.Conn.
func (w *faultyConn) Read(p []byte) (int, error) {
	w.mutex.Lock()
	ended, unread := w.closed, w.unread
	n := copy(p, unread)
	w.unread = unread[n:]
	w.mutex.Unlock()
	if ended {
		if n == 0 {
			return 0, io.EOF
		}
		return n, nil
	}
	buffer := make([]byte, max(len(p), 1))
	n, err := w.Conn.Read(buffer)
	if err != nil {
		return copy(p, buffer[:n]), err
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.turn < 0 {
		w.turn = w.counter.next()
	}
	if w.turn != w.counter.faultyTurn {
		return copy(p, buffer[:n]), nil
	}
	w.counter.mutex.Lock()
	w.counter.injected = true
	w.counter.mutex.Unlock()
	w.closed, w.unread = true, slices.Clone(w.counter.fault(buffer[:n]))
	n = copy(p, w.unread)
	w.unread = w.unread[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}
