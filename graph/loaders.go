package graph

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/run"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/collection"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/feedback"
	"github.com/magpie-search/magpie/ent/message"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/inbound"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
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
	messageCount   *cohort[int]
	feedback       *cohort[*ent.Feedback]
	lastJob        *cohort[*ent.SyncJob]
	documentCounts *cohort[model.DocumentCounts]
	webhook        *cohort[inbound.Status]
	runEvents      *eventLoaders
	pending        *cohort[*syncjob.PendingDeletion]
	freshness      *cohort[syncjob.Freshness]
	history        *cohort[syncjob.History]
}

type loadersKey struct{}

func withLoaders(ctx context.Context, r *Resolver) context.Context {
	return context.WithValue(ctx, loadersKey{}, &loaders{
		stats:          loader(r.loadStats),
		feeds:          loader(r.loadFeeds),
		collectionName: loader(r.loadCollectionNames),
		connectorType:  loader(r.loadConnectorTypes),
		messageCount:   loader(r.loadMessageCounts),
		feedback:       loader(r.loadFeedback),
		lastJob:        loader(r.Jobs.Latest),
		documentCounts: loader(r.loadDocumentCounts),
		webhook:        loader(r.loadWebhooks),
		contents:       loader(r.loadContents),
		runEvents:      &eventLoaders{r: r, pages: map[[2]int]*cohort[[]run.Event]{}},
		summaries:      loader(r.loadSummaries),
		pending:        loader(r.Jobs.PendingDeletions),
		freshness:      loader(r.Jobs.Freshness),
		history:        loader(r.Jobs.History),
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

func (r *Resolver) loadMessageCounts(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]int, error) {
	var rows []struct {
		Conversation uuid.UUID `json:"conversation_id"`
		Count        int       `json:"count"`
	}
	err := r.client(ctx).Message.Query().Where(message.ConversationIDIn(ids...)).
		GroupBy(message.FieldConversationID).Aggregate(ent.Count()).Scan(ctx, &rows)
	counts := make(map[uuid.UUID]int, len(rows))
	for _, row := range rows {
		counts[row.Conversation] = row.Count
	}
	return counts, err
}

func (r *Resolver) loadFeedback(ctx context.Context, messages []uuid.UUID) (map[uuid.UUID]*ent.Feedback, error) {
	rows, err := r.client(ctx).Feedback.Query().Where(feedback.MessageIDIn(messages...)).All(ctx)
	found := make(map[uuid.UUID]*ent.Feedback, len(rows))
	for _, row := range rows {
		found[row.MessageID] = row
	}
	return found, err
}

// loadDocumentCounts counts documents by connector and status, those that the
// viewer may not read included. The connectors are ones that the viewer has read.
func (r *Resolver) loadDocumentCounts(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]model.DocumentCounts, error) {
	v, _ := viewer.From(ctx)
	if v.Workspace == uuid.Nil {
		return nil, apierr.New(apierr.Unauthorized, "Session required")
	}
	ctx = viewer.With(ctx, viewer.System(v.Workspace))
	var rows []struct {
		ConnectorID uuid.UUID       `json:"connector_id"`
		Status      document.Status `json:"status"`
		Count       int             `json:"count"`
	}
	err := r.client(ctx).Document.Query().Where(document.ConnectorIDIn(ids...)).
		GroupBy(document.FieldConnectorID, document.FieldStatus).Aggregate(ent.Count()).Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	counts := make(map[uuid.UUID]model.DocumentCounts, len(ids))
	for _, row := range rows {
		c := counts[row.ConnectorID]
		switch row.Status {
		case document.StatusPending:
			c.Pending = row.Count
		case document.StatusProcessing:
			c.Processing = row.Count
		case document.StatusIndexed:
			c.Indexed = row.Count
		case document.StatusFailed:
			c.Failed = row.Count
		case document.StatusDeleted:
			c.Deleted = row.Count
		}
		counts[row.ConnectorID] = c
	}
	return counts, nil
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
