package oauth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
	"golang.org/x/oauth2"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/oauthgrant"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// StateLifetime is the time that a person has to grant access at the provider.
const StateLifetime = 10 * time.Minute

const connectPurpose = "connect"

// pendingConnection is a connection that waits for the person to grant access.
type pendingConnection struct {
	Provider  string    `json:"provider"`
	Workspace uuid.UUID `json:"workspace"`
	Person    uuid.UUID `json:"person"`
	Connector uuid.UUID `json:"connector"` // zero: none
	ReturnTo  string    `json:"place"`     // where the browser goes at the end; empty: nowhere
	Verifier  string    `json:"verifier"`  // of PKCE
	Binding   []byte    `json:"binding"`   // SHA-256 of the binding of the browser

	// Of a connection for the tools of an integration.
	Integration uuid.UUID `json:"integration"` // zero: the connection is for connectors
	Shared      bool      `json:"shared"`
	Scopes      []string  `json:"scopes"`
	Server      []byte    `json:"server,omitempty"` // of BeginServer
}

// AuthorizationRequest is the input of Begin.
type AuthorizationRequest struct {
	Provider  string
	Connector *uuid.UUID
	// ReturnTo is the address that the browser is redirected to at the end. It may
	// be empty.
	ReturnTo string
}

// Authorization is a connection that waits for the person to grant access at URL.
// The browser must present Binding when it comes back.
type Authorization struct {
	URL, Binding string
	ExpiresAt    time.Time
}

// Begin starts a connection. The viewer must be a signed-in person; the caller has
// checked the role.
func (g *Grants) Begin(ctx context.Context, s AuthorizationRequest) (begun Authorization, err error) {
	v, ok := viewer.From(ctx)
	if !ok || v.Kind != viewer.KindSession {
		return Authorization{}, apierr.New(apierr.Unauthorized, "Session required")
	}
	p, err := g.provider(s.Provider)
	if err != nil {
		return Authorization{}, err
	}
	binding := NewToken()
	flow := pendingConnection{Provider: p.Name, Workspace: v.Workspace, Person: v.Subject, Verifier: oauth2.GenerateVerifier(), Binding: bindingHash(binding)}
	if flow.ReturnTo, err = g.returnTo.Check("redirectUrl", s.ReturnTo); err != nil {
		return Authorization{}, err
	}
	if s.Connector != nil {
		row, err := g.ent.Connector.Get(ctx, *s.Connector)
		switch {
		case ent.IsNotFound(err):
			return Authorization{}, apierr.NotFound("Connector")
		case err != nil:
			return Authorization{}, fmt.Errorf("read the connector: %w", err)
		case !p.Serves(row.Type):
			return Authorization{}, apierr.Invalid("connectorId", "a connector of type "+row.Type+" does not use "+p.Name)
		}
		if err := g.CheckHosts(p.Name, row.Type, row.Config); err != nil {
			return Authorization{}, err
		}
		flow.Connector = row.ID
	}
	state, expires, err := g.flows.Put(ctx, connectPurpose, StateLifetime, flow)
	if err != nil {
		return Authorization{}, err
	}
	return Authorization{URL: p.authCodeURL(state, flow.Verifier), Binding: binding, ExpiresAt: expires}, nil
}

func bindingHash(binding string) []byte {
	sum := sha256.Sum256([]byte(binding))
	return sum[:]
}

// Callback is the request with which a provider sends the browser back.
type Callback struct {
	Provider, State, Code, Error, Description string
	// Issuer is the issuer that the provider named (RFC 9207).
	Issuer string
	// Binding is the binding of the browser; empty if it presented none.
	Binding string
}

// Outcome is the result of a connection.
type Outcome struct {
	Provider string
	// Grant and Connector are zero if there is none.
	Grant, Connector uuid.UUID
	Account          string
	// ReturnTo is the address to redirect the browser to, with the outcome in its
	// query; empty if there is none.
	ReturnTo string
}

// Finish completes a connection: it consumes the state, exchanges the code and
// stores the grant. The binding proves that the browser is the one that started the
// connection, so nobody can make another person grant access or connect another
// account. A session of the person who started it replaces the binding; a session
// of anybody else is refused.
//
// A wrong state or binding is an invalid_request without a redirect. A wrong
// binding does not consume the state. Later failures are reported to the ReturnTo
// address if there is one, and else as an error.
func (g *Grants) Finish(ctx context.Context, r Callback) (Outcome, error) {
	p, known := g.providers[r.Provider]
	if !known {
		return Outcome{}, apierr.NotFound("Provider")
	}
	return g.finish(ctx, r, func(ctx context.Context, flow pendingConnection) (Outcome, error) { return g.complete(ctx, p, flow, r) })
}

