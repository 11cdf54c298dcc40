package resident_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/resident"
	"github.com/magpie-search/magpie/internal/viewer"
)

// feed is a store of collections whose documents have one passage each.
type feed struct {
	mutex  sync.Mutex
	states map[uuid.UUID]*index.State
	err    error
	gate   map[uuid.UUID]chan struct{} // reads of a collection wait until it is closed
	calls  int
	after  []index.Position
}

func newFeed() *feed {
	return &feed{states: map[uuid.UUID]*index.State{}, gate: map[uuid.UUID]chan struct{}{}}
}

func (f *feed) add(seed byte, passages int64) index.State {
	id := uuid.UUID{seed}
	f.states[id] = &index.State{Collection: id, Position: index.Position{Generation: 1, Change: 1}, Required: 1, Model: "m", Passages: passages}
	return *f.states[id]
}

// change changes the collection and returns its state.
func (f *feed) change(id uuid.UUID, change func(*index.State)) index.State {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	change(f.states[id])
	return *f.states[id]
}

func (f *feed) Changes(ctx context.Context, scope viewer.Scope, required index.State, after index.Position, r index.ChangeReader) error {
	collection := required.Collection
	ids, all := scope.Collections()
	if all || len(ids) != 1 || ids[0] != collection {
		return errors.New("the scope is too wide")
	}
	f.mutex.Lock()
	f.calls++
	f.after = append(f.after, after)
	gate, err := f.gate[collection], f.err
	f.mutex.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err != nil {
		return err
	}
	f.mutex.Lock()
	state := *f.states[collection]
	f.mutex.Unlock()
	if err := r.Begin(state.Position, state.Model, after.Generation != state.Generation); err != nil {
		return err
	}
	for i := range state.Passages {
		id := uuid.UUID{15: byte(i), 14: byte(i >> 8)}
		p := index.EntryPassage{ID: id, Lexemes: lexemesOf([]occurrence{{"word", 1024}, {"other", 1025}})}
		if err := r.Entry(&index.Entry{Document: id, Live: true, Passages: []index.EntryPassage{p}}); err != nil {
			return err
		}
	}
	return nil
}

func (f *feed) count() int {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.calls
}

func (f *feed) hold(id uuid.UUID) chan struct{} {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	gate := make(chan struct{})
	f.gate[id] = gate
	return gate
}

func (f *feed) fail(err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.err = err
}

func everything(t *testing.T) viewer.Scope {
	t.Helper()
	s, err := viewer.System(uuid.UUID{9}).Scope()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// advance lets the fake clock of a bubble advance.
func advance(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
}

// bubble runs f with a fake clock and a cache that is closed at its end.
func bubble(t *testing.T, opt resident.CacheOptions, f func(t *testing.T, feed *feed, c *resident.Cache, scope viewer.Scope)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := newFeed()
		c := resident.NewCache(source, opt)
		defer c.Close()
		f(t, source, c, everything(t))
	})
}

func TestConcurrentCallersShareALoad(t *testing.T) {
	bubble(t, resident.CacheOptions{}, func(t *testing.T, f *feed, c *resident.Cache, scope viewer.Scope) {
		state := f.add(1, 3)
		gate := f.hold(state.Collection)
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				s, err := c.Snapshot(t.Context(), scope, state)
				if err != nil || s.Position != state.Position || s.Statistics().Passages != 3 || s.Model() != "m" {
					t.Errorf("Snapshot = %+v, %v", s, err)
				}
			})
		}
		synctest.Wait()
		close(gate)
		group.Wait()
		if n := f.count(); n != 1 {
			t.Errorf("%d loads, want 1", n)
		}
		if got := c.Stats(); got.Loads != 1 || got.Collections != 1 || got.Passages != 3 || got.Bytes == 0 {
			t.Errorf("Stats = %+v", got)
		}
	})
}

func TestOnlyTheWaitForALoadIsWrapped(t *testing.T) {
	wrapped := 0
	while := func(_ context.Context, wait func() error) error {
		wrapped++
		return wait()
	}
	bubble(t, resident.CacheOptions{WhileLoading: while}, func(t *testing.T, f *feed, c *resident.Cache, scope viewer.Scope) {
		state := f.add(1, 3)
		for change := range int64(3) {
			state = f.change(state.Collection, func(s *index.State) { s.Change, s.Required = 1+change, 1+change })
			if s, err := c.Snapshot(t.Context(), scope, state); err != nil || s.Change != state.Change || wrapped != 1 {
				t.Fatalf("change %d: Snapshot = %+v, %v; %d waits were wrapped", state.Change, s, err, wrapped)
			}
		}
		if n := f.count(); n != 3 {
			t.Errorf("%d reads, want 3", n)
		}
	})
}

