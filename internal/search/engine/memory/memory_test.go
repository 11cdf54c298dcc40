package memory_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/engine"
	"github.com/magpie-search/magpie/internal/search/engine/enginetest"
	"github.com/magpie-search/magpie/internal/search/engine/memory"
)

func TestBackend(t *testing.T) {
	t.Parallel()
	for name, nodes := range map[string]int{"OneNode": 1, "ThreeNodes": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Run(t, func(*testing.T) engine.Backend { return memory.New(nodes) })
		})
	}
}

const class = "M1"

// open returns an engine of three nodes, two of which have the class.
func open(t *testing.T) *memory.Backend {
	t.Helper()
	b := memory.New(3)
	if err := b.Create(t.Context(), engine.Class{Name: class, Replicas: 2}); err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t *testing.T, b *memory.Backend, change int64, ids ...uuid.UUID) {
	t.Helper()
	for _, id := range ids {
		o := engine.Object{Passage: id, Document: id, Change: change}
		o.Fields[index.FieldBody] = []string{"word"}
		if err := b.Put(t.Context(), class, []engine.Object{o}); err != nil {
			t.Fatal(err)
		}
	}
}

func search(t *testing.T, b *memory.Backend) []uuid.UUID {
	t.Helper()
	found, err := b.Search(t.Context(), class, &engine.Query{Terms: []string{"word"}, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	var out []uuid.UUID
	for _, f := range found {
		out = append(out, f.Passage)
	}
	return out
}

func missing(t *testing.T, b *memory.Backend, change int64, ids ...uuid.UUID) []uuid.UUID {
	t.Helper()
	out, err := b.Missing(t.Context(), class, ids, change)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAReplicaThatLagsAnswersWithWhatItHas(t *testing.T) {
	t.Parallel()
	b, early, late := open(t), uuid.New(), uuid.New()
	put(t, b, 1, early)
	b.Lag("node2", true)
	put(t, b, 2, early, late)
	if got := missing(t, b, 2, early, late); len(got) != 2 {
		t.Errorf("missing are %v, want both", got)
	}
	if got := missing(t, b, 1, early, late); !slices.Equal(got, []uuid.UUID{late}) {
		t.Errorf("missing are %v, want the later one", got)
	}
	b.Prefer("node2")
	if got := search(t, b); !slices.Equal(got, []uuid.UUID{early}) {
		t.Errorf("the replica that lags finds %v", got)
	}
	b.Prefer("node1")
	if got := search(t, b); len(got) != 2 {
		t.Errorf("the current replica finds %v", got)
	}
	b.Prefer("")
	if first, second := search(t, b), search(t, b); len(first) == len(second) {
		t.Errorf("replicas take no turns: %v and %v", first, second)
	}
	b.Lag("node2", false)
	put(t, b, 2, early, late)
	if got := missing(t, b, 2, early, late); len(got) > 0 {
		t.Errorf("missing are %v after a second Put", got)
	}
	if got := b.Objects(class, "node3"); got != nil {
		t.Errorf("a node without a replica has %v", got)
	}
	if got := b.Objects(class, "node2"); len(got) != 2 || got[0].Change != 2 {
		t.Errorf("node2 has %v", got)
	}
}

func TestAStoppedNodeKeepsWhatItHad(t *testing.T) {
	t.Parallel()
	b, early, late := open(t), uuid.New(), uuid.New()
	put(t, b, 1, early)
	b.Stop("node1")
	put(t, b, 2, late)
	if _, err := b.Missing(t.Context(), class, []uuid.UUID{early}, 1); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("Missing with a stopped node: %v", err)
	}
	for range 3 {
		if got := search(t, b); len(got) != 2 {
			t.Errorf("with a stopped node a search finds %v", got)
		}
	}
	nodes, err := b.Nodes(t.Context())
	if err != nil || nodes[0].Healthy || !nodes[1].Healthy {
		t.Errorf("the nodes are %+v (%v)", nodes, err)
	}
	b.Stop("node2")
	if _, err := b.Search(t.Context(), class, &engine.Query{Terms: []string{"word"}, Limit: 1}); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("a search without a replica: %v", err)
	}
	if err := b.Put(t.Context(), class, nil); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("a write without a replica: %v", err)
	}
	b.Start("node1")
	b.Start("node2")
	if got := missing(t, b, 1, early, late); !slices.Equal(got, []uuid.UUID{late}) {
		t.Errorf("missing are %v, want what was written meanwhile", got)
	}
	for _, name := range []string{"node1", "node2", "node3"} {
		b.Stop(name)
	}
	if _, err := b.Classes(t.Context(), ""); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("an engine without nodes: %v", err)
	}
}

func TestCallsFailAsATestWants(t *testing.T) {
	t.Parallel()
	b, wanted := open(t), errors.New("wanted")
	b.Fail(wanted)
	if _, err := b.Nodes(t.Context()); !errors.Is(err, wanted) {
		t.Errorf("the error is %v", err)
	}
	b.Fail(nil)
	var calls []memory.Call
	b.Intercept(func(_ context.Context, c memory.Call) error { calls = append(calls, c); return nil })
	b.Prefer("node2")
	search(t, b)
	if !slices.Equal(calls, []memory.Call{{Method: "Search", Class: class, Node: "node2"}}) {
		t.Errorf("the calls are %v", calls)
	}
	b.Intercept(nil)
	b.Lose()
	if err := b.Put(t.Context(), class, nil); !errors.Is(err, engine.ErrNoClass) {
		t.Errorf("put after everything was lost: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := b.Nodes(t.Context()); err == nil {
		t.Error("a closed backend answers")
	}
}
