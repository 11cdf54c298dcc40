package atlassian

import (
	"github.com/magpie-search/magpie/connectors"
)

// The names of options and credentials that all products have.
const (
	OptionURL        = "instanceUrl"
	OptionDeployment = "deployment"
	// OptionAPI is an option of some products.
	OptionAPI = "apiUrl"

	CredentialEmail = "email"
	CredentialKey   = "apiToken"
	CredentialToken = "personalAccessToken"
	CredentialUser  = "username"
	CredentialWord  = "password"
)

// The values of deployment.
const (
	DeploymentAuto   = "auto"
	DeploymentCloud  = "cloud"
	DeploymentCenter = "data_center"
)

const (
	// Gateway serves the sites of OAuth grants and of tokens with scopes.
	Gateway = "https://api.atlassian.com"
	// PerMinute is below the default limit of a Data Center user and that of a Cloud
	// site.
	PerMinute = 600
	// Burst is how many requests may be made at once.
	Burst = 30
)

// A Product is one of Atlassian's products.
type Product struct {
	// Title is the product's name, Noun what the errors call it, and Gateway its name
	// in URLs of the gateway.
	Title, Noun, Gateway string
	// Example is an address of a site. CloudPath is the path of the product on a Cloud
	// site, "" for none.
	Example, CloudPath string
	// Inside are parts of paths that follow the address of a site.
	Inside []string
}

// URLOption returns the option with the address of a site.
func (p Product) URLOption(help string) connectors.Option {
	return connectors.Option{
		Name: OptionURL, Title: "Address", Type: connectors.TypeString, Required: true, Format: connectors.FormatURL,
		// The token of a grant is sent to Atlassian's gateway.
		Destination: true, NoGrantToken: true, Example: p.Example, Help: help,
		Check: connectors.CheckString(func(text string) error { _, err := p.parseAddress(text); return err }),
	}
}

// DeploymentOption returns the option that tells Cloud from Data Center.
func DeploymentOption() connectors.Option {
	return connectors.Option{
		Name: OptionDeployment, Title: "Deployment", Type: connectors.TypeString, Default: DeploymentAuto, Advanced: true,
		Choices: []string{DeploymentAuto, DeploymentCloud, DeploymentCenter},
		Help:    "auto decides by the host name (atlassian.net is Cloud), then by the credentials.",
	}
}

// Credentials returns the credentials of both deployments. account is the address
// of an example.
func Credentials(account string) []connectors.Option {
	const cloud, center = "Cloud", "Data Center"
	return []connectors.Option{
		{
			Name: CredentialEmail, Title: "Mail address", Type: connectors.TypeString, Format: connectors.FormatEmail, Group: cloud, Example: account,
			Help: "Cloud: the account's mail address, with apiToken.",
		},
		{
			Name: CredentialKey, Title: "API token", Type: connectors.TypeString, Sensitive: true, Group: cloud,
			Help: "Cloud: a token of the account, created at id.atlassian.com.",
		},
		{
			Name: CredentialToken, Title: "Personal access token", Type: connectors.TypeString, Sensitive: true, Group: center,
			Help: "Data Center: created in the account's profile.",
		},
		{
			Name: CredentialUser, Title: "User", Type: connectors.TypeString, Group: center,
			Help: "Data Center: the account's name, with password; a personal access token is better.",
		},
		{Name: CredentialWord, Title: "Password", Type: connectors.TypeString, Sensitive: true, Group: center, Help: "Data Center: the password of username."},
	}
}
