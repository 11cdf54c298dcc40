package graph

import (
	"context"
	"time"

	"github.com/google/uuid"

	"magpie/ent/collection"
	"magpie/ent/connector"
	"magpie/internal/index"
)

// loaders read what resolvers of single rows ask for in one statement a kind,
// whatever the number of rows. They live as long as one operation.
type loaders struct {
	stats          *cohort[index.Stats]
	feeds          *cohort[feeds]
	collectionName *cohort[string]
	connectorType  *cohort[string]
	contents       *cohort[*string]
	summaries      *cohort[*string]
}

type loadersKey struct{}

func withLoaders(ctx context.Context, r *Resolver) context.Context {
	return context.WithValue(ctx, loadersKey{}, &loaders{
		stats:          loader(r.loadStats),
		feeds:          loader(r.loadFeeds),
		collectionName: loader(r.loadCollectionNames),
		connectorType:  loader(r.loadConnectorTypes),
		contents:       loader(r.loadContents),
		summaries:      loader(r.loadSummaries),
	})
}

func loadersOf(ctx context.Context) *loaders { return ctx.Value(loadersKey{}).(*loaders) }

func (r *Resolver) loadStats(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]index.Stats, error) {
	s, err := scope(ctx)
	if err != nil {
		return nil, err
	}
	return r.Index.Stats(ctx, s, ids)
}

// feeds is what the connectors of a collection say about it.
type feeds struct {
	connectors []uuid.UUID
	lastSync   *time.Time
}

func (r *Resolver) loadFeeds(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]feeds, error) {
	rows, err := r.client(ctx).Connector.Query().Where(connector.CollectionIDIn(ids...)).
		Order(connector.ByCreatedAt(), connector.ByID()).
		Select(connector.FieldID, connector.FieldCollectionID, connector.FieldLastSync).All(ctx)
	if err != nil {
		return nil, err
	}
	found := make(map[uuid.UUID]feeds, len(ids))
	for _, id := range ids {
		found[id] = feeds{connectors: []uuid.UUID{}}
	}
	for _, row := range rows {
		f := found[row.CollectionID]
		f.connectors = append(f.connectors, row.ID)
		if row.LastSync != nil && (f.lastSync == nil || row.LastSync.After(*f.lastSync)) {
			f.lastSync = row.LastSync
		}
		found[row.CollectionID] = f
	}
	return found, nil
}

func (r *Resolver) loadCollectionNames(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]string, error) {
	rows, err := r.client(ctx).Collection.Query().Where(collection.IDIn(ids...)).
		Select(collection.FieldID, collection.FieldName).All(ctx)
	if err != nil {
		return nil, err
	}
	names := make(map[uuid.UUID]string, len(rows))
	for _, row := range rows {
		names[row.ID] = row.Name
	}
	return names, nil
}

func (r *Resolver) loadConnectorTypes(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]string, error) {
	rows, err := r.client(ctx).Connector.Query().Where(connector.IDIn(ids...)).
		Select(connector.FieldID, connector.FieldType).All(ctx)
	if err != nil {
		return nil, err
	}
	types := make(map[uuid.UUID]string, len(rows))
	for _, row := range rows {
		types[row.ID] = row.Type
	}
	return types, nil
}

// loadContents reads the texts of documents; nil for one that is not there.
func (r *Resolver) loadContents(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]*string, error) {
	return r.loadTexts(ctx, ids, false)
}

// loadSummaries reads the kept summaries of documents.
func (r *Resolver) loadSummaries(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]*string, error) {
	return r.loadTexts(ctx, ids, true)
}

func (r *Resolver) loadTexts(ctx context.Context, ids []uuid.UUID, summary bool) (map[uuid.UUID]*string, error) {
	s, err := scope(ctx)
	if err != nil {
		return nil, err
	}
	texts, err := r.Index.Texts(ctx, s, ids, summary)
	if err != nil {
		return nil, err
	}
	found := make(map[uuid.UUID]*string, len(texts))
	for id, text := range texts {
		if found[id] = &text.Body; summary {
			found[id] = &text.Summary
		}
	}
	return found, nil
}
