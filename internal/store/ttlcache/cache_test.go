package ttlcache_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/magpie-search/magpie/internal/store/ttlcache"
)

// A source is what a cache loads from. takes is the duration of a load.
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
	if s.takes > 0 { // the value is as old as the start of the load
		timer := time.NewTimer(s.takes)
		defer timer.Stop()
		select {
		case <-timer.C:
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

// sleep lets the fake clock of the test go on.
func sleep(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

func newSource() *source { return &source{rows: map[string]int{"a": 1}} }

func get(t *testing.T, c *ttlcache.Cache[string, int], key string) (int, bool) {
	t.Helper()
	value, found, err := c.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return value, found
}

func TestAValueIsNeverOlderThanItsMaximumAge(t *testing.T) {
	t.Parallel()
	for _, takes := range []time.Duration{0, 5 * time.Millisecond, 300 * time.Millisecond, 700 * time.Millisecond, 3 * time.Second} {
		t.Run(takes.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSource()
				s.takes = takes
				c := ttlcache.New(s.read, ttlcache.Options{})
				defer c.Close()
				changed := time.Now() // values are the time since then, in milliseconds
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
								t.Errorf("step %d: a value is %s old", step, age)
							}
						})
					}
					sleep(t, 17*time.Millisecond)
				}
				asking.Wait()
			})
		})
	}
}

func TestCallersWaitForAKeyInUseOnlyOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.takes = 50 * time.Millisecond
		c := ttlcache.New(s.read, ttlcache.Options{})
		defer c.Close()
		get(t, c, "a")
		for range 1000 {
			began := time.Now()
			get(t, c, "a")
			if waited := time.Since(began); waited > 0 {
				t.Fatalf("a caller waited %s", waited)
			}
			sleep(t, 10*time.Millisecond)
		}
		if n := s.count(); n < 12 || n > 26 {
			t.Errorf("%d loads in ten seconds", n)
		}
	})
}

func TestConcurrentFirstCallersShareALoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.takes = 100 * time.Millisecond
		c := ttlcache.New(s.read, ttlcache.Options{})
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

func TestALoadOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.takes = 100 * time.Millisecond
		c := ttlcache.New(s.read, ttlcache.Options{})
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

func TestAbsenceIsNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		c := ttlcache.New(s.read, ttlcache.Options{})
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
		sleep(t, 801*time.Millisecond)
		if _, found := get(t, c, "b"); found || c.Len() != 0 {
			t.Error("a deleted row is still there")
		}
	})
}

func TestErrorsAreNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		c := ttlcache.New(s.read, ttlcache.Options{})
		defer c.Close()
		get(t, c, "a")
		s.mu.Lock()
		s.fails = errors.New("away")
		s.mu.Unlock()
		sleep(t, 500*time.Millisecond)
		get(t, c, "a") // young enough; the load in the background fails
		sleep(t, 301*time.Millisecond)
		if _, _, err := c.Get(t.Context(), "a"); err == nil {
			t.Error("an old entry outlived the database")
		}
		s.mu.Lock()
		s.fails = nil
		s.mu.Unlock()
		get(t, c, "a")
	})
}

func TestAnInvalidatedValueIsLoadedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.takes = 100 * time.Millisecond
		c := ttlcache.New(s.read, ttlcache.Options{})
		defer c.Close()
		get(t, c, "a")
		sleep(t, 500*time.Millisecond)
		get(t, c, "a") // begins a load of the value before the change
		synctest.Wait()
		s.set("a", 2)
		c.Invalidate(func(value int) bool { return value == 1 })
		if value, _ := get(t, c, "a"); value != 2 {
			t.Errorf("%d after the change", value)
		}
		sleep(t, 200*time.Millisecond)
		if value, _ := get(t, c, "a"); value != 2 {
			t.Errorf("%d: the load from before the change was kept", value)
		}
	})
}

func TestEntriesAreBounded(t *testing.T) {
	t.Parallel()
	c := ttlcache.New(func(_ context.Context, key string) (string, bool, error) { return key, true, nil }, ttlcache.Options{MaxEntries: 100})
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

func TestCloseEndsLoads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.takes = time.Hour
		c := ttlcache.New(s.read, ttlcache.Options{LoadTimeout: 2 * time.Hour})
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
			t.Errorf("%d of 3 callers failed, after %s", failed.Load(), time.Since(began))
		}
		if _, _, err := c.Get(t.Context(), "a"); !errors.Is(err, ttlcache.ErrClosed) {
			t.Errorf("%v", err)
		}
	})
}

func BenchmarkHit(b *testing.B) {
	c := ttlcache.New(func(_ context.Context, key [32]byte) (int, bool, error) { return 1, true, nil }, ttlcache.Options{})
	defer c.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, found, _ := c.Get(b.Context(), [32]byte{1}); !found {
			b.Fatal("not found")
		}
	}
}

func TestAClockThatIsSetBackRevivesNoValue(t *testing.T) {
	t.Parallel()
	s := newSource()
	var at atomic.Int64
	c := ttlcache.New(s.read, ttlcache.Options{MaxAge: time.Second, Now: func() time.Time { return time.Unix(at.Load(), 0) }})
	defer c.Close()
	at.Store(1000)
	if value, _ := get(t, c, "a"); value != 1 {
		t.Fatal(value)
	}
	at.Store(940)
	s.set("a", 2)
	for ; at.Load() < 1003; at.Add(1) {
		if value, _ := get(t, c, "a"); value != 2 {
			t.Fatalf("%d s after the clock was set back Get returns the old value", at.Load()-940)
		}
	}
}