// finish is Finish for a provider whose grant complete obtains.
func (g *Grants) finish(ctx context.Context, r Callback, complete func(ctx context.Context, flow pendingConnection) (Outcome, error)) (Outcome, error) {
	var flow pendingConnection
	err := g.flows.Peek(ctx, connectPurpose, r.State, &flow)
	v, ok := viewer.From(ctx)
	session := ok && v.Kind == viewer.KindSession
	if err == nil && !session && len(flow.Binding) == 0 && flow.Provider == r.Provider {
		return confirmation(flow, r)
	}
	if err == nil && !session && subtle.ConstantTimeCompare(bindingHash(r.Binding), flow.Binding) != 1 {
		return Outcome{}, apierr.Invalid("state", "is of a connection that another browser began; begin it in this one, or send what came back with the session of whoever began")
	}
	if err == nil || errors.Is(err, ErrNoFlow) { // an expired state is deleted
		err = g.flows.Take(ctx, connectPurpose, r.State, &flow)
	}
	if err == nil && flow.Provider != r.Provider {
		err = ErrNoFlow
	}
	switch {
	case errors.Is(err, ErrNoFlow):
		return Outcome{}, apierr.Invalid("state", "is unknown, was used before or has expired; begin the connection again")
	case err != nil:
		return Outcome{}, err
	}
	if session && (v.Subject != flow.Person || v.Workspace != flow.Workspace) {
		return Outcome{}, apierr.New(apierr.Forbidden, "Somebody else began this connection")
	}
	out, err := complete(ctx, flow)
	if err != nil {
		var failed *apierr.Error
		if flow.ReturnTo == "" || !errors.As(err, &failed) || failed.Code == apierr.Internal {
			return Outcome{}, err
		}
		g.log.InfoContext(ctx, "oauth connection failed", slog.String("provider", r.Provider), slog.Any("error", err))
		code := string(failed.Code)
		var refused *ProviderError
		if errors.As(err, &refused) && refused.Code != "" {
			code = refused.Code
		}
		return Outcome{Provider: r.Provider, ReturnTo: WithQuery(flow.ReturnTo, url.Values{
			"oauth": {"failed"}, "provider": {r.Provider}, "error": {code}, "error_description": {failed.Message},
		})}, nil
	}
	if flow.ReturnTo != "" {
		parameters := url.Values{"oauth": {"connected"}, "provider": {r.Provider}, "grant": {out.Grant.String()}}
		if out.Connector != uuid.Nil {
			parameters.Set("connector", out.Connector.String())
		}
		out.ReturnTo = WithQuery(flow.ReturnTo, parameters)
	}
	return out, nil
}

func (g *Grants) complete(ctx context.Context, p *providerClient, flow pendingConnection, r Callback) (Outcome, error) {
	if r.Error != "" {
		refused := &ProviderError{Provider: p.Name, Op: "ask the person", Code: line(r.Error, maxErrorCode), Reason: line(r.Description, maxReason)}
		return Outcome{}, apiError(p, refused)
	}
	if r.Code == "" {
		return Outcome{}, apierr.Invalid("code", "is required")
	}
	if missing := p.missing(p.client); len(missing) > 0 {
		_, err := g.provider(p.Name)
		return Outcome{}, err
	}
	ctx = asSystem(ctx, flow.Workspace)
	check := g.checkEditor
	if flow.Integration != uuid.Nil {
		check = func(ctx context.Context, flow pendingConnection) (*ent.User, error) {
			person, _, err := g.checkMember(ctx, flow)
			return person, err
		}
	}
	person, err := check(ctx, flow)
	if err != nil {
		return Outcome{}, err
	}
	// The browser has no session. The person who started the connection is the
	// actor.
	ctx = asSystem(viewer.With(ctx, viewer.Viewer{
		Workspace: flow.Workspace, Subject: flow.Person, Kind: viewer.KindSession, Email: person.Email,
	}), flow.Workspace)
	made, err := p.forScopes(flow.Scopes).exchange(ctx, r.Code, flow.Verifier)
	if err != nil {
		return Outcome{}, apiError(p, err)
	}
	if name := p.fetchAccount(ctx, made.Access); name != "" {
		made.account = name
	}
	// The grant exists at the provider even if the browser is gone.
	if flow.Integration != uuid.Nil {
		return g.storeToolGrant(context.WithoutCancel(ctx), p, flow, made)
	}
	return g.storeGrant(context.WithoutCancel(ctx), p, flow, made)
}

// apiError converts an error of a provider into one of the API.
func apiError(p *providerClient, err error) error {
	var e *ProviderError
	if !errors.As(err, &e) {
		return apierr.Wrap("speak with "+p.Name, err)
	}
	code := apierr.InvalidRequest
	switch {
	case e.Op != "ask the person" && e.Temporary():
		code = apierr.Unavailable
	case e.Code == "invalid_client" || e.Code == "unauthorized_client" || e.Status == http.StatusUnauthorized:
		return &apierr.Error{
			Code: apierr.Unavailable, Message: p.Title + " does not know this service's client; the operator has to look at its settings", Op: "oauth", Cause: e,
		}
	}
	text := p.Title + " did not grant access"
	if e.Code != "" {
		text += ": " + e.Code
	}
	if e.Reason != "" {
		text += " (" + e.Reason + ")"
	}
	return &apierr.Error{Code: code, Message: text, RetryAfter: e.RetryAfter, Op: "oauth", Cause: e}
}

