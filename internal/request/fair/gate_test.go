package fair_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/request/fair"
)

// enter enters a gate that has a place.
func enter(t *testing.T, g *fair.Gate, id uuid.UUID) (leave func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	leave, err := g.Enter(ctx, id)
	if err != nil {
		t.Fatalf("Enter = %v, want a place", err)
	}
	return leave
}

// full checks that a gate has no place for a workspace.
func full(t *testing.T, g *fair.Gate, id uuid.UUID) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if leave, err := g.Enter(ctx, id); !errors.Is(err, context.DeadlineExceeded) || leave != nil {
		t.Fatalf("Enter = %v, want no place", err)
	}
}

func TestAWorkspaceAloneHasAllPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := fair.New(fair.Options{Places: 4})
		a, b := uuid.New(), uuid.New()
		var leave []func()
		for range 4 {
			leave = append(leave, enter(t, g, a))
		}
		full(t, g, a)
		full(t, g, b)
		leave[0]()
		leave[0]() // again, which does nothing
		leaveB := enter(t, g, b)
		full(t, g, a)
		leave[1]()
		full(t, g, a) // it still has its share, two
		leave[2]()
		enter(t, g, a)()
		leaveB()
		leave[3]()
		<-time.NewTimer(2 * time.Second).C // b is not active any more
		for range 4 {
			enter(t, g, a)
		}
		if g.Running() != 4 || g.Waiting() != 0 {
			t.Errorf("Running = %d, Waiting = %d", g.Running(), g.Waiting())
		}
	})
}

func TestAPlaceGoesToTheWorkspaceWithTheFewest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := fair.New(fair.Options{Places: 3, Share: 2})
		loud, quiet, other := uuid.New(), uuid.New(), uuid.New()
		leave := []func(){enter(t, g, loud), enter(t, g, loud), enter(t, g, other)}
		var mutex sync.Mutex
		var order []string
		wait := func(name string, id uuid.UUID) {
			go func() {
				leave, err := g.Enter(t.Context(), id)
				if err != nil {
					t.Error(err)
					return
				}
				mutex.Lock()
				order = append(order, name)
				mutex.Unlock()
				leave()
			}()
			synctest.Wait()
		}
		wait("loud 1", loud)
		wait("loud 2", loud)
		wait("quiet", quiet)
		wait("other", other)
		if g.Waiting() != 4 {
			t.Fatalf("%d wait, want 4", g.Waiting())
		}
		leave[0]()
		synctest.Wait()
		if want := []string{"quiet", "loud 1", "other", "loud 2"}; !slices.Equal(order, want) {
			t.Errorf("the order was %q", order)
		}
		for _, l := range leave[1:] {
			l()
		}
		if g.Running() != 0 || g.Waiting() != 0 {
			t.Errorf("Running = %d, Waiting = %d", g.Running(), g.Waiting())
		}
	})
}

func TestACallThatIsCanceledGivesItsTurnOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := fair.New(fair.Options{Places: 1})
		id := uuid.New()
		leave := enter(t, g, id)
		canceled, cancel := context.WithCancel(t.Context())
		first, second := make(chan error), make(chan error)
		go func() { _, err := g.Enter(canceled, id); first <- err }()
		synctest.Wait()
		go func() { _, err := g.Enter(t.Context(), id); second <- err }()
		synctest.Wait()
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("Enter = %v", err)
		}
		leave()
		if err := <-second; err != nil {
			t.Errorf("Enter = %v", err)
		}
		if _, err := g.Enter(canceled, id); !errors.Is(err, context.Canceled) {
			t.Errorf("Enter of a canceled call = %v", err)
		}
	})
}

func TestACallOutsideGivesUpItsPlace(t *testing.T) {
	t.Parallel()
	g := fair.New(fair.Options{Places: 1})
	a, b := uuid.New(), uuid.New()
	failure := errors.New("failure")
	err := g.Run(t.Context(), a, func(ctx context.Context) error {
		full(t, g, b)
		return fair.Outside(ctx, func() error {
			leave := enter(t, g, b)
			t.Cleanup(leave)
			return failure
		})
	})
	if !errors.Is(err, failure) {
		t.Errorf("Run = %v", err)
	}
	if g.Running() != 1 {
		t.Errorf("%d calls run, want that of b", g.Running())
	}
	if err := fair.Outside(t.Context(), func() error { return failure }); !errors.Is(err, failure) {
		t.Errorf("Outside without a place = %v", err)
	}
}

// TestAGateUnderLoad enters and leaves at random, cancels some calls, and checks the limits
// throughout.
func TestAGateUnderLoad(t *testing.T) {
	t.Parallel()
	const places = 5
	g := fair.New(fair.Options{Places: places})
	ids := make([]uuid.UUID, 20)
	for i := range ids {
		ids[i] = uuid.New()
	}
	var running, done atomic.Int64
	var wait sync.WaitGroup
	for i := range 100 {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for range 200 {
				id := ids[0] // half of the calls are of one workspace
				if random.IntN(2) == 0 {
					id = ids[random.IntN(len(ids))]
				}
				ctx, cancel := context.WithCancel(t.Context())
				if random.IntN(10) == 0 {
					go cancel()
				}
				if leave, err := g.Enter(ctx, id); err == nil {
					if n := running.Add(1); n > places {
						t.Errorf("%d calls run", n)
					}
					running.Add(-1)
					done.Add(1)
					leave()
				}
				cancel()
			}
		})
	}
	wait.Wait()
	if g.Running() != 0 || g.Waiting() != 0 || done.Load() < 15_000 {
		t.Errorf("Running = %d, Waiting = %d, %d calls ran", g.Running(), g.Waiting(), done.Load())
	}
}
