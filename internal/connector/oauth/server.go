package oauth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/oauthgrant"
	"github.com/magpie-search/magpie/ent/toolconnection"
	"github.com/magpie-search/magpie/ent/toolintegration"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// ErrNoServerGrant says that there is no grant, or none that opens.
var ErrNoServerGrant = errors.New("there is no grant")

// A ServerKey names the grant of a person for an integration or, without a person, the
// one that the integration shares.
type ServerKey struct{ Workspace, Integration, Person uuid.UUID }

// A ServerGrant is a grant at a server that names its own authorization server, which is
// no [Provider]. Whoever knows the server's protocol obtains and renews it.
type ServerGrant struct {
	// Provider is the name of the protocol, as the provider of the grant's row.
	Provider string
	// Content is kept sealed.
	Content []byte
	// Works is false if a person must connect, for the Reason.
	Works     bool
	Reason    string
	Scopes    []string
	ExpiresAt time.Time // zero if unknown
}

// everywhere returns a context in which Magpie itself finds the rows of a key. The rows
// of a person are hidden from the system viewer of the workspace.
func everywhere(ctx context.Context) context.Context {
	return asSystem(transaction.Outside(ctx), uuid.Nil)
}

// connectionOf returns the query of a key's connection.
func connectionOf(client *ent.Client, k ServerKey) *ent.ToolConnectionQuery {
	q := client.ToolConnection.Query().Where(toolconnection.WorkspaceID(k.Workspace), toolconnection.IntegrationID(k.Integration))
	if k.Person == uuid.Nil {
		return q.Where(toolconnection.PersonIDIsNil())
	}
	return q.Where(toolconnection.PersonID(k.Person))
}

// serverRow returns the grant of a key, or nil.
func serverRow(ctx context.Context, client *ent.Client, k ServerKey) (*ent.OAuthGrant, error) {
	connection, err := connectionOf(client, k).Only(ctx)
	if ent.IsNotFound(err) || err == nil && connection.GrantID == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("read the connection: %w", err)
	}
	row, err := client.OAuthGrant.Query().Where(oauthgrant.ID(*connection.GrantID), oauthgrant.WorkspaceID(k.Workspace)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, nil //nolint:nilnil // it was just revoked
	}
	if err != nil {
		return nil, fmt.Errorf("read the grant: %w", err)
	}
	return row, nil
}

// LoadServer returns the content of a grant, or ErrNoServerGrant.
func (g *Grants) LoadServer(ctx context.Context, k ServerKey) ([]byte, error) {
	row, err := serverRow(everywhere(ctx), g.ent, k)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, ErrNoServerGrant
	}
	plain, err := g.secrets.Open(row.Tokens, grantAAD(row.ID))
	if err != nil {
		g.log.WarnContext(ctx, "oauth grant does not open", slog.String("grant", row.ID.String()))
		return nil, ErrNoServerGrant
	}
	return plain, nil
}

// serverLease is the lease that the context of LockServer's function holds.
type serverLease struct {
	grant, lease uuid.UUID
	generation   int
}

type serverLeaseKey struct{}

// LockServer runs f while no other call, in any process, runs one for the same grant. A
// process that died holds the lock for a minute. No connection to the database is kept
// meanwhile.
func (g *Grants) LockServer(ctx context.Context, k ServerKey, f func(ctx context.Context) error) error {
	leave, err := g.enter(ctx, k)
	if err != nil {
		return err
	}
	defer leave()
	for {
		row, err := serverRow(everywhere(ctx), g.ent, k)
		if err != nil {
			return err
		}
		if row == nil {
			return f(ctx)
		}
		now := g.now()
		held := serverLease{grant: row.ID, lease: uuid.New(), generation: row.Generation}
		leased, err := g.ent.OAuthGrant.Update().Where(oauthgrant.ID(row.ID), oauthgrant.Generation(row.Generation),
			oauthgrant.Or(oauthgrant.LeaseUntilIsNil(), oauthgrant.LeaseUntilLTE(now))).
			SetLeaseID(held.lease).SetLeaseUntil(now.Add(g.lease)).Save(everywhere(ctx))
		if err != nil {
			return fmt.Errorf("take the lease of a grant: %w", err)
		}
		if leased == 1 {
			defer g.leaveLease(ctx, held)
			return f(context.WithValue(ctx, serverLeaseKey{}, held))
		}
		if err := sleep(ctx, pollInterval); err != nil {
			return err
		}
	}
}

// enter waits for the turn of a call among those of this process for a key.
func (g *Grants) enter(ctx context.Context, k ServerKey) (leave func(), err error) {
	for {
		g.mu.Lock()
		before, taken := g.turns[k]
		if !taken {
			turn := make(chan struct{})
			g.turns[k] = turn
			g.mu.Unlock()
			return func() {
				g.mu.Lock()
				delete(g.turns, k)
				g.mu.Unlock()
				close(turn)
			}, nil
		}
		g.mu.Unlock()
		select {
		case <-before:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for a new access token: %w", context.Cause(ctx))
		}
	}
}

