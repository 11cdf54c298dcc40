package client

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/magpie-search/magpie/internal/apierr"
)

// A cutError is that of a connection which was cut off, or could not be made.
type cutError struct{ error }

// Unwrap returns the cause.
func (e cutError) Unwrap() error { return e.error }

// wasCut reports whether the same may succeed over another connection: it was cut off, or
// the server is starting or ending.
func wasCut(err error) bool {
	if _, ok := errors.AsType[cutError](err); ok {
		return true
	}
	edge, ok := errors.AsType[*apierr.Error](err)
	return ok && edge.Code == apierr.Unavailable
}

// pauses are the waits before the attempts to go on, about a minute in all.
func pauses() []time.Duration {
	return []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 15 * time.Second, 30 * time.Second}
}

// follow subscribes, and again when the connection is cut off. resume returns the
// operation that goes on after the last event; "" if none can.
func (c *Client) follow(ctx context.Context, operation string, v Variables, resume func() (operation string, v Variables), each func(json.RawMessage) error) error {
	left := pauses()
	for {
		var failure error // of each
		err := c.Subscribe(ctx, operation, v, func(data json.RawMessage) error {
			left = pauses() // it works
			failure = each(data)
			return failure
		})
		if err == nil || failure != nil || ctx.Err() != nil || !wasCut(err) || len(left) == 0 {
			return err
		}
		if operation, v = resume(); operation == "" {
			return err
		}
		select {
		case <-time.After(left[0]):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		left = left[1:]
	}
}
