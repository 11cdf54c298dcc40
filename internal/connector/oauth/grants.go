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

// Options of Grants. Flows, Secrets, BaseURL and Clients are needed.
type Options struct {
	Flows   *Flows
	Secrets *secret.Box
	// BaseURL is the service's own address, below which the callbacks are.
	BaseURL string
	// Origins are further places to which a browser may return.
	Origins []string
	// Clients are what the operator set, by the provider's name.
	Clients map[string]Client
	// Hosts are the hosts that a connector of a type sends the tokens of a grant to
	// because its config says so, by the option that does. Nil: there are none.
	Hosts func(connectorType string, config map[string]any) map[string][]string
	// HTTP speaks with providers; NewHTTPClient when nil.
	HTTP *http.Client
	Log  *slog.Logger
	Now  func() time.Time
	// Lease is how long a renewal may take before another worker counts it as
	// lost: a minute when 0.
	Lease time.Duration
}

// Grants makes grants and gives out their access tokens. Close it once.
type Grants struct {
	ent     *ent.Client
	remotes map[string]*remote
	flows   *Flows
	secrets *secret.Box
	places  Places
	hosts   func(connectorType string, config map[string]any) map[string][]string
	log     *slog.Logger
	now     func() time.Time
	lease   time.Duration
	http    *http.Client

	mu      sync.Mutex
	flights map[uuid.UUID]*flight
	running sync.WaitGroup
	closed  bool
}

const defaultLease = time.Minute

// CallbackPath is where a provider sends browsers back to, below BaseURL.
func CallbackPath(provider string) string { return "/api/v1/oauth/callback/" + provider }

// New returns the grants of a database.
func New(client *ent.Client, o Options) *Grants {
	g := &Grants{
		ent: client, remotes: map[string]*remote{}, flows: o.Flows, secrets: o.Secrets, places: NewPlaces(o.BaseURL, o.Origins),
		hosts: o.Hosts, log: o.Log, now: o.Now, lease: o.Lease, http: o.HTTP, flights: map[uuid.UUID]*flight{},
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
	for _, p := range Known() {
		c := o.Clients[p.Name]
		g.remotes[p.Name] = &remote{
			Provider: p.with(c), client: c, redirect: strings.TrimRight(o.BaseURL, "/") + CallbackPath(p.Name), http: g.http,
		}
	}
	return g
}

// Close waits for the renewals that run: what a provider has answered is stored
// before the process ends.
func (g *Grants) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.running.Wait()
	g.http.CloseIdleConnections()
}

// Standing is a provider with whether it is set up here.
type Standing struct {
	Provider
	Configured bool
}

// Providers lists all providers, by name.
func (g *Grants) Providers() []Standing {
	var list []Standing
	for _, p := range Known() {
		at := g.remotes[p.Name]
		list = append(list, Standing{Provider: at.Provider, Configured: len(at.missing(at.client)) == 0})
	}
	return list
}

// Serves reports whether a grant of a provider is of use to connectors of a kind.
func (g *Grants) Serves(provider, connectorType string) bool {
	p, known := g.remotes[provider]
	return known && p.Serves(connectorType)
}

// Suits refuses a connector whose config leads the tokens of a provider's grants
// to a host that is not the provider's: every editor may use the grants of a
// workspace, and nobody is to see their tokens. The error names the option.
func (g *Grants) Suits(provider, connectorType string, config map[string]any) error {
	if g.hosts == nil {
		return nil
	}
	places := g.hosts(connectorType, config)
	for _, option := range slices.Sorted(maps.Keys(places)) {
		for _, origin := range places[option] {
			if !g.Belongs(provider, origin) {
				return apierr.Invalid("config."+option, fmt.Sprintf("leads to %s, which is not of %s, whose OAuth grant would be sent there; "+
					"give credentials of that host in its place", strings.TrimSuffix(strings.TrimPrefix(origin, "https://"), ":443"), provider))
			}
		}
	}
	return nil
}