func (g *Grants) leaveLease(ctx context.Context, held serverLease) {
	err := g.ent.OAuthGrant.Update().Where(oauthgrant.ID(held.grant), oauthgrant.LeaseID(held.lease)).ClearLeaseID().ClearLeaseUntil().
		Exec(everywhere(context.WithoutCancel(ctx)))
	if err != nil {
		g.log.WarnContext(ctx, "oauth grant lease not released", slog.String("grant", held.grant.String()), slog.Any("error", err))
	}
}

// SaveServer keeps a grant and the state of its connection. Inside of LockServer it fails
// if the grant was replaced since.
func (g *Grants) SaveServer(ctx context.Context, k ServerKey, s ServerGrant) error {
	held, _ := ctx.Value(serverLeaseKey{}).(serverLease)
	return transaction.In(everywhere(ctx), g.ent, func(ctx context.Context, client *ent.Client) error {
		if err := lockIntegration(ctx, client, k); err != nil {
			return err
		}
		row, err := serverRow(ctx, client, k)
		switch {
		case err != nil:
			return err
		case row == nil && held.grant != uuid.Nil, row != nil && held.grant == row.ID && held.generation != row.Generation:
			return apierr.New(apierr.Conflict, "The connection was changed meanwhile; try again.")
		case row == nil:
			return g.createServer(ctx, client, k, s)
		}
		return g.replaceServer(ctx, client, k, row, s)
	})
}

// lockIntegration locks the integration of a key until the transaction ends, if the key's
// owner still uses it.
func lockIntegration(ctx context.Context, client *ent.Client, k ServerKey) error {
	row, err := client.ToolIntegration.Query().Where(toolintegration.ID(k.Integration), toolintegration.WorkspaceID(k.Workspace)).ForUpdate().Only(ctx)
	if ent.IsNotFound(err) || err == nil && (row.PersonID != nil && *row.PersonID != k.Person ||
		(row.CredentialsOf == toolintegration.CredentialsOfShared) != (k.Person == uuid.Nil)) {
		return apierr.NotFound("Integration")
	}
	if err != nil {
		return fmt.Errorf("read the integration: %w", err)
	}
	return nil
}

func (s ServerGrant) status() oauthgrant.Status {
	if s.Works {
		return oauthgrant.StatusActive
	}
	return oauthgrant.StatusNeedsAuth
}

func (g *Grants) createServer(ctx context.Context, client *ent.Client, k ServerKey, s ServerGrant) error {
	id := gid.New(gid.OAuthGrant)
	sealed, err := g.secrets.Seal(s.Content, grantAAD(id))
	if err != nil {
		return fmt.Errorf("seal the tokens: %w", err)
	}
	create := client.OAuthGrant.Create().SetID(id).SetWorkspaceID(k.Workspace).SetProvider(s.Provider).SetScopes(sorted(s.Scopes)).
		SetTokens(sealed).SetStatus(s.status())
	if k.Person != uuid.Nil {
		create.SetOwnerID(k.Person)
	}
	if v, ok := viewer.Actor(ctx); ok && v.Kind == viewer.KindSession {
		create.SetPersonID(v.Subject)
	}
	if s.Works {
		create.SetRefreshedAt(g.now())
	} else {
		create.SetLastError(line(s.Reason, maxLastError))
	}
	if !s.ExpiresAt.IsZero() {
		create.SetExpiresAt(s.ExpiresAt)
	}
	if err := create.Exec(ctx); err != nil {
		return fmt.Errorf("keep the grant: %w", err)
	}
	return g.connectServer(ctx, client, k, id, s)
}

func (g *Grants) replaceServer(ctx context.Context, client *ent.Client, k ServerKey, row *ent.OAuthGrant, s ServerGrant) error {
	sealed, err := g.secrets.Seal(s.Content, grantAAD(row.ID))
	if err != nil {
		return fmt.Errorf("seal the tokens: %w", err)
	}
	update := client.OAuthGrant.UpdateOne(row).SetTokens(sealed).SetScopes(sorted(s.Scopes)).SetStatus(s.status()).AddGeneration(1)
	if s.Works {
		update.SetRefreshedAt(g.now()).ClearLastError()
	} else {
		update.SetLastError(line(s.Reason, maxLastError))
	}
	if s.ExpiresAt.IsZero() {
		update.ClearExpiresAt()
	} else {
		update.SetExpiresAt(s.ExpiresAt)
	}
	if err := update.Exec(ctx); err != nil {
		return fmt.Errorf("keep the grant: %w", err)
	}
	return g.connectServer(ctx, client, k, row.ID, s)
}

