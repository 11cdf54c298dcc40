package gitlab

import (
	"context"
	"errors"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/glob"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// The names of options and credentials.
const (
	optionURL      = "instanceUrl"
	optionProjects = "projects"
	optionGroups   = "groups"
	optionBranch   = "branch"
	optionPaths    = "pathFilter"
	optionFiles    = "includeFiles"
	optionIssues   = "includeIssues"
	optionMerges   = "includeMergeRequests"
	optionWikis    = "includeWikis"
	optionSnippets = "includeSnippets"
	optionAPI      = "apiUrl"

	credentialToken  = "token"
	credentialSecret = "webhookSecret"
)

const (
	publicURL         = "https://gitlab.com"
	apiVersion        = "v4"
	requestsPerMinute = 300
	requestBurst      = 60
)

// Kind returns the kind, which connects with dial.
func Kind(dial connectors.Dial) connectors.Kind {
	return connectors.Kind{
		Name: "gitlab", Title: "GitLab", Category: connectors.CategoryDevelopment,
		Description:   "Files, issues, merge requests, wikis and snippets of projects at gitlab.com or a GitLab server.",
		Documentation: "https://docs.gitlab.com/user/profile/personal_access_tokens/",
		Enumerates:    true, Feeds: true, Permissions: true, OAuth: "gitlab", APIVersion: apiVersion,
		RateLimit: connectors.RateLimit{PerMinute: requestsPerMinute, Burst: requestBurst},
		Options:   options(),
		Credentials: []connectors.Option{
			{
				Name: credentialToken, Title: "Access token", Type: connectors.TypeString, Sensitive: true,
				Help: "A personal, group or project access token with the scopes read_api and read_repository.",
			},
			{
				Name: credentialSecret, Title: "Webhook secret", Type: connectors.TypeString, Sensitive: true, Group: "Webhooks",
				Help: "The secret token or signing token of a webhook that you set up yourself. Webhooks that Magpie sets up have a secret of their own.",
			},
		},
		Webhook:       webhook(),
		CheckSettings: checkSettings,
		New: func(_ context.Context, s connectors.Settings) (connectors.Source, error) {
			return open(dial, s)
		},
	}
}

func options() []connectors.Option {
	const content = "Content"
	flag := func(name, title, help string, value bool) connectors.Option {
		return connectors.Option{Name: name, Title: title, Help: help, Type: connectors.TypeBoolean, Default: value, Group: content}
	}
	address := connectors.CheckString(func(text string) error { _, err := restapi.ParseBaseURL(text, publicURL); return err })
	return []connectors.Option{
		{
			Name: optionURL, Title: "Address", Type: connectors.TypeString, Format: connectors.FormatURL, Default: publicURL, Example: "https://gitlab.example.com",
			Destination: true, Help: "The address at which people open GitLab.", Check: address,
		},
		{
			Name: optionProjects, Title: "Projects", Type: connectors.TypeStringList, Example: "acme/handbook", Check: connectors.CheckEach(checkName),
			Help: "Paths, ids or patterns such as acme/docs-*. Without projects and groups: all projects of which the account is a member.",
		},
		{
			Name: optionGroups, Title: "Groups", Type: connectors.TypeStringList, Example: "acme", Check: connectors.CheckEach(checkName),
			Help: "Paths, ids or patterns of groups. All projects in them and in their subgroups are read.",
		},
		{
			Name: optionBranch, Title: "Branch", Type: connectors.TypeString, Example: "main",
			Help: "The branch whose files are read. Without it, the default branch of each project.",
		},
		{
			Name: optionPaths, Title: "Paths", Type: connectors.TypeStringList, Format: connectors.FormatPattern, Example: "docs/**",
			Help: "Patterns of paths in the project, one of which a file must match. They apply to files only.", Check: connectors.CheckPatterns,
		},
		flag(optionFiles, "Files", "Files of the repositories become documents.", true),
		flag(optionIssues, "Issues", "Issues with their discussions become documents.", true),
		flag(optionMerges, "Merge requests", "Merge requests with their discussions become documents.", true),
		flag(optionWikis, "Wikis", "Pages of the wikis become documents.", true),
		flag(optionSnippets, "Snippets", "Snippets of the projects become documents.", false),
		{
			Name: optionAPI, Title: "Address of the API", Type: connectors.TypeString, Format: connectors.FormatURL, Destination: true, Advanced: true,
			Example: "https://gitlab.example.com/api/v4", Help: "Where requests go, if not to api/v4 below the address.", Check: address,
		},
	}
}

func checkName(text string) error {
	if text == "" || len(text) > 500 || glob.Check(text) != nil {
		return errors.New("has an entry that is no path, id or pattern; write it as acme/handbook")
	}
	return nil
}

// checkSettings requires exactly one way of authorization.
func checkSettings(s connectors.Settings) error {
	switch token := s.Credentials[credentialToken] != ""; {
	case token && s.Token != nil:
		return &connectors.OptionError{Field: "credentials." + credentialToken, Message: "is given beside a grant; use one of the two"}
	case !token && s.Token == nil:
		return &connectors.OptionError{Field: "credentials." + credentialToken, Message: "required: an access token, or a grant of the provider gitlab"}
	}
	return nil
}
