package weaviate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/magpie-search/magpie/internal/search/engine/weaviate"
)

// fake is an engine that understands the requests of the client as the real one does. A
// shard is a tenant of a class that has tenants.
type fake struct {
	mu      sync.Mutex
	classes map[string]map[string]any // as REST has them
	tenants map[string][]string       // by class
	nodes   []*fakeNode
	// replicas is the number of nodes that have a shard, 0 for all.
	replicas int
	version  string
	key      string
	// extra are nodes that no address leads to.
	extra []string
	// refuse, if set, may answer a method of gRPC at a node with an error.
	refuse func(ctx context.Context, node int, method string) error
	// complain, if set, is what a batch says about each of its objects, "" for nothing.
	complain func(id string) string
	// reject, if set, is an object that makes the engine refuse a whole batch.
	reject string
	calls  []string
	// last is the last search.
	last fields
	// garble, if set, changes what gRPC answers.
	garble func([]byte) []byte
}

type fakeNode struct {
	fake    *fake
	number  int
	rest    *httptest.Server
	grpc    *grpc.Server
	address string
	behind  bool                             // ignores writes
	alone   bool                             // has heard of no other node
	unaware bool                             // has not read the schema yet
	objects map[string]map[uuid.UUID]*stored // by class
}

// newFake starts an engine of n nodes.
func newFake(t *testing.T, n int) *fake {
	t.Helper()
	f := &fake{classes: map[string]map[string]any{}, tenants: map[string][]string{}, version: "1.39.0"}
	for i := range n {
		node := &fakeNode{fake: f, number: i, objects: map[string]map[uuid.UUID]*stored{}}
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		node.grpc = grpc.NewServer(grpc.ForceServerCodec(bytesCodec{}), grpc.UnknownServiceHandler(node.serve), grpc.MaxRecvMsgSize(100<<20))
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			_ = node.grpc.Serve(listener)
		}()
		node.rest = httptest.NewServer(http.HandlerFunc(node.serveREST))
		node.address = fmt.Sprintf("%s?grpc=%d", node.rest.URL, listener.Addr().(*net.TCPAddr).Port)
		t.Cleanup(func() {
			node.stop()
			<-stopped
		})
		f.nodes = append(f.nodes, node)
	}
	return f
}

func (n *fakeNode) stop() {
	n.rest.CloseClientConnections()
	n.rest.Close()
	n.grpc.Stop()
}

func (f *fake) addresses() []string {
	out := make([]string, len(f.nodes))
	for i, n := range f.nodes {
		out[i] = n.address
	}
	return out
}

// open returns a client of the engine, which the test closes.
func (f *fake) open(t *testing.T) *weaviate.Backend {
	t.Helper()
	b, err := weaviate.Open(t.Context(), f.addresses(), weaviate.Options{APIKey: f.key})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// opened is open for a test that does not close the client itself.
func (f *fake) opened(t *testing.T) *weaviate.Backend {
	t.Helper()
	b := f.open(t)
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func (f *fake) count(call string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, c := range f.calls {
		if strings.HasSuffix(c, call) {
			n++
		}
	}
	return n
}

type bytesCodec struct{}

func (bytesCodec) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (bytesCodec) Unmarshal(b []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), b...)
	return nil
}
func (bytesCodec) Name() string { return "proto" }

func (n *fakeNode) serve(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	var in []byte
	if err := stream.RecvMsg(&in); err != nil {
		return err
	}
	f := n.fake
	f.mu.Lock()
	f.calls = append(f.calls, fmt.Sprintf("%d %s", n.number, method))
	refuse := f.refuse
	f.mu.Unlock()
	if refuse != nil {
		if err := refuse(stream.Context(), n.number, method); err != nil {
			return err
		}
	}
	md, _ := metadata.FromIncomingContext(stream.Context())
	if f.key != "" && strings.Join(md.Get("authorization"), "") != "Bearer "+f.key {
		return status.Error(codes.Unauthenticated, "no key")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []byte
	var err error
	switch method {
	case "/weaviate.v1.Weaviate/Search":
		f.last = parse(in)
		out, err = n.search(f.last)
	case "/weaviate.v1.Weaviate/BatchObjects":
		out, err = f.put(parse(in))
	case "/weaviate.v1.Weaviate/BatchDelete":
		out, err = n.remove(parse(in))
	default:
		return status.Error(codes.Unimplemented, method)
	}
	if err != nil {
		return err // without a code, as the real one
	}
	if f.garble != nil {
		out = f.garble(out)
	}
	return stream.SendMsg(&out)
}

func (n *fakeNode) serveREST(w http.ResponseWriter, r *http.Request) {
	f := n.fake
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf("%d %s %s", n.number, r.Method, r.URL.Path))
	if f.key != "" && r.Header.Get("Authorization") != "Bearer "+f.key {
		http.Error(w, `{"code":401,"message":"anonymous access not enabled"}`, http.StatusUnauthorized)
		return
	}
	answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	name, one := strings.CutPrefix(r.URL.Path, "/v1/schema/")
	name, ofTenants := strings.CutSuffix(name, "/tenants")
	switch {
	case ofTenants:
		f.serveTenants(w, r, name)
	case r.URL.Path == "/v1/meta":
		answer(map[string]any{"version": f.version})
	case r.URL.Path == "/v1/nodes":
		answer(map[string]any{"nodes": f.nodeList()})
	case r.URL.Path == "/v1/schema" && r.Method == http.MethodGet:
		list := []any{}
		for _, c := range f.classes {
			list = append(list, c)
		}
		answer(map[string]any{"classes": list})
	case r.URL.Path == "/v1/schema" && r.Method == http.MethodPost:
		var c map[string]any
		text, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(text, &c); err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		name, _ := c["class"].(string)
		if f.classes[name] != nil {
			http.Error(w, `{"error":[{"message":"class name already exists"}]}`, http.StatusUnprocessableEntity)
			return
		}
		f.classes[name] = c
		for _, n := range f.nodes {
			n.objects[name] = map[uuid.UUID]*stored{}
		}
		answer(c)
	case one && (f.classes[name] == nil || n.unaware) && r.Method == http.MethodGet:
		w.WriteHeader(http.StatusNotFound)
	case one && r.Method == http.MethodGet:
		answer(f.classes[name])
	case one && r.Method == http.MethodDelete:
		delete(f.classes, name)
		delete(f.tenants, name)
		for _, n := range f.nodes {
			delete(n.objects, name)
		}
	default:
		http.NotFound(w, r)
	}
}

