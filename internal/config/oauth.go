package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// An OAuthClient has the settings of a service that connectors use through OAuth.
// Empty fields keep the defaults of the service.
type OAuthClient struct {
	ID     string
	Secret Secret
	// URL is the address of a self-hosted service. The others are addresses of
	// endpoints.
	URL, AuthURL, TokenURL, RevokeURL, AccountURL string
	Scopes                                        []string
}

// OAuthProviders returns the services that connectors can use through OAuth. The
// settings of each begin with OAUTH_ and its name.
func OAuthProviders() []string {
	return []string{"atlassian", "github", "gitlab", "google", "hubspot", "microsoft", "notion", "salesforce", "servicenow", "slack"}
}

// oauthFields returns the setters of the settings of a provider, by the suffix of
// the setting.
func oauthFields() map[string]func(c *OAuthClient, value string) error {
	address := func(field func(c *OAuthClient) *string) func(c *OAuthClient, value string) error {
		return func(c *OAuthClient, value string) error {
			*field(c) = value
			return checkWebURL(value)
		}
	}
	return map[string]func(c *OAuthClient, value string) error{
		"CLIENT_ID":     func(c *OAuthClient, value string) error { c.ID = value; return nil },
		"CLIENT_SECRET": func(c *OAuthClient, value string) error { c.Secret = Secret(value); return nil },
		"SCOPES":        func(c *OAuthClient, value string) error { c.Scopes = splitWords(value); return nil },
		"URL":           address(func(c *OAuthClient) *string { return &c.URL }),
		"AUTH_URL":      address(func(c *OAuthClient) *string { return &c.AuthURL }),
		"TOKEN_URL":     address(func(c *OAuthClient) *string { return &c.TokenURL }),
		"REVOKE_URL":    address(func(c *OAuthClient) *string { return &c.RevokeURL }),
		"ACCOUNT_URL":   address(func(c *OAuthClient) *string { return &c.AccountURL }),
	}
}

// oauthNames returns the names of the settings of all providers.
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

// oauthClients reads the settings of all providers.
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

// splitWords splits a list at spaces and commas.
func splitWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
}
