package breaker_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/request/breaker"
)

// clock is a time that a test sets.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(0, c.at.Load()).Add(time.Hour) }
func (c *clock) advance(d time.Duration) { c.at.Add(int64(d)) }
func refused(t *testing.T, b *breaker.Breaker, want time.Duration) {
	t.Helper()
	if _, left, ok := b.Enter(); ok || left != want {
		t.Fatalf("a call is let through (%v), or refused for %v; want %v", ok, left, want)
	}
}

func enter(t *testing.T, b *breaker.Breaker) *breaker.Call {
	t.Helper()
	call, _, ok := b.Enter()
	if !ok {
		t.Fatal("the call is refused")
	}
	return &call
}

func TestFailuresInARowOpenTheCircuit(t *testing.T) {
	t.Parallel()
	var c clock
	b := breaker.New(breaker.Options{Failures: 2, Pause: time.Second, Now: c.now})
	enter(t, b).Failed(0)
	enter(t, b).Succeeded()
	enter(t, b).Failed(0)
	if pause, failures, opened := enter(t, b).Failed(0); !opened || pause != time.Second || failures != 2 {
		t.Fatalf("the second in a row: %v, %d, %v", pause, failures, opened)
	}
	refused(t, b, time.Second)
	c.advance(time.Second)
	probe := enter(t, b)
	refused(t, b, 0)
	if !probe.Succeeded() {
		t.Error("the circuit was open")
	}
	enter(t, b).GivenUp()
}

func TestATryThatFailsDoublesThePause(t *testing.T) {
	t.Parallel()
	var c clock
	b := breaker.New(breaker.Options{Failures: 3, Pause: time.Second, MostPause: 3 * time.Second, Now: c.now})
	if pause, _, opened := enter(t, b).Hung(); !opened || pause != time.Second {
		t.Fatalf("a call that hung: %v, %v", pause, opened)
	}
	for _, want := range []time.Duration{2 * time.Second, 3 * time.Second, 3 * time.Second} {
		c.advance(3 * time.Second)
		if pause, _, opened := enter(t, b).Failed(0); !opened || pause != want {
			t.Fatalf("pause %v, want %v", pause, want)
		}
	}
	c.advance(3 * time.Second)
	enter(t, b).Succeeded()
	if pause, _, _ := enter(t, b).Hung(); pause != time.Second {
		t.Errorf("after a success the pause is %v", pause)
	}
}

func TestAServiceMayAskForALongerPause(t *testing.T) {
	t.Parallel()
	var c clock
	b := breaker.New(breaker.Options{Failures: 1, Pause: time.Second, Now: c.now})
	enter(t, b).Failed(time.Minute)
	refused(t, b, time.Minute)
}

func TestATryThatWasGivenUpLetsTheNextOneThrough(t *testing.T) {
	t.Parallel()
	var c clock
	b := breaker.New(breaker.Options{Failures: 1, Pause: time.Second, Now: c.now})
	enter(t, b).Failed(0)
	c.advance(time.Second)
	probe := enter(t, b)
	probe.GivenUp()
	probe.Succeeded() // is not heard
	next := enter(t, b)
	refused(t, b, 0)
	next.Succeeded()
	next.GivenUp()
	enter(t, b).Succeeded()
}

func TestALateFailureOfAnEarlierCallLeavesTheTryAlone(t *testing.T) {
	t.Parallel()
	var c clock
	b := breaker.New(breaker.Options{Failures: 1, Pause: time.Second, Now: c.now})
	late := enter(t, b)
	enter(t, b).Failed(0)
	c.advance(time.Second)
	probe := enter(t, b)
	late.Failed(0)
	refused(t, b, time.Second)
	probe.Succeeded()
	enter(t, b).Succeeded()
}
