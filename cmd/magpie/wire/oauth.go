package wire

import (
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/identity/signon"
)

// connect builds what speaks OAuth with other services: connections of
// connectors, and sign-in by an OpenID provider.
func (a *App) connect() {
	c := a.Config
	flows := oauth.NewFlows(a.DB.Pool, a.Secrets, a.now)
	clients := map[string]oauth.Client{}
	for name, set := range c.OAuthClients {
		clients[name] = oauth.Client{
			ID: set.ID, Secret: set.Secret.Reveal(), URL: set.URL, AuthURL: set.AuthURL, TokenURL: set.TokenURL,
			RevokeURL: set.RevokeURL, AccountURL: set.AccountURL, Scopes: set.Scopes,
		}
	}
	a.Grants = oauth.New(a.DB.Ent, oauth.Options{
		Hosts: func(kind string, config map[string]any) map[string][]string {
			return a.Kinds.GrantOrigins(kind, config)
		}, // the kinds come later
		Flows: flows, Secrets: a.Secrets, BaseURL: c.PublicURL(), Origins: c.DashboardOrigins, Clients: clients, Log: a.Log, Now: a.now,
	})
	a.closers = append(a.closers, func() error { a.Grants.Close(); return nil })
	workspace, _ := uuid.Parse(c.OIDCAutoJoinWorkspace) // was validated
	a.SignOn = signon.New(a.DB.Ent, a.DB.Pool, flows, a.Accounts, signon.Options{
		Attempts: a.limiter,
		Issuer:   c.OIDCIssuer, ClientID: c.OIDCClientID, ClientSecret: c.OIDCClientSecret.Reveal(), Name: c.OIDCName, Scopes: c.OIDCScopeList(),
		BaseURL: c.PublicURL(), Origins: c.DashboardOrigins, Guests: a.People, Log: a.Log, Now: a.now,
		Join: signon.Join{Domains: c.OIDCJoinDomains(), Workspace: workspace, Role: membership.Role(strings.ToUpper(c.OIDCAutoJoinRole))},
	})
	a.closers = append(a.closers, func() error { a.SignOn.Close(); return nil })
}
