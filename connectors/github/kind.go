package github

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// The names of options and credentials.
const (
	optionRepos    = "repos"
	optionBranch   = "branch"
	optionPaths    = "pathFilter"
	optionContent  = "content"
	optionClosed   = "includeClosed"
	optionSince    = "since"
	optionArchived = "includeArchived"
	optionForks    = "includeForks"
	optionAPI      = "apiUrl"

	credentialToken        = "token"
	credentialApp          = "appId"
	credentialInstallation = "installationId"
	credentialKey          = "privateKey"
	credentialSecret       = "webhookSecret"
)

// The values of the option content.
const (
	contentFiles       = "files"
	contentIssues      = "issues"
	contentPulls       = "pull_requests"
	contentDiscussions = "discussions"
	contentWiki        = "wiki"
)

const (
	publicAPI  = "https://api.github.com"
	exampleAPI = "https://github.example.com/api/v3"

	// 5,000 requests an hour, the burst included.
	requestsPerMinute = 80
	requestBurst      = 200
)

// apiVersion is the version of the REST API that requests name.
const apiVersion = "2022-11-28"

// Kind returns the kind, which connects with dial.
func Kind(dial connectors.Dial) connectors.Kind {
	tokens := newInstallationTokens()
	return connectors.Kind{
		Name: "github", Title: "GitHub", Category: connectors.CategoryDevelopment,
		Description:   "Files, issues, pull requests, discussions and wikis of repositories at GitHub or GitHub Enterprise Server.",
		Documentation: "https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/managing-your-personal-access-tokens",
		Enumerates:    true,
		OAuth:         "github",
		APIVersion:    apiVersion,
		RateLimit:     connectors.RateLimit{PerMinute: requestsPerMinute, Burst: requestBurst},
		Options:       options(),
		Credentials:   credentials(),
		Webhook:       webhook(),
		CheckSettings: checkSettings,
		New: func(_ context.Context, s connectors.Settings) (connectors.Source, error) {
			return open(dial, s, tokens)
		},
	}
}

func options() []connectors.Option {
	contents := []string{contentFiles, contentIssues, contentPulls, contentDiscussions, contentWiki}
	return []connectors.Option{
		{
			Name: optionRepos, Title: "Repositories", Type: connectors.TypeStringList, Required: true, Example: "acme/handbook",
			Help: "As owner/name. owner/* is all repositories of an owner that the credentials reach.", Check: connectors.CheckEach(checkRepo),
		},
		{
			Name: optionBranch, Title: "Branch", Type: connectors.TypeString, Example: "main",
			Help: "The branch whose files are read. Without it, the default branch of each repository.", Check: connectors.CheckString(checkBranch),
		},
		{
			Name: optionPaths, Title: "Paths", Type: connectors.TypeStringList, Format: connectors.FormatPattern, Example: "docs/**",
			Help: "Patterns of paths in the repository, one of which a file must match. They apply to files only.", Check: connectors.CheckPatterns,
		},
		{
			Name: optionContent, Title: "Content", Type: connectors.TypeStringList, Default: contents, Choices: contents,
			Help: "What becomes documents.",
			Check: connectors.CheckStrings(func(list []string) error {
				if len(list) == 0 {
					return errors.New("name at least one")
				}
				return nil
			}),
		},
		{
			Name: optionClosed, Title: "Closed", Type: connectors.TypeBoolean, Default: true, Advanced: true,
			Help: "Include closed issues, pull requests and discussions.",
		},
		{
			Name: optionSince, Title: "Updated since", Type: connectors.TypeString, Format: connectors.FormatDate, Example: "2024-01-31", Advanced: true,
			Help:  "Leaves out issues, pull requests and discussions without a change since this day or time.",
			Check: connectors.CheckString(func(text string) error { _, err := connectors.ParseTime(text); return err }),
		},
		{
			Name: optionArchived, Title: "Archived repositories", Type: connectors.TypeBoolean, Default: true, Advanced: true,
			Help: "Include archived repositories in owner/*.",
		},
		{
			Name: optionForks, Title: "Forks", Type: connectors.TypeBoolean, Default: false, Advanced: true,
			Help: "Include forks of other repositories in owner/*.",
		},
		{
			Name: optionAPI, Title: "Address of the API", Type: connectors.TypeString, Format: connectors.FormatURL, Default: publicAPI, Advanced: true,
			Destination: true,
			Help:        "For a GitHub Enterprise Server: " + exampleAPI + ".", Example: exampleAPI,
			Check: connectors.CheckString(func(text string) error { _, err := parseEndpoints(text); return err }),
		},
	}
}

