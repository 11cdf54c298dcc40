package collection

import (
	"context"
	"fmt"
	"time"

	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/viewer"
)

// OtherModels is the model of a ChangeTotal for all models that are not configured.
const OtherModels = "(not configured)"

// A ChangeTotal is what the changes to a model have done, of all workspaces together.
type ChangeTotal struct {
	Model string
	// Collections change to the model, and Failing is how many of them failed at the last try.
	Collections, Failing int
	// Passages and Embedded are those of the collections and the ones of them with a
	// vector of the model; nil when counting them takes too long.
	Passages, Embedded *int
	// FailedAt is the time of the last failure; zero for none.
	FailedAt time.Time
}

// ChangeTotals returns a total for each configured model, in the order of Models, and
// one for all others. Passages are counted until ctx ends, which is no error.
func (c *Collections) ChangeTotals(ctx context.Context) ([]*ChangeTotal, error) {
	changes, err := c.o.Index.ModelChanges(ctx)
	if err != nil {
		return nil, fmt.Errorf("add up the changes of models: %w", err)
	}
	byModel := map[string]*ChangeTotal{}
	var totals []*ChangeTotal
	for _, name := range append(c.o.Models.Names(), OtherModels) {
		byModel[name] = &ChangeTotal{Model: name, Passages: new(int), Embedded: new(int)}
		totals = append(totals, byModel[name])
	}
	for _, change := range changes {
		if change.Next == "" {
			continue // it has ended, and vectors are moved or removed
		}
		total, configured := byModel[change.Next]
		if !configured {
			total = byModel[OtherModels]
		}
		total.Collections++
		// Without Redis no failure is known.
		attempt, err := c.o.Attempts.Attempt(ctx, queue.Reembed{Workspace: change.Workspace, Collection: change.Collection})
		if !configured || err == nil && !attempt.FailedAt.IsZero() {
			total.Failing++
		}
		if err == nil && attempt.FailedAt.After(total.FailedAt) {
			total.FailedAt = attempt.FailedAt
		}
		if total.Passages == nil {
			continue
		}
		scope, err := viewer.System(change.Workspace).Scope()
		if err != nil {
			return nil, fmt.Errorf("add up the changes of models: %w", err)
		}
		found, err := c.o.Index.Embedded(ctx, scope, change.Collection, change.Next)
		switch {
		case err == nil:
			*total.Passages += found.Passages
			*total.Embedded += found.Passages - found.Lacking
		case ctx.Err() != nil:
			total.Passages, total.Embedded = nil, nil
		default:
			return nil, fmt.Errorf("add up the changes of models: %w", err)
		}
	}
	return totals, nil
}
