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
	"github.com/magpie-search/magpie/internal/viewer"
)

// StateLifetime is how long a person has at the provider.
const StateLifetime = 10 * time.Minute

const connectPurpose = "connect"

// pending is a connection on its way.
type pending struct {
	Provider  string    `json:"provider"`
	Workspace uuid.UUID `json:"workspace"`
	Person    uuid.UUID `json:"person"`
	Connector uuid.UUID `json:"connector"` // zero: none
	Place     string    `json:"place"`     // where the browser goes in the end; empty: nowhere
	Verifier  string    `json:"verifier"`  // of PKCE
	Binding   []byte    `json:"binding"`   // SHA-256 of the secret of the browser that began
}

// Start asks for a connection.
type Start struct {
	Provider  string
	Connector *uuid.UUID
	// Place is where the browser goes in the end.
	Place string
}

// Begun is a connection on its way: the provider's address to which the person's
// browser has to go, the secret that it has to come back with, and until when.
type Begun struct {
	Address, Binding string
	ExpiresAt        time.Time
}

// Begin begins a connection. The viewer is a signed-in person with the role of an
// editor, which the caller has checked.
func (g *Grants) Begin(ctx context.Context, s Start) (begun Begun, err error) {
	v, ok := viewer.From(ctx)
	if !ok || v.Kind != viewer.KindSession {
		return Begun{}, apierr.New(apierr.Unauthorized, "Session required")
	}
	p, err := g.provider(s.Provider)
	if err != nil {
		return Begun{}, err
	}
	binding := NewToken()
	flow := pending{Provider: p.Name, Workspace: v.Workspace, Person: v.Subject, Verifier: oauth2.GenerateVerifier(), Binding: bound(binding)}
	if flow.Place, err = g.places.Check("redirectUrl", s.Place); err != nil {
		return Begun{}, err
	}
	if s.Connector != nil {
		row, err := g.ent.Connector.Get(ctx, *s.Connector)
		switch {
		case ent.IsNotFound(err):
			return Begun{}, apierr.NotFound("Connector")
		case err != nil:
			return Begun{}, fmt.Errorf("read the connector: %w", err)
		case !p.Serves(row.Type):
			return Begun{}, apierr.Invalid("connectorId", "a connector of type "+row.Type+" does not use "+p.Name)
		}
		if err := g.Suits(p.Name, row.Type, row.Config); err != nil {
			return Begun{}, err
		}
		flow.Connector = row.ID
	}
	state, expires, err := g.flows.Put(ctx, connectPurpose, StateLifetime, flow)
	if err != nil {
		return Begun{}, err
	}
	return Begun{Address: p.authorization(state, flow.Verifier), Binding: binding, ExpiresAt: expires}, nil
}

func bound(binding string) []byte {
	sum := sha256.Sum256([]byte(binding))
	return sum[:]
}

// Return is what a provider sent the browser back with.
type Return struct {
	Provider, State, Code, Error, Description string
	// Binding is the secret of the browser that came back; empty for none.
	Binding string
}

// Outcome is how a connection ended.
type Outcome struct {
	Provider string
	// Grant and Connector are zero where there is none.
	Grant, Connector uuid.UUID
	Account          string
	// Place is where the browser goes, with the outcome in its query; empty for nowhere.
	Place string
}

