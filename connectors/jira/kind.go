package jira

import (
	"context"
	"errors"
	"regexp"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/atlassian"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// The names of options.
const (
	optionProjects    = "projectKeys"
	optionJQL         = "jql"
	optionComments    = "includeComments"
	optionAttachments = "includeAttachments"
	optionExcluded    = "commentAuthorsExcluded"
)

// The versions of the API.
const (
	cloudVersion  = "rest/api/3/"
	centerVersion = "rest/api/2/"
)

// product describes Jira.
func product() atlassian.Product {
	return atlassian.Product{
		Title: "Jira", Noun: "Jira", Gateway: "jira", Example: "https://acme.atlassian.net",
		Inside: []string{"/browse/", "/projects/", "/issues/", "/secure/", "/rest/api", "/login.jsp"},
	}
}

// Kind returns the kind, which connects with dial.
func Kind(dial connectors.Dial) connectors.Kind { return KindAt(dial, atlassian.Gateway) }

// KindAt is Kind with another URL of Atlassian's gateway, which serves the sites of
// OAuth grants and of tokens with scopes.
func KindAt(dial connectors.Dial, gateway string) connectors.Kind {
	return connectors.Kind{
		Name: "jira", Title: "Jira", Category: connectors.CategoryCollaboration,
		Description:   "Issues with their comments, and attachments of Jira, Cloud or Data Center.",
		Documentation: "https://support.atlassian.com/atlassian-account/docs/manage-api-tokens-for-your-atlassian-account/",
		Enumerates:    true, Permissions: true, Feeds: true, OAuth: "atlassian", APIVersion: "3 (Cloud), 2 (Data Center)",
		RateLimit:   connectors.RateLimit{PerMinute: atlassian.PerMinute, Burst: atlassian.Burst},
		Options:     options(),
		Credentials: atlassian.Credentials("jira-reader@example.com"),
		CheckSettings: func(s connectors.Settings) error {
			_, err := product().Site(s)
			return err
		},
		New: func(_ context.Context, s connectors.Settings) (connectors.Source, error) {
			return open(dial, gateway, s)
		},
	}
}

func options() []connectors.Option {
	const content, limits = "Content", "Limits"
	return []connectors.Option{
		product().URLOption("The address at which people open Jira."),
		{
			Name: optionProjects, Title: "Projects", Type: connectors.TypeStringList, Example: "ENG",
			Help: "Keys of the projects. Without any: all projects that the account sees.", Check: connectors.CheckEach(checkProjectKey),
		},
		{
			Name: optionJQL, Title: "JQL", Type: connectors.TypeString, Example: `status != Draft AND labels = public`, Group: limits,
			Help:  "A query in Jira's query language that issues must match as well. Its ORDER BY is ignored.",
			Check: connectors.CheckString(func(text string) error { _, err := clause(text); return err }),
		},
		{
			Name: optionComments, Title: "Comments", Type: connectors.TypeBoolean, Default: true, Group: content,
			Help: "Comments are added to the document of their issue, except those for a group or role only.",
		},
		{
			Name: optionAttachments, Title: "Attachments", Type: connectors.TypeBoolean, Default: false, Group: content,
			Help: "Files attached to issues become documents as well.",
		},
		{
			Name: optionExcluded, Title: "Comments without", Type: connectors.TypeStringList, Example: "build-bot", Group: content, Advanced: true,
			Help:      "People and bots whose comments are left out, by display name, mail address or account id.",
			DependsOn: []connectors.Dependency{{Option: optionComments, Values: []any{true}}},
		},
		atlassian.DeploymentOption(),
		{
			Name: atlassian.OptionAPI, Title: "API address", Type: connectors.TypeString, Format: connectors.FormatURL, Destination: true, Advanced: true,
			Example: atlassian.Gateway,
			Help:    "Where requests go, if not to the address. With an OAuth grant: the gateway in place of api.atlassian.com.",
			Check:   connectors.CheckString(func(text string) error { _, err := restapi.ParseBaseURL(text, atlassian.Gateway); return err }),
		},
	}
}

func checkProjectKey(key string) error {
	if len(key) > 255 || !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`).MatchString(key) {
		return errors.New("a project key is a word such as ENG; the key of each issue has it before the hyphen")
	}
	return nil
}
