package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/oauthgrant"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Options configure Grants. Flows, Secrets, BaseURL and Clients are required.
type Options struct {
	Flows   *Flows
	Secrets *secret.Box
	// BaseURL is the address of the service. The callbacks are below it.
	BaseURL string
	// Origins are further origins that a browser may be redirected to.
	Origins []string
	// Clients are the OAuth clients by the name of the provider.
	Clients map[string]Client
	// Hosts returns the hosts that a connector's config sends tokens to, by the
	// name of the option. Nil means none.
	Hosts func(connectorType string, config map[string]any) map[string][]string
	// HTTP sends requests to providers. Default: NewHTTPClient.
	HTTP *http.Client
	Log  *slog.Logger
	Now  func() time.Time
	// Lease is how long a renewal may take before another worker repeats it.
	// Default: a minute.
	Lease time.Duration
}

// Grants creates OAuth grants and returns their access tokens. Call Close at the
// end.
type Grants struct {
	ent       *ent.Client
	providers map[string]*providerClient
	flows     *Flows
	secrets   *secret.Box
	returnTo  ReturnOrigins
	hosts     func(connectorType string, config map[string]any) map[string][]string
	log       *slog.Logger
	now       func() time.Time
	lease     time.Duration
	http      *http.Client

	mu       sync.Mutex
	renewals map[uuid.UUID]*renewal
	turns    map[ServerKey]chan struct{} // closed at the end of the turn
	running  sync.WaitGroup
	closed   bool
}

const defaultLease = time.Minute

// CallbackPath returns the path below BaseURL that a provider redirects browsers
// to.
func CallbackPath(provider string) string { return "/api/v1/oauth/callback/" + provider }

// New returns the grants in a database.
func New(client *ent.Client, o Options) *Grants {
	g := &Grants{
		ent: client, providers: map[string]*providerClient{}, flows: o.Flows, secrets: o.Secrets, returnTo: NewReturnOrigins(o.BaseURL, o.Origins),
		hosts: o.Hosts, log: o.Log, now: o.Now, lease: o.Lease, http: o.HTTP, renewals: map[uuid.UUID]*renewal{}, turns: map[ServerKey]chan struct{}{},
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if g.now == nil {
		g.now = time.Now
	}
	if g.lease == 0 {
		g.lease = defaultLease
	}
	if g.http == nil {
		g.http = NewHTTPClient()
	}
	for _, p := range AllProviders() {
		c := o.Clients[p.Name]
		g.providers[p.Name] = &providerClient{
			Provider: p.with(c), client: c, redirect: strings.TrimRight(o.BaseURL, "/") + CallbackPath(p.Name), http: g.http,
		}
	}
	return g
}

// Close waits for running renewals, so that no new refresh token is lost.
func (g *Grants) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.running.Wait()
	g.http.CloseIdleConnections()
}

// ProviderStatus is a provider and whether the operator has configured it.
type ProviderStatus struct {
	Provider
	Configured bool
}

// Providers returns all providers in the order of their names.
func (g *Grants) Providers() []ProviderStatus {
	var list []ProviderStatus
	for _, p := range AllProviders() {
		at := g.providers[p.Name]
		list = append(list, ProviderStatus{Provider: at.Provider, Configured: len(at.missing(at.client)) == 0})
	}
	return list
}

// Serves reports whether connectors of a type can use grants of the provider.
func (g *Grants) Serves(provider, connectorType string) bool {
	p, known := g.providers[provider]
	return known && p.Serves(connectorType)
}

// CheckHosts returns an error if the config of a connector sends tokens of the
// provider to a host of somebody else: every editor may use the workspace's grants,
// but nobody may see their tokens. The error names the option.
func (g *Grants) CheckHosts(provider, connectorType string, config map[string]any) error {
	if g.hosts == nil {
		return nil
	}
	origins := g.hosts(connectorType, config)
	for _, option := range slices.Sorted(maps.Keys(origins)) {
		for _, origin := range origins[option] {
			if !g.OwnsOrigin(provider, origin) {
				return apierr.Invalid("config."+option, fmt.Sprintf("leads to %s, which is not of %s, whose OAuth grant would be sent there; "+
					"give credentials of that host in its place", strings.TrimSuffix(strings.TrimPrefix(origin, "https://"), ":443"), provider))
			}
		}
	}
	return nil
}

// OwnsOrigin reports whether an origin, such as https://host:443, belongs to a
// provider: it uses HTTPS on port 443 and its host is that of an endpoint or a
// subdomain. The scheme and port of a configured endpoint are accepted for the same
// host, which allows plain HTTP for tests.
func (g *Grants) OwnsOrigin(provider, origin string) bool {
	p, known := g.providers[provider]
	at, err := url.Parse(strings.ToLower(origin))
	if !known || err != nil || at.Hostname() == "" {
		return false
	}
	usual := at.Scheme == "https" && (at.Port() == "" || at.Port() == "443")
	for _, address := range []string{p.client.URL, p.Base, p.Auth, p.Token, p.Account} {
		u, err := url.Parse(strings.ToLower(address))
		if err != nil || u.Hostname() == "" {
			continue
		}
		switch own := u.Hostname(); {
		case at.Hostname() == own && (usual || u.Scheme == "http" || at.Scheme == u.Scheme && at.Port() == u.Port()):
			return true
		case usual && strings.HasSuffix(at.Hostname(), "."+own):
			return true
		}
	}
	return false
}

