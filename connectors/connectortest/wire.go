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

// WireLies describe a kind of databases to [RunWireLies].
type WireLies struct {
	// Kind makes the kind with the suite's dialer, which leads to where Dial does;
	// a nil Dial is the net package's.
	Kind func(dial Dial) connectors.Kind
	Dial Dial
	// Settings attach the database, without TLS.
	Settings connectors.Settings
	// Query is a statement whose rows are compared, too.
	Query string
}

// RunWireLies is [RunLies] for databases, which speak protocols of their own: what
// the server says after each thing that the client said is replaced by a web page,
// noise, a half, or nothing. Reading the schema, the test and a query have to fail
// then, as retryable, or come to the truth all the same.
func RunWireLies(t *testing.T, setup func(t *testing.T) WireLies) {
	t.Helper()
	lies := setup(t)
	truth, turns := lies.use(t, -1, nil)
	for part, err := range truth.errs {
		t.Fatalf("the true %s: %v", part, err)
	}
	if turns < 3 {
		t.Fatalf("the server spoke %d times", turns)
	}
	if len(truth.tables) == 0 || truth.rows == nil || len(truth.rows.Values) == 0 {
		t.Fatalf("the true schema has %d tables, the true answer is %+v", len(truth.tables), truth.rows)
	}
	for name, tell := range map[string]func(said []byte) []byte{
		"a web page": func([]byte) []byte {
			return []byte("HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\n\r\n" + proxyPage)
		},
		"noise":   func([]byte) []byte { return []byte(strings.Repeat("\x00\xff\x10Magpie", 100)) },
		"a half":  func(said []byte) []byte { return said[:len(said)/2] },
		"nothing": func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for turn := range turns {
				got, made := lies.use(t, turn, tell)
				if made <= turn {
					t.Errorf("turn %d did not come again", turn)
				}
				doing := fmt.Sprintf("turn %d of %d, answered with %s", turn, turns, name)
				if err := got.errs["schema"]; err == nil && !reflect.DeepEqual(got.tables, truth.tables) {
					t.Errorf("%s: the schema is %+v, truly %+v", doing, got.tables, truth.tables)
				}
				if err := got.errs["query"]; err == nil && !reflect.DeepEqual(got.rows.Values, truth.rows.Values) {
					t.Errorf("%s: the rows are %v, truly %v", doing, got.rows.Values, truth.rows.Values)
				}
				for part, err := range got.errs {
					if _, again := connectors.RetryAfterOf(err); !again || strings.ContainsAny(err.Error(), "\n\r<") {
						t.Errorf("%s: %s: %v (retryable %v)", doing, part, err, again)
					}
				}
			}
		})
	}
}

// used is what using a database came to.
type used struct {
	tables []connectors.Table
	rows   *connectors.Rows
	errs   map[string]error
}

// use reads a schema, tests the connection and asks a question, with a lie at one
// turn, and returns how many turns there were.
func (l WireLies) use(t *testing.T, turn int, tell func([]byte) []byte) (*used, int) {
	t.Helper()
	dial := l.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	counted := &turns{lie: turn, tell: tell}
	registry, err := connectors.NewRegistry(l.Kind(func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &wire{Conn: conn, turns: counted, turn: -1}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	database, err := registry.Kinds()[0].Attach(t.Context(), l.Settings)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = database.Close() }()
	got := &used{errs: map[string]error{}}
	note := func(part string, err error) {
		if err != nil {
			got.errs[part] = err
		}
	}
	got.tables, err = database.Schema(t.Context())
	note("schema", err)
	if !counted.lied() {
		note("check", database.Check(t.Context()))
	}
	if !counted.lied() {
		got.rows, err = database.Query(t.Context(), l.Query, connectors.QueryLimits{})
		note("query", err)
	} else {
		got.errs["query"] = connectors.Retryable(context.Canceled, 0) // it was not asked
	}
	return got, counted.made()
}

// turns counts how often servers began to speak.
type turns struct {
	mutex sync.Mutex
	count int
	lie   int
	told  bool
	tell  func([]byte) []byte
}

func (c *turns) next() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.count++
	return c.count - 1
}

func (c *turns) made() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.count
}

func (c *turns) lied() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.told
}

// wire is a connection whose server may lie.
type wire struct {
	net.Conn
	turns *turns

	mutex  sync.Mutex
	turn   int  // of the server; -1 when the client has spoken since
	ended  bool // by a lie
	unread []byte
}

// Write implements net.Conn.
func (w *wire) Write(p []byte) (int, error) {
	w.mutex.Lock()
	w.turn = -1
	w.mutex.Unlock()
	return w.Conn.Write(p)
}

// Read implements net.Conn.
func (w *wire) Read(p []byte) (int, error) {
	w.mutex.Lock()
	over, rest := w.ended, w.unread
	n := copy(p, rest)
	w.unread = rest[n:]
	w.mutex.Unlock()
	if over {
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
		w.turn = w.turns.next()
	}
	if w.turn != w.turns.lie {
		return copy(p, buffer[:n]), nil
	}
	w.turns.mutex.Lock()
	w.turns.told = true
	w.turns.mutex.Unlock()
	w.ended, w.unread = true, slices.Clone(w.turns.tell(buffer[:n]))
	n = copy(p, w.unread)
	w.unread = w.unread[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}
