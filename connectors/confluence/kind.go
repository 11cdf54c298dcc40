package confluence

import (
	"context"
	"errors"
	"regexp"

	"github.com/magpie-search/magpie/connectors"
)

// The names of options and credentials.
const (
	optionURL         = "instanceUrl"
	optionSpaces      = "spaceKeys"
	optionDeployment  = "deployment"
	optionAttachments = "includeAttachments"
	optionBlogs       = "includeBlogPosts"
	optionComments    = "includeComments"
	optionPersonal    = "includePersonalSpaces"
	optionArchived    = "includeArchived"
	optionLabels      = "labels"
	optionCQL         = "cql"

	credentialEmail = "email"
	credentialKey   = "apiToken"
	credentialToken = "personalAccessToken"
	credentialUser  = "username"
	credentialWord  = "password"
)

// The values of deployment.
const (
	deploymentAuto   = "auto"
	deploymentCloud  = "cloud"
	deploymentCenter = "data_center"
)

const (
	gateway = "https://api.atlassian.com"
	// perMinute is below the default limit of a Data Center user and that of a
	// Cloud site.
	perMinute = 600
	burst     = 30
)

// Kind returns the kind, which connects with dial.
func Kind(dial connectors.Dial) connectors.Kind { return KindAt(dial, gateway) }

// KindAt is Kind with another URL of Atlassian's gateway, which serves the
// sites of OAuth grants.
func KindAt(dial connectors.Dial, gateway string) connectors.Kind {
	return connectors.Kind{
		Name: "confluence", Title: "Confluence", Category: connectors.CategoryCollaboration,
		Description:   "Pages, blog posts and attachments of Confluence, Cloud or Data Center.",
		Documentation: "https://support.atlassian.com/atlassian-account/docs/manage-api-tokens-for-your-atlassian-account/",
		Enumerates:    true, Permissions: true, OAuth: "atlassian",
		RateLimit:   connectors.RateLimit{PerMinute: perMinute, Burst: burst},
		Options:     options(),
		Credentials: credentials(),
		CheckSettings: func(s connectors.Settings) error {
			_, err := newSite(s)
			return err
		},
		New: func(_ context.Context, s connectors.Settings) (connectors.Source, error) {
			return open(dial, gateway, s)
		},
	}
}

func options() []connectors.Option {
	const content, limits = "Content", "Limits"
	flag := func(name, title, group string, standard bool, help string) connectors.Option {
		return connectors.Option{Name: name, Title: title, Type: connectors.TypeBoolean, Default: standard, Group: group, Help: help}
	}
	return []connectors.Option{
		{
			Name: optionURL, Title: "Address", Type: connectors.TypeString, Required: true, Format: connectors.FormatURL,
			// The token of a grant is sent to Atlassian's gateway.
			Destination: true, NoGrantToken: true,
			Example: "https://acme.atlassian.net/wiki", Help: "The address at which people open Confluence, with or without /wiki.",
			Check: connectors.CheckString(func(text string) error { _, err := parseAddress(text); return err }),
		},
		{
			Name: optionSpaces, Title: "Spaces", Type: connectors.TypeStringList, Example: "ENG",
			Help: "Keys of the spaces. Without any: all spaces that the account sees.", Check: connectors.CheckEach(checkSpaceKey),
		},
		{
			Name: optionDeployment, Title: "Deployment", Type: connectors.TypeString, Default: deploymentAuto, Advanced: true,
			Choices: []string{deploymentAuto, deploymentCloud, deploymentCenter},
			Help:    "auto decides by the host name (atlassian.net is Cloud), then by the credentials.",
		},
		flag(optionAttachments, "Attachments", content, true, "Files attached to pages become documents as well."),
		flag(optionBlogs, "Blog posts", content, false, "Blog posts become documents as well."),
		flag(optionComments, "Comments", content, false, "Comments are added to the document of their page."),
		flag(optionPersonal, "Personal spaces", limits, false, "Includes personal spaces. Those in spaceKeys are always included."),
		flag(optionArchived, "Archived", limits, false, "Includes archived spaces and pages."),
		{
			Name: optionLabels, Title: "Labels", Type: connectors.TypeStringList, Example: "published", Group: limits,
			Help: "Only pages with one of these labels.",
		},
		{
			Name: optionCQL, Title: "CQL", Type: connectors.TypeString, Example: `lastmodified > now("-1y")`, Group: limits, Advanced: true,
			Help: "A clause of Confluence's query language that pages must meet as well.", Check: connectors.CheckString(checkCQL),
		},
	}
}

func credentials() []connectors.Option {
	const cloud, center = "Cloud", "Data Center"
	return []connectors.Option{
		{
			Name: credentialEmail, Title: "Mail address", Type: connectors.TypeString, Format: connectors.FormatEmail, Group: cloud, Example: "wiki-reader@example.com",
			Help: "Cloud: the account's mail address, with apiToken.",
		},
		{
			Name: credentialKey, Title: "API token", Type: connectors.TypeString, Sensitive: true, Group: cloud,
			Help: "Cloud: a token of the account, created at id.atlassian.com.",
		},
		{
			Name: credentialToken, Title: "Personal access token", Type: connectors.TypeString, Sensitive: true, Group: center,
			Help: "Data Center 7.9 and later: created in the account's profile.",
		},
		{
			Name: credentialUser, Title: "User", Type: connectors.TypeString, Group: center,
			Help: "Data Center: the account's name, with password; a personal access token is better.",
		},
		{Name: credentialWord, Title: "Password", Type: connectors.TypeString, Sensitive: true, Group: center, Help: "Data Center: the password of username."},
	}
}

func checkSpaceKey(key string) error {
	if len(key) > 255 || !regexp.MustCompile(`^~?[A-Za-z0-9._:@-]+$`).MatchString(key) {
		return errors.New("a space key is a word such as ENG, or ~name for a personal space; the address of each page has it after /spaces/ or /display/")
	}
	return nil
}

func checkCQL(text string) error {
	depth, quote := 0, rune(0)
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
		case r == '"' || r == '\'':
			quote = r
		case r == '(':
			depth++
		case r == ')':
			if depth--; depth < 0 {
				return errors.New("has a ) without a (")
			}
		}
	}
	switch {
	case depth != 0 || quote != 0:
		return errors.New("has a parenthesis or quote that is not closed")
	case regexp.MustCompile(`(?i)\border\s+by\b`).MatchString(text):
		return errors.New("must be a clause alone, without order by")
	}
	return nil
}
