package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/store"
)

// schemaEvery is how often a worker looks at the schema. What a step takes away
// would make its tasks fail, each in its own way, for as long.
const schemaEvery = 5 * time.Second

// whileSchemaFits does something until ctx ends, or until the schema no longer
// fits this program, which is the error then. A database that does not answer says nothing of its schema.
func whileSchemaFits(ctx context.Context, app *wire.App, do func(context.Context) error) error {
	inner, stop := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		ticks := time.NewTicker(schemaEvery)
		defer ticks.Stop()
		for {
			select {
			case <-inner.Done():
				return
			case <-ticks.C:
			}
			var mismatch *store.Mismatch
			if err := app.DB.CheckSchema(inner); errors.As(err, &mismatch) {
				stop(mismatch)
				return
			}
		}
	}()
	err := do(inner)
	stop(nil)
	<-watched
	var mismatch *store.Mismatch
	if errors.As(context.Cause(inner), &mismatch) {
		if err != nil && !errors.Is(err, context.Canceled) {
			app.Log.WarnContext(ctx, "the worker did not stop well", slog.Any("error", err))
		}
		return fmt.Errorf("check the schema: %w", mismatch)
	}
	return err
}
