package breaker_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/request/breaker"
)

// A clock is a time that a test sets.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(0, c.at.Load()).Add(time.Hour) }
func (c *clock) advance(d time.Duration) { c.at.Add(int64(d)) }
func refused(t *testing.T, b *breaker.Breaker, want time.Duration) {
	t.Helper()
	if _, wait, ok := b.Allow(); ok || wait != want {
		t.Fatalf("Allow = %v with a wait of %v, want false with %v", ok, wait, want)
	}
}

func enter(t *testing.T, b *breaker.Breaker) *breaker.Call {
	t.Helper()
	call, _, ok := b.Allow()
	if !ok {
		t.Fatal("the call is refused")
	}
	return &call
}

func TestConsecutiveFailuresOpenTheCircuit(t *testing.T) {
	t.Parallel()
	var c clock
	b := breaker.New(breaker.Options{Failures: 2, Pause: time.Second, Now: c.now})
	enter(t, b).Fail(0)
	enter(t, b).Succeed()
	enter(t, b).Fail(0)
	if pause, failures, opened := enter(t, b).Fail(0); !opened || pause != time.Second || failures != 2 {
		t.Fatalf("the second failure: %v, %d, %v", pause, failures, opened)
	}
	refused(t, b, time.Second)
	c.advance(time.Second)
	probe := enter(t, b)
	refused(t, b, 0)
	if !probe.Succeed() {
		t.Error("the circuit was not open")
	}
	enter(t, b).Abandon()
}

func TestAFailedProbeDoublesThePause(t *testing.T) {
	t.Parallel()
	var c clock
	b := breaker.New(breaker.Options{Failures: 3, Pause: time.Second, MaxPause: 3 * time.Second, Now: c.now})
	if pause, _, opened := enter(t, b).Timeout(); !opened || pause != time.Second {
		t.Fatalf("a timeout: %v, %v", pause, opened)
	}
	for _, want := range []time.Duration{2 * time.Second, 3 * time.Second, 3 * time.Second} {
		c.advance(3 * time.Second)
		if pause, _, opened := enter(t, b).Fail(0); !opened || pause != want {
			t.Fatalf("pause %v, want %v", pause, want)
		}
	}
	c.advance(3 * time.Second)
	enter(t, b).Succeed()
	if pause, _, _ := enter(t, b).Timeout(); pause != time.Second {
		t.Errorf("after a success the pause is %v", pause)
	}
}

func TestAServiceMayAskForALongerPause(t *testing.T) {
	t.Parallel()
	var c clock
	b := breaker.New(breaker.Options{Failures: 1, Pause: time.Second, Now: c.now})
	enter(t, b).Fail(time.Minute)
	refused(t, b, time.Minute)
}

func TestAnAbandonedProbeAdmitsTheNext(t *testing.T) {
	t.Parallel()
	var c clock
	b := breaker.New(breaker.Options{Failures: 1, Pause: time.Second, Now: c.now})
	enter(t, b).Fail(0)
	c.advance(time.Second)
	probe := enter(t, b)
	probe.Abandon()
	probe.Succeed() // has no effect
	next := enter(t, b)
	refused(t, b, 0)
	next.Succeed()
	next.Abandon()
	enter(t, b).Succeed()
}

func TestALateFailureDoesNotEndTheProbe(t *testing.T) {
	t.Parallel()
	var c clock
	b := breaker.New(breaker.Options{Failures: 1, Pause: time.Second, Now: c.now})
	late := enter(t, b)
	enter(t, b).Fail(0)
	c.advance(time.Second)
	probe := enter(t, b)
	late.Fail(0)
	refused(t, b, time.Second)
	probe.Succeed()
	enter(t, b).Succeed()
}
