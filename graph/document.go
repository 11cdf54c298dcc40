package graph

import (
	"context"
	"strings"
	"time"

	"entgo.io/contrib/entgql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/collection/document"
	"github.com/magpie-search/magpie/internal/identity/principal"
	"github.com/magpie-search/magpie/internal/viewer"
)

func documentContent(ctx context.Context, row *ent.Document) (string, error) {
	text, err := loadersOf(ctx).contents.Load(ctx, row.ID)
	if err == nil && text == nil {
		err = apierr.NotFound("Document")
	}
	return orZero(text), err
}

// documentSummary returns the stored summary of a document. A document without one
// is summarized now.
func (r *Resolver) documentSummary(ctx context.Context, row *ent.Document) (string, error) {
	stored, err := loadersOf(ctx).summaries.Load(ctx, row.ID)
	switch {
	case err != nil:
		return "", err
	case stored == nil:
		return "", apierr.NotFound("Document")
	case *stored != "":
		return *stored, nil
	}
	return r.Documents.Summary(ctx, row)
}

func documentVisibility(a principal.Visibility, err error) (*model.DocumentVisibility, error) {
	if err != nil {
		return nil, err
	}
	out := &model.DocumentVisibility{
		DocumentID: a.Document, User: a.Email, Visible: a.Visible, Rule: model.VisibilityRule(a.Rule), Explanation: a.Explanation,
		Groups: make([]*model.VisibilityGroup, len(a.Groups)), ReadersReadAt: a.ReadersAt, GroupsReadAt: a.GroupsAt,
	}
	for i, g := range a.Groups {
		out.Groups[i] = &model.VisibilityGroup{ID: strings.TrimPrefix(g.Principal, "group:"), Name: g.Name}
	}
	return out, nil
}

func documentHistory(ctx context.Context, row *ent.Document, first *int) ([]*model.DocumentEvent, error) {
	events, err := loadersOf(ctx).events.of(pageSize(first, nil)).Load(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	out := make([]*model.DocumentEvent, len(events))
	for i, e := range events {
		out[i] = &model.DocumentEvent{At: e.At, Kind: model.DocumentEventKind(e.Kind), JobID: nilIfZero(e.Job), Actor: nilIfZero(e.Actor), Reason: nilIfZero(e.Reason)}
	}
	return out, nil
}

func (r *Resolver) documentReaders(ctx context.Context, id uuid.UUID, first *int) (*model.DocumentReaders, error) {
	found, err := r.Documents.Readers(ctx, id, orDefault(first, document.DefaultReaders))
	if err != nil {
		return nil, err
	}
	out := &model.DocumentReaders{
		DocumentID: found.Document, Mode: found.Mode, Everyone: found.Everyone, Readers: readers(found.Readers), ReaderCount: found.Count,
		ReadersReadAt: found.ReadersAt, GroupsReadAt: found.GroupsAt,
	}
	if found.Restriction != nil {
		out.Restriction = restriction(found.Restriction)
	}
	return out, nil
}

func (r *Resolver) documentRestrictions(ctx context.Context, connector *uuid.UUID, after cursor, first *int) (*model.DocumentRestrictionConnection, error) {
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return nil, err
	}
	var from *principal.RestrictionPosition
	if after != nil {
		at, ok := after.Value.(time.Time)
		if !ok {
			return nil, apierr.Invalid("after", "must be a cursor of restrictions")
		}
		from = &principal.RestrictionPosition{At: at, Document: after.ID}
	}
	limit := pageSize(first, nil)
	found, total, err := r.Principals.Restrictions(ctx, scope, principal.RestrictionFilter{Connector: connector}, from, limit+1)
	if err != nil {
		return nil, err
	}
	out := &model.DocumentRestrictionConnection{TotalCount: total, PageInfo: &entgql.PageInfo[uuid.UUID]{HasPreviousPage: after != nil, HasNextPage: len(found) > limit}}
	found = found[:min(len(found), limit)]
	out.Edges = make([]*model.DocumentRestrictionEdge, len(found))
	for i := range found {
		out.Edges[i] = &model.DocumentRestrictionEdge{Node: restriction(&found[i]), Cursor: entgql.Cursor[uuid.UUID]{ID: found[i].Document, Value: found[i].At}}
	}
	if n := len(out.Edges); n > 0 {
		out.PageInfo.StartCursor, out.PageInfo.EndCursor = &out.Edges[0].Cursor, &out.Edges[n-1].Cursor
	}
	return out, nil
}

func restriction(r *principal.Restriction) *model.DocumentRestriction {
	return &model.DocumentRestriction{
		DocumentID: r.Document, ConnectorID: r.Connector, CollectionID: r.Collection, Readers: readers(r.Readers), RestrictedAt: r.At, RestrictedBy: r.By,
	}
}

func readers(in []principal.Reader) []*model.DocumentReader {
	out := make([]*model.DocumentReader, len(in))
	for i, p := range in {
		out[i] = &model.DocumentReader{Kind: model.DocumentReaderKind(p.Kind), ID: p.ID, Name: p.Name, Members: p.Members}
	}
	return out
}
