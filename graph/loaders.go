package graph

import (
	"context"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/integration/store"
	"github.com/magpie-search/magpie/agents/run"
	"github.com/magpie-search/magpie/ent"
	entcollection "github.com/magpie-search/magpie/ent/collection"
	entconnector "github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/internal/collection"
	"github.com/magpie-search/magpie/internal/collection/document"
	"github.com/magpie-search/magpie/internal/connector"
	"github.com/magpie-search/magpie/internal/connector/inbound"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

// loaders read the fields of rows that are not columns, in one statement for all
// rows of an operation. A new loader is a field here, its fetch in withLoaders, and
// its key in see.
type loaders struct {
	// By collection.
	stats          *loader[index.Stats]
	sources        *loader[collection.Sources]
	collectionName *loader[string]
	// By connector.
	connectorType  *loader[string]
	lastJob        *loader[*ent.SyncJob]
	documentCounts *loader[connector.Counts]
	webhook        *loader[inbound.Status]
	pending        *loader[*syncjob.PendingDeletion]
	freshness      *loader[syncjob.Freshness]
	history        *loader[syncjob.History]
	// By document; nil for a document that does not exist.
	contents  *loader[*string]
	summaries *loader[*string]
	passages  *pageLoaders[index.PassageRange, []index.StoredPassage]
	events    *pageLoaders[int, []document.Event]
	// By conversation, message, and run.
	messageCount *loader[int]
	feedback     *loader[*ent.Feedback]
	// By integration with tools, and by agent.
	toolStates        *loader[store.State]
	changedTools      *loader[int]
	toolCredentials   *loader[[]string]
	agentIntegrations *loader[[]*ent.ToolIntegration]
	runEvents         *pageLoaders[eventPage, []run.Event]
}

type loadersKey struct{}

// withLoaders returns a context with the loaders of one operation.
func withLoaders(ctx context.Context, r *Resolver) context.Context {
	return context.WithValue(ctx, loadersKey{}, &loaders{
		stats:          newLoader(scoped(r.Index.Stats)),
		sources:        newLoader(r.Collections.Sources),
		collectionName: newLoader(r.loadCollectionNames),
		connectorType:  newLoader(r.loadConnectorTypes),
		lastJob:        newLoader(r.Jobs.Latest),
		documentCounts: newLoader(r.Connectors.DocumentCounts),
		webhook:        newLoader(scoped(r.Inbox.Statuses)),
		pending:        newLoader(r.Jobs.PendingDeletions),
		freshness:      newLoader(r.Jobs.Freshness),
		history:        newLoader(r.Jobs.History),
		contents:       newLoader(r.loadContents),
		summaries:      newLoader(r.loadSummaries),
		messageCount:   newLoader(r.Conversations.MessageCounts),
		feedback:       newLoader(r.Conversations.Ratings),
		toolStates:     newLoader(r.Integrations.States), changedTools: newLoader(r.Integrations.ChangedTools),
		toolCredentials: newLoader(r.Integrations.StoredCredentials), agentIntegrations: newLoader(r.loadAgentIntegrations),
		runEvents: newPageLoaders(r.loadRunEvents), passages: newPageLoaders(r.loadPassages), events: newPageLoaders(r.loadDocumentEvents),
	})
}

func loadersOf(ctx context.Context) *loaders { return ctx.Value(loadersKey{}).(*loaders) }

// see notes the keys of rows that the operation has read.
func (l *loaders) see(rows ent.Value) {
	switch rows := rows.(type) {
	case []*ent.Collection:
		seeAll(rows, func(c *ent.Collection) uuid.UUID { return c.ID }, l.stats, l.sources)
	case []*ent.Connector:
		seeAll(rows, func(c *ent.Connector) uuid.UUID { return c.ID }, l.lastJob, l.documentCounts, l.webhook, l.pending, l.freshness, l.history)
		seeAll(rows, func(c *ent.Connector) uuid.UUID { return c.CollectionID }, l.collectionName)
	case []*ent.Document:
		seeAll(rows, func(d *ent.Document) uuid.UUID { return d.ID }, l.contents, l.summaries, l.passages, l.events)
		seeAll(rows, func(d *ent.Document) uuid.UUID { return d.CollectionID }, l.collectionName)
		seeAll(rows, func(d *ent.Document) uuid.UUID { return d.ConnectorID }, l.connectorType)
	case []*ent.Conversation:
		seeAll(rows, func(c *ent.Conversation) uuid.UUID { return c.ID }, l.messageCount)
	case []*ent.Message:
		seeAll(rows, func(m *ent.Message) uuid.UUID { return m.ID }, l.feedback)
	case []*ent.AgentRun:
		seeAll(rows, func(a *ent.AgentRun) uuid.UUID { return a.ID }, l.runEvents)
	case []*ent.ToolIntegration:
		seeAll(rows, func(i *ent.ToolIntegration) uuid.UUID { return i.ID }, l.toolStates, l.changedTools, l.toolCredentials)
	case []*ent.Agent:
		seeAll(rows, func(a *ent.Agent) uuid.UUID { return a.ID }, l.agentIntegrations)
		for _, row := range rows {
			seeAll(row.Collections, func(id uuid.UUID) uuid.UUID { return id }, l.collectionName)
		}
	}
}

// scoped returns a fetch with the scope of the viewer.
func scoped[V any](fetch func(context.Context, viewer.Scope, []uuid.UUID) (map[uuid.UUID]V, error)) func(context.Context, []uuid.UUID) (map[uuid.UUID]V, error) {
	return func(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]V, error) {
		scope, err := viewer.ScopeOf(ctx)
		if err != nil {
			return nil, err
		}
		return fetch(ctx, scope, ids)
	}
}

func (r *Resolver) loadCollectionNames(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]string, error) {
	rows, err := r.client(ctx).Collection.Query().Where(entcollection.IDIn(ids...)).
		Select(entcollection.FieldID, entcollection.FieldName).All(ctx)
	names := make(map[uuid.UUID]string, len(rows))
	for _, row := range rows {
		names[row.ID] = row.Name
	}
	return names, err
}

func (r *Resolver) loadConnectorTypes(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]string, error) {
	rows, err := r.client(ctx).Connector.Query().Where(entconnector.IDIn(ids...)).
		Select(entconnector.FieldID, entconnector.FieldType).All(ctx)
	types := make(map[uuid.UUID]string, len(rows))
	for _, row := range rows {
		types[row.ID] = row.Type
	}
	return types, err
}

func (r *Resolver) loadContents(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]*string, error) {
	return r.loadTexts(ctx, ids, false)
}

func (r *Resolver) loadSummaries(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]*string, error) {
	return r.loadTexts(ctx, ids, true)
}

func (r *Resolver) loadPassages(ctx context.Context, page index.PassageRange, ids []uuid.UUID) (map[uuid.UUID][]index.StoredPassage, error) {
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return nil, err
	}
	return r.Index.Passages(ctx, scope, ids, page)
}

func (r *Resolver) loadDocumentEvents(ctx context.Context, first int, ids []uuid.UUID) (map[uuid.UUID][]document.Event, error) {
	return r.Documents.History(ctx, ids, first)
}

func (r *Resolver) loadTexts(ctx context.Context, ids []uuid.UUID, summary bool) (map[uuid.UUID]*string, error) {
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return nil, err
	}
	texts, err := r.Index.Texts(ctx, scope, ids, summary)
	found := make(map[uuid.UUID]*string, len(texts))
	for id, text := range texts {
		if found[id] = &text.Body; summary {
			found[id] = &text.Summary
		}
	}
	return found, err
}
