package graph

import (
	"context"
	"fmt"
	"strings"

	"entgo.io/contrib/entgql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/identity/principal"
	"github.com/magpie-search/magpie/internal/system"
	"github.com/magpie-search/magpie/internal/viewer"
)

func (r *Resolver) system(ctx context.Context) (*system.Report, error) {
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return nil, err
	}
	return r.System.Report(ctx, scope)
}

func (r *Resolver) sourceGroups(ctx context.Context, connector uuid.UUID, matching *string, after cursor, first *int) (*model.SourceGroupConnection, error) {
	if _, err := r.Connectors.Get(ctx, connector); err != nil {
		return nil, err
	}
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return nil, err
	}
	q := principal.GroupQuery{Matching: strings.TrimSpace(orZero(matching)), Limit: *first}
	if err := check.Length("matching", q.Matching, maxDatabaseName); err != nil {
		return nil, err
	}
	if after != nil {
		if q.After = fmt.Sprint(after.Value); after.ID != connector {
			return nil, apierr.Invalid("after", "must be the cursor of a group")
		}
	}
	page, err := r.Principals.Groups(ctx, scope, connector, q)
	if err != nil {
		return nil, err
	}
	out := &model.SourceGroupConnection{
		Edges: make([]*model.SourceGroupEdge, len(page.Groups)), TotalCount: page.Total,
		PageInfo: &entgql.PageInfo[uuid.UUID]{HasNextPage: page.HasMore, HasPreviousPage: after != nil},
	}
	for i, g := range page.Groups {
		out.Edges[i] = &model.SourceGroupEdge{Node: g, Cursor: entgql.Cursor[uuid.UUID]{ID: connector, Value: g.ID}}
	}
	if n := len(out.Edges); n > 0 {
		out.PageInfo.StartCursor, out.PageInfo.EndCursor = &out.Edges[0].Cursor, &out.Edges[n-1].Cursor
	}
	return out, nil
}

func (r *Resolver) directoryGroups(ctx context.Context, matching *string, after cursor, first *int) (*model.DirectoryGroupConnection, error) {
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return nil, err
	}
	q := principal.DirectoryGroupQuery{Matching: strings.TrimSpace(orZero(matching)), Limit: *first}
	if err := check.Length("matching", q.Matching, maxDatabaseName); err != nil {
		return nil, err
	}
	if after != nil {
		var ok bool
		if q.After, ok = after.Value.(string); !ok {
			return nil, apierr.Invalid("after", "must be the cursor of a group of the directory")
		}
	}
	page, err := r.Principals.DirectoryGroups(ctx, scope, q)
	if err != nil {
		return nil, err
	}
	out := &model.DirectoryGroupConnection{
		Edges: make([]*model.DirectoryGroupEdge, len(page.Groups)), TotalCount: page.Total,
		PageInfo: &entgql.PageInfo[uuid.UUID]{HasNextPage: page.HasMore, HasPreviousPage: after != nil},
	}
	for i, g := range page.Groups {
		out.Edges[i] = &model.DirectoryGroupEdge{Node: g, Cursor: entgql.Cursor[uuid.UUID]{ID: g.ID, Value: g.Name}}
	}
	if n := len(out.Edges); n > 0 {
		out.PageInfo.StartCursor, out.PageInfo.EndCursor = &out.Edges[0].Cursor, &out.Edges[n-1].Cursor
	}
	return out, nil
}

func (r *Resolver) sourceGroup(ctx context.Context, connector uuid.UUID, id string) (*principal.SourceGroupDetail, error) {
	if _, err := r.Connectors.Get(ctx, connector); err != nil {
		return nil, err
	}
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return nil, err
	}
	return r.Principals.Group(ctx, scope, connector, id)
}
