package lease_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/magpie-search/magpie/internal/lease"
)

// pass lets time go by in the bubble of a test, until everything else waits.
func pass(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}

func TestAClaimIsRenewedUntilItStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		renewed := 0
		ctx, stop := lease.Keep(t.Context(), 9*time.Second, func(context.Context) (bool, error) {
			renewed++
			return true, nil
		})
		pass(time.Minute + time.Second)
		if renewed != 20 || ctx.Err() != nil {
			t.Errorf("%d renewals, %v", renewed, ctx.Err())
		}
		stop()
		pass(time.Minute)
		if renewed != 20 || ctx.Err() == nil || errors.Is(context.Cause(ctx), lease.ErrLost) {
			t.Errorf("%d renewals after the end, %v", renewed, context.Cause(ctx))
		}
	})
}

func TestWorkStopsWhenItsClaimIsLost(t *testing.T) {
	t.Parallel()
	down := errors.New("the database is down")
	for _, c := range []struct {
		name    string
		answers []error // of the renewals; nil for a claim that is lost
		after   time.Duration
	}{
		{"another process has it", []error{nil}, 3 * time.Second},
		{"it cannot be renewed", []error{down, down, down, down}, 12 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began, calls := time.Now(), 0
				ctx, stop := lease.Keep(t.Context(), 9*time.Second, func(context.Context) (bool, error) {
					calls++
					return false, c.answers[calls-1]
				})
				<-ctx.Done()
				if !errors.Is(context.Cause(ctx), lease.ErrLost) || time.Since(began) != c.after {
					t.Errorf("after %s: %v", time.Since(began), context.Cause(ctx))
				}
				stop()
			})
		})
	}
}

func TestAClaimOutlivesAFailedRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		ctx, stop := lease.Keep(t.Context(), 9*time.Second, func(context.Context) (bool, error) {
			if calls++; calls%2 == 1 {
				return false, errors.New("the database is down")
			}
			return true, nil
		})
		defer stop()
		pass(time.Hour)
		if ctx.Err() != nil {
			t.Error(context.Cause(ctx))
		}
	})
}
