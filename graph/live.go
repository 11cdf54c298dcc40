package graph

import (
	"context"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/live/docwatch"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

func (r *Resolver) connectorSync(ctx context.Context, connectorID uuid.UUID, after *uuid.UUID) (<-chan *model.ConnectorSyncEvent, error) {
	return syncjob.WatchConnector(ctx, r.Jobs, connectorID, orZero(after), func(s syncjob.Snapshot) *model.ConnectorSyncEvent {
		e := &model.ConnectorSyncEvent{ConnectorID: connectorID}
		if s.Job != uuid.Nil {
			e.Job = progressEvent(s)
		}
		return e
	})
}

func (r *Resolver) documentStatus(ctx context.Context, collectionID, connectorID, documentID *uuid.UUID, after *string) (<-chan *model.DocumentStatusEvent, error) {
	filter, err := r.watchFilter(ctx, collectionID, connectorID, documentID)
	if err != nil {
		return nil, err
	}
	var from *docwatch.Cursor
	if after != nil {
		cursor, err := docwatch.ParseCursor(*after)
		if err != nil {
			return nil, err
		}
		from = &cursor
	}
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return nil, err
	}
	return docwatch.Watch(ctx, r.News, scope, filter, from, documentEvent)
}

// watchFilter returns the filter for the documents of a collection or connector, or
// for one document, that the viewer may see.
func (r *Resolver) watchFilter(ctx context.Context, collectionID, connectorID, documentID *uuid.UUID) (f docwatch.Filter, err error) {
	given := 0
	for _, id := range []*uuid.UUID{collectionID, connectorID, documentID} {
		if id != nil {
			given++
		}
	}
	switch {
	case given != 1:
		return f, apierr.Invalid("collectionId", "give one of collectionId, connectorId and documentId")
	case collectionID != nil:
		f.Collection, err = *collectionID, r.Collections.Exists(ctx, *collectionID)
	case connectorID != nil:
		row, failure := r.Connectors.Get(ctx, *connectorID)
		if err = failure; err == nil {
			f.Collection, f.Connector = row.CollectionID, row.ID
		}
	default:
		row, failure := r.Documents.Find(ctx, *documentID)
		if err = failure; err == nil {
			f.Collection, f.Document, f.Owner = row.CollectionID, row.ID, row.ConnectorID
		}
	}
	return f, err
}

func documentEvent(e docwatch.Event) *model.DocumentStatusEvent {
	out := &model.DocumentStatusEvent{Cursor: e.Cursor.String(), Documents: make([]*model.DocumentStatusChange, len(e.Documents))}
	if c := e.Counts; c != nil {
		out.Counts = &model.DocumentStatusCounts{
			Pending: int(c.Pending), Processing: int(c.Processing), Indexed: int(c.Indexed),
			Failed: int(c.Failed), Deleted: int(c.Deleted), WithFailure: int(c.WithFailure),
		}
	}
	for i := range e.Documents {
		out.Documents[i] = documentChange(&e.Documents[i])
	}
	return out
}

func documentChange(c *index.DocumentChange) *model.DocumentStatusChange {
	out := &model.DocumentStatusChange{ID: c.Document, Status: document.Status(c.Status), Failure: nilIfZero(c.Failure)}
	if c.Connector != uuid.Nil {
		out.ConnectorID, out.Title, out.Path = &c.Connector, &c.Title, &c.Path
	}
	return out
}
