package confluence

import (
	"context"
	"errors"
	"regexp"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/atlassian"
)

// The names of options and credentials.
const (
	optionSpaces      = "spaceKeys"
	optionAttachments = "includeAttachments"
	optionBlogs       = "includeBlogPosts"
	optionComments    = "includeComments"
	optionPersonal    = "includePersonalSpaces"
	optionArchived    = "includeArchived"
	optionLabels      = "labels"
	optionCQL         = "cql"
)

// Kind returns the kind, which connects with dial.
func Kind(dial connectors.Dial) connectors.Kind { return KindAt(dial, atlassian.Gateway) }

// KindAt is Kind with another URL of Atlassian's gateway, which serves the
// sites of OAuth grants.
func KindAt(dial connectors.Dial, gateway string) connectors.Kind {
	return connectors.Kind{
		Name: "confluence", Title: "Confluence", Category: connectors.CategoryCollaboration,
		Description:   "Pages, blog posts and attachments of Confluence, Cloud or Data Center.",
		Documentation: "https://support.atlassian.com/atlassian-account/docs/manage-api-tokens-for-your-atlassian-account/",
		Enumerates:    true, Permissions: true, OAuth: "atlassian", APIVersion: "v2 (Cloud), 1 (Data Center)",
		RateLimit:   connectors.RateLimit{PerMinute: atlassian.PerMinute, Burst: atlassian.Burst},
		Options:     options(),
		Credentials: atlassian.Credentials("wiki-reader@example.com"),
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
	flag := func(name, title, group string, standard bool, help string) connectors.Option {
		return connectors.Option{Name: name, Title: title, Type: connectors.TypeBoolean, Default: standard, Group: group, Help: help}
	}
	return []connectors.Option{
		product().URLOption("The address at which people open Confluence, with or without /wiki."),
		{
			Name: optionSpaces, Title: "Spaces", Type: connectors.TypeStringList, Example: "ENG",
			Help: "Keys of the spaces. Without any: all spaces that the account sees.", Check: connectors.CheckEach(checkSpaceKey),
		},
		atlassian.DeploymentOption(),
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
