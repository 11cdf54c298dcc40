package wire

import (
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/identity/application"
	"github.com/magpie-search/magpie/internal/identity/people"
	"github.com/magpie-search/magpie/internal/identity/signon"
	"github.com/magpie-search/magpie/internal/tracing"
	"github.com/magpie-search/magpie/rest/mcp"
)

// openGrants creates the OAuth connections of connectors and of integrations with tools.
func (a *App) openGrants() {
	c := a.Config
	flows := oauth.NewFlows(a.DB.Pool, a.Secrets, a.now)
	clients := map[string]oauth.Client{}
	for name, settings := range c.OAuthClients {
		clients[name] = oauth.Client{
			ID: settings.ID, Secret: settings.Secret.Reveal(), URL: settings.URL, AuthURL: settings.AuthURL, TokenURL: settings.TokenURL,
			RevokeURL: settings.RevokeURL, AccountURL: settings.AccountURL, Scopes: settings.Scopes,
		}
	}
	a.Grants = oauth.New(a.DB.Ent, oauth.Options{
		Hosts: func(kind string, config map[string]any) map[string][]string {
			return a.Kinds.GrantOrigins(kind, config)
		}, // a.Kinds is set later
		Flows: flows, Secrets: a.Secrets, BaseURL: c.PublicURL(), Origins: append([]string{c.DashboardAddress()}, c.DashboardOrigins...), Clients: clients, Log: a.Log, Now: a.now,
	})
	a.closers = append(a.closers, func() error { a.Grants.Close(); return nil })
}

// openSignOn creates the sign-in by OpenID and SAML providers, and the connections of
// programs to Magpie.
func (a *App) openSignOn() {
	c := a.Config
	flows := oauth.NewFlows(a.DB.Pool, a.Secrets, a.now)
	workspace, _ := uuid.Parse(c.OIDCAutoJoinWorkspace) // validated with the settings
	a.SignOn = signon.New(a.DB.Ent, a.DB.Pool, flows, a.Accounts, signon.Options{
		Attempts: a.limiter,
		Issuer:   c.OIDCIssuer, ClientID: c.OIDCClientID, ClientSecret: c.OIDCClientSecret.Reveal(), Name: c.OIDCName, Scopes: c.OIDCScopeList(),
		BaseURL: c.PublicURL(), Origins: c.DashboardOrigins, Guests: a.People, Log: a.Log, Now: a.now,
		Join: signon.Join{Domains: c.OIDCJoinDomains(), Workspace: workspace, Role: membership.Role(strings.ToUpper(c.OIDCAutoJoinRole)), Setting: "OIDC_AUTO_JOIN_WORKSPACE"},
	})
	a.closers = append(a.closers, func() error { a.SignOn.Close(); return nil })
	a.SAML = a.newSAML(flows)
	metadata := &http.Transport{DialContext: httpx.NewGuard(c.AllowedPrivateNetworks).DialContext, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute}
	var providers []application.Provider
	if name, _, ok := a.SignOn.Method(); ok {
		providers = append(providers, application.Provider{ID: "oidc", Name: name, SignOn: a.SignOn})
	}
	if name, ok := a.SAML.Method(); ok {
		providers = append(providers, application.Provider{ID: "saml", Name: name, SignOn: a.SAML})
	}
	a.Applications = application.New(application.Options{
		Ent: a.DB.Ent, Accounts: a.Accounts, People: a.People, Providers: providers, Flows: flows, Secrets: a.Secrets, Attempts: a.limiter,
		HTTP:   &http.Client{Transport: tracing.Transport(metadata), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		Issuer: c.PublicURL(), Dashboard: c.DashboardAddress(), Resource: c.PublicURL() + mcp.Path, Log: a.Log, Now: a.now,
	})
	a.closers = append(a.closers, func() error { metadata.CloseIdleConnections(); return nil })
}

// newSAML returns the sign-in by SAML. The settings are validated.
func (a *App) newSAML(flows *oauth.Flows) *signon.SAML {
	c := a.Config
	workspace, _ := uuid.Parse(c.SAMLAutoJoinWorkspace)
	pair, _ := c.SAMLKeyPair()
	groups, _ := config.RoleGroups(c.SAMLRoleGroups) // validated, as the others
	join := signon.Join{
		Domains: c.SAMLJoinDomains(), Workspace: workspace, Role: membership.Role(strings.ToUpper(c.SAMLAutoJoinRole)), Setting: "SAML_AUTO_JOIN_WORKSPACE",
	}
	for _, g := range groups {
		join.Groups = append(join.Groups, signon.GroupRole{Group: g.Group, Role: membership.Role(strings.ToUpper(g.Role))})
	}
	o := signon.SAMLOptions{
		Name: c.SAMLName, EntityID: c.SAMLEntityID, KeyPair: pair, BaseURL: c.PublicURL(), Origins: c.DashboardOrigins,
		EmailAttributes: given(c.SAMLEmailAttribute), NameAttributes: given(c.SAMLNameAttribute), GroupsAttributes: given(c.SAMLGroupsAttribute),
		Join: join, Guests: a.People, Attempts: a.limiter, Log: a.Log, Now: a.now,
	}
	switch {
	case c.SAMLMetadataURL != "":
		client := oauth.NewHTTPClient()
		o.LoadMetadata = signon.FetchMetadata(client, c.SAMLMetadataURL)
		a.closers = append(a.closers, func() error { client.CloseIdleConnections(); return nil })
	case c.SAMLMetadataFile != "":
		o.LoadMetadata = signon.ReadMetadata(c.SAMLMetadataFile)
	}
	return signon.NewSAML(a.DB.Ent, a.DB.Pool, flows, a.Accounts, o)
}

// given returns a list of the text, or none without it.
func given(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// newDirectory returns what directories manage by SCIM.
func (a *App) newDirectory() *people.Directory {
	groups, _ := config.RoleGroups(a.Config.SCIMRoleGroups) // validated with the settings
	o := people.DirectoryOptions{Role: membership.Role(strings.ToUpper(a.Config.SCIMDefaultRole))}
	for _, g := range groups {
		o.GroupRoles = append(o.GroupRoles, people.GroupRole{Group: g.Group, Role: membership.Role(strings.ToUpper(g.Role))})
	}
	return people.NewDirectory(a.People, o)
}
