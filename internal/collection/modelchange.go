package collection

import (
	"context"
	"errors"
	"time"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/viewer"
)

// countTimeout bounds the counting of passages. A collection of millions is counted
// once it is in the database's memory.
const countTimeout = 3 * time.Second

// Attempts tells how far the queue has got with a task (internal/queue).
type Attempts interface {
	Attempt(ctx context.Context, t queue.Task) (queue.Attempt, error)
}

// An EmbeddingModel is a configured model.
type EmbeddingModel struct {
	Name       string
	Dimensions int
	IsDefault  bool
	Failing    bool // the last request of this process to it failed
}

// Models returns the configured embedding models, the default first.
func (c *Collections) Models() []*EmbeddingModel {
	names := c.o.Models.Names()
	models := make([]*EmbeddingModel, len(names))
	for i, name := range names {
		embedder, _ := c.o.Models.Lookup(name)
		models[i] = &EmbeddingModel{Name: name, Dimensions: embedder.Dimensions(), IsDefault: i == 0}
		if watched, ok := embedder.(*embed.Watched); ok { // the built-in model does not fail
			models[i].Failing = watched.IsFailing()
		}
	}
	return models
}

// A ModelState is what a change of a collection's model does.
type ModelState string

// The states.
const (
	ModelRunning ModelState = "RUNNING" // a worker embeds passages
	ModelWaiting ModelState = "WAITING" // for a worker
	ModelFailing ModelState = "FAILING" // the last try failed; there will be another
)

// A ModelChange is a change of a collection's model that has not ended.
type ModelChange struct {
	Model string
	State ModelState
	// Passages and Embedded are those of the collection and the ones of them with a
	// vector of the model; nil when counting them takes too long.
	Passages, Embedded *int
	// Reason is a sentence that says why the last try failed; nil for no failure.
	Reason   *string
	FailedAt *time.Time
}

// ModelChange returns the change of a collection's model, or nil without one.
func (c *Collections) ModelChange(ctx context.Context, row *ent.Collection) (*ModelChange, error) {
	if row.NextEmbeddingModel == nil {
		return nil, nil //nolint:nilnil // null is the field's value without a change
	}
	change := &ModelChange{Model: *row.NextEmbeddingModel, State: ModelWaiting}
	if err := c.readAttempt(ctx, row, change); err != nil {
		return nil, err
	}
	return change, c.countEmbedded(ctx, row, change)
}

func (c *Collections) readAttempt(ctx context.Context, row *ent.Collection, change *ModelChange) error {
	fail := func(reason string) { change.State, change.Reason = ModelFailing, &reason }
	if _, configured := c.o.Models.Lookup(change.Model); !configured {
		fail("This model is no longer configured.")
		return nil
	}
	// Without Redis no task runs, and the workers find the change again when it is back.
	attempt, err := c.o.Attempts.Attempt(ctx, queue.Reembed{Workspace: row.WorkspaceID, Collection: row.ID})
	if err != nil {
		return nil //nolint:nilerr // the change waits, whether Redis tells it or not
	}
	if attempt.Running {
		change.State = ModelRunning
	}
	if !attempt.FailedAt.IsZero() {
		change.FailedAt = &attempt.FailedAt
		if attempt.Reason == "" {
			attempt.Reason = "An internal error, which the log of the workers has."
		}
		fail(attempt.Reason)
	}
	return nil
}

func (c *Collections) countEmbedded(ctx context.Context, row *ent.Collection, change *ModelChange) error {
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	found, err := c.o.Index.Embedded(limited, scope, row.ID, change.Model)
	switch {
	case err == nil:
		embedded := found.Passages - found.Lacking
		change.Passages, change.Embedded = &found.Passages, &embedded
		return nil
	case ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded):
		return nil
	default:
		return err
	}
}
