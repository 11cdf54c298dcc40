package fresh_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/magpie-search/magpie/internal/store/fresh"
)

// source is what a cache reads; every reading takes as long as it says.
type source struct {
	takes time.Duration

	mu    sync.Mutex
	rows  map[string]int
	fails error
	loads int
}

func (s *source) set(key string, value int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows[key] = value
}

func (s *source) read(ctx context.Context, key string) (int, bool, error) {
	s.mu.Lock()
	s.loads++
	value, found := s.rows[key]
	err := s.fails
	s.mu.Unlock()
	if s.takes > 0 { // what was read is as old as the reading's begin
		select {
		case <-time.After(s.takes):
		case <-ctx.Done():
			return 0, false, ctx.Err()
		}
	}
	return value, found, err
}

func (s *source) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loads
}

func newSource() *source { return &source{rows: map[string]int{"a": 1}} }

func get(t *testing.T, c *fresh.Cache[string, int], key string) (int, bool) {
	t.Helper()
	value, found, err := c.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return value, found
}

func TestAnAnswerIsNeverOlderThanItMayBe(t *testing.T) {
	t.Parallel()
	for _, takes := range []time.Duration{0, 5 * time.Millisecond, 300 * time.Millisecond, 700 * time.Millisecond, 3 * time.Second} {
		t.Run(takes.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSource()
				s.takes = takes
				c := fresh.New(s.read, fresh.Options{})
				defer c.Close()
				changed := time.Now() // the value is when it was set, in milliseconds from here
				var asking sync.WaitGroup
				for step := range 400 {
					s.set("a", int(time.Since(changed)/time.Millisecond))
					for range 3 {
						asking.Go(func() {
							asked := time.Since(changed)
							value, found, err := c.Get(t.Context(), "a")
							if err != nil || !found {
								t.Errorf("step %d: %v %v", step, found, err)
							}
							if age := asked - time.Duration(value)*time.Millisecond; age > 830*time.Millisecond {
								t.Errorf("step %d: an answer is %s old", step, age)
							}
						})
					}
					<-time.After(17 * time.Millisecond)
				}
				asking.Wait()
			})
		})
	}
}

func TestAKeyInUseIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.takes = 50 * time.Millisecond
		c := fresh.New(s.read, fresh.Options{})
		defer c.Close()
		get(t, c, "a")
		for range 1000 {
			began := time.Now()
			get(t, c, "a")
			if waited := time.Since(began); waited > 0 {
				t.Fatalf("a caller waited %s", waited)
			}
			<-time.After(10 * time.Millisecond)
		}
		if n := s.count(); n < 12 || n > 26 {
			t.Errorf("%d loads in ten seconds", n)
		}
	})
}

func TestManyFirstCallersLoadOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.takes = 100 * time.Millisecond
		c := fresh.New(s.read, fresh.Options{})
		defer c.Close()
		var asking sync.WaitGroup
		for range 200 {
			asking.Go(func() {
				if value, found := get(t, c, "a"); !found || value != 1 {
					t.Errorf("%d %v", value, found)
				}
			})
		}
		asking.Wait()
		if n := s.count(); n != 1 {
			t.Errorf("%d loads", n)
		}
	})
}

func TestACallerThatLeavesDoesNotTakeTheLoadWithIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.takes = 100 * time.Millisecond
		c := fresh.New(s.read, fresh.Options{})
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, _, err := c.Get(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if value, found := get(t, c, "a"); value != 1 || !found || s.count() != 1 {
			t.Errorf("%d %v after %d loads", value, found, s.count())
		}
	})
}

func TestNothingIsKeptOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		c := fresh.New(s.read, fresh.Options{})
		defer c.Close()
		for range 3 {
			if _, found := get(t, c, "b"); found {
				t.Fatal("found")
			}
		}
		if s.count() != 3 || c.Len() != 0 {
			t.Errorf("%d loads, %d entries", s.count(), c.Len())
		}
		s.set("b", 2)
		if value, found := get(t, c, "b"); value != 2 || !found {
			t.Error("a new row is not seen at once")
		}
		delete(s.rows, "b")
		<-time.After(801 * time.Millisecond)
		if _, found := get(t, c, "b"); found || c.Len() != 0 {
			t.Error("a deleted row is still there")
		}
	})
}

func TestErrorsAreNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		c := fresh.New(s.read, fresh.Options{})
		defer c.Close()
		get(t, c, "a")
		s.mu.Lock()
		s.fails = errors.New("away")
		s.mu.Unlock()
		<-time.After(500 * time.Millisecond)
		get(t, c, "a") // young enough, while a load fails behind it
		<-time.After(301 * time.Millisecond)
		if _, _, err := c.Get(t.Context(), "a"); err == nil {
			t.Error("an old entry outlived the database")
		}
		s.mu.Lock()
		s.fails = nil
		s.mu.Unlock()
		get(t, c, "a")
	})
}

func TestForgottenIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.takes = 100 * time.Millisecond
		c := fresh.New(s.read, fresh.Options{})
		defer c.Close()
		get(t, c, "a")
		<-time.After(500 * time.Millisecond)
		get(t, c, "a") // begins a load with the value before the change
		synctest.Wait()
		s.set("a", 2)
		c.Forget(func(value int) bool { return value == 1 })
		if value, _ := get(t, c, "a"); value != 2 {
			t.Errorf("%d after the change", value)
		}
		<-time.After(200 * time.Millisecond)
		if value, _ := get(t, c, "a"); value != 2 {
			t.Errorf("%d: an old load came in between", value)
		}
	})
}

func TestEntriesAreBounded(t *testing.T) {
	t.Parallel()
	c := fresh.New(func(_ context.Context, key string) (string, bool, error) { return key, true, nil }, fresh.Options{Most: 100})
	defer c.Close()
	for i := range 1000 {
		if _, _, err := c.Get(t.Context(), fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
		if c.Len() > 100 {
			t.Fatalf("%d entries", c.Len())
		}
	}
}

func TestClosingEndsLoads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.takes = time.Hour
		c := fresh.New(s.read, fresh.Options{Patience: 2 * time.Hour})
		var failed atomic.Int32
		for range 3 {
			go func() {
				if _, _, err := c.Get(t.Context(), "a"); err != nil {
					failed.Add(1)
				}
			}()
		}
		synctest.Wait()
		began := time.Now()
		c.Close()
		synctest.Wait()
		if failed.Load() != 3 || time.Since(began) > 0 {
			t.Errorf("%d callers were told, after %s", failed.Load(), time.Since(began))
		}
		if _, _, err := c.Get(t.Context(), "a"); !errors.Is(err, fresh.ErrClosed) {
			t.Errorf("%v", err)
		}
	})
}

func BenchmarkHit(b *testing.B) {
	c := fresh.New(func(_ context.Context, key [32]byte) (int, bool, error) { return 1, true, nil }, fresh.Options{})
	defer c.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, found, _ := c.Get(b.Context(), [32]byte{1}); !found {
			b.Fatal("not found")
		}
	}
}

func TestAClockThatIsSetBackBringsNothingBack(t *testing.T) {
	t.Parallel()
	s := newSource()
	var at atomic.Int64
	c := fresh.New(s.read, fresh.Options{For: time.Second, Now: func() time.Time { return time.Unix(at.Load(), 0) }})
	defer c.Close()
	at.Store(1000)
	if value, _ := get(t, c, "a"); value != 1 {
		t.Fatal(value)
	}
	at.Store(940)
	s.set("a", 2)
	for ; at.Load() < 1003; at.Add(1) {
		if value, _ := get(t, c, "a"); value != 2 {
			t.Fatalf("%d s after the clock was set back the answer is an old one", at.Load()-940)
		}
	}
}
