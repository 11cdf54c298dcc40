package graph

import (
	"entgo.io/contrib/entgql"
	"github.com/google/uuid"

	"magpie/ent"
	"magpie/ent/document"
	"magpie/ent/syncitem"
	"magpie/graph/generated"
	"magpie/graph/model"
)

type cursor = *entgql.Cursor[uuid.UUID]

// rows estimates a connection: each row of the page costs what is asked of it.
func rows[O any](child int, _ cursor, first *int, _ cursor, last *int, _ []*O) int {
	return times(page(first, last), child) + 1
}

// setComplexity makes connections count by their page, so that a small text
// cannot ask for a huge answer.
func setComplexity(c *generated.ComplexityRoot) {
	c.Collection.Connectors = rows[ent.ConnectorOrder]
	c.Collection.Documents = rows[ent.DocumentOrder]
	c.Connector.Documents = rows[ent.DocumentOrder]
	c.Connector.Files = rows[ent.SourceFileOrder]
	c.Connector.Items = rows[ent.SyncItemOrder]
	c.Connector.Jobs = rows[ent.SyncJobOrder]
	c.Conversation.Messages = rows[ent.MessageOrder]
	c.Query.APIKeys = rows[ent.APIKeyOrder]
	c.Query.Collections = rows[ent.CollectionOrder]
	c.Query.Conversations = rows[ent.ConversationOrder]
	c.Query.Connectors = func(child int, after cursor, first *int, before cursor, last *int, order []*ent.ConnectorOrder, _ *uuid.UUID) int {
		return rows(child, after, first, before, last, order)
	}
	c.Query.Documents = func(child int, after cursor, first *int, before cursor, last *int, order []*ent.DocumentOrder, _, _ *uuid.UUID, _ []document.Status, _ *string) int {
		return rows(child, after, first, before, last, order)
	}
	c.Query.SyncJobs = func(child int, _ uuid.UUID, after cursor, first *int, before cursor, last *int, order []*ent.SyncJobOrder) int {
		return rows(child, after, first, before, last, order)
	}
	c.Query.SyncItems = func(child int, _ uuid.UUID, _ *uuid.UUID, _ []syncitem.Status, after cursor, first *int, before cursor, last *int, order []*ent.SyncItemOrder) int {
		return rows(child, after, first, before, last, order)
	}
	c.Query.Runs = func(child int, _ uuid.UUID, after cursor, first *int, before cursor, last *int, order []*ent.AgentRunOrder) int {
		return rows(child, after, first, before, last, order)
	}
	c.AgentRun.Events = func(child int, _, limit *int) int {
		n := maxEvents
		if limit != nil {
			n = min(max(*limit, 1), maxEvents)
		}
		return times(n, child) + 1
	}
	c.Query.Nodes = func(child int, ids []uuid.UUID) int { return times(len(ids), child) + 1 }
	c.Query.Search = func(child int, in model.SearchInput) int {
		n := defaultLimit
		if in.Limit != nil {
			n = min(max(*in.Limit, 1), maxLimit)
		}
		return times(n, child) + 1
	}
}