func TestALoadContinuesAfterTheWaitEnds(t *testing.T) {
	bubble(t, resident.CacheOptions{MaxWait: 50 * time.Millisecond}, func(t *testing.T, f *feed, c *resident.Cache, scope viewer.Scope) {
		state := f.add(1, 3)
		gate := f.hold(state.Collection)
		for indexed, want := range map[bool]time.Duration{true: 50 * time.Millisecond, false: 5 * time.Second} {
			from := time.Now()
			state.Indexed = indexed
			if _, err := c.Snapshot(t.Context(), scope, state); !errors.Is(err, resident.ErrLoading) || time.Since(from) != want {
				t.Fatalf("Snapshot = %v after %v, want to wait for %v", err, time.Since(from), want)
			}
		}
		close(gate)
		synctest.Wait()
		if _, err := c.Snapshot(t.Context(), scope, state); err != nil || f.count() != 1 {
			t.Errorf("Snapshot = %v, %d loads", err, f.count())
		}
	})
}

func TestALoadContinuesAfterItsCallerIsCancelled(t *testing.T) {
	bubble(t, resident.CacheOptions{}, func(t *testing.T, f *feed, c *resident.Cache, scope viewer.Scope) {
		state := f.add(1, 3)
		gate := f.hold(state.Collection)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() {
			_, err := c.Snapshot(ctx, scope, state)
			failed <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("Snapshot = %v", err)
		}
		close(gate)
		synctest.Wait()
		if _, err := c.Snapshot(t.Context(), scope, state); err != nil || f.count() != 1 {
			t.Errorf("Snapshot = %v, %d loads", err, f.count())
		}
	})
}

func TestRequiredChangesAreWaitedForAndOthersReadInTheBackground(t *testing.T) {
	bubble(t, resident.CacheOptions{}, func(t *testing.T, f *feed, c *resident.Cache, scope viewer.Scope) {
		state := f.add(1, 1)
		if _, err := c.Snapshot(t.Context(), scope, state); err != nil {
			t.Fatal(err)
		}
		advance(time.Second)
		// A fenced write requires nothing.
		state = f.change(state.Collection, func(s *index.State) { s.Change, s.Passages = 2, 2 })
		gate := f.hold(state.Collection)
		s, err := c.Snapshot(t.Context(), scope, state)
		if err != nil || s.Change != 1 {
			t.Fatalf("Snapshot = %+v, %v", s, err)
		}
		// Another call starts no further read.
		if _, err := c.Snapshot(t.Context(), scope, state); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := f.count(); n != 2 {
			t.Errorf("%d reads, want 2", n)
		}
		close(gate)
		synctest.Wait()
		if s, err := c.Snapshot(t.Context(), scope, state); err != nil || s.Change != 2 || s.Statistics().Passages != 2 {
			t.Errorf("Snapshot = %+v, %v", s, err)
		}
		// A write without a fence is required at once.
		state = f.change(state.Collection, func(s *index.State) { s.Change, s.Required, s.Passages = 3, 3, 3 })
		if s, err := c.Snapshot(t.Context(), scope, state); err != nil || s.Change != 3 || s.Statistics().Passages != 3 {
			t.Errorf("Snapshot = %+v, %v", s, err)
		}
		if got := c.Stats(); got.Loads != 1 || got.CatchUps != 2 {
			t.Errorf("Stats = %+v", got)
		}
	})
}

