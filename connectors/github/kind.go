package github

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/glob"
)

// The options and credentials.
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

// What becomes documents.
const (
	contentFiles       = "files"
	contentIssues      = "issues"
	contentPulls       = "pull_requests"
	contentDiscussions = "discussions"
	contentWiki        = "wiki"
)

const (
	publicAPI = "https://api.github.com"

	// 5,000 requests an hour, the burst included.
	requestsPerMinute = 80
	requestsAtOnce    = 200
)

// Kind is GitHub. All its connections are made by dial.
func Kind(dial connectors.Dial) connectors.Kind {
	tokens := newInstallationTokens()
	return connectors.Kind{
		Name: "github", Title: "GitHub", Category: connectors.CategoryDevelopment,
		Description:   "Files, issues, pull requests, discussions and wikis of repositories at GitHub or GitHub Enterprise Server.",
		Documentation: "https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/managing-your-personal-access-tokens",
		Enumerates:    true,
		OAuth:         "github",
		RateLimit:     connectors.RateLimit{PerMinute: requestsPerMinute, Burst: requestsAtOnce},
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
			Help: "As owner/name; owner/* is all repositories of an owner that the credentials reach.", Check: checkRepos,
		},
		{
			Name: optionBranch, Title: "Branch", Type: connectors.TypeString, Example: "main",
			Help: "Whose files are taken; each repository's default branch when left out.", Check: checkBranch,
		},
		{
			Name: optionPaths, Title: "Paths", Type: connectors.TypeStringList, Format: connectors.FormatPattern, Example: "docs/**",
			Help: "Patterns of files' paths in their repository, one of which a file must match. They concern nothing but files.", Check: checkPatterns,
		},
		{
			Name: optionContent, Title: "Content", Type: connectors.TypeStringList, Default: contents, Choices: contents,
			Help: "What becomes documents.",
			Check: func(value any) error {
				if list, _ := value.([]string); len(list) == 0 {
					return errors.New("name at least one")
				}
				return nil
			},
		},
		{
			Name: optionClosed, Title: "Closed ones too", Type: connectors.TypeBoolean, Default: true, Advanced: true,
			Help: "Whether closed issues, pull requests and discussions are taken.",
		},
		{
			Name: optionSince, Title: "Updated since", Type: connectors.TypeString, Format: connectors.FormatDate, Example: "2024-01-31", Advanced: true,
			Help: "Leaves out issues, pull requests and discussions without a change since this day or time.",
			Check: func(value any) error {
				text, _ := value.(string)
				_, err := instant(text)
				return err
			},
		},
		{
			Name: optionArchived, Title: "Archived repositories", Type: connectors.TypeBoolean, Default: true, Advanced: true,
			Help: "Whether owner/* takes archived repositories.",
		},
		{
			Name: optionForks, Title: "Forks", Type: connectors.TypeBoolean, Default: false, Advanced: true,
			Help: "Whether owner/* takes forks of other repositories.",
		},
		{
			Name: optionAPI, Title: "Address of the API", Type: connectors.TypeString, Format: connectors.FormatURL, Default: publicAPI, Advanced: true,
			Destination: true,
			Help:        "Of a GitHub Enterprise Server: https://github.example.com/api/v3.", Example: "https://github.example.com/api/v3",
			Check: func(value any) error {
				text, _ := value.(string)
				_, err := parseAPI(text)
				return err
			},
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
			Help: "Of a GitHub App of your own, its number or its client id.", Check: checkWord,
		},
		{
			Name: credentialInstallation, Title: "Installation id", Type: connectors.TypeString, Group: "App", Example: "12345678",
			Help: "The number at the end of the installation's address.", Check: checkWord,
		},
		{
			Name: credentialKey, Title: "Private key", Type: connectors.TypeString, Sensitive: true, Multiline: true, Group: "App",
			Help: "The app's private key, a PEM file.",
			Check: func(value any) error {
				text, _ := value.(string)
				_, err := parseKey(text)
				return err
			},
		},
		{
			Name: credentialSecret, Title: "Webhook secret", Type: connectors.TypeString, Sensitive: true, Group: "Webhooks",
			Help: "The secret of a webhook that you set up yourself. Magpie makes one of its own where it sets up webhooks.",
		},
	}
}

// checkSettings asks for one way of authorization, and for a whole one.
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
	ownerName  = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9])?$`)
	repoName   = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)
	singleWord = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)
)

// pattern is an entry of repos.
type pattern struct{ owner, name string }

func (p pattern) all() bool { return p.name == "*" }

func parsePattern(text string) (pattern, bool) {
	owner, name, ok := strings.Cut(strings.TrimSpace(text), "/")
	if !ok || !ownerName.MatchString(owner) || name != "*" && (!repoName.MatchString(name) || name == "." || name == "..") {
		return pattern{}, false
	}
	return pattern{owner: owner, name: name}, true
}

func checkRepos(value any) error {
	texts, _ := value.([]string)
	for _, text := range texts {
		if _, ok := parsePattern(text); !ok {
			return fmt.Errorf("has the entry %q: write it as owner/name or owner/*, without an address", text)
		}
	}
	return nil
}

func checkBranch(value any) error {
	name, _ := value.(string)
	if !properBranch(name) {
		return errors.New("is no name of a branch; write it as main, without refs/heads/")
	}
	return nil
}

// properBranch keeps to git's rules for names of references as far as an address
// could be misread for them.
func properBranch(name string) bool {
	if name == "" || len(name) > 255 || strings.HasPrefix(name, "refs/") || strings.ContainsAny(name, " ~^:?*[\\\x7f") || strings.Contains(name, "@{") {
		return false
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
		return false
	}
	return properPath(name) && !strings.Contains(name, "..")
}

func checkPatterns(value any) error {
	texts, _ := value.([]string)
	for _, text := range texts {
		if err := glob.Check(text); err != nil {
			return err
		}
	}
	return nil
}

func checkWord(value any) error {
	if text, _ := value.(string); !singleWord.MatchString(text) {
		return errors.New("must be the number alone")
	}
	return nil
}

// instant reads a day or a time.
func instant(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, errors.New("must be a day (2024-01-31) or a time (2024-01-31T08:00:00Z)")
}
