package approval

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/predicate"
	"github.com/magpie-search/magpie/ent/toolgrant"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// grant stores that later calls of the tool of an approval need no consent.
func (s *Store) grant(ctx context.Context, client *ent.Client, row *ent.Approval, r Remember, person uuid.UUID) error {
	create := client.ToolGrant.Create().SetAgentID(row.AgentID).SetTool(row.Tool).SetApprovalID(row.ID).SetCreatedBy(person)
	switch r {
	case ForRun:
		create.SetScope(toolgrant.ScopeRun).SetRunID(row.RunID).SetPersonID(row.SubjectID)
	case ForConversation:
		run, err := client.AgentRun.Get(ctx, row.RunID)
		if err != nil {
			return lookup.Error("Run", err)
		}
		create.SetScope(toolgrant.ScopeConversation).SetConversationID(run.ConversationID).SetPersonID(row.SubjectID)
	default:
		create.SetScope(toolgrant.ScopeAgent)
	}
	if err := create.Exec(ctx); err != nil {
		return fmt.Errorf("store a grant: %w", err)
	}
	return nil
}

// Granted reports whether calls of a tool need no consent in a run, because a person
// has said so for the run, its conversation or its agent. It is about policies that
// ask; a call that is denied stays denied.
func (s *Store) Granted(ctx context.Context, run *ent.AgentRun, tool string) (bool, error) {
	found, err := s.client(ctx).ToolGrant.Query().Where(
		toolgrant.AgentID(run.AgentID), toolgrant.Tool(tool), toolgrant.RevokedAtIsNil(),
		toolgrant.Or(
			toolgrant.And(toolgrant.ScopeEQ(toolgrant.ScopeRun), toolgrant.RunID(run.ID)),
			toolgrant.And(toolgrant.ScopeEQ(toolgrant.ScopeConversation), toolgrant.ConversationID(run.ConversationID), toolgrant.PersonID(run.SubjectID)),
			toolgrant.ScopeEQ(toolgrant.ScopeAgent),
		)).Exist(system(ctx, run.WorkspaceID))
	if err != nil {
		return false, fmt.Errorf("read the grants of an agent: %w", err)
	}
	return found, nil
}

// Grants returns the query of the grants of an agent that are in force and that the
// viewer may see.
func (s *Store) Grants(ctx context.Context, agent uuid.UUID) *ent.ToolGrantQuery {
	return s.client(ctx).ToolGrant.Query().Where(toolgrant.AgentID(agent), toolgrant.RevokedAtIsNil())
}

// Revoke ends a grant. The person of its run or conversation and who gave it may do so,
// and editors where it is for an agent. A revoked grant stays as it is.
func (s *Store) Revoke(ctx context.Context, id uuid.UUID) (*ent.ToolGrant, error) {
	var out *ent.ToolGrant
	err := transaction.In(ctx, s.opt.Ent, func(ctx context.Context, client *ent.Client) error {
		row, err := client.ToolGrant.Get(ctx, id)
		if err != nil {
			return lookup.Error("Grant", err)
		}
		v, _ := viewer.From(ctx)
		if row.Scope == toolgrant.ScopeAgent && row.CreatedBy != v.Subject && !v.Role.AtLeast(viewer.RoleEditor) {
			return apierr.New(apierr.Forbidden, "Only editors revoke what an agent may always do")
		}
		inside := system(ctx, row.WorkspaceID)
		where := []predicate.ToolGrant{toolgrant.ID(id), toolgrant.RevokedAtIsNil()}
		if err := client.ToolGrant.Update().Where(where...).SetRevokedAt(s.opt.Now()).SetRevokedBy(v.Subject).Exec(inside); err != nil {
			return fmt.Errorf("revoke a grant: %w", err)
		}
		out, err = client.ToolGrant.Get(inside, id)
		return lookup.Error("Grant", err)
	})
	if err != nil {
		return nil, err
	}
	return transaction.Detach(ctx, out), nil
}