// Finish ends a connection: it takes the state, which works once, exchanges the
// code and keeps the grant. The state says who began, and the binding that it is
// their browser that comes back: nobody can have somebody else agree at the
// provider, or finish with another account than that of whoever began. A session
// of that person in that workspace does in the place of the binding; a session
// that is there all the same has to be theirs.
//
// A wrong state or binding is an invalid_request, and the browser is sent nowhere;
// a wrong binding leaves the connection to the browser that began it. What goes
// wrong later is told at the place that the beginning named, else as an error.
func (g *Grants) Finish(ctx context.Context, r Return) (Outcome, error) {
	p, known := g.remotes[r.Provider]
	if !known {
		return Outcome{}, apierr.NotFound("Provider")
	}
	var flow pending
	err := g.flows.Peek(ctx, connectPurpose, r.State, &flow)
	v, ok := viewer.From(ctx)
	session := ok && v.Kind == viewer.KindSession
	if err == nil && !session && subtle.ConstantTimeCompare(bound(r.Binding), flow.Binding) != 1 {
		return Outcome{}, apierr.Invalid("state", "is of a connection that another browser began; begin it in this one, or send what came back with the session of whoever began")
	}
	if err == nil || errors.Is(err, ErrNoFlow) { // what has expired is forgotten
		err = g.flows.Take(ctx, connectPurpose, r.State, &flow)
	}
	if err == nil && flow.Provider != p.Name {
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
	out, err := g.complete(ctx, p, flow, r)
	if err != nil {
		var failed *apierr.Error
		if flow.Place == "" || !errors.As(err, &failed) || failed.Code == apierr.Internal {
			return Outcome{}, err
		}
		g.log.InfoContext(ctx, "a connection was not made", slog.String("provider", p.Name), slog.Any("error", err))
		code := string(failed.Code)
		var refused *ProviderError
		if errors.As(err, &refused) && refused.Code != "" {
			code = refused.Code
		}
		return Outcome{Provider: p.Name, Place: WithQuery(flow.Place, url.Values{
			"oauth": {"failed"}, "provider": {p.Name}, "error": {code}, "error_description": {failed.Message},
		})}, nil
	}
	if flow.Place != "" {
		parameters := url.Values{"oauth": {"connected"}, "provider": {p.Name}, "grant": {out.Grant.String()}}
		if out.Connector != uuid.Nil {
			parameters.Set("connector", out.Connector.String())
		}
		out.Place = WithQuery(flow.Place, parameters)
	}
	return out, nil
}

func (g *Grants) complete(ctx context.Context, p *remote, flow pending, r Return) (Outcome, error) {
	if r.Error != "" {
		refused := &ProviderError{Provider: p.Name, Op: "ask the person", Code: printable(r.Error, 64), Reason: printable(r.Description, maxReason)}
		return Outcome{}, shown(p, refused)
	}
	if r.Code == "" {
		return Outcome{}, apierr.Invalid("code", "is required")
	}
	if missing := p.missing(p.client); len(missing) > 0 {
		_, err := g.provider(p.Name)
		return Outcome{}, err
	}
	ctx = system(ctx, flow.Workspace)
	person, err := g.stillAllowed(ctx, flow)
	if err != nil {
		return Outcome{}, err
	}
	// The browser comes without a session; what is done now is done by who began.
	ctx = system(viewer.With(ctx, viewer.Viewer{
		Workspace: flow.Workspace, Subject: flow.Person, Kind: viewer.KindSession, Email: person.Email,
	}), flow.Workspace)
	made, err := p.exchange(ctx, r.Code, flow.Verifier)
	if err != nil {
		return Outcome{}, shown(p, err)
	}
	if name := p.account(ctx, made.Access); name != "" {
		made.account = name
	}
	// The browser may have left: the grant exists at the provider all the same.
	return g.keep(context.WithoutCancel(ctx), p, flow, made)
}

// shown turns a provider's error into one of the interface.
func shown(p *remote, err error) error {
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
	return &apierr.Error{Code: code, Message: text, RetryAfter: e.After, Op: "oauth", Cause: e}
}

// stillAllowed is the person who began, if they may still do so: minutes have
// passed.
func (g *Grants) stillAllowed(ctx context.Context, flow pending) (*ent.User, error) {
	member, err := g.ent.Membership.Query().Where(membership.WorkspaceID(flow.Workspace), membership.UserID(flow.Person)).WithUser().Only(ctx)
	switch {
	case ent.IsNotFound(err), err == nil && member.Role == membership.RoleViewer:
		return nil, apierr.New(apierr.Forbidden, "Your role does not allow this; it needs the role editor")
	case err != nil:
		return nil, fmt.Errorf("read the membership: %w", err)
	}
	return member.Edges.User, nil
}

// keep stores what was granted: in the grant that the connector has, when that
// is for the same account, so that everything that uses it works again; else in
// a new one.
func (g *Grants) keep(ctx context.Context, p *remote, flow pending, made issued) (out Outcome, err error) {
	out = Outcome{Provider: p.Name, Account: made.account, Connector: flow.Connector}
	err = g.inTransaction(ctx, func(tx *ent.Tx) error {
		var row *ent.Connector
		var before *ent.OAuthGrant
		if flow.Connector != uuid.Nil {
			if row, err = tx.Connector.Query().Where(connector.ID(flow.Connector)).ForUpdate().Only(ctx); ent.IsNotFound(err) {
				return apierr.NotFound("Connector")
			} else if err != nil {
				return fmt.Errorf("read the connector: %w", err)
			}
			// It may have been changed since the connection began.
			if err := g.Suits(p.Name, row.Type, row.Config); err != nil {
				return err
			}
			if row.GrantID != nil {
				if before, err = tx.OAuthGrant.Query().Where(oauthgrant.ID(*row.GrantID)).ForUpdate().Only(ctx); err != nil {
					return fmt.Errorf("read the connector's grant: %w", err)
				}
			}
		}
		if before != nil && before.Provider == p.Name && before.Account != nil && *before.Account == made.account {
			out.Grant = before.ID
			return g.again(ctx, tx, before, flow, made)
		}
		out.Grant = gid.New(gid.OAuthGrant)
		if err := g.create(ctx, tx, out.Grant, p, flow, made); err != nil || row == nil {
			return err
		}
		update := tx.Connector.UpdateOne(row).SetGrantID(out.Grant).ClearLastError()
		if row.Status == connector.StatusNeedsAuth || row.Status == connector.StatusError {
			update.SetStatus(connector.StatusActive)
		}
		if err := update.Exec(ctx); err != nil {
			return fmt.Errorf("put the grant on the connector: %w", err)
		}
		return g.drop(ctx, tx, before)
	})
	if err != nil {
		return Outcome{}, err
	}
	return out, nil
}

// again puts new tokens into a grant.
func (g *Grants) again(ctx context.Context, tx *ent.Tx, row *ent.OAuthGrant, flow pending, made issued) error {
	if made.Refresh == "" {
		// Some services give the refresh token at the first consent only.
		if old, err := g.open(row); err == nil {
			made.Refresh = old.Refresh
		}
	}
	sealed, err := g.seal(row.ID, made.tokens)
	if err != nil {
		return err
	}
	if err := tx.OAuthGrant.UpdateOne(row).SetScopes(sorted(made.scopes)).SetPersonID(flow.Person).Exec(ctx); err != nil {
		return fmt.Errorf("renew the grant: %w", err)
	}
	if err := replace(ctx, tx, row, sealed, g.now(), g.expiry(made.lifetime)); err != nil {
		return fmt.Errorf("renew the grant: %w", err)
	}
	return nil
}

func (g *Grants) create(ctx context.Context, tx *ent.Tx, id uuid.UUID, p *remote, flow pending, made issued) error {
	sealed, err := g.seal(id, made.tokens)
	if err != nil {
		return err
	}
	create := tx.OAuthGrant.Create().SetID(id).SetProvider(p.Name).SetPersonID(flow.Person).SetScopes(sorted(made.scopes)).
		SetTokens(sealed).SetRefreshedAt(g.now()).SetNillableExpiresAt(g.expiry(made.lifetime))
	if made.account != "" {
		create.SetAccount(made.account)
	}
	if err := create.Exec(ctx); err != nil {
		return fmt.Errorf("keep the grant: %w", err)
	}
	return nil
}

// drop forgets a grant that nothing uses any more. It is not withdrawn at the
// provider: for some, that would end the new one of the same person, too.
func (g *Grants) drop(ctx context.Context, tx *ent.Tx, row *ent.OAuthGrant) error {
	if row == nil {
		return nil
	}
	used, err := tx.Connector.Query().Where(connector.GrantID(row.ID)).Exist(ctx)
	if err == nil && !used {
		err = tx.OAuthGrant.DeleteOneID(row.ID).Exec(ctx)
	}
	if err != nil {
		return fmt.Errorf("forget the grant before: %w", err)
	}
	return nil
}
