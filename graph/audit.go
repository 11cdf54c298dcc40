package graph

import (
	"context"

	"entgo.io/contrib/entgql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/audit"
)

func (r *Resolver) auditLog(ctx context.Context, in *model.AuditFilter, after cursor, first *int, before cursor, last *int) (*ent.AuditEntryConnection, error) {
	query, err := audit.Query(r.client(ctx), auditFilter(orZero(in)))
	if err != nil {
		return nil, err
	}
	newest := []*ent.AuditEntryOrder{{Direction: entgql.OrderDirectionDesc, Field: ent.AuditEntryOrderFieldCreatedAt}}
	return listed(ctx, r, func(ctx context.Context) (*ent.AuditEntryConnection, error) {
		return query.Clone().Paginate(ctx, after, first, before, last, ent.WithAuditEntryOrder(newest))
	})
}

func auditFilter(in model.AuditFilter) audit.Filter {
	return audit.Filter{
		Actor: orZero(in.Actor), Action: orZero(in.Action), TargetKind: orZero(in.TargetKind), TargetID: in.TargetID,
		From: in.From, To: in.To, Text: orZero(in.Matching),
	}
}

type cursor = *entgql.Cursor[uuid.UUID]
