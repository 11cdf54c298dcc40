package graph

import (
	"context"
	"encoding/json"
	"strings"

	"entgo.io/contrib/entgql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/auditentry"
	"github.com/magpie-search/magpie/ent/predicate"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/audit"
)

// SignInLog notes failed sign-ins; audit.SignIns does.
type SignInLog interface {
	Failed(ctx context.Context, email, reason string)
}

// signInFailed notes a sign-in that was refused for its credentials.
func (r *Resolver) signInFailed(ctx context.Context, email string, err error) {
	if err != nil && r.Audit != nil && apierr.From(err).Code == apierr.InvalidCredentials {
		r.Audit.Failed(ctx, email, "wrong credentials")
	}
}

// audited records an event that changes no row.
func (r *Resolver) audited(ctx context.Context, e audit.Event) error {
	client := r.client(ctx)
	return audit.Record(ctx, func(ctx context.Context, query string, arguments ...any) error {
		_, err := client.ExecContext(ctx, query, arguments...)
		return err
	}, e)
}

// tested records a connection test with its outcome.
func (r *Resolver) tested(ctx context.Context, id uuid.UUID, name string, test *model.ConnectionTest) (*model.ConnectionTest, error) {
	return test, r.audited(ctx, audit.Event{
		Action: "connector.test", TargetKind: "connector", TargetID: id, TargetName: name, Changes: []audit.Change{{Field: "ok", New: test.Ok}},
	})
}

// maxFilter is the longest text that a filter may have, in bytes.
const maxFilter = 400

func (r *Resolver) auditLog(ctx context.Context, in *model.AuditFilter, after *entgql.Cursor[uuid.UUID], first *int, before *entgql.Cursor[uuid.UUID], last *int) (*ent.AuditEntryConnection, error) {
	first, last, err := bounded(first, last)
	if err != nil {
		return nil, err
	}
	query := r.client(ctx).AuditEntry.Query()
	if in != nil {
		where, err := auditFilter(in)
		if err != nil {
			return nil, err
		}
		query.Where(where...)
	}
	newest := []*ent.AuditEntryOrder{{Direction: entgql.OrderDirectionDesc, Field: ent.AuditEntryOrderFieldCreatedAt}}
	return query.Paginate(ctx, after, first, before, last, ent.WithAuditEntryOrder(newest))
}

func auditFilter(in *model.AuditFilter) ([]predicate.AuditEntry, error) {
	for name, text := range map[string]*string{"actor": in.Actor, "action": in.Action, "targetKind": in.TargetKind, "matching": in.Matching} {
		if text != nil && len(*text) > maxFilter {
			return nil, apierr.Invalid(name, "is too long")
		}
	}
	var where []predicate.AuditEntry
	if in.Actor != nil && *in.Actor != "" {
		if id, err := uuid.Parse(*in.Actor); err == nil {
			where = append(where, auditentry.ActorID(id))
		} else {
			where = append(where, auditentry.ActorNameEqualFold(*in.Actor))
		}
	}
	if in.Action != nil && *in.Action != "" {
		if kind, all := strings.CutSuffix(*in.Action, "*"); all {
			where = append(where, auditentry.ActionHasPrefix(kind))
		} else {
			where = append(where, auditentry.Action(*in.Action))
		}
	}
	if in.TargetKind != nil && *in.TargetKind != "" {
		where = append(where, auditentry.TargetKind(*in.TargetKind))
	}
	if in.TargetID != nil {
		where = append(where, auditentry.TargetID(*in.TargetID))
	}
	if in.From != nil {
		where = append(where, auditentry.CreatedAtGTE(*in.From))
	}
	if in.To != nil {
		where = append(where, auditentry.CreatedAtLT(*in.To))
	}
	if in.Matching != nil && *in.Matching != "" {
		where = append(where, auditentry.Or(auditentry.ActionContainsFold(*in.Matching),
			auditentry.ActorNameContainsFold(*in.Matching), auditentry.TargetNameContainsFold(*in.Matching)))
	}
	return where, nil
}

// auditChanges reads the changes of an entry as they were written.
func auditChanges(row *ent.AuditEntry) ([]*audit.Change, error) {
	content, err := json.Marshal(row.Changes)
	if err != nil {
		return nil, apierr.Wrap("read an audit entry", err)
	}
	changes := []*audit.Change{}
	return changes, apierr.Wrap("read an audit entry", json.Unmarshal(content, &changes))
}
