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
	// CompareFactor is the number of vectors that are compared by their components, for
	// each passage that a request asks for; 4 by default (see the package comment).
	CompareFactor int
	// MinCompared is the least number of vectors that are compared by their components;
	// 1000 by default.
	MinCompared int
	// MinConcurrent is the least number of selected passages of which words and vectors
	// are compared at the same time; 100,000 by default. Fewer are compared in about the
	// time that it takes two goroutines to meet.
	MinConcurrent int
	// Window is the number of passages whose words are scored at a time; 1<<15 by default.
	// What a search reads and writes of so many stays in a processor's own cache, and does
	// not for all of a large segment.
	Window int
}

func (o Options) withDefaults() Options {
	if o.CompareFactor <= 0 {
		o.CompareFactor = 4
	}
	if o.MinCompared <= 0 {
		o.MinCompared = 1000
	}
	if o.MinConcurrent <= 0 {
		o.MinConcurrent = 100_000
	}
	if o.Window <= 0 {
		o.Window = 1 << 15
	}
	return o
}

// An Index is the search index of one collection. Searches read a Snapshot and never
// wait. Changes are committed one after another.
type Index struct {
	opt     Options
	commit  sync.Mutex
	current atomic.Pointer[Snapshot]
	scratch sync.Pool // of *scratch
}

// New returns an empty index at the zero position.
func New(opt Options) *Index {
	x := &Index{opt: opt.withDefaults()}
	x.current.Store(&Snapshot{index: x})
	return x
}

// Snapshot returns the current state.
func (x *Index) Snapshot() *Snapshot { return x.current.Load() }

// Bytes returns the memory that the current state holds. Each concurrent search needs
// about 20 bytes a passage more, which later searches reuse.
func (x *Index) Bytes() int64 { return x.Snapshot().bytes }

var (
	errNotBegun = errors.New("the change has not begun")
	errOutdated = errors.New("the change is older than the index")
)

// A Change collects changes of an index. It implements index.ChangeReader. Searches
// see nothing of it before Commit and all of it after. It is used by one goroutine and
// discarded after an error.
type Change struct {
	index     *Index
	builder   *builder
	position  index.Position
	model     string
	all       bool
	begun     bool
	checkSize func(bytes int64, passages int) error // called now and then; nil for never
	entries   int
	changed   []uuid.UUID // documents with a new version; none if all is set
}

// Change returns a new, empty change.
func (x *Index) Change() *Change { return &Change{index: x} }

// Begin sets the position and the model of the index after the change. With all, the
// change is the whole collection and replaces the index. A later Begin discards the
// entries.
func (c *Change) Begin(position index.Position, model string, all bool) error {
	c.builder = newBuilder()
	c.position, c.model, c.all, c.begun = position, model, all, true
	c.entries, c.changed = 0, nil
	return nil
}

// Entry adds a changed or deleted document. The last entry of a document counts. The
// entry is not retained.
func (c *Change) Entry(e *index.Entry) error {
	if !c.begun {
		return errNotBegun
	}
	if err := c.builder.add(e); err != nil {
		return fmt.Errorf("index document %s: %w", e.Document, err)
	}
	c.entries++
	if !c.all && e.Live {
		c.changed = append(c.changed, e.Document)
	}
	if c.checkSize != nil && c.entries%256 == 0 {
		return c.checkSize(c.builder.bytes(), len(c.builder.out.ids))
	}
	return nil
}

// Commit publishes the change and returns the new state. Changes must be committed in
// the order of their positions.
func (c *Change) Commit() (*Snapshot, error) {
	if !c.begun {
		return nil, errNotBegun
	}
	x := c.index
	x.commit.Lock()
	defer x.commit.Unlock()
	old := x.Snapshot()
	if !c.all && (c.position.Generation != old.Generation || c.position.Change < old.Change) {
		return nil, errOutdated
	}
	next := &draft{index: x, position: c.position, model: c.model}
	if !c.all {
		next.parts = old.draftParts()
	}
	if err := next.apply(c.builder); err != nil {
		return nil, err
	}
	if err := next.merge(); err != nil {
		return nil, err
	}
	s := next.snapshot()
	x.current.Store(s)
	return s, nil
}

// Apply commits one change of the given entries.
func (x *Index) Apply(position index.Position, entries []*index.Entry) error {
	c := x.Change()
	if err := c.Begin(position, x.Snapshot().model, false); err != nil {
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
