package graph

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/identity/people"
	"github.com/magpie-search/magpie/internal/patch"
	"github.com/magpie-search/magpie/internal/viewer"
)

func sessionToken(t authn.Tokens, err error) (*model.SessionToken, error) {
	if err != nil {
		return nil, err
	}
	return &model.SessionToken{AccessToken: t.Access, RefreshToken: t.Refresh, ExpiresAt: t.ExpiresAt}, nil
}

func me(p people.Profile, err error) (*model.Me, error) {
	if err != nil {
		return nil, err
	}
	return &model.Me{User: p.User, Workspace: p.Workspace, Role: roleModel(p.Role), HasPassword: p.User.PasswordHash != "", Preferences: preferences(p.User, p.Workspace.ID)}, nil
}

// preferences returns those of a person in a workspace.
func preferences(row *ent.User, workspace uuid.UUID) *model.Preferences {
	return &model.Preferences{
		Language: nilIfZero(row.Language), Theme: model.Theme(row.Theme), TimeZone: nilIfZero(row.TimeZone),
		HideFirstSteps: slices.Contains(row.HiddenSteps, workspace),
	}
}

// ownPreferences returns the preferences of the caller, and null for those of others.
func ownPreferences(ctx context.Context, row *ent.User) (own *model.Preferences) {
	if v, ok := viewer.From(ctx); ok && v.Kind == viewer.KindSession && v.Subject == row.ID {
		own = preferences(row, v.Workspace)
	}
	return own
}

func profileChange(in model.UpdateProfileInput) authn.ProfileChange {
	change := authn.ProfileChange{Name: field(in.Name)}
	if p := in.Preferences; p != nil {
		change.Language, change.TimeZone = nullableField(p.Language), nullableField(p.TimeZone)
		if p.Theme != nil {
			change.Theme = patch.Set(user.Theme(*p.Theme))
		}
		change.HideFirstSteps = field(p.HideFirstSteps)
	}
	return change
}

func roleModel[T ~string](role T) model.Role { return model.Role(strings.ToUpper(string(role))) }

func myWorkspaces(ctx context.Context, memberships []*ent.Membership, err error) ([]*model.MyWorkspace, error) {
	if err != nil {
		return nil, err
	}
	v, _ := viewer.From(ctx)
	out := make([]*model.MyWorkspace, 0, len(memberships))
	for _, m := range memberships {
		out = append(out, &model.MyWorkspace{
			ID: m.WorkspaceID, Name: m.Edges.Workspace.Name, Role: roleModel(m.Role), JoinedAt: m.CreatedAt,
			Current: m.WorkspaceID == v.Workspace,
		})
	}
	return out, nil
}

// isCurrent reports whether a session is the one of the request.
func isCurrent(ctx context.Context, row *ent.Session) bool {
	v, ok := viewer.From(ctx)
	return ok && v.Session == row.ID
}
