package oauth

import (
	"slices"
	"strings"
	"time"
)

// Provider is a service that issues OAuth grants.
type Provider struct {
	// Name is the identifier in the API and in settings, Title the name for people.
	Name, Title string
	// Base is the default address, which the operator can override. It is empty if
	// every customer has an own address.
	Base string
	// Auth, Token, Revoke and Account are the endpoints: addresses, or paths below
	// Base. Revoke and Account may be empty. AccountAtBase replaces Account if the
	// operator overrides Base.
	Auth, Token, Revoke, Account, AccountAtBase string
	// Scopes are the requested scopes.
	Scopes []string
	// ConnectorTypes are the types of connectors that can use the grants.
	ConnectorTypes []string

	separator   string            // between scopes; default: a space
	parameters  map[string]string // further parameters of the authorization request
	basic       bool              // authenticate the client by header, not in the form
	jsonBody    bool              // send JSON to the token endpoint, not a form
	accountKeys []string          // fields with the name of the account in the response of Account or Token, best first
	details     []string          // further fields of the token response that connectors need
	lifetime    time.Duration     // of an access token if the response does not say
}

// AllProviders returns all providers in the order of their names.
func AllProviders() []Provider {
	return []Provider{
		{ //nolint:gosec // addresses and names, no credentials
			Name: "atlassian", Title: "Atlassian", Base: "https://auth.atlassian.com",
			Auth: "/authorize", Token: "/oauth/token", Account: "https://api.atlassian.com/me",
			// Version 2 of Confluence's API needs the granular scopes, version 1
			// the classic ones.
			Scopes: []string{"offline_access", "read:me", "read:confluence-content.all", "read:confluence-space.summary", "read:confluence-user",
				"read:confluence-groups", "search:confluence", "readonly:content.attachment:confluence", "read:space:confluence", "read:page:confluence",
				"read:folder:confluence", "read:attachment:confluence", "read:label:confluence", "read:user:confluence", "read:jira-work", "read:jira-user"},
			ConnectorTypes: []string{"confluence", "jira"},
			parameters:     map[string]string{"audience": "api.atlassian.com", "prompt": "consent"},
			accountKeys:    []string{"email", "name"},
		},
		{ //nolint:gosec // addresses and names, no credentials
			Name: "github", Title: "GitHub", Base: "https://github.com",
			Auth: "/login/oauth/authorize", Token: "/login/oauth/access_token", Account: "https://api.github.com/user", AccountAtBase: "/api/v3/user",
			Scopes: []string{"repo", "read:org"}, ConnectorTypes: []string{"github"}, accountKeys: []string{"login"},
		},
		{ //nolint:gosec // addresses and names, no credentials
			Name: "gitlab", Title: "GitLab", Base: "https://gitlab.com",
			Auth: "/oauth/authorize", Token: "/oauth/token", Revoke: "/oauth/revoke", Account: "/api/v4/user",
			Scopes: []string{"read_api", "read_repository"}, ConnectorTypes: []string{"gitlab"}, accountKeys: []string{"username"},
		},
		{ //nolint:gosec // addresses and names, no credentials
			Name: "google", Title: "Google", Base: "https://accounts.google.com",
			Auth: "/o/oauth2/v2/auth", Token: "https://oauth2.googleapis.com/token", Revoke: "https://oauth2.googleapis.com/revoke",
			Account: "https://openidconnect.googleapis.com/v1/userinfo",
			Scopes:  []string{"openid", "email", "https://www.googleapis.com/auth/drive.readonly"}, ConnectorTypes: []string{"google_drive"},
			parameters:  map[string]string{"access_type": "offline", "prompt": "consent"}, // without prompt, the second consent gives no refresh token
			accountKeys: []string{"email"},
		},
		{ //nolint:gosec // addresses and names, no credentials
			Name: "hubspot", Title: "HubSpot", Base: "https://app.hubspot.com",
			Auth: "/oauth/authorize", Token: "https://api.hubapi.com/oauth/v1/token",
			Scopes: []string{"oauth", "crm.objects.contacts.read", "crm.objects.companies.read", "crm.objects.deals.read", "tickets", "sales-email-read",
				"crm.objects.owners.read", "crm.schemas.contacts.read", "crm.schemas.companies.read", "crm.schemas.deals.read"},
			ConnectorTypes: []string{"hubspot"},
		},
		{ //nolint:gosec // addresses and names, no credentials
			Name: "microsoft", Title: "Microsoft", Base: "https://login.microsoftonline.com/common",
			Auth: "/oauth2/v2.0/authorize", Token: "/oauth2/v2.0/token", Account: "https://graph.microsoft.com/v1.0/me",
			Scopes: []string{"offline_access", "User.Read", "Files.Read.All", "Sites.Read.All"}, ConnectorTypes: []string{"sharepoint"},
			parameters: map[string]string{"prompt": "select_account"}, accountKeys: []string{"mail", "userPrincipalName"},
		},
		{ //nolint:gosec // addresses and names, no credentials
			Name: "notion", Title: "Notion", Base: "https://api.notion.com",
			Auth: "/v1/oauth/authorize", Token: "/v1/oauth/token",
			ConnectorTypes: []string{"notion"}, parameters: map[string]string{"owner": "user"},
			basic: true, jsonBody: true, accountKeys: []string{"workspace_name"},
		},
		{ //nolint:gosec // addresses and names, no credentials
			Name: "salesforce", Title: "Salesforce", Base: "https://login.salesforce.com",
			Auth: "/services/oauth2/authorize", Token: "/services/oauth2/token", Revoke: "/services/oauth2/revoke", Account: "/services/oauth2/userinfo",
			Scopes: []string{"api", "refresh_token", "openid"}, ConnectorTypes: []string{"salesforce"},
			accountKeys: []string{"preferred_username", "email"}, details: []string{"instance_url"}, lifetime: time.Hour,
		},
		{ //nolint:gosec // addresses and names, no credentials
			Name: "servicenow", Title: "ServiceNow", // every customer has an own address
			Auth: "/oauth_auth.do", Token: "/oauth_token.do", Revoke: "/oauth_revoke_token.do",
			Scopes: []string{"useraccount"}, ConnectorTypes: []string{"servicenow"},
		},
		{ //nolint:gosec // addresses and names, no credentials
			Name: "slack", Title: "Slack", Base: "https://slack.com",
			Auth: "/oauth/v2/authorize", Token: "/api/oauth.v2.access",
			Scopes:         []string{"channels:history", "channels:read", "groups:history", "groups:read", "users:read", "users:read.email", "files:read", "team:read"},
			ConnectorTypes: []string{"slack"}, separator: ",", accountKeys: []string{"team.name"}, details: []string{"team.id"},
		},
	}
}

