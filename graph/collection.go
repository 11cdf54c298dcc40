package graph

import (
	"context"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/collection"
	"github.com/magpie-search/magpie/internal/viewer"
)

func collectionDraft(in model.CreateCollectionInput) collection.Draft {
	return collection.Draft{Name: in.Name, Description: in.Description, EmbeddingModel: orZero(in.EmbeddingModel)}
}

func collectionChange(in model.UpdateCollectionInput) collection.Change {
	return collection.Change{
		Name: field(in.Name), Description: nullableField(in.Description), EmbeddingModel: field(in.EmbeddingModel), SearchTier: field(in.SearchTier),
	}
}

func collectionStats(ctx context.Context, id uuid.UUID) (*model.CollectionStats, error) {
	l := loadersOf(ctx)
	stats, err := l.stats.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	var sources collection.Sources
	if v, _ := viewer.From(ctx); v.Kind != viewer.KindKey { // a key does not see connectors
		if sources, err = l.sources.Load(ctx, id); err != nil {
			return nil, err
		}
	}
	return &model.CollectionStats{
		DocumentCount: stats.Documents, EmbeddingCount: stats.Embeddings,
		StorageBytes: stats.StorageBytes, LastSync: sources.LastSync,
	}, nil
}

// modelChange counts passages, so that a list of collections should not ask for it;
// its complexity is high.
func (r *Resolver) modelChange(ctx context.Context, row *ent.Collection) (*model.ModelChange, error) {
	change, err := r.Collections.ModelChange(ctx, row)
	if change == nil || err != nil {
		return nil, err
	}
	return &model.ModelChange{
		Model: change.Model, State: model.ModelChangeState(change.State), Passages: change.Passages, Embedded: change.Embedded,
		Reason: change.Reason, FailedAt: change.FailedAt,
	}, nil
}