// checkEditor returns the person who started the connection, or an error if they
// lost the role of an editor since then.
func (g *Grants) checkEditor(ctx context.Context, flow pendingConnection) (*ent.User, error) {
	member, err := g.ent.Membership.Query().Where(membership.WorkspaceID(flow.Workspace), membership.UserID(flow.Person)).WithUser().Only(ctx)
	switch {
	case ent.IsNotFound(err), err == nil && member.Role == membership.RoleViewer:
		return nil, apierr.New(apierr.Forbidden, "Your role does not allow this; it needs the role editor")
	case err != nil:
		return nil, fmt.Errorf("read the membership: %w", err)
	}
	return member.Edges.User, nil
}

// storeGrant stores new tokens. If the connector already has a grant of the same
// account, that grant gets the tokens, so that everything that uses it works again.
func (g *Grants) storeGrant(ctx context.Context, p *providerClient, flow pendingConnection, made tokenResponse) (out Outcome, err error) {
	out = Outcome{Provider: p.Name, Account: made.account, Connector: flow.Connector}
	err = transaction.In(transaction.Outside(ctx), g.ent, func(ctx context.Context, client *ent.Client) error {
		var row *ent.Connector
		var before *ent.OAuthGrant
		if flow.Connector != uuid.Nil {
			if row, err = client.Connector.Query().Where(connector.ID(flow.Connector)).ForUpdate().Only(ctx); ent.IsNotFound(err) {
				return apierr.NotFound("Connector")
			} else if err != nil {
				return fmt.Errorf("read the connector: %w", err)
			}
			// The connector may have changed since the connection started.
			if err := g.CheckHosts(p.Name, row.Type, row.Config); err != nil {
				return err
			}
			if row.GrantID != nil {
				if before, err = client.OAuthGrant.Query().Where(oauthgrant.ID(*row.GrantID)).ForUpdate().Only(ctx); err != nil {
					return fmt.Errorf("read the connector's grant: %w", err)
				}
			}
		}
		if before != nil && before.Provider == p.Name && before.Account != nil && *before.Account == made.account {
			out.Grant = before.ID
			return g.renewGrant(ctx, client, before, flow, made)
		}
		out.Grant = gid.New(gid.OAuthGrant)
		if err := g.createGrant(ctx, client, out.Grant, p, flow, made); err != nil || row == nil {
			return err
		}
		update := client.Connector.UpdateOne(row).SetGrantID(out.Grant).ClearLastError()
		if row.Status == connector.StatusNeedsAuth || row.Status == connector.StatusError {
			update.SetStatus(connector.StatusActive)
		}
		if err := update.Exec(ctx); err != nil {
			return fmt.Errorf("put the grant on the connector: %w", err)
		}
		return g.deleteUnused(ctx, client, before)
	})
	if err != nil {
		return Outcome{}, err
	}
	return out, nil
}

// renewGrant replaces the tokens of an existing grant.
func (g *Grants) renewGrant(ctx context.Context, client *ent.Client, row *ent.OAuthGrant, flow pendingConnection, made tokenResponse) error {
	if made.Refresh == "" {
		// Some providers return a refresh token only at the first consent.
		if old, err := g.open(row); err == nil {
			made.Refresh = old.Refresh
		}
	}
	sealed, err := g.seal(row.ID, made.tokens)
	if err != nil {
		return err
	}
	if err := client.OAuthGrant.UpdateOne(row).SetScopes(sorted(made.scopes)).SetPersonID(flow.Person).Exec(ctx); err != nil {
		return fmt.Errorf("renew the grant: %w", err)
	}
	if err := replaceTokens(ctx, client, row, sealed, g.now(), g.expiry(made.lifetime)); err != nil {
		return fmt.Errorf("renew the grant: %w", err)
	}
	return nil
}

func (g *Grants) createGrant(ctx context.Context, client *ent.Client, id uuid.UUID, p *providerClient, flow pendingConnection, made tokenResponse) error {
	sealed, err := g.seal(id, made.tokens)
	if err != nil {
		return err
	}
	create := client.OAuthGrant.Create().SetID(id).SetProvider(p.Name).SetPersonID(flow.Person).SetScopes(sorted(made.scopes)).
		SetTokens(sealed).SetRefreshedAt(g.now()).SetNillableExpiresAt(g.expiry(made.lifetime))
	if made.account != "" {
		create.SetAccount(made.account)
	}
	if err := create.Exec(ctx); err != nil {
		return fmt.Errorf("keep the grant: %w", err)
	}
	return nil
}

// deleteUnused deletes a grant that no connector uses. It does not revoke the
// tokens: some providers would revoke the new tokens of the same person, too.
func (g *Grants) deleteUnused(ctx context.Context, client *ent.Client, row *ent.OAuthGrant) error {
	if row == nil {
		return nil
	}
	used, err := client.Connector.Query().Where(connector.GrantID(row.ID)).Exist(ctx)
	if err == nil && !used {
		err = client.OAuthGrant.DeleteOneID(row.ID).Exec(ctx)
	}
	if err != nil {
		return fmt.Errorf("forget the grant before: %w", err)
	}
	return nil
}
