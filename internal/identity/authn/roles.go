package authn

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/session"
	"github.com/magpie-search/magpie/ent/token"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Roles returns the current roles of those sessions and tokens that are valid: not
// ended, not expired, and their person is still a member. It takes three statements for
// any number of them.
func (a *Accounts) Roles(ctx context.Context, credentials []uuid.UUID) (map[uuid.UUID]viewer.Role, error) {
	system := asSystem(ctx)
	var sessions, tokens []uuid.UUID
	for _, id := range credentials {
		if kind, _ := gid.KindOf(id); kind == gid.Token {
			tokens = append(tokens, id)
		} else {
			sessions = append(sessions, id)
		}
	}
	rows, err := a.ent.Session.Query().Where(session.IDIn(sessions...), session.RevokedAtIsNil(), session.ExpiresAtGT(a.now())).
		Select(session.FieldID, session.FieldWorkspaceID, session.FieldUserID).All(system)
	if err != nil {
		return nil, apierr.Wrap("read the sessions", err)
	}
	held, err := a.heldTokens(system, tokens)
	if err != nil {
		return nil, err
	}
	people := make([]uuid.UUID, 0, len(rows)+len(held))
	for _, row := range held {
		if row.UserID != nil {
			people = append(people, *row.UserID)
		}
	}
	for _, row := range rows {
		people = append(people, row.UserID)
	}
	slices.SortFunc(people, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	members, err := a.ent.Membership.Query().Where(membership.UserIDIn(slices.Compact(people)...)).
		Select(membership.FieldWorkspaceID, membership.FieldUserID, membership.FieldRole).All(system)
	if err != nil {
		return nil, apierr.Wrap("read the memberships", err)
	}
	type seat struct{ workspace, person uuid.UUID }
	seats := make(map[seat]viewer.Role, len(members))
	for _, m := range members {
		seats[seat{m.WorkspaceID, m.UserID}] = roleOf(m.Role)
	}
	roles := make(map[uuid.UUID]viewer.Role, len(rows))
	for _, row := range rows {
		if role, ok := seats[seat{row.WorkspaceID, row.UserID}]; ok {
			roles[row.ID] = role
		}
	}
	for _, row := range held {
		var role viewer.Role
		if row.Role != nil {
			role = roleOf(membership.Role(*row.Role))
		}
		if row.UserID != nil {
			theirs, ok := seats[seat{row.WorkspaceID, *row.UserID}]
			if !ok {
				continue
			}
			if row.Role == nil {
				role = theirs
			}
			role = viewer.Min(role, theirs)
		}
		roles[row.ID] = role
	}
	return roles, nil
}

// heldTokens returns those of the tokens that are valid.
func (a *Accounts) heldTokens(system context.Context, ids []uuid.UUID) ([]*ent.Token, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := a.ent.Token.Query().Where(token.IDIn(ids...), token.RevokedAtIsNil(), token.Or(token.ExpiresAtIsNil(), token.ExpiresAtGT(a.now()))).
		Select(token.FieldID, token.FieldWorkspaceID, token.FieldUserID, token.FieldRole).All(system)
	return rows, apierr.Wrap("read the tokens", err)
}