// provider returns a configured provider.
func (g *Grants) provider(name string) (*providerClient, error) {
	p, known := g.providers[name]
	if !known {
		var names []string
		for _, p := range AllProviders() {
			names = append(names, p.Name)
		}
		return nil, apierr.Invalid("provider", "must be one of "+strings.Join(names, ", "))
	}
	if missing := p.missing(p.client); len(missing) > 0 {
		return nil, apierr.Invalid("provider", name+" is not set up here; the operator sets "+strings.Join(missing, " and "))
	}
	return p, nil
}

func grantAAD(id uuid.UUID) []byte { return secret.AAD("oauth_grants", id.String()) }

func (g *Grants) seal(id uuid.UUID, t tokens) ([]byte, error) {
	plain, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("encode the tokens: %w", err)
	}
	sealed, err := g.secrets.Seal(plain, grantAAD(id))
	if err != nil {
		return nil, fmt.Errorf("seal the tokens: %w", err)
	}
	return sealed, nil
}

func (g *Grants) open(row *ent.OAuthGrant) (tokens, error) {
	plain, err := g.secrets.Open(row.Tokens, grantAAD(row.ID))
	if err != nil {
		return tokens{}, fmt.Errorf("open the tokens: %w", err)
	}
	var t tokens
	if json.Unmarshal(plain, &t) != nil {
		return tokens{}, errors.New("the tokens are no JSON object") // the cause may quote the tokens
	}
	return t, nil
}

// expiry returns the time at which an access token of this lifetime expires, or nil
// if the lifetime is 0.
func (g *Grants) expiry(lifetime time.Duration) *time.Time {
	if lifetime == 0 {
		return nil
	}
	at := g.now().Add(lifetime)
	return &at
}

// Query returns a query for the grants of a provider, or of all if it is empty.
func (g *Grants) Query(ctx context.Context, provider string) *ent.OAuthGrantQuery {
	query := transaction.Client(ctx, g.ent).OAuthGrant.Query()
	if provider != "" {
		query.Where(oauthgrant.Provider(provider))
	}
	return query
}

// Check returns an error if a connector of the type cannot use the grant. The error
// names the field credentials.grant.
func (g *Grants) Check(ctx context.Context, client *ent.Client, id uuid.UUID, connectorType string) error {
	row, err := client.OAuthGrant.Get(ctx, id)
	switch {
	case ent.IsNotFound(err):
		return apierr.NotFound("OAuth grant")
	case err != nil:
		return fmt.Errorf("read the grant: %w", err)
	case row.OwnerID != nil:
		return apierr.Invalid("credentials.grant", "is one person's, for tools; connect the connector itself")
	case !g.Serves(row.Provider, connectorType):
		return apierr.Invalid("credentials.grant", "a connector of type "+connectorType+" cannot use a grant of "+row.Provider)
	case row.Status != oauthgrant.StatusActive:
		return apierr.Invalid("credentials.grant", "the grant does not work any more; connect to "+row.Provider+" again")
	}
	return nil
}

// Revoke deletes a grant of the viewer's workspace and revokes it at the provider.
// Its connectors need a new grant. If the provider fails, the failure is logged.
func (g *Grants) Revoke(ctx context.Context, id uuid.UUID) error {
	row, err := g.ent.OAuthGrant.Get(ctx, id)
	switch {
	case ent.IsNotFound(err):
		return apierr.NotFound("OAuth grant")
	case err != nil:
		return fmt.Errorf("read the grant: %w", err)
	}
	err = transaction.In(transaction.Outside(ctx), g.ent, func(ctx context.Context, client *ent.Client) error {
		// The deletion below checks role and workspace.
		if err := client.Connector.Update().Where(connector.GrantID(id), connector.StatusNEQ(connector.StatusPaused)).
			SetStatus(connector.StatusNeedsAuth).Exec(ctx); err != nil {
			return fmt.Errorf("mark the connectors: %w", err)
		}
		deleted, err := client.OAuthGrant.Delete().Where(oauthgrant.ID(id)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("delete the grant: %w", err)
		}
		if deleted == 0 {
			return apierr.NotFound("OAuth grant")
		}
		return nil
	})
	if err != nil {
		return err
	}
	p := g.providers[row.Provider]
	if p == nil {
		return nil
	}
	t, err := g.open(row)
	if err == nil {
		err = p.revoke(ctx, t)
	}
	if err != nil {
		g.log.WarnContext(ctx, "oauth grant not revoked at its provider",
			slog.String("provider", row.Provider), slog.String("grant", id.String()), slog.Any("error", err))
	}
	return nil
}

// asSystem returns a context in which Magpie itself acts in a workspace.
func asSystem(ctx context.Context, workspace uuid.UUID) context.Context {
	return viewer.With(ctx, viewer.System(workspace))
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
