package lease

import (
	"context"
	"errors"
	"time"
)

// ErrLost is the cause of the end of a context whose claim was lost.
var ErrLost = errors.New("another process has taken over the work")

// Keep renews a claim of the given length until stop is called, which waits for the last
// renewal and reports the end of the claim.
//
// renew extends the claim to a time that is the length away from now, and reports whether
// this process still had it. It is called after each third of the length. The returned
// context ends with the cause ErrLost when renew reports false, or when it has failed for the
// whole length; then the work must stop, because another process may have it.
func Keep(ctx context.Context, length time.Duration, renew func(context.Context) (held bool, err error)) (inside context.Context, stop func()) {
	inside, lose := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		tick := time.NewTicker(length / 3)
		defer tick.Stop()
		until := time.Now().Add(length)
		for {
			select {
			case <-ended:
				return
			case <-inside.Done():
				return
			case <-tick.C:
			}
			began := time.Now()
			held, err := renew(inside)
			switch {
			case err == nil && held:
				until = began.Add(length)
			case err == nil, time.Now().After(until):
				lose(ErrLost)
				return
			}
		}
	}()
	return inside, func() {
		close(ended)
		<-finished
		lose(nil)
	}
}
