package confluence

import (
	"context"
	"errors"
	"regexp"

	"github.com/magpie-search/magpie/connectors"
)

// The options and credentials.
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
	// perMinute stays below what Data Center allows a user by default and Cloud
	// a site of some size.
	perMinute = 600
	burst     = 30
)

// Kind is the connector to Confluence. All its connections are made by dial.
func Kind(dial connectors.Dial) connectors.Kind { return KindAt(dial, gateway) }

// KindAt is Kind with another address of Atlassian's gateway, through which the
// sites of OAuth grants are reached.
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
			_, err := siteOf(s)
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
			// Grants go to Atlassian's gateway, which knows the sites that they are for.
			Destination: true, NoGrantToken: true,
			Example: "https://acme.atlassian.net/wiki", Help: "Where people open Confluence, with or without /wiki.",
			Check: func(value any) error {
				text, _ := value.(string)
				_, err := parseAddress(text)
				return err
			},
		},
		{
			Name: optionSpaces, Title: "Spaces", Type: connectors.TypeStringList, Example: "ENG",
			Help: "Keys of the spaces; all that the account sees when left out.", Check: checkKeys,
		},
		{
			Name: optionDeployment, Title: "Deployment", Type: connectors.TypeString, Default: deploymentAuto, Advanced: true,
			Choices: []string{deploymentAuto, deploymentCloud, deploymentCenter},
			Help:    "auto goes by the host name (atlassian.net is Cloud), then by the credentials.",
		},
		flag(optionAttachments, "Attachments", content, true, "Files attached to the pages become documents too."),
		flag(optionBlogs, "Blog posts", content, false, "Blog posts become documents too."),
		flag(optionComments, "Comments", content, false, "Comments are put below the text of their page."),
		flag(optionPersonal, "Personal spaces", limits, false, "Includes the spaces of single people; those named in spaceKeys always are."),
		flag(optionArchived, "Archived", limits, false, "Includes archived spaces and pages."),
		{
			Name: optionLabels, Title: "Labels", Type: connectors.TypeStringList, Example: "published", Group: limits,
			Help: "Only pages with one of these labels.",
		},
		{
			Name: optionCQL, Title: "CQL", Type: connectors.TypeString, Example: `lastmodified > now("-1y")`, Group: limits, Advanced: true,
			Help: "A clause of Confluence's query language that pages must meet as well.", Check: checkCQL,
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
			Help: "Cloud: a token of the account, made at id.atlassian.com.",
		},
		{
			Name: credentialToken, Title: "Personal access token", Type: connectors.TypeString, Sensitive: true, Group: center,
			Help: "Data Center 7.9 and later: made in the account's profile.",
		},
		{
			Name: credentialUser, Title: "User", Type: connectors.TypeString, Group: center,
			Help: "Data Center: the account's name, with password; a personal access token is better.",
		},
		{Name: credentialWord, Title: "Password", Type: connectors.TypeString, Sensitive: true, Group: center, Help: "Data Center: the password of username."},
	}
}

func checkKeys(value any) error {
	keys, _ := value.([]string)
	for _, key := range keys {
		if !isSpaceKey(key) {
			return errors.New("a space key is a word such as ENG, or ~name for a personal space; it stands in the address of each page, after /spaces/ or /display/")
		}
	}
	return nil
}

func isSpaceKey(key string) bool {
	return len(key) <= 255 && regexp.MustCompile(`^~?[A-Za-z0-9._:@-]+$`).MatchString(key)
}

func checkCQL(value any) error {
	text, _ := value.(string)
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
