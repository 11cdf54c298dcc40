package weaviate_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/magpie-search/magpie/internal/search/engine"
	"github.com/magpie-search/magpie/internal/search/engine/weaviate"
)

// spread returns a client of an engine that has a class of six shards, each on some of its
// three nodes, and what is in it: passages that have a word of their own and a vector.
func spread(t *testing.T, f *fake) (*weaviate.Backend, []engine.Object) {
	t.Helper()
	b := f.opened(t)
	if err := b.Create(t.Context(), engine.Class{Name: class, Dimensions: 2, Replicas: max(f.replicas, 1)}); err != nil {
		t.Fatal(err)
	}
	objects := make([]engine.Object, 150)
	for i := range objects {
		objects[i] = passage(1, "all", fmt.Sprint("own", i))
		objects[i].Vector = []float32{0.6, 0.8}
	}
	put(t, b, objects...)
	return b, objects
}

// A node that has just come back may not have heard of the others. For a shard that it has
// no replica of it knows nobody, and of a class without tenants it would say nothing about
// that shard.
func TestANodeThatKnowsNoOtherLeavesNoShardOut(t *testing.T) {
	t.Parallel()
	f := newFake(t, 3)
	f.replicas = 2
	b, objects := spread(t, f)
	f.nodes[1].alone = true
	for i, o := range objects[:30] {
		for range len(f.nodes) { // each is asked first once
			found, err := b.Search(t.Context(), class, words(fmt.Sprint("own", i)))
			if err != nil || !slices.Equal(found, []engine.Found{{Passage: o.Passage, Document: o.Document}}) {
				t.Fatalf("passage %d: found %v (%v)", i, found, err)
			}
			found, err = b.Search(t.Context(), class, &engine.Query{Vector: o.Vector, Limit: 1000})
			if err != nil || len(found) != len(objects) {
				t.Fatalf("by a vector %d of %d passages are found (%v)", len(found), len(objects), err)
			}
		}
	}
}

func TestAShardThatNobodyReachesIsAnError(t *testing.T) {
	t.Parallel()
	f := newFake(t, 3)
	f.replicas = 1
	b, _ := spread(t, f)
	f.nodes[0].stop()
	f.nodes[1].alone, f.nodes[2].alone = true, true
	for range 6 {
		if found, err := b.Search(t.Context(), class, words("all")); !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("found %d passages (%v)", len(found), err)
		}
	}
}

func TestShardsHaveTheirParts(t *testing.T) {
	t.Parallel()
	f := newFake(t, 3)
	_, objects := spread(t, f)
	count := map[string]int{}
	for _, o := range f.nodes[0].objects[class] {
		count[o.shard]++
	}
	if len(count) != 6 {
		t.Errorf("%d objects are in the shards %v, want six", len(objects), count)
	}
}

// The creation of a class may have been interrupted.
func TestShardsThatAClassLacksAreAdded(t *testing.T) {
	t.Parallel()
	f := newFake(t, 2)
	b := f.opened(t)
	c := engine.Class{Name: class, Shards: 3, Replicas: 1}
	for _, have := range [][]string{nil, {"s1"}} {
		if err := b.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		f.tenants[class] = have
		if err := b.Create(t.Context(), engine.Class{Name: class, Shards: 5, Replicas: 1}); err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(slices.Values(f.tenants[class])); !slices.Equal(got, []string{"s0", "s1", "s2"}) {
			t.Errorf("the shards are %v", got)
		}
	}
}

// A node that has just come back may not have read the schema.
func TestAClassIsGoneIfMostNodesSaySo(t *testing.T) {
	t.Parallel()
	f := newFake(t, 3)
	b := created(t, f)
	o := passage(1, "word")
	put(t, b, o)
	f.nodes[1].unaware = true
	for range 6 {
		// Each client asks about the class.
		other := f.opened(t)
		if found, err := other.Search(t.Context(), class, words("word")); err != nil || len(found) != 1 {
			t.Errorf("found %v (%v)", found, err)
		}
		put(t, other, o)
	}
	f.nodes[0].stop()
	if _, err := f.opened(t).Search(t.Context(), class, words("word")); err != nil {
		t.Errorf("with a node that has the class: %v", err)
	}
	f.nodes[2].stop()
	if _, err := f.opened(t).Search(t.Context(), class, words("word")); !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrNoClass) {
		t.Errorf("with one node, which does not have it: %v", err)
	}
}