// serveTenants lists the tenants of a class, or adds some.
func (f *fake) serveTenants(w http.ResponseWriter, r *http.Request, class string) {
	if !f.hasTenants(class) {
		http.Error(w, `{"error":[{"message":"multi-tenancy is not enabled"}]}`, http.StatusUnprocessableEntity)
		return
	}
	if r.Method == http.MethodPost {
		var more []struct{ Name string }
		if err := json.NewDecoder(r.Body).Decode(&more); err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		for _, t := range more {
			f.tenants[class] = append(f.tenants[class], t.Name)
		}
	}
	list := []map[string]any{}
	for _, name := range f.tenants[class] {
		list = append(list, map[string]any{"name": name, "activityStatus": "HOT"})
	}
	_ = json.NewEncoder(w).Encode(list)
}

// hasTenants reports whether a class exists and has tenants.
func (f *fake) hasTenants(class string) bool {
	config, _ := f.classes[class]["multiTenancyConfig"].(map[string]any)
	return config["enabled"] == true
}

func (f *fake) nodeList() []map[string]any {
	out := []map[string]any{}
	for i := range f.nodes {
		// Not in order.
		name := fmt.Sprintf("node%d", len(f.nodes)-i)
		out = append(out, map[string]any{"name": name, "version": f.version, "status": "HEALTHY"})
	}
	for _, name := range f.extra {
		out = append(out, map[string]any{"name": name, "status": "UNAVAILABLE"})
	}
	return out
}

var errNoClass = errors.New("could not find class in schema")

// put stores the objects of a batch on every node that takes writes.
func (f *fake) put(m fields) ([]byte, error) {
	if m.number(2) != 3 {
		return nil, fmt.Errorf("consistency %d", m.number(2))
	}
	var out []byte
	if slices.ContainsFunc(m.messages(1), func(o fields) bool { return f.reject != "" && o.text(1) == f.reject }) {
		return nil, status.Error(codes.InvalidArgument, "an object cannot be read")
	}
	for i, o := range m.messages(1) {
		class := o.text(4)
		if f.classes[class] == nil {
			return nil, errNoClass
		}
		id, err := uuid.Parse(o.text(1))
		if err != nil {
			return nil, err
		}
		if f.complain != nil {
			if text := f.complain(id.String()); text != "" {
				out = appendMessage(out, 2, appendText(appendNumber(nil, 1, uint64(i)), 2, text))
				continue
			}
		}
		object := read(o)
		if object.shard = o.text(5); !slices.Contains(f.shards(class), object.shard) {
			if object.shard != "" || f.hasTenants(class) {
				out = appendMessage(out, 2, appendText(appendNumber(nil, 1, uint64(i)), 2, fmt.Sprintf("tenant not found: %q", object.shard)))
				continue
			}
			all := f.shards(class)
			object.shard = all[int(id[15])%len(all)]
		}
		for property, texts := range object.texts {
			object.tokens[property] = f.split(class, property, texts)
		}
		for _, n := range f.placed(class, object.shard) {
			if !n.behind {
				n.objects[class][id] = object
			}
		}
	}
	return out, nil
}

// remove deletes from every node what this node finds.
func (n *fakeNode) remove(m fields) ([]byte, error) {
	class := m.text(1)
	objects, err := n.visible(class, m.text(6))
	if err != nil {
		return nil, err
	}
	if m.number(5) != 3 {
		return nil, fmt.Errorf("consistency %d", m.number(5))
	}
	matches, selects := uint64(0), n.fake.compile(class, m.messages(2)[0])
	for id, o := range objects {
		if matches == maxResults {
			break
		}
		if !selects(id, o) {
			continue
		}
		matches++
		for _, other := range n.fake.nodes {
			if !other.behind {
				delete(other.objects[class], id)
			}
		}
	}
	return appendNumber(appendNumber(nil, 3, matches), 4, matches), nil
}