// connectServer gives a grant to the connection of a key and keeps what state it is in.
func (g *Grants) connectServer(ctx context.Context, client *ent.Client, k ServerKey, grant uuid.UUID, s ServerGrant) error {
	status := toolconnection.StatusNeedsAuth
	if s.Works {
		status = toolconnection.StatusActive
	}
	connection, err := connectionOf(client, k).ForUpdate().Only(ctx)
	switch {
	case ent.IsNotFound(err):
		create := client.ToolConnection.Create().SetWorkspaceID(k.Workspace).SetIntegrationID(k.Integration).SetGrantID(grant).SetStatus(status)
		if k.Person != uuid.Nil {
			create.SetPersonID(k.Person)
		}
		if !s.Works {
			create.SetLastError(line(s.Reason, maxLastError))
		}
		err = create.Exec(ctx)
	case err == nil:
		update := client.ToolConnection.UpdateOne(connection).SetGrantID(grant).SetStatus(status).SetUpdatedAt(g.now())
		if s.Works {
			update.ClearLastError()
		} else {
			update.SetLastError(line(s.Reason, maxLastError))
		}
		err = update.Exec(ctx)
	}
	if err != nil {
		return fmt.Errorf("give the grant to the integration: %w", err)
	}
	return nil
}

// A ServerRequest is the input of BeginServer.
type ServerRequest struct {
	Key ServerKey
	// Content lets FinishServer obtain the grant. It is kept sealed.
	Content []byte
	// Grant is kept if the key has none yet, so that what was registered for it can be
	// used again. It does not work.
	Grant ServerGrant
	// ReturnTo is as in AuthorizationRequest.
	ReturnTo string
	// Browserless says that no browser asked: only the session of the person who begins
	// can finish. A browser that comes back without one is sent to ReturnTo, with
	// oauth=confirm and what it brought in the fragment.
	Browserless bool
}

// BeginServer keeps a connection that waits for the person in ctx, and returns the state
// that the browser brings back. The Authorization has no URL.
func (g *Grants) BeginServer(ctx context.Context, r ServerRequest) (state string, begun Authorization, err error) {
	v, ok := viewer.From(ctx)
	if !ok || v.Kind != viewer.KindSession {
		return "", Authorization{}, apierr.New(apierr.Unauthorized, "Session required")
	}
	flow := pendingConnection{
		Provider: r.Grant.Provider, Workspace: v.Workspace, Person: v.Subject, Integration: r.Key.Integration, Shared: r.Key.Person == uuid.Nil, Server: r.Content,
	}
	if !r.Browserless {
		begun.Binding = NewToken()
		flow.Binding = bindingHash(begun.Binding)
	}
	if flow.ReturnTo, err = g.returnTo.Check("redirectUrl", r.ReturnTo); err != nil {
		return "", Authorization{}, err
	}
	err = transaction.In(everywhere(ctx), g.ent, func(ctx context.Context, client *ent.Client) error {
		if err := lockIntegration(ctx, client, r.Key); err != nil {
			return err
		}
		row, err := serverRow(ctx, client, r.Key)
		if err != nil || row != nil {
			return err
		}
		return g.createServer(ctx, client, r.Key, r.Grant)
	})
	if err != nil {
		return "", Authorization{}, err
	}
	state, begun.ExpiresAt, err = g.flows.Put(ctx, connectPurpose, StateLifetime, flow)
	return state, begun, err
}

// FinishServer is Finish for a connection that BeginServer began. obtain gets the context
// of the person, the key and the content; it obtains and saves the grant.
func (g *Grants) FinishServer(ctx context.Context, r Callback, obtain func(ctx context.Context, k ServerKey, content []byte) error) (Outcome, error) {
	return g.finish(ctx, r, func(ctx context.Context, flow pendingConnection) (Outcome, error) {
		if len(flow.Server) == 0 {
			return Outcome{}, apierr.Invalid("state", "is not of a connection to a server")
		}
		ctx = asSystem(ctx, flow.Workspace)
		person, role, err := g.checkMember(ctx, flow)
		if err != nil {
			return Outcome{}, err
		}
		k := ServerKey{Workspace: flow.Workspace, Integration: flow.Integration}
		if !flow.Shared {
			k.Person = flow.Person
		}
		ctx = viewer.With(transaction.Outside(ctx), viewer.Viewer{
			Workspace: flow.Workspace, Subject: flow.Person, Kind: viewer.KindSession, Role: role, Email: person.Email, AllCollections: true,
		})
		if err := obtain(ctx, k, flow.Server); err != nil {
			return Outcome{}, err
		}
		row, err := serverRow(everywhere(ctx), g.ent, k)
		if err != nil {
			return Outcome{}, err
		}
		out := Outcome{Provider: flow.Provider}
		if row != nil {
			out.Grant = row.ID
		}
		return out, nil
	})
}

// confirmation returns the outcome of a redirect that only a session can finish.
func confirmation(flow pendingConnection, r Callback) (Outcome, error) {
	if flow.ReturnTo == "" {
		return Outcome{}, apierr.Invalid("state", "is of a connection that no browser began; send what came back with the session of whoever began")
	}
	brought := url.Values{"oauth": {"confirm"}, "provider": {r.Provider}, "state": {r.State}}
	for name, value := range map[string]string{"code": r.Code, "error": r.Error, "error_description": r.Description, "iss": r.Issuer} {
		if value != "" {
			brought.Set(name, value)
		}
	}
	return Outcome{Provider: r.Provider, ReturnTo: WithFragment(flow.ReturnTo, brought)}, nil
}
