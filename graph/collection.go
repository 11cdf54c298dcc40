package graph

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/collection"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
)

// The longest name and description, in characters.
const (
	maxName        = 200
	maxDescription = 4000
)

func checkName(name string) (string, error) {
	name = strings.TrimSpace(name)
	switch {
	case name == "":
		return "", apierr.Invalid("name", "must not be blank")
	case utf8.RuneCountInString(name) > maxName:
		return "", apierr.Invalid("name", "must have at most 200 characters")
	}
	return name, nil
}

func checkDescription(text *string) error {
	if text != nil && utf8.RuneCountInString(*text) > maxDescription {
		return apierr.Invalid("description", "must have at most 4000 characters")
	}
	return nil
}

func (r *Resolver) createCollection(ctx context.Context, in model.CreateCollectionInput) (*ent.Collection, error) {
	name, err := checkName(in.Name)
	if err != nil {
		return nil, err
	}
	if err := checkDescription(in.Description); err != nil {
		return nil, err
	}
	model := r.Models.Default().Model()
	if in.EmbeddingModel != nil && *in.EmbeddingModel != "" {
		if err := r.checkModel(*in.EmbeddingModel); err != nil {
			return nil, err
		}
		model = *in.EmbeddingModel
	}
	return r.client(ctx).Collection.Create().SetName(name).SetNillableDescription(in.Description).
		SetEmbeddingModel(model).Save(ctx)
}

// collections are those whose name or description has some text in it.
func (r *Resolver) collections(ctx context.Context, matching *string) *ent.CollectionQuery {
	query := r.client(ctx).Collection.Query()
	if text := sought(matching); text != "" {
		query.Where(collection.Or(collection.NameContainsFold(text), collection.DescriptionContainsFold(text)))
	}
	return query
}

func (r *Resolver) checkModel(name string) error {
	if _, known := r.Models.Lookup(name); !known {
		return apierr.Invalid("embeddingModel", "must be one of "+strings.Join(r.Models.Names(), ", "))
	}
	return nil
}

func (r *Resolver) updateCollection(ctx context.Context, id uuid.UUID, in model.UpdateCollectionInput) (*ent.Collection, error) {
	update := r.client(ctx).Collection.UpdateOneID(id)
	if in.Name != nil {
		name, err := checkName(*in.Name)
		if err != nil {
			return nil, err
		}
		update.SetName(name)
	}
	if description, given := in.Description.ValueOK(); given {
		if err := checkDescription(description); err != nil {
			return nil, err
		}
		if description == nil {
			update.ClearDescription()
		} else {
			update.SetDescription(*description)
		}
	}
	if in.EmbeddingModel != nil {
		if err := r.changeModel(ctx, id, *in.EmbeddingModel, update); err != nil {
			return nil, err
		}
	}
	row, err := update.Save(ctx)
	return found("Collection", row, err)
}

// changeModel lets a collection change to a model, which workers do
// (worker/reembed). The one that it has, set up or not, calls a change off.
func (r *Resolver) changeModel(ctx context.Context, id uuid.UUID, model string, update *ent.CollectionUpdateOne) error {
	// Locked, so that a change that ends at this moment is not called off in vain.
	row, err := r.client(ctx).Collection.Query().Where(collection.ID(id)).ForUpdate().Only(ctx)
	if _, err := found("Collection", row, err); err != nil {
		return err
	}
	if model == row.EmbeddingModel {
		update.ClearNextEmbeddingModel()
		return nil
	}
	if err := r.checkModel(model); err != nil {
		return err
	}
	update.SetNextEmbeddingModel(model)
	return nil
}

func (r *Resolver) recount(ctx context.Context, id uuid.UUID) (*model.CollectionStats, error) {
	exists, err := r.client(ctx).Collection.Get(ctx, id)
	if _, err := found("Collection", exists, err); err != nil {
		return nil, err
	}
	reach, err := within(ctx, id)
	if err != nil {
		return nil, err
	}
	if _, err := r.Index.Recount(ctx, reach, id); err != nil {
		return nil, err
	}
	return collectionStats(ctx, id)
}

func collectionStats(ctx context.Context, id uuid.UUID) (*model.CollectionStats, error) {
	l := loadersOf(ctx)
	counted, err := l.stats.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	fed, err := l.feeds.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	return &model.CollectionStats{
		DocumentCount: counted.Documents, EmbeddingCount: counted.Embeddings,
		StorageBytes: counted.StorageBytes, LastSync: fed.lastSync,
	}, nil
}
