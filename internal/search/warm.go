package search

import (
	"context"
	"errors"
	"fmt"

	"magpie/internal/search/resident"
	"magpie/internal/viewer"
)

// Warm reads the collections of the scopes into memory, one after the other, so
// that no search has to wait for them. What would not fit beside those before it
// is left out. It returns when they are there.
func (e *Engine) Warm(ctx context.Context, scopes []viewer.Scope) error {
	if e.resident == nil {
		return nil
	}
	for _, scope := range scopes {
		states, err := e.store.States(ctx, scope)
		if err != nil {
			return fmt.Errorf("warm up: %w", err)
		}
		for _, state := range states {
			if state.Passages == 0 {
				continue
			}
			if err := e.resident.Warm(ctx, scope, state); err != nil && !errors.Is(err, resident.ErrTooLarge) {
				return fmt.Errorf("warm up: %w", err)
			}
		}
	}
	return nil
}
