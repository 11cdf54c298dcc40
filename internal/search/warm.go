package search

import (
	"context"
	"errors"
	"fmt"

	"github.com/magpie-search/magpie/internal/search/resident"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Warm loads the collections of the scopes into memory, one after the other, and returns
// when they are loaded. It leaves out collections that do not fit beside those before. The
// error joins the errors of collections that could not be loaded.
func (e *Engine) Warm(ctx context.Context, scopes []viewer.Scope) error {
	if e.resident == nil {
		return nil
	}
	var failures []error
	for _, scope := range scopes {
		states, err := e.store.States(ctx, scope)
		if err != nil {
			failures = append(failures, err)
		}
		for _, state := range states {
			if state.Passages == 0 {
				continue
			}
			if err := e.resident.Warm(ctx, scope, state); err != nil && !errors.Is(err, resident.ErrTooLarge) {
				failures = append(failures, err)
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	if err := errors.Join(failures...); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	return nil
}
