package resident

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
)

// Options tune an Index; the zero value is ready to use.
type Options struct {
	// Rescored is how many passages for each of the Nearest that a request
	// wants are compared with it exactly, at least 2; 0 is the measured default
	// (see the package's comment).
	Rescored int
	// LeastRescored is how many are compared at least, 0 is the default.
	LeastRescored int
}

func (o Options) withDefaults() Options {
	if o.Rescored <= 0 {
		o.Rescored = defaultRescored
	}
	if o.LeastRescored <= 0 {
		o.LeastRescored = defaultLeastRescored
	}
	return o
}

// Index is what searches need to know of one collection, in memory. Searches
// read a Snapshot and never wait; changes are made by one Change after another.
type Index struct {
	opt     Options
	write   sync.Mutex // held by whoever publishes
	current atomic.Pointer[Snapshot]
	scratch sync.Pool
}

// New makes an index of nothing, at the zero position.
func New(opt Options) *Index {
	x := &Index{opt: opt.withDefaults()}
	x.current.Store(&Snapshot{index: x})
	return x
}

// Snapshot returns the state at this moment. It never changes.
func (x *Index) Snapshot() *Snapshot { return x.current.Load() }

// Bytes is the memory that the present state holds. Searches under way need
// about 20 bytes a passage more each, which are used again.
func (x *Index) Bytes() int64 { return x.Snapshot().bytes }

var (
	errBegun    = errors.New("a change begins once")
	errNotBegun = errors.New("a change that has not begun")
	errOlder    = errors.New("a change that is older than the index")
)

// Change gathers changes of an index; it is an index.ChangeReader. Nothing of
// it is to be seen before Commit, and then all of it is. It is used by one
// goroutine, and thrown away after an error.
type Change struct {
	index   *Index
	builder *builder
	at      index.Position
	model   string
	all     bool
	begun   bool
	after   func(bytes int64, passages int) error
	told    int
	changed []uuid.UUID // documents that are there in a new version, unless all are told
}

// Change returns a new, empty change.
func (x *Index) Change() *Change { return &Change{index: x} }

// Begin says which position the index has after the change. With all set, the
// change is the whole collection, and what the index has is forgotten.
func (c *Change) Begin(at index.Position, model string, all bool) error {
	if c.begun {
		return errBegun
	}
	c.builder = newBuilder()
	c.at, c.model, c.all, c.begun = at, model, all, true
	return nil
}

// Entry takes a document that has changed: the whole of it, or that it is gone.
// Nothing of the entry is kept. The last entry of a document counts.
func (c *Change) Entry(e *index.Entry) error {
	if !c.begun {
		return errNotBegun
	}
	if err := c.builder.add(e); err != nil {
		return fmt.Errorf("index document %s: %w", e.Document, err)
	}
	c.told++
	if !c.all && e.Live {
		c.changed = append(c.changed, e.Document)
	}
	if c.after != nil && c.told%256 == 0 {
		return c.after(c.builder.bytes(), len(c.builder.out.ids))
	}
	return nil
}

// Commit publishes the change and returns the state with it. Changes of one
// index are committed in the order of their positions.
func (c *Change) Commit() (*Snapshot, error) {
	if !c.begun {
		return nil, errNotBegun
	}
	x := c.index
	x.write.Lock()
	defer x.write.Unlock()
	old := x.Snapshot()
	if !c.all && (c.at.Generation != old.Generation || c.at.Change < old.Change) {
		return nil, errOlder
	}
	next := &draft{index: x, at: c.at, model: c.model}
	if !c.all {
		next.parts = old.draftParts()
	}
	if err := next.take(c.builder); err != nil {
		return nil, err
	}
	if err := next.merge(); err != nil {
		return nil, err
	}
	s := next.snapshot()
	x.current.Store(s)
	return s, nil
}

// Apply publishes changed documents, and that others are gone, all at once.
func (x *Index) Apply(at index.Position, entries []*index.Entry) error {
	c := x.Change()
	if err := c.Begin(at, x.Snapshot().model, false); err != nil {
		return err
	}
	for _, e := range entries {
		if err := c.Entry(e); err != nil {
			return err
		}
	}
	_, err := c.Commit()
	return err
}
