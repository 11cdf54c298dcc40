package weaviate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/magpie-search/magpie/internal/search/engine"
)

const (
	// maxResults is the most results of a search, the engine's QUERY_MAXIMUM_RESULTS.
	maxResults = 10_000
	// maxReply is the largest message that is read.
	maxReply = 64 << 20
	// pause is how long a node that failed is not asked, as long as two others are left.
	pause = 2 * time.Second
	// tries is the most nodes that one call asks.
	tries = 3
	// classAge is how long a class is believed to exist.
	classAge = 5 * time.Second
	// The longest that one attempt at one node takes.
	searchTimeout = 5 * time.Second
	putTimeout    = 10 * time.Second
	deleteTimeout = 20 * time.Second
	readTimeout   = 10 * time.Second
	restTimeout   = 30 * time.Second
	openTimeout   = 2 * time.Second
)

// Options are the settings of a Backend.
type Options struct {
	// APIKey is sent with every request, "" for an engine that asks for none.
	APIKey string
	// Now returns the time, nil for that of the system.
	Now func() time.Time
}

// Backend is a client of an engine.
type Backend struct {
	nodes  []*node
	key    string
	now    func() time.Time
	client *http.Client
	turns  atomic.Uint64

	mu      sync.Mutex
	classes map[string]classInfo
}

var _ engine.Backend = (*Backend)(nil)

// node is one process of the engine.
type node struct {
	address string // of REST, without a path
	conn    *grpc.ClientConn
	failed  atomic.Int64 // when the last call failed, in nanoseconds since 1970
}

// classInfo is what the client knows of a class, and since when.
type classInfo struct {
	dimensions, shards int
	seen               time.Time
}

// Open returns a client of the engine whose nodes have the addresses: http or https URLs
// such as http://10.0.0.1:8080?grpc=50051. The parameter names the port of gRPC, 50051 if
// it is missing; https uses TLS for both. weaviate://10.0.0.1 is short for
// http://10.0.0.1:8080. The addresses hold no credentials; the key is one of the options.
//
// Every node must be listed, each by an address of its own and none behind a load
// balancer: Missing asks each node what it has itself.
//
// Open connects to the nodes to learn their version, and fails if a node has one that the
// client does not know how to use. A node that does not answer is no error.
func Open(ctx context.Context, urls []string, options Options) (*Backend, error) {
	b := &Backend{key: options.APIKey, now: options.Now, classes: make(map[string]classInfo)}
	if b.now == nil {
		b.now = time.Now
	}
	b.client = &http.Client{
		Transport: &http.Transport{
			MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for _, text := range urls {
		n, err := dial(text)
		if err == nil && slices.ContainsFunc(b.nodes, func(other *node) bool {
			return other.address == n.address || other.conn.Target() == n.conn.Target()
		}) {
			err = errors.Join(fmt.Errorf("the address %s is listed twice", n.address), n.conn.Close())
		}
		if err != nil {
			return nil, errors.Join(err, b.Close())
		}
		b.nodes = append(b.nodes, n)
	}
	if len(b.nodes) == 0 {
		return nil, errors.Join(errors.New("no address of a node"), b.Close())
	}
	if err := b.checkVersions(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// dial prepares the connections to a node. It does not connect.
func dial(text string) (*node, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Hostname() == "" {
		return nil, errors.New("an address of a node is not a URL such as http://10.0.0.1:8080?grpc=50051")
	}
	if u.User != nil {
		return nil, fmt.Errorf("the address of %s has credentials; the key of the engine is a setting of its own", u.Host)
	}
	port := "50051"
	for name, values := range u.Query() {
		if name != "grpc" || len(values) != 1 {
			return nil, fmt.Errorf("the address of %s has the parameter %q; there is one parameter, grpc", u.Host, name)
		}
		port = values[0]
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return nil, fmt.Errorf("the address of %s: %q is not a port of gRPC", u.Host, port)
	}
	if u.Path != "" && u.Path != "/" || u.Fragment != "" {
		return nil, fmt.Errorf("the address of %s has a path", u.Host)
	}
	secure := insecure.NewCredentials()
	switch u.Scheme {
	case "https":
		secure = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	case "weaviate":
		if u.Scheme = "http"; u.Port() == "" {
			u.Host += ":8080"
		}
	case "http":
	default:
		return nil, fmt.Errorf("the address of %s begins with %q; http, https and weaviate are known", u.Host, u.Scheme)
	}
	conn, err := grpc.NewClient("passthrough:///"+joinHostPort(u.Hostname(), port),
		grpc.WithTransportCredentials(secure), grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{}), grpc.MaxCallRecvMsgSize(maxReply)),
		// A node that is back must be used again soon.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: pause},
			MinConnectTimeout: pause,
		}),
		// A host that vanished closes no connection.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 5 * time.Second}))
	if err != nil {
		return nil, fmt.Errorf("the address of %s: %w", u.Host, err)
	}
	return &node{address: u.Scheme + "://" + u.Host, conn: conn}, nil
}

// joinHostPort is net.JoinHostPort for a host of a URL.
func joinHostPort(host, port string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]:" + port
	}
	return host + ":" + port
}

// The oldest version that has the filters in use here.
const oldestMajor, oldestMinor = 1, 39

func (b *Backend) checkVersions(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	problems := make([]error, len(b.nodes))
	var wg sync.WaitGroup
	for i, n := range b.nodes {
		wg.Go(func() {
			var meta struct {
				Version string `json:"version"`
			}
			if b.restAt(ctx, n, http.MethodGet, "/v1/meta", nil, &meta) != nil {
				return
			}
			var major, minor int
			if _, err := fmt.Sscanf(meta.Version, "%d.%d", &major, &minor); err != nil || major != oldestMajor || minor < oldestMinor {
				problems[i] = fmt.Errorf("the node at %s has version %.20q, want %d.%d or a later one of %d", n.address, meta.Version, oldestMajor, oldestMinor, oldestMajor)
			}
		})
	}
	wg.Wait()
	return errors.Join(problems...)
}

// Close implements engine.Backend.
func (b *Backend) Close() error {
	var all []error
	for _, n := range b.nodes {
		all = append(all, n.conn.Close())
	}
	b.client.CloseIdleConnections()
	return errors.Join(all...)
}

// order returns the nodes in the order in which one call asks them: from another one each
// time, with those last that failed a moment ago. The first fit nodes did not.
func (b *Backend) order() (nodes []*node, fit int) {
	n := uint64(len(b.nodes))
	first := b.turns.Add(1) % n
	since := b.now().Add(-pause).UnixNano()
	var away []*node
	for _, n := range slices.Concat(b.nodes[first:], b.nodes[:first]) {
		if n.failed.Load() > since {
			away = append(away, n)
		} else {
			nodes = append(nodes, n)
		}
	}
	return append(nodes, away...), len(nodes)
}

// attempt returns the context of one attempt at one node. It leaves time for another one
// unless it is the last.
func attempt(ctx context.Context, longest time.Duration, last bool) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok && !last {
		longest = min(longest, time.Until(deadline)/2)
	}
	return context.WithTimeout(ctx, longest)
}
