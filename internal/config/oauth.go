package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// OAuthClient is what the operator set for a service that connectors are
// connected to by OAuth. Empty fields leave what is known of the service.
type OAuthClient struct {
	ID     string
	Secret Secret
	// URL is where a self-hosted one is; the others are whole addresses of endpoints.
	URL, AuthURL, TokenURL, RevokeURL, AccountURL string
	Scopes                                        []string
}

// OAuthProviders are the services that connectors can be connected to by OAuth.
// The settings of each begin with OAUTH_ and its name.
func OAuthProviders() []string {
	return []string{"atlassian", "github", "gitlab", "google", "hubspot", "microsoft", "notion", "salesforce", "servicenow", "slack"}
}

// oauthFields are what can be set of each provider, by the end of the setting's name.
func oauthFields() map[string]func(c *OAuthClient, value string) error {
	address := func(place func(c *OAuthClient) *string) func(c *OAuthClient, value string) error {
		return func(c *OAuthClient, value string) error {
			*place(c) = value
			return web(value)
		}
	}
	return map[string]func(c *OAuthClient, value string) error{
		"CLIENT_ID":     func(c *OAuthClient, value string) error { c.ID = value; return nil },
		"CLIENT_SECRET": func(c *OAuthClient, value string) error { c.Secret = Secret(value); return nil },
		"SCOPES":        func(c *OAuthClient, value string) error { c.Scopes = words(value); return nil },
		"URL":           address(func(c *OAuthClient) *string { return &c.URL }),
		"AUTH_URL":      address(func(c *OAuthClient) *string { return &c.AuthURL }),
		"TOKEN_URL":     address(func(c *OAuthClient) *string { return &c.TokenURL }),
		"REVOKE_URL":    address(func(c *OAuthClient) *string { return &c.RevokeURL }),
		"ACCOUNT_URL":   address(func(c *OAuthClient) *string { return &c.AccountURL }),
	}
}

// oauthNames are the names of all these settings.
func oauthNames() []string {
	var names []string
	for _, provider := range OAuthProviders() {
		for _, field := range slices.Sorted(maps.Keys(oauthFields())) {
			names = append(names, oauthName(provider, field))
		}
	}
	return names
}

func oauthName(provider, field string) string {
	return "OAUTH_" + strings.ToUpper(provider) + "_" + field
}

// oauthClients reads them.
func oauthClients(values map[string]string) (map[string]OAuthClient, error) {
	clients := map[string]OAuthClient{}
	fields := oauthFields()
	for _, provider := range OAuthProviders() {
		var c OAuthClient
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			name := oauthName(provider, field)
			value := strings.TrimSpace(values[name])
			if value == "" {
				continue
			}
			if err := fields[field](&c, value); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		clients[provider] = c
		if (c.ID == "") != (c.Secret == "") {
			return nil, fmt.Errorf("%s: must be set together with %s", oauthName(provider, "CLIENT_ID"), oauthName(provider, "CLIENT_SECRET"))
		}
	}
	return clients, nil
}

// words reads a list that is separated by spaces or commas.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
}
