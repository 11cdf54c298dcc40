package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/search/engine"
)

// Version is that of the nodes.
const Version = "memory"

// A Call names a call of a Backend for Intercept.
type Call struct {
	Method string // "Search"
	Class  string // or the prefix of Classes; "" if the method has neither
	Node   string // that Search asks, "" of other methods
}

// Backend is an engine.Backend. A class with r replicas has them on the first r nodes that
// it had when the class was created.
type Backend struct {
	mu        sync.Mutex
	nodes     []*node
	classes   map[string]*class
	searches  int
	intercept func(context.Context, Call) error
	refuse    func(*engine.Object) string
	prefer    string
	closed    bool
}

var _ engine.Backend = (*Backend)(nil)

type node struct {
	name                   string
	stopped, behind, blank bool
}

type class struct {
	engine.Class
	replicas []*replica
}

// replica is what one node has of a class.
type replica struct {
	node    *node
	objects map[uuid.UUID]*engine.Object
}

// New returns an engine of n nodes, whose names are node1, node2 and so on.
func New(n int) *Backend {
	b := &Backend{classes: make(map[string]*class)}
	for i := range n {
		b.nodes = append(b.nodes, &node{name: fmt.Sprintf("node%d", i+1)})
	}
	return b
}

// Stop stops a node, as a crash does. It keeps the objects that it has.
func (b *Backend) Stop(name string) { b.change(name, func(n *node) { n.stopped = true }) }

// Start starts a stopped node. It has the objects that it had.
func (b *Backend) Start(name string) { b.change(name, func(n *node) { n.stopped = false }) }

// Lag makes a node ignore writes, though it answers and they succeed, or ends that. What
// it missed meanwhile it does not get.
func (b *Backend) Lag(name string, lag bool) { b.change(name, func(n *node) { n.behind = lag }) }

// Blank makes searches that a node answers find nothing, or ends that.
func (b *Backend) Blank(name string, blank bool) {
	b.change(name, func(n *node) { n.blank = blank })
}

// Prefer makes searches ask one node as long as it runs. With "" they take turns.
func (b *Backend) Prefer(name string) {
	if name != "" {
		b.change(name, func(*node) {})
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.prefer = name
}

func (b *Backend) change(name string, f func(*node)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.nodes, func(n *node) bool { return n.name == name })
	if i < 0 {
		panic("no node " + name)
	}
	f(b.nodes[i])
}

// Lose removes every class, as an engine does that was set up anew.
func (b *Backend) Lose() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.classes)
}

// Intercept sets a function that every call runs first. The call ends with its error.
// The function may wait; it is called without a lock. Nil removes it.
func (b *Backend) Intercept(f func(context.Context, Call) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.intercept = f
}

// Refuse sets a function that returns why an object is refused, "" for one that is not. Nil
// removes it.
func (b *Backend) Refuse(f func(*engine.Object) string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuse = f
}

// Fail makes every call end with an error that wraps err; nil ends that. It replaces the
// function of Intercept.
func (b *Backend) Fail(err error) {
	if err == nil {
		b.Intercept(nil)
		return
	}
	b.Intercept(func(_ context.Context, c Call) error { return fmt.Errorf("%s: %w", c.Method, err) })
}

// Objects returns what a node has of a class, ordered by passage; nil if it has no replica.
func (b *Backend) Objects(class, node string) []engine.Object {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.classes[class]
	if c == nil {
		return nil
	}
	i := slices.IndexFunc(c.replicas, func(r *replica) bool { return r.node.name == node })
	if i < 0 {
		return nil
	}
	out := make([]engine.Object, 0, len(c.replicas[i].objects))
	for _, o := range c.replicas[i].objects {
		out = append(out, *clone(o))
	}
	slices.SortFunc(out, func(x, y engine.Object) int { return strings.Compare(x.Passage.String(), y.Passage.String()) })
	return out
}

// enter begins a call and locks b, unless it returns an error.
func (b *Backend) enter(ctx context.Context, c Call) error {
	b.mu.Lock()
	intercept, closed := b.intercept, b.closed
	b.mu.Unlock()
	if closed {
		return errors.New("the backend is closed")
	}
	if intercept != nil {
		if err := intercept(ctx, c); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", c.Method, err)
	}
	b.mu.Lock()
	if !slices.ContainsFunc(b.nodes, func(n *node) bool { return !n.stopped }) {
		b.mu.Unlock()
		return fmt.Errorf("%s: no node runs: %w", c.Method, engine.ErrUnavailable)
	}
	return nil
}

// find returns a class. b is locked.
func (b *Backend) find(name string) (*class, error) {
	if c := b.classes[name]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("class %q: %w", name, engine.ErrNoClass)
}

// Create implements engine.Backend.
func (b *Backend) Create(ctx context.Context, c engine.Class) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if err := b.enter(ctx, Call{Method: "Create", Class: c.Name}); err != nil {
		return err
	}
	defer b.mu.Unlock()
	if b.classes[c.Name] != nil {
		return nil
	}
	if c.Replicas > len(b.nodes) {
		return fmt.Errorf("class %s: %d replicas of each shard on %d nodes", c.Name, c.Replicas, len(b.nodes))
	}
	made := &class{Class: c}
	for _, n := range b.nodes[:c.Replicas] {
		made.replicas = append(made.replicas, &replica{node: n, objects: make(map[uuid.UUID]*engine.Object)})
	}
	b.classes[c.Name] = made
	return nil
}