// Client is the operator's configuration of a provider. Empty fields keep the
// defaults of the provider.
type Client struct {
	ID, Secret string
	// URL replaces Base; the others are full addresses.
	URL, AuthURL, TokenURL, RevokeURL, AccountURL string
	Scopes                                        []string
}

// with returns the provider with the configuration of the operator.
func (p Provider) with(c Client) Provider {
	at := func(endpoint, override string) string {
		switch {
		case override != "":
			return override
		case strings.HasPrefix(endpoint, "/") && p.base(c) == "":
			return ""
		case strings.HasPrefix(endpoint, "/"):
			return strings.TrimRight(p.base(c), "/") + endpoint
		default:
			return endpoint
		}
	}
	if c.URL != "" && p.AccountAtBase != "" {
		p.Account = p.AccountAtBase
	}
	p.Auth, p.Token, p.Revoke, p.Account = at(p.Auth, c.AuthURL), at(p.Token, c.TokenURL), at(p.Revoke, c.RevokeURL), at(p.Account, c.AccountURL)
	if len(c.Scopes) > 0 {
		p.Scopes = slices.Clone(c.Scopes)
	}
	return p
}

func (p Provider) base(c Client) string {
	if c.URL != "" {
		return c.URL
	}
	return p.Base
}

// missing returns the names of the settings that the provider still needs.
func (p Provider) missing(c Client) []string {
	prefix := "OAUTH_" + strings.ToUpper(p.Name) + "_"
	var names []string
	if c.ID == "" {
		names = append(names, prefix+"CLIENT_ID")
	}
	if c.Secret == "" {
		names = append(names, prefix+"CLIENT_SECRET")
	}
	if made := p.with(c); made.Auth == "" || made.Token == "" {
		names = append(names, prefix+"URL")
	}
	return names
}

// Serves reports whether connectors of a type can use grants of the provider.
func (p Provider) Serves(connectorType string) bool {
	return slices.Contains(p.ConnectorTypes, connectorType)
}