func credentials() []connectors.Option {
	return []connectors.Option{
		{
			Name: credentialToken, Title: "Personal access token", Type: connectors.TypeString, Sensitive: true, Group: "Token",
			Help: "Fine-grained, with read access to contents, issues, pull requests and discussions, or a classic one with the scope repo.",
		},
		{
			Name: credentialApp, Title: "App id", Type: connectors.TypeString, Group: "App", Example: "123456",
			Help: "The number or client id of your GitHub App.", Check: connectors.CheckString(checkID),
		},
		{
			Name: credentialInstallation, Title: "Installation id", Type: connectors.TypeString, Group: "App", Example: "12345678",
			Help: "The number at the end of the installation's address.", Check: connectors.CheckString(checkID),
		},
		{
			Name: credentialKey, Title: "Private key", Type: connectors.TypeString, Sensitive: true, Multiline: true, Group: "App",
			Help:  "The app's private key, a PEM file.",
			Check: connectors.CheckString(func(text string) error { _, err := parseKey(text); return err }),
		},
		{
			Name: credentialSecret, Title: "Webhook secret", Type: connectors.TypeString, Sensitive: true, Group: "Webhooks",
			Help: "The secret of a webhook that you set up yourself. Webhooks that Magpie sets up have a secret of their own.",
		},
	}
}

// checkSettings requires exactly one complete way of authorization.
func checkSettings(s connectors.Settings) error {
	wrong := func(name, message string) error {
		return &connectors.OptionError{Field: "credentials." + name, Message: message}
	}
	app := []string{credentialApp, credentialInstallation, credentialKey}
	given := slices.DeleteFunc(slices.Clone(app), func(name string) bool { return s.Credentials[name] == "" })
	token, grant := s.Credentials[credentialToken] != "", s.Token != nil
	switch {
	case token && len(given) > 0:
		return wrong(credentialToken, "is given beside "+given[0]+"; use a token or an app")
	case grant && token:
		return wrong(credentialToken, "is given beside a grant; use one of the two")
	case grant && len(given) > 0:
		return wrong(given[0], "is given beside a grant; use one of the two")
	case grant, token:
		return nil
	case len(given) == 0:
		return wrong(credentialToken, "required: a token, or appId, installationId and privateKey of an app, or a grant of the provider github")
	}
	for _, name := range app {
		if s.Credentials[name] == "" {
			return wrong(name, "required with "+given[0])
		}
	}
	return nil
}

var (
	ownerPattern    = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9])?$`)
	repoNamePattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)
	wordPattern     = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)
)

// A repoSelector is an entry of the option repos.
type repoSelector struct{ owner, name string }

func (p repoSelector) isAll() bool { return p.name == "*" }

func parseSelector(text string) (repoSelector, bool) {
	owner, name, ok := strings.Cut(strings.TrimSpace(text), "/")
	if !ok || !ownerPattern.MatchString(owner) || name != "*" && (!repoNamePattern.MatchString(name) || name == "." || name == "..") {
		return repoSelector{}, false
	}
	return repoSelector{owner: owner, name: name}, true
}

func checkRepo(text string) error {
	if _, ok := parseSelector(text); !ok {
		return fmt.Errorf("has the entry %q: write it as owner/name or owner/*, without an address", text)
	}
	return nil
}

func checkBranch(name string) error {
	if !isBranchName(name) {
		return errors.New("is no name of a branch; write it as main, without refs/heads/")
	}
	return nil
}

// isBranchName follows git's rules for names of references, as far as they
// matter in a URL.
func isBranchName(name string) bool {
	if name == "" || len(name) > 255 || strings.HasPrefix(name, "refs/") || strings.ContainsAny(name, " ~^:?*[\\\x7f") || strings.Contains(name, "@{") {
		return false
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
		return false
	}
	return isValidPath(name) && !strings.Contains(name, "..")
}

func checkID(text string) error {
	if !wordPattern.MatchString(text) {
		return errors.New("must be the number alone")
	}
	return nil
}
