package search

import (
	"context"
	"errors"
	"fmt"

	"github.com/magpie-search/magpie/internal/search/resident"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Warm reads the collections of the scopes into memory, one after the other, so
// that no search has to wait for them. What would not fit beside those before it
// is left out, and so is one that cannot be read, which the error says. It
// returns when they are there.
func (e *Engine) Warm(ctx context.Context, scopes []viewer.Scope) error {
	if e.resident == nil {
		return nil
	}
	var failed []error
	for _, scope := range scopes {
		states, err := e.store.States(ctx, scope)
		if err != nil {
			failed = append(failed, err)
		}
		for _, state := range states {
			if state.Passages == 0 {
				continue
			}
			if err := e.resident.Warm(ctx, scope, state); err != nil && !errors.Is(err, resident.ErrTooLarge) {
				failed = append(failed, err)
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	return nil
}
