package graph

import (
	"context"
	"strings"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/identity/people"
	"github.com/magpie-search/magpie/internal/viewer"
)

func sessionToken(t authn.Tokens, err error) (*model.SessionToken, error) {
	if err != nil {
		return nil, err
	}
	return &model.SessionToken{AccessToken: t.Access, RefreshToken: t.Refresh, ExpiresAt: t.ExpiresAt}, nil
}

func (r *Resolver) signIn(ctx context.Context, in model.SignInInput) (*model.SessionToken, error) {
	tokens, err := r.People.SignIn(ctx, in.Email, in.Password)
	r.signInFailed(ctx, in.Email, err)
	return sessionToken(tokens, err)
}

func (r *Resolver) signUp(ctx context.Context, in model.SignUpInput) (*model.SessionToken, error) {
	return sessionToken(r.People.SignUp(ctx, people.SignUp{Workspace: in.Workspace, Email: in.Email, Name: in.Name, Password: in.Password}))
}

func (r *Resolver) me(ctx context.Context) (*model.Me, error) {
	v, ok := viewer.From(ctx)
	if !ok || v.Kind != viewer.KindSession {
		return nil, apierr.New(apierr.Unauthorized, "Session required")
	}
	client := r.client(ctx)
	user, err := client.User.Get(ctx, v.Subject)
	if err != nil {
		return nil, err
	}
	workspace, err := client.Workspace.Get(ctx, v.Workspace)
	if err != nil {
		return nil, err
	}
	return &model.Me{User: user, Workspace: workspace, Role: roleModel(v.Role), HasPassword: user.PasswordHash != ""}, nil
}

func roleModel[T ~string](role T) model.Role { return model.Role(strings.ToUpper(string(role))) }

func (r *Resolver) myWorkspaces(ctx context.Context) ([]*model.MyWorkspace, error) {
	rows, err := r.People.Mine(ctx)
	if err != nil {
		return nil, err
	}
	v, _ := viewer.From(ctx)
	out := make([]*model.MyWorkspace, 0, len(rows))
	for _, row := range rows {
		out = append(out, &model.MyWorkspace{
			ID: row.WorkspaceID, Name: row.Edges.Workspace.Name, Role: roleModel(row.Role), JoinedAt: row.CreatedAt,
			Current: row.WorkspaceID == v.Workspace,
		})
	}
	return out, nil
}

// isCurrent says whether the request came with a session.
func isCurrent(ctx context.Context, row *ent.Session) bool {
	v, ok := viewer.From(ctx)
	return ok && v.Session == row.ID
}