// Belongs reports whether an origin, such as https://host:443, is one of a
// provider: by https at its usual port, on a host of the provider's endpoints or
// of the service itself, or below one. What an endpoint has set up for itself, its
// own port or plain HTTP, which is for trials on one machine, counts on its host.
func (g *Grants) Belongs(provider, origin string) bool {
	p, known := g.remotes[provider]
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

// provider finds one that is set up.
func (g *Grants) provider(name string) (*remote, error) {
	p, known := g.remotes[name]
	if !known {
		var names []string
		for _, p := range Known() {
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
		return tokens{}, errors.New("the tokens are no JSON object") // the cause could quote them
	}
	return t, nil
}

// expiry is when an access token ends that was given now; nil is never.
func (g *Grants) expiry(lifetime time.Duration) *time.Time {
	if lifetime == 0 {
		return nil
	}
	at := g.now().Add(lifetime)
	return &at
}

// Query returns a query for the grants of a provider; empty for all.
func (g *Grants) Query(ctx context.Context, provider string) *ent.OAuthGrantQuery {
	query := transaction.Client(ctx, g.ent).OAuthGrant.Query()
	if provider != "" {
		query.Where(oauthgrant.Provider(provider))
	}
	return query
}

// Check reports whether the viewer may put a grant on a connector of a kind. The
// error names the field credentials.grant.
func (g *Grants) Check(ctx context.Context, client *ent.Client, id uuid.UUID, connectorType string) error {
	row, err := client.OAuthGrant.Get(ctx, id)
	switch {
	case ent.IsNotFound(err):
		return apierr.NotFound("OAuth grant")
	case err != nil:
		return fmt.Errorf("read the grant: %w", err)
	case !g.Serves(row.Provider, connectorType):
		return apierr.Invalid("credentials.grant", "a connector of type "+connectorType+" cannot use a grant of "+row.Provider)
	case row.Status != oauthgrant.StatusActive:
		return apierr.Invalid("credentials.grant", "the grant does not work any more; connect to "+row.Provider+" again")
	}
	return nil
}

// Revoke forgets a grant of the viewer's workspace and withdraws it at the
// provider. Its connectors need new access. A provider that cannot be reached
// does not keep the grant here: the failure is logged.
func (g *Grants) Revoke(ctx context.Context, id uuid.UUID) error {
	row, err := g.ent.OAuthGrant.Get(ctx, id)
	switch {
	case ent.IsNotFound(err):
		return apierr.NotFound("OAuth grant")
	case err != nil:
		return fmt.Errorf("read the grant: %w", err)
	}
	err = g.inTransaction(ctx, func(tx *ent.Tx) error {
		// Role and workspace are checked by the deletion; the rest follows from it.
		if err := tx.Connector.Update().Where(connector.GrantID(id), connector.StatusNEQ(connector.StatusPaused)).
			SetStatus(connector.StatusNeedsAuth).Exec(ctx); err != nil {
			return fmt.Errorf("mark the connectors: %w", err)
		}
		deleted, err := tx.OAuthGrant.Delete().Where(oauthgrant.ID(id)).Exec(ctx)
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
	p := g.remotes[row.Provider]
	if p == nil {
		return nil
	}
	t, err := g.open(row)
	if err == nil {
		err = p.revoke(ctx, t)
	}
	if err != nil {
		g.log.WarnContext(ctx, "a grant was forgotten, but not withdrawn at its provider",
			slog.String("provider", row.Provider), slog.String("grant", id.String()), slog.Any("error", err))
	}
	return nil
}

func (g *Grants) inTransaction(ctx context.Context, do func(*ent.Tx) error) error {
	tx, err := g.ent.Tx(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := do(tx); err != nil {
		_ = tx.Rollback()
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// system is the context in which a workspace's own rows are written by Magpie.
func system(ctx context.Context, workspace uuid.UUID) context.Context {
	return viewer.With(ctx, viewer.System(workspace))
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
