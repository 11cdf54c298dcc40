package oauth

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/oauth2"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/toolconnection"
	"github.com/magpie-search/magpie/ent/toolintegration"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// ToolRequest is the input of BeginTool.
type ToolRequest struct {
	Provider string
	// Scopes are requested in place of those of connectors.
	Scopes []string
	// Integration gets the grant: that of the viewer or, if Shared, that of all.
	Integration uuid.UUID
	Shared      bool
	// ReturnTo is as in AuthorizationRequest, Browserless as in ServerRequest.
	ReturnTo    string
	Browserless bool
}

// BeginTool starts a connection for the tools of an integration. The viewer must be a
// signed-in person; the caller has checked that they may connect the integration.
func (g *Grants) BeginTool(ctx context.Context, r ToolRequest) (begun Authorization, err error) {
	v, ok := viewer.From(ctx)
	if !ok || v.Kind != viewer.KindSession {
		return Authorization{}, apierr.New(apierr.Unauthorized, "Session required")
	}
	p, err := g.provider(r.Provider)
	if err != nil {
		return Authorization{}, err
	}
	binding := NewToken()
	flow := pendingConnection{
		Provider: p.Name, Workspace: v.Workspace, Person: v.Subject, Verifier: oauth2.GenerateVerifier(), Binding: bindingHash(binding),
		Integration: r.Integration, Shared: r.Shared, Scopes: p.toolScopes(r.Scopes),
	}
	if r.Browserless {
		binding, flow.Binding = "", nil
	}
	if flow.ReturnTo, err = g.returnTo.Check("redirectUrl", r.ReturnTo); err != nil {
		return Authorization{}, err
	}
	state, expires, err := g.flows.Put(ctx, connectPurpose, StateLifetime, flow)
	if err != nil {
		return Authorization{}, err
	}
	return Authorization{URL: p.forScopes(flow.Scopes).authCodeURL(state, flow.Verifier), Binding: binding, ExpiresAt: expires}, nil
}

// toolScopes returns the scopes of tools with those that tell the account and allow renewals.
func (p *providerClient) toolScopes(scopes []string) []string {
	out := sorted(scopes)
	for _, scope := range p.Scopes {
		if slices.Contains([]string{"openid", "email", "profile", "offline_access", "refresh_token", "read:me", "User.Read", "oauth"}, scope) && !slices.Contains(out, scope) {
			out = append(out, scope)
		}
	}
	return out
}

// forScopes returns the client of a provider with other scopes; the same without any.
func (p *providerClient) forScopes(scopes []string) *providerClient {
	if len(scopes) == 0 {
		return p
	}
	out := *p
	out.Scopes = scopes
	return &out
}

// checkMember returns the person who started the connection of an integration, with their
// role, or an error if they may not connect it any more.
func (g *Grants) checkMember(ctx context.Context, flow pendingConnection) (*ent.User, viewer.Role, error) {
	member, err := g.ent.Membership.Query().Where(membership.WorkspaceID(flow.Workspace), membership.UserID(flow.Person)).WithUser().Only(ctx)
	switch {
	case ent.IsNotFound(err):
		return nil, "", apierr.New(apierr.Forbidden, "You are not a member of the workspace any more")
	case err != nil:
		return nil, "", fmt.Errorf("read the membership: %w", err)
	case flow.Shared && member.Role != membership.RoleAdmin && member.Role != membership.RoleOwner:
		return nil, "", apierr.New(apierr.Forbidden, "Your role does not allow this; it needs the role admin")
	}
	return member.Edges.User, viewer.Role(strings.ToLower(string(member.Role))), nil
}

