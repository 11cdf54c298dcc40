package engine_test

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/engine"
	"github.com/magpie-search/magpie/internal/search/engine/memory"
	"github.com/magpie-search/magpie/internal/viewer"
)

// oneDocument is a feed of collections in which one document changed after the watermark.
type oneDocument struct{}

func (oneDocument) Changes(_ context.Context, _ viewer.Scope, state index.State, after index.Position, r index.ChangeReader) error {
	if err := r.Begin(index.Position{Generation: after.Generation, Change: state.Change}, state.Model, false); err != nil {
		return err
	}
	return r.Entry(&index.Entry{Document: uuid.New(), Live: true, Passages: []index.EntryPassage{{ID: uuid.New()}}})
}

func (oneDocument) Entries(context.Context, viewer.Scope, uuid.UUID, []uuid.UUID, bool, index.ChangeReader) error {
	return nil
}

// TestOverlaysThatAreGoneAreForgotten opens collections whose overlays stay, and others
// whose overlays do not fit.
func TestOverlaysThatAreGoneAreForgotten(t *testing.T) {
	t.Parallel()
	const collections = 5
	for name, c := range map[string]struct {
		memory int64
		want   int
	}{"all fit": {0, collections}, "none fits": {1, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			workspace, projections := uuid.New(), map[uuid.UUID]engine.Projection{}
			for range collections {
				projections[uuid.New()] = engine.Projection{Class: "M1", Model: "m", Position: index.Position{Generation: 1, Change: 5}}
			}
			tier := engine.New(memory.New(1), engine.Options{
				Projections:   func(context.Context, uuid.UUID) (map[uuid.UUID]engine.Projection, error) { return projections, nil },
				Feed:          oneDocument{},
				OverlayMemory: c.memory,
			})
			t.Cleanup(tier.Close)
			scope, err := viewer.System(workspace).Scope()
			if err != nil {
				t.Fatal(err)
			}
			for collection := range projections {
				opened, err := tier.Open(t.Context(), scope, &index.State{Collection: collection, Model: "m", Position: index.Position{Generation: 1, Change: 6}, Required: 6})
				if err != nil {
					t.Fatal(err)
				}
				if (opened != nil) != (c.want == collections) {
					t.Errorf("opened: %v", opened != nil)
				}
			}
			if got := tier.Bases(); got != c.want {
				t.Errorf("%d beginnings of overlays are kept, want %d", got, c.want)
			}
		})
	}
}
