package weaviate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/search/engine"
	"github.com/magpie-search/magpie/internal/search/engine/enginetest"
	"github.com/magpie-search/magpie/internal/search/engine/weaviate"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/testkit/engineserver"
)

func connect(t *testing.T, c *engineserver.Cluster) *weaviate.Backend {
	t.Helper()
	b, err := weaviate.Open(t.Context(), c.URLs(), weaviate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRealEngineOfOneNode(t *testing.T) {
	c := engineserver.Start(t, 1)
	enginetest.Run(t, func(t *testing.T) engine.Backend { return connect(t, c) })
}

func TestRealEngineOfThreeNodes(t *testing.T) {
	c := engineserver.Start(t, 3)
	t.Run("Contract", func(t *testing.T) {
		enginetest.Run(t, func(t *testing.T) engine.Backend { return connect(t, c) })
	})
	t.Run("ANodeDiesUnderSearches", func(t *testing.T) { nodeDiesUnderSearches(t, c) })
	t.Run("ANodeDiesUnderWrites", func(t *testing.T) { nodeDiesUnderWrites(t, c) })
	t.Run("AStaleReplicaIsMissingAndRepaired", func(t *testing.T) { staleReplica(t, c) })
}

const (
	length = 32 // of the vectors
	shards = 3
)

// filled creates a class with two replicas of three shards, and objects that all have the
// term "all".
func filled(t *testing.T, b *weaviate.Backend, name string, n int) []engine.Object {
	t.Helper()
	if err := b.Create(t.Context(), engine.Class{Name: name, Dimensions: length, Shards: shards, Replicas: 2}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Drop(context.WithoutCancel(t.Context()), name); err != nil {
			t.Errorf("drop the class: %v", err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	random := rand.New(rand.NewPCG(1, uint64(n)))
	objects := make([]engine.Object, n)
	for i := range objects {
		objects[i] = passage(1, "all", fmt.Sprint("own", i), fmt.Sprint("some", i%17))
		objects[i].Vector = make([]float32, length)
		objects[i].Vector[random.IntN(length)] = 0.8
		objects[i].Vector[random.IntN(length)] = 0.6
	}
	return objects
}

// putAll puts objects as the projector does: again and again while the engine cannot be
// reached.
func putAll(t *testing.T, b *weaviate.Backend, class string, objects []engine.Object) (retries int) {
	t.Helper()
	began := time.Now()
	testkit.WaitWithin(t, 3*time.Minute, "a batch to be stored", func() bool {
		err := b.Put(t.Context(), class, objects)
		if err != nil && !errors.Is(err, engine.ErrUnavailable) {
			t.Fatal(err)
		}
		if err != nil {
			if retries++; retries == 1 || time.Since(began) > time.Minute {
				t.Logf("after %s: %v", time.Since(began), err)
			}
		}
		return err == nil
	})
	return retries
}

func idsOf(objects []engine.Object) []uuid.UUID {
	out := make([]uuid.UUID, len(objects))
	for i := range objects {
		out[i] = objects[i].Passage
	}
	return out
}

func nodeDiesUnderSearches(t *testing.T, c *engineserver.Cluster) {
	b := connect(t, c)
	objects := filled(t, b, "Searches", 2000)
	putAll(t, b, "Searches", objects)
	for victim := range 3 {
		stop := make(chan struct{})
		var wg sync.WaitGroup
		var mu sync.Mutex
		var times []time.Duration
		for worker := range 2 {
			wg.Go(func() {
				for i := worker; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					o := objects[i%len(objects)]
					q := &engine.Query{Terms: []string{fmt.Sprint("own", i%len(objects))}, Limit: 10}
					if i%2 == 0 {
						q = &engine.Query{Vector: o.Vector, Limit: 10}
					}
					began := time.Now()
					found, err := b.Search(t.Context(), "Searches", q)
					took := time.Since(began)
					if err != nil {
						t.Errorf("search %d after %s: %v", i, took, err)
					}
					if err == nil && (i%2 == 0 && len(found) != 10 || i%2 == 1 && (len(found) != 1 || found[0].Passage != o.Passage)) {
						t.Errorf("search %d after %s found %d passages without an error", i, took, len(found))
					}
					mu.Lock()
					times = append(times, took)
					mu.Unlock()
				}
			})
		}
		count := func() int { mu.Lock(); defer mu.Unlock(); return len(times) }
		testkit.WaitFor(t, "searches", func() bool { return count() > 200 })
		c.Kill(victim)
		killed, at := time.Now(), count()
		testkit.WaitFor(t, "searches without a node", func() bool { return count() > at+1000 && time.Since(killed) > 10*time.Second })
		c.Restart(victim)
		at = count()
		testkit.WaitFor(t, "searches with the node again", func() bool { return count() > at+500 })
		close(stop)
		wg.Wait()
		slices.Sort(times)
		t.Logf("node%d died under %d searches: median %s, 99 %% %s, worst %s", victim+1, len(times), times[len(times)/2], times[len(times)*99/100], times[len(times)-1])
	}
}

// project does what the projector does until every replica has every object: it asks what
// is missing and puts that.
func project(t *testing.T, b *weaviate.Backend, class string, objects []engine.Object, change int64) (repaired int) {
	t.Helper()
	testkit.WaitWithin(t, 3*time.Minute, "all replicas to have everything", func() bool {
		missing, err := b.Missing(t.Context(), class, idsOf(objects), change)
		if err != nil && !errors.Is(err, engine.ErrUnavailable) {
			t.Fatal(err)
		}
		if err != nil {
			return false
		}
		repaired += len(missing)
		putAll(t, b, class, slices.DeleteFunc(slices.Clone(objects), func(o engine.Object) bool { return !slices.Contains(missing, o.Passage) }))
		return len(missing) == 0
	})
	return repaired
}

// ledger demands that two replicas of each shard have the objects with their changes, and
// nothing else.
func ledger(t *testing.T, c *engineserver.Cluster, class string, objects []engine.Object) {
	t.Helper()
	changes := map[string]int64{}
	for i := range objects {
		changes[objects[i].Passage.String()] = objects[i].Change
	}
	c.Holds(t, class, 2, changes)
}

func nodeDiesUnderWrites(t *testing.T, c *engineserver.Cluster) {
	b := connect(t, c)
	objects := filled(t, b, "Writes", 1500)
	for victim := range 3 {
		for i := range objects {
			objects[i].Change = int64(victim + 1)
		}
		retries, number, down := 0, 0, false
		for part := range slices.Chunk(objects, 50) {
			switch number++; number {
			case 6 + 3*victim:
				c.Kill(victim)
				down = true
			case 25:
				c.Restart(victim)
				down = false
			}
			retries += putAll(t, b, "Writes", part)
			if down {
				if missing, err := b.Missing(t.Context(), "Writes", idsOf(part), int64(victim+1)); !errors.Is(err, engine.ErrUnavailable) {
					t.Errorf("with node%d dead, missing are %d (%v)", victim+1, len(missing), err)
				}
			}
		}
		began := time.Now()
		repaired := project(t, b, "Writes", objects, int64(victim+1))
		t.Logf("node%d died under writes: %d batches again, then %d objects put again within %s", victim+1, retries, repaired, time.Since(began))
		ledger(t, c, "Writes", objects)
	}
	found, err := b.Search(t.Context(), "Writes", &engine.Query{Terms: []string{"all"}, Limit: 10_000})
	if err != nil || len(found) != len(objects) {
		t.Errorf("found %d of %d (%v)", len(found), len(objects), err)
	}
}

func staleReplica(t *testing.T, c *engineserver.Cluster) {
	b := connect(t, c)
	objects := filled(t, b, "Stale", 600)
	putAll(t, b, "Stale", objects)
	if missing, err := b.Missing(t.Context(), "Stale", idsOf(objects), 1); err != nil || len(missing) > 0 {
		t.Fatalf("missing are %d (%v)", len(missing), err)
	}
	c.Kill(2)
	for i := range objects {
		objects[i].Change = 2
	}
	putAll(t, b, "Stale", objects)
	c.Restart(2)
	had, err := c.Objects(2, "Stale")
	if err != nil {
		t.Fatal(err)
	}
	stale := 0
	for _, change := range had {
		if change == 1 {
			stale++
		}
	}
	var missing []uuid.UUID
	// A new try to connect to the node comes a moment later.
	testkit.WaitFor(t, "every node to answer", func() (ok bool) {
		var err error
		missing, err = b.Missing(t.Context(), "Stale", idsOf(objects), 2)
		if err != nil && !errors.Is(err, engine.ErrUnavailable) {
			t.Fatal(err)
		}
		return err == nil
	})
	if len(missing) < stale || stale == 0 {
		t.Errorf("the node has %d objects of before, and missing are %d", stale, len(missing))
	}
	t.Logf("of %d objects the node that was away has %d of before, and %d are missing", len(objects), stale, len(missing))
	project(t, b, "Stale", objects, 2)
	ledger(t, c, "Stale", objects)
}
