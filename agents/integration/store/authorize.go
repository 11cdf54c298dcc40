package store

import (
	"context"
	"errors"
	"log/slog"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/mcp"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/toolintegration"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A Connecter is a [Source] of servers that name their own authorization servers.
type Connecter interface {
	// Begin starts a connection of an account. It returns the address where its person
	// grants access.
	Begin(ctx context.Context, a integration.Account) (authorizationURL string, err error)
	// Finish ends the connection that flow describes: it obtains the grant and keeps it.
	Finish(ctx context.Context, a integration.Account, flow []byte, r integration.Redirect) error
}

// access keeps the grant of one account in the database.
type access struct {
	store    *Store
	provider string
	key      oauth.ServerKey
	viewer   viewer.Viewer
	mayBegin bool
	// browser says that a browser begins connections, which returnTo is for.
	browser  bool
	returnTo string

	begun oauth.Authorization // by the last Begin
}

// accessOf returns the access of v to the server of an integration.
func (s *Store) accessOf(row *ent.ToolIntegration, v viewer.Viewer) *access {
	a := &access{store: s, provider: row.Provider, viewer: v, key: oauth.ServerKey{Workspace: row.WorkspaceID, Integration: row.ID}}
	if !shares(row) {
		a.key.Person = v.Subject
	}
	return a
}

// mayAuthorize reports whether v is a person who may connect an integration.
func mayAuthorize(row *ent.ToolIntegration, v viewer.Viewer) bool {
	return v.Kind == viewer.KindSession && v.Subject != uuid.Nil && checkSharing(row, v) == nil
}

// Load implements integration.Access.
func (a *access) Load(ctx context.Context) ([]byte, error) {
	content, err := a.store.opt.Grants.LoadServer(ctx, a.key)
	if errors.Is(err, oauth.ErrNoServerGrant) {
		return nil, nil
	}
	return content, err
}

func (a *access) grant(g integration.Grant) oauth.ServerGrant {
	return oauth.ServerGrant{Provider: a.provider, Content: g.Content, Works: g.Works, Reason: g.Reason, Scopes: g.Scopes, ExpiresAt: g.ExpiresAt}
}

// Save implements integration.Access.
func (a *access) Save(ctx context.Context, g integration.Grant) error {
	return a.store.opt.Grants.SaveServer(ctx, a.key, a.grant(g))
}

// Lock implements integration.Access.
func (a *access) Lock(ctx context.Context, f func(ctx context.Context) error) error {
	return a.store.opt.Grants.LockServer(ctx, a.key, f)
}

// MayBegin implements integration.Access.
func (a *access) MayBegin() bool { return a.mayBegin }

// Begin implements integration.Access.
func (a *access) Begin(ctx context.Context, flow []byte, g integration.Grant) (state string, err error) {
	state, a.begun, err = a.store.opt.Grants.BeginServer(viewer.With(ctx, a.viewer), oauth.ServerRequest{
		Key: a.key, Content: flow, Grant: a.grant(g), ReturnTo: a.returnTo, Browserless: !a.browser,
	})
	return state, err
}

// authorizeServer begins a connection at the authorization server that a server names.
func (s *Store) authorizeServer(ctx context.Context, row *ent.ToolIntegration, p Listed, c Connecter, v viewer.Viewer, returnTo string, browser bool) (oauth.Authorization, error) {
	if v.Kind != viewer.KindSession {
		return oauth.Authorization{}, apierr.New(apierr.Unauthorized, "Session required")
	}
	account, _, err := s.account(ctx, row, p, v, true)
	if err != nil {
		return oauth.Authorization{}, err
	}
	access := s.accessOf(row, v)
	access.mayBegin, access.browser, access.returnTo = true, browser, returnTo
	account.Access = access
	address, err := c.Begin(ctx, account)
	if err != nil {
		return oauth.Authorization{}, err
	}
	begun := access.begun
	begun.URL = address
	return begun, nil
}

// FinishAuthorization ends a connection to a server that names its own authorization
// server. The checks are those of [oauth.Grants.Finish].
func (s *Store) FinishAuthorization(ctx context.Context, r oauth.Callback) (oauth.Outcome, error) {
	return s.opt.Grants.FinishServer(ctx, r, func(ctx context.Context, k oauth.ServerKey, flow []byte) error {
		v, err := viewerOf(ctx)
		if err != nil {
			return err
		}
		row, err := s.Get(ctx, k.Integration)
		if err != nil {
			return err
		}
		p, source, err := s.providerOf(row)
		if err != nil {
			return err
		}
		c, ok := source.(Connecter)
		if !ok || shares(row) != (k.Person == uuid.Nil) {
			return apierr.NotFound("Integration")
		}
		account, _, err := s.account(ctx, row, p, v, true)
		if err != nil {
			return err
		}
		return c.Finish(ctx, account, flow, integration.Redirect{Code: r.Code, Issuer: r.Issuer, Error: r.Error, Description: r.Description})
	})
}

// inRun reports whether a call belongs to a run, whose stream can show a link.
func inRun(ctx context.Context) bool { return loop.CallInfoFrom(ctx).InRun }

// authRequired converts the error of a call in a run whose account must be connected into
// one that says where. Other errors stay as they are.
func (s *Store) authRequired(ctx context.Context, row *ent.ToolIntegration, v viewer.Viewer, err error) error {
	if err == nil || !inRun(ctx) || !connectors.IsNeedsAuth(err) {
		return err
	}
	out := &loop.AuthRequiredError{Integration: row.ID, Name: row.Name}
	if needed, ok := errors.AsType[*mcp.NeedsAuthError](err); ok {
		out.URL = needed.URL
	}
	if out.URL == "" && mayAuthorize(row, v) {
		out.URL = s.link(viewer.With(ctx, v), row, v)
	}
	text := row.Name + " needs to be connected: "
	switch {
	case out.URL != "":
		text += "the person was just shown a link for that. Tell them to follow it, and to ask again afterwards."
	case shares(row):
		text += "an administrator does that in the settings of the integration. Tell the person."
	default:
		text += "the person does that in the settings of the integration. Tell them to ask again afterwards."
	}
	out.Err = connectors.NeedsAuth(apierr.New(apierr.Unauthorized, text))
	return out
}

// link returns the address where v connects an integration, "" if there is none.
func (s *Store) link(ctx context.Context, row *ent.ToolIntegration, v viewer.Viewer) string {
	begun, err := s.begin(ctx, row, v, s.opt.Dashboard, false)
	if err != nil {
		if apierr.From(err).Code == apierr.Internal {
			s.opt.Log.WarnContext(ctx, "connection of an integration not begun", slog.Any("integration", row.ID), slog.Any("error", err))
		}
		return ""
	}
	return begun.URL
}

// begin begins a connection by OAuth of v.
func (s *Store) begin(ctx context.Context, row *ent.ToolIntegration, v viewer.Viewer, returnTo string, browser bool) (oauth.Authorization, error) {
	p, source, err := s.providerOf(row)
	if err != nil {
		return oauth.Authorization{}, err
	}
	if err := checkSharing(row, v); err != nil {
		return oauth.Authorization{}, err
	}
	if c, ok := source.(Connecter); ok && row.Kind == toolintegration.KindMCP {
		return s.authorizeServer(ctx, row, p, c, v, returnTo, browser)
	}
	if p.OAuth == nil {
		return oauth.Authorization{}, apierr.Invalid("id", p.Title+" is not connected by OAuth; enter credentials")
	}
	if err := s.checkHosts(p, row.Config); err != nil {
		return oauth.Authorization{}, err
	}
	r := oauth.ToolRequest{
		Provider: p.OAuth.Provider, Scopes: p.OAuth.Scopes, Integration: row.ID, Shared: shares(row), ReturnTo: returnTo, Browserless: !browser,
	}
	tools, err := row.QueryTools().All(ctx)
	if err != nil {
		return oauth.Authorization{}, apierr.Wrap("read the tools", err)
	}
	for _, row := range tools {
		if t, ok := p.Tool(row.Name); ok && row.Enabled {
			r.Scopes = append(r.Scopes, t.Scopes...)
		}
	}
	return s.opt.Grants.BeginTool(ctx, r)
}