// storeToolGrant stores new tokens and gives them to the connection of an integration, whose
// grant before is deleted.
func (g *Grants) storeToolGrant(ctx context.Context, p *providerClient, flow pendingConnection, made tokenResponse) (out Outcome, err error) {
	out = Outcome{Provider: p.Name, Account: made.account, Grant: gid.New(gid.OAuthGrant)}
	sealed, err := g.seal(out.Grant, made.tokens)
	if err != nil {
		return Outcome{}, err
	}
	// The rows of one person are theirs alone; checkMember has checked the person.
	ctx = asSystem(transaction.Outside(ctx), uuid.Nil)
	err = transaction.In(ctx, g.ent, func(ctx context.Context, client *ent.Client) error {
		row, err := client.ToolIntegration.Query().Where(toolintegration.ID(flow.Integration), toolintegration.WorkspaceID(flow.Workspace)).ForUpdate().Only(ctx)
		if ent.IsNotFound(err) || err == nil && (row.PersonID != nil && *row.PersonID != flow.Person || (row.CredentialsOf == toolintegration.CredentialsOfShared) != flow.Shared) {
			return apierr.NotFound("Integration")
		}
		if err != nil {
			return fmt.Errorf("read the integration: %w", err)
		}
		create := client.OAuthGrant.Create().SetID(out.Grant).SetWorkspaceID(flow.Workspace).SetProvider(p.Name).SetPersonID(flow.Person).
			SetScopes(sorted(made.scopes)).SetTokens(sealed).SetRefreshedAt(g.now()).SetNillableExpiresAt(g.expiry(made.lifetime))
		find := client.ToolConnection.Query().Where(toolconnection.IntegrationID(row.ID))
		if flow.Shared {
			find.Where(toolconnection.PersonIDIsNil())
		} else {
			create.SetOwnerID(flow.Person)
			find.Where(toolconnection.PersonID(flow.Person))
		}
		if made.account != "" {
			create.SetAccount(made.account)
		}
		if err := create.Exec(ctx); err != nil {
			return fmt.Errorf("keep the grant: %w", err)
		}
		connection, err := find.ForUpdate().Only(ctx)
		switch {
		case ent.IsNotFound(err):
			made := client.ToolConnection.Create().SetWorkspaceID(flow.Workspace).SetIntegrationID(row.ID).SetGrantID(out.Grant)
			if !flow.Shared {
				made.SetPersonID(flow.Person)
			}
			err = made.Exec(ctx)
		case err == nil:
			before := connection.GrantID
			err = client.ToolConnection.UpdateOne(connection).SetGrantID(out.Grant).SetStatus(toolconnection.StatusActive).ClearLastError().
				SetUpdatedAt(g.now()).Exec(ctx)
			if err == nil && before != nil {
				err = g.Forget(ctx, client, *before)
			}
		}
		if err != nil {
			return fmt.Errorf("give the grant to the integration: %w", err)
		}
		return nil
	})
	if err != nil {
		return Outcome{}, err
	}
	return out, nil
}

// Forget deletes a grant that a connection of an integration no longer uses, unless
// something else does. It is not revoked at the provider: some would revoke newer grants of
// the same person, too.
func (g *Grants) Forget(ctx context.Context, client *ent.Client, grant uuid.UUID) error {
	row, err := client.OAuthGrant.Get(ctx, grant)
	if ent.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the grant before: %w", err)
	}
	used, err := client.ToolConnection.Query().Where(toolconnection.GrantID(grant)).Exist(ctx)
	if err != nil || used {
		return err
	}
	return g.deleteUnused(ctx, client, row)
}

// TokenSourceFor is TokenSource for a grant that v may use: one of the workspace, or v's own.
func (g *Grants) TokenSourceFor(v viewer.Viewer, grant uuid.UUID) func(ctx context.Context, refused string) (string, map[string]string, error) {
	if v.Kind != viewer.KindSession {
		return g.TokenSource(v.Workspace, grant)
	}
	return func(ctx context.Context, refused string) (string, map[string]string, error) {
		t, err := g.token(viewer.With(ctx, v), grant, refused)
		return t.Access, t.Details, err
	}
}

// maintaining returns a context in which Magpie itself may change a grant.
func maintaining(ctx context.Context, row *ent.OAuthGrant) context.Context {
	if row.OwnerID != nil {
		return asSystem(ctx, uuid.Nil)
	}
	return asSystem(ctx, row.WorkspaceID)
}