// Drop implements engine.Backend.
func (b *Backend) Drop(ctx context.Context, class string) error {
	if err := b.enter(ctx, Call{Method: "Drop", Class: class}); err != nil {
		return err
	}
	defer b.mu.Unlock()
	delete(b.classes, class)
	return nil
}

// Classes implements engine.Backend.
func (b *Backend) Classes(ctx context.Context, prefix string) ([]string, error) {
	if err := b.enter(ctx, Call{Method: "Classes", Class: prefix}); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	names := slices.Sorted(maps.Keys(b.classes))
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) }), nil
}

// writable returns the replicas that a write reaches.
func (c *class) writable() ([]*replica, error) {
	var out []*replica
	alive := false
	for _, r := range c.replicas {
		alive = alive || !r.node.stopped
		if !r.node.stopped && !r.node.behind {
			out = append(out, r)
		}
	}
	if !alive {
		return nil, fmt.Errorf("class %s: no replica runs: %w", c.Name, engine.ErrUnavailable)
	}
	return out, nil
}

// Put implements engine.Backend.
func (b *Backend) Put(ctx context.Context, class string, objects []engine.Object) error {
	if err := b.enter(ctx, Call{Method: "Put", Class: class}); err != nil {
		return err
	}
	defer b.mu.Unlock()
	c, err := b.find(class)
	if err != nil {
		return err
	}
	refused := map[uuid.UUID]string{}
	for i := range objects {
		o := &objects[i]
		delete(refused, o.Passage) // the last form counts
		if err := engine.CheckVector(o.Vector, c.Dimensions); err != nil {
			refused[o.Passage] = err.Error()
		} else if b.refuse == nil {
			continue
		} else if reason := b.refuse(o); reason != "" {
			refused[o.Passage] = reason
		}
	}
	replicas, err := c.writable()
	if err != nil {
		return err
	}
	for _, r := range replicas {
		for i := range objects {
			if _, ok := refused[objects[i].Passage]; !ok {
				r.objects[objects[i].Passage] = clone(&objects[i])
			}
		}
	}
	if len(refused) > 0 {
		return &engine.RefusedError{Reasons: refused}
	}
	return nil
}

// Delete implements engine.Backend.
func (b *Backend) Delete(ctx context.Context, class string, documents []uuid.UUID, before int64) error {
	if err := b.enter(ctx, Call{Method: "Delete", Class: class}); err != nil {
		return err
	}
	defer b.mu.Unlock()
	c, err := b.find(class)
	if err != nil {
		return err
	}
	replicas, err := c.writable()
	if err != nil {
		return err
	}
	gone := setOf(documents)
	for _, r := range replicas {
		maps.DeleteFunc(r.objects, func(_ uuid.UUID, o *engine.Object) bool { return gone[o.Document] && o.Change < before })
	}
	return nil
}

// Missing implements engine.Backend.
func (b *Backend) Missing(ctx context.Context, class string, passages []uuid.UUID, change int64) ([]uuid.UUID, error) {
	if err := b.enter(ctx, Call{Method: "Missing", Class: class}); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	c, err := b.find(class)
	if err != nil {
		return nil, err
	}
	for _, r := range c.replicas {
		if r.node.stopped {
			return nil, fmt.Errorf("%s does not answer: %w", r.node.name, engine.ErrUnavailable)
		}
	}
	var out []uuid.UUID
	seen := make(map[uuid.UUID]bool, len(passages))
	for _, id := range passages {
		if seen[id] {
			continue
		}
		seen[id] = true
		if slices.ContainsFunc(c.replicas, func(r *replica) bool { return r.objects[id] == nil || r.objects[id].Change < change }) {
			out = append(out, id)
		}
	}
	return out, nil
}

// Nodes implements engine.Backend.
func (b *Backend) Nodes(ctx context.Context) ([]engine.Node, error) {
	if err := b.enter(ctx, Call{Method: "Nodes"}); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	out := make([]engine.Node, len(b.nodes))
	for i, n := range b.nodes {
		out[i] = engine.Node{Name: n.name, Version: Version, Healthy: !n.stopped}
	}
	slices.SortFunc(out, func(x, y engine.Node) int { return strings.Compare(x.Name, y.Name) })
	return out, nil
}

// Close implements engine.Backend.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}

// clone returns an object that shares no memory with o, with the precision of time that an
// engine has.
func clone(o *engine.Object) *engine.Object {
	out := *o
	for i, terms := range o.Fields {
		out.Fields[i] = slices.Clone(terms)
	}
	for i, values := range o.Values {
		out.Values[i] = slices.Clone(values)
	}
	out.Vector = slices.Clone(o.Vector)
	out.Readers, out.Restriction = slices.Clone(o.Readers), slices.Clone(o.Restriction)
	if !o.Time.IsZero() {
		out.Time = o.Time.UTC().Truncate(time.Microsecond)
	}
	return &out
}

func setOf[T comparable](list []T) map[T]bool {
	out := make(map[T]bool, len(list))
	for _, x := range list {
		out[x] = true
	}
	return out
}
