package authn

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/session"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Roles returns the current roles of those sessions that are valid: not ended, not
// expired, and their person is still a member. It takes two statements for any
// number of sessions.
func (a *Accounts) Roles(ctx context.Context, sessions []uuid.UUID) (map[uuid.UUID]viewer.Role, error) {
	system := asSystem(ctx)
	rows, err := a.ent.Session.Query().Where(session.IDIn(sessions...), session.RevokedAtIsNil(), session.ExpiresAtGT(a.now())).
		Select(session.FieldID, session.FieldWorkspaceID, session.FieldUserID).All(system)
	if err != nil {
		return nil, apierr.Wrap("read the sessions", err)
	}
	people := make([]uuid.UUID, 0, len(rows))
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
	return roles, nil
}
