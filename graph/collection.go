package graph

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"magpie/ent"
	"magpie/ent/connector"
	"magpie/graph/model"
	"magpie/internal/apierr"
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
	embedder := r.Models.Default()
	if in.EmbeddingModel != nil && *in.EmbeddingModel != "" {
		known, ok := r.Models.Lookup(*in.EmbeddingModel)
		if !ok {
			return nil, apierr.Invalid("embeddingModel", "must be one of "+strings.Join(r.Models.Names(), ", "))
		}
		embedder = known
	}
	return r.client(ctx).Collection.Create().SetName(name).SetNillableDescription(in.Description).
		SetEmbeddingModel(embedder.Model()).Save(ctx)
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
	row, err := update.Save(ctx)
	return found("Collection", row, err)
}

// deleteCollection ends a collection with everything in it; the database's
// cascades take the rows, the uploaded files go once that is certain.
func (r *Resolver) deleteCollection(ctx context.Context, id uuid.UUID) error {
	client := r.client(ctx)
	ids, err := client.Connector.Query().Where(connector.CollectionID(id)).IDs(ctx)
	if err != nil {
		return err
	}
	blobs, err := r.Files.BlobKeys(ctx, ids...)
	if err != nil {
		return err
	}
	switch err := client.Collection.DeleteOneID(id).Exec(ctx); {
	case ent.IsNotFound(err):
		return apierr.NotFound("Collection")
	case err != nil:
		return err
	}
	r.afterCommit(ctx, "delete uploaded files", func(ctx context.Context) error {
		return r.Files.DeleteBlobs(ctx, blobs)
	})
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
