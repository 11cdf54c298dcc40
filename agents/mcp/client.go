package mcp

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/magpie-search/magpie/internal/request/breaker"
)

// Transport says how a server is reached.
type Transport string

// The transports.
const (
	HTTP  Transport = "http"  // streamable HTTP
	SSE   Transport = "sse"   // HTTP with server-sent events, as old servers have it
	Stdio Transport = "stdio" // a command that the operator allows
)

// Limits bound the calls of a server. The zero value means those of the constants.
type Limits struct {
	// Call is the time of a call without news. Each message of progress gives it that
	// time again, up to Progress in all.
	Call, Progress time.Duration
	// Connect is the time of a connection, and of a list of tools.
	Connect time.Duration
	// Parallel is the number of calls in flight at one server.
	Parallel int
	// Failures is the number of failed calls in a row after which a server is not
	// called for Pause.
	Failures int
	Pause    time.Duration
}

func (l Limits) withDefaults() Limits {
	set := func(value *time.Duration, standard time.Duration) {
		if *value <= 0 {
			*value = standard
		}
	}
	set(&l.Call, 30*time.Second)
	set(&l.Progress, 2*time.Minute)
	set(&l.Connect, 30*time.Second)
	set(&l.Pause, 30*time.Second)
	if l.Parallel <= 0 {
		l.Parallel = 5
	}
	if l.Failures <= 0 {
		l.Failures = 5
	}
	return l
}

// Options configures a Client.
type Options struct {
	// Dial connects to servers; it must refuse addresses that callers may not reach.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Commands are the servers of [Stdio] that the operator allows: the program and its
	// arguments, by name.
	Commands map[string][]string
	Version  string
	Limits   Limits
	Now      func() time.Time // nil is time.Now
	Log      *slog.Logger
	// Elicit answers questions of servers to a person. Nil offers no such ability.
	Elicit func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error)
}

// Client connects to tool servers. It is safe for concurrent use.
type Client struct {
	opt  Options
	http *http.Client

	mu    sync.Mutex
	gates map[string]*gate
}

// NewClient returns a Client.
func NewClient(opt Options) *Client {
	opt.Limits = opt.Limits.withDefaults()
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Client{opt: opt, http: newHTTPClient(opt.Dial), gates: map[string]*gate{}}
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// LongestCall returns the time of a call that reports progress.
func (c *Client) LongestCall() time.Duration { return c.opt.Limits.Progress }

// HTTP returns the client with which authorization servers are called: guarded,
// without redirects to other hosts, and with limits on what it reads.
func (c *Client) HTTP() *http.Client { return c.http }

// Server describes a server and whose account is used there.
type Server struct {
	// Key identifies the server in the process, so that limits hold over all sessions.
	Key string
	// Name is for messages.
	Name      string
	Transport Transport
	URL       string
	// Header is sent with each request to the host of URL.
	Header http.Header
	// Command is the name of one of [Options.Commands].
	Command string
	// OAuth adds the person's access token; nil adds none. Servers of [Stdio] get none.
	OAuth *Authorizer
	// Changed is called, from another goroutine, when the server says during a session
	// that its tools have changed. It must return at once. It may be nil.
	Changed func()
}

// Open returns a session, which connects when it is first used. It must be closed.
func (c *Client) Open(server Server) *Session {
	return &Session{client: c, server: server, gate: c.gate(server.Key)}
}

// A gate bounds the calls at one server.
type gate struct {
	slots   chan struct{}
	breaker *breaker.Breaker
}

// maxGates bounds the gates that are remembered.
const maxGates = 10_000

func (c *Client) gate(key string) *gate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g, ok := c.gates[key]; ok {
		return g
	}
	for old, g := range c.gates {
		if len(c.gates) < maxGates {
			break
		}
		if len(g.slots) == 0 {
			delete(c.gates, old)
		}
	}
	limits := c.opt.Limits
	g := &gate{
		slots:   make(chan struct{}, limits.Parallel),
		breaker: breaker.New(breaker.Options{Failures: limits.Failures, Pause: limits.Pause, MaxPause: 10 * limits.Pause, Now: c.opt.Now}),
	}
	c.gates[key] = g
	return g
}