func TestAReadThatEndsBeforeTheRequiredChangeIsRepeated(t *testing.T) {
	bubble(t, resident.CacheOptions{}, func(t *testing.T, f *feed, c *resident.Cache, scope viewer.Scope) {
		state := f.add(1, 1)
		if _, err := c.Snapshot(t.Context(), scope, state); err != nil {
			t.Fatal(err)
		}
		gate := f.hold(state.Collection)
		second := f.change(state.Collection, func(s *index.State) { s.Change, s.Required = 2, 2 })
		third := second
		third.Change, third.Required = 3, 3
		var group sync.WaitGroup
		group.Go(func() {
			if s, err := c.Snapshot(t.Context(), scope, second); err != nil || s.Change < 2 {
				t.Errorf("second = %+v, %v", s, err)
			}
		})
		synctest.Wait()
		group.Go(func() {
			// The store does not reach this change.
			if s, err := c.Snapshot(t.Context(), scope, third); !errors.Is(err, resident.ErrLoading) {
				t.Errorf("third = %+v, %v", s, err)
			}
		})
		synctest.Wait()
		close(gate)
		group.Wait()
		f.change(state.Collection, func(s *index.State) { s.Change, s.Required = 3, 3 })
		if s, err := c.Snapshot(t.Context(), scope, third); err != nil || s.Change != 3 {
			t.Errorf("third = %+v, %v", s, err)
		}
	})
}

func TestANewGenerationIsReadFromTheBeginning(t *testing.T) {
	bubble(t, resident.CacheOptions{}, func(t *testing.T, f *feed, c *resident.Cache, scope viewer.Scope) {
		old := f.add(1, 5)
		if _, err := c.Snapshot(t.Context(), scope, old); err != nil {
			t.Fatal(err)
		}
		state := f.change(old.Collection, func(s *index.State) {
			s.Generation, s.Change, s.Required, s.Model, s.Passages = 2, 7, 7, "n", 2
		})
		s, err := c.Snapshot(t.Context(), scope, state)
		if err != nil || s.Model() != "n" || s.Statistics().Passages != 2 || s.Generation != 2 {
			t.Errorf("Snapshot = %+v, %v", s, err)
		}
		if last := f.after[len(f.after)-1]; last != (index.Position{}) {
			t.Errorf("the last read began at %v, want the zero position", last)
		}
		// A caller with the old state embeds with the old model.
		if _, err := c.Snapshot(t.Context(), scope, old); !errors.Is(err, resident.ErrLoading) {
			t.Errorf("Snapshot of the old generation: error %v, want ErrLoading", err)
		}
	})
}

func TestAFailureIsReturnedAndTheReadRetried(t *testing.T) {
	bubble(t, resident.CacheOptions{}, func(t *testing.T, f *feed, c *resident.Cache, scope viewer.Scope) {
		state := f.add(1, 3)
		broken := errors.New("broken")
		f.fail(broken)
		if _, err := c.Snapshot(t.Context(), scope, state); !errors.Is(err, broken) {
			t.Fatalf("Snapshot = %v", err)
		}
		f.fail(nil)
		if _, err := c.Snapshot(t.Context(), scope, state); err != nil {
			t.Errorf("Snapshot = %v", err)
		}
		// The index stays after a failed catch-up.
		advance(time.Second)
		f.fail(broken)
		state.Change++
		for range 2 {
			if _, err := c.Snapshot(t.Context(), scope, state); err != nil {
				t.Errorf("Snapshot = %v", err)
			}
			synctest.Wait()
		}
		if got := c.Stats(); got.Failures != 2 {
			t.Errorf("Stats = %+v", got)
		}
	})
}

func TestALoadDoesNotBlockOtherCollections(t *testing.T) {
	bubble(t, resident.CacheOptions{MaxWait: time.Hour}, func(t *testing.T, f *feed, c *resident.Cache, scope viewer.Scope) {
		slow, fast := f.add(1, 1), f.add(2, 1)
		gate := f.hold(slow.Collection)
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := c.Snapshot(t.Context(), scope, slow); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if _, err := c.Snapshot(t.Context(), scope, fast); err != nil {
			t.Error(err)
		}
		close(gate)
		group.Wait()
	})
}

func TestTheLeastRecentlyUsedIsEvicted(t *testing.T) {
	bubble(t, resident.CacheOptions{Budget: 25_000}, func(t *testing.T, f *feed, c *resident.Cache, scope viewer.Scope) {
		states := []index.State{f.add(1, 20), f.add(2, 20), f.add(3, 20), f.add(4, 20)}
		for _, i := range []int{0, 1, 0, 2, 0, 3, 0} {
			if _, err := c.Snapshot(t.Context(), scope, states[i]); err != nil {
				t.Fatal(err)
			}
		}
		got := c.Stats()
		if got.Bytes > 25_000 || got.Loads != 4 || got.Evictions == 0 || int(got.Evictions)+got.Collections != 4 {
			t.Errorf("Stats = %+v", got)
		}
		if _, err := c.Snapshot(t.Context(), scope, states[0]); err != nil || f.count() != 4 {
			t.Errorf("the most used collection was loaded again: %d loads, error %v", f.count(), err)
		}
	})
}

