package testkit

import (
	"context"
	"testing"
	"time"
)

const (
	// waitTimeout bounds WaitFor. It is long, since tests share slow machines.
	waitTimeout  = time.Minute
	waitInterval = 5 * time.Millisecond
)

// WaitFor calls done in short intervals until it reports true. It fails the test
// after a minute; what names the awaited event.
func WaitFor(t testing.TB, what string, done func() bool) {
	t.Helper()
	WaitWithin(t, waitTimeout, what, done)
}

// WaitWithin is like WaitFor with a timeout.
func WaitWithin(t testing.TB, timeout time.Duration, what string, done func() bool) {
	t.Helper()
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	ticker := time.NewTicker(waitInterval)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ticker.C:
		case <-deadline.C:
			t.Fatalf("timed out after %s waiting for %s", timeout, what)
		case <-t.Context().Done():
			t.Fatalf("the test ended while waiting for %s", what)
		}
	}
}

// Receive returns the next value of a channel, and false when the channel is closed.
// It fails the test after a minute; what names the awaited event.
func Receive[T any](t testing.TB, what string, c <-chan T) (T, bool) {
	t.Helper()
	return ReceiveWithin(t, waitTimeout, what, c)
}

// ReceiveWithin is like Receive with a timeout.
func ReceiveWithin[T any](t testing.TB, timeout time.Duration, what string, c <-chan T) (T, bool) {
	t.Helper()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case value, ok := <-c:
		return value, ok
	case <-timer.C:
		t.Fatalf("timed out after %s waiting for %s", timeout, what)
	case <-t.Context().Done():
		t.Fatalf("the test ended while waiting for %s", what)
	}
	panic("unreachable")
}

// Delay returns after a duration, or earlier with the cause of the end of ctx. It is
// for stubs that imitate a slow service and for delays that a response states, not
// for waiting for an event.
func Delay(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Advance lets a duration pass on the clock of a synctest bubble.
func Advance(t testing.TB, d time.Duration) {
	t.Helper()
	if err := Delay(t.Context(), d); err != nil {
		t.Fatalf("the test ended while its clock advanced: %v", err)
	}
}