func TestWarmLoadsOnlyWhatFits(t *testing.T) {
	bubble(t, resident.CacheOptions{Budget: 45_000, MaxWait: time.Minute}, func(t *testing.T, f *feed, c *resident.Cache, scope viewer.Scope) {
		slow := f.add(1, 20)
		gate := f.hold(slow.Collection)
		time.AfterFunc(3*time.Minute, func() { close(gate) }) // longer than a search would wait
		if err := c.Warm(t.Context(), scope, slow); err != nil {
			t.Error(err)
		}
		for range 2 { // loaded already
			if err := c.Warm(t.Context(), scope, slow); err != nil {
				t.Error(err)
			}
		}
		if err := c.Warm(t.Context(), scope, f.add(2, 44)); !errors.Is(err, resident.ErrTooLarge) {
			t.Errorf("Warm of a collection that does not fit: error %v, want ErrTooLarge", err)
		}
		if got := c.Stats(); got.Loads != 1 || got.Evictions != 0 || got.Collections != 1 {
			t.Errorf("Stats = %+v", got)
		}
	})
}

func TestACollectionTooLargeIsRefusedUntilItShrinks(t *testing.T) {
	bubble(t, resident.CacheOptions{Budget: 100_000}, func(t *testing.T, f *feed, c *resident.Cache, scope viewer.Scope) {
		state := f.add(1, 5000)
		if _, err := c.Snapshot(t.Context(), scope, state); !errors.Is(err, resident.ErrTooLarge) || f.count() != 0 {
			t.Errorf("by its estimate: error %v after %d reads", err, f.count())
		}
		state = f.change(state.Collection, func(s *index.State) { s.Passages = 990 })
		for range 2 {
			if _, err := c.Snapshot(t.Context(), scope, state); !errors.Is(err, resident.ErrTooLarge) || f.count() != 1 {
				t.Errorf("by its size: error %v after %d reads", err, f.count())
			}
		}
		state = f.change(state.Collection, func(s *index.State) { s.Passages = 300 })
		if s, err := c.Snapshot(t.Context(), scope, state); err != nil || s.Bytes() > 100_000 {
			t.Errorf("after it shrank: error %v", err)
		}
	})
}

func TestACacheChecksTheScope(t *testing.T) {
	bubble(t, resident.CacheOptions{}, func(t *testing.T, f *feed, c *resident.Cache, scope viewer.Scope) {
		state := f.add(1, 3)
		if _, err := c.Snapshot(t.Context(), scope, state); err != nil {
			t.Fatal(err)
		}
		few, err := scope.Narrow(uuid.UUID{2})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Snapshot(t.Context(), few, state); !errors.Is(err, viewer.ErrOutOfScope) {
			t.Errorf("a scope without the collection: error %v, want ErrOutOfScope", err)
		}
		if _, err := c.Snapshot(t.Context(), viewer.Scope{}, state); !errors.Is(err, viewer.ErrNoScope) {
			t.Errorf("the zero scope: error %v, want ErrNoScope", err)
		}
		// The scope of another workspace must not find the loaded index. The store is
		// asked, and refuses.
		stranger, err := viewer.System(uuid.UUID{8}).Scope()
		if err != nil {
			t.Fatal(err)
		}
		before := f.count()
		if _, err := c.Snapshot(t.Context(), stranger, state); err != nil || f.count() != before+1 {
			t.Errorf("another workspace: error %v after %d reads", err, f.count()-before)
		}
	})
}

func TestCloseCancelsReads(t *testing.T) {
	bubble(t, resident.CacheOptions{MaxWait: time.Hour}, func(t *testing.T, f *feed, c *resident.Cache, scope viewer.Scope) {
		state := f.add(1, 3)
		f.hold(state.Collection)
		failed := make(chan error)
		go func() {
			_, err := c.Snapshot(t.Context(), scope, state)
			failed <- err
		}()
		synctest.Wait()
		c.Close()
		if err := <-failed; !errors.Is(err, resident.ErrClosed) {
			t.Errorf("Snapshot = %v", err)
		}
		if _, err := c.Snapshot(t.Context(), scope, state); !errors.Is(err, resident.ErrClosed) {
			t.Errorf("Snapshot = %v", err)
		}
	})
}
