package notion

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// The names of options and credentials.
const (
	optionRoots     = "rootPages"
	optionDatabases = "databases"
	optionComments  = "includeComments"
	optionFiles     = "includeFiles"
	optionAPI       = "apiUrl"

	credentialToken = "integrationToken"
)

const (
	// Version is the version of the API that requests ask for.
	Version = "2026-03-11"

	defaultAPI = "https://api.notion.com"
	// perMinute is the average of 3 requests a second that Notion allows a connection,
	// less a reserve for other users of the same token.
	perMinute = 150
	burst     = 3
)

// Kind returns the kind, which connects with dial.
func Kind(dial connectors.Dial) connectors.Kind {
	return connectors.Kind{
		Name: "notion", Title: "Notion", Category: connectors.CategoryCollaboration,
		Description:   "Pages, rows of databases with their properties, and files of Notion.",
		Documentation: "https://developers.notion.com/docs/create-a-notion-integration",
		Enumerates:    true, ConfirmDeletions: true, Feeds: true, OAuth: "notion", APIVersion: Version,
		RateLimit: connectors.RateLimit{PerMinute: perMinute, Burst: burst},
		Options: []connectors.Option{
			{
				Name: optionRoots, Title: "Pages", Type: connectors.TypeStringList, Example: "https://www.notion.so/acme/Handbook-1a2b3c4d5e6f708192a3b4c5d6e7f809",
				Help:  "Addresses or ids of pages; only they and everything below them. Without any pages and databases: everything that is shared with the integration.",
				Check: connectors.CheckEach(checkID),
			},
			{
				Name: optionDatabases, Title: "Databases", Type: connectors.TypeStringList, Example: "1a2b3c4d5e6f708192a3b4c5d6e7f809",
				Help: "Addresses or ids of databases or data sources; only their rows and everything below them, beside the pages.", Check: connectors.CheckEach(checkID),
			},
			{
				Name: optionComments, Title: "Comments", Type: connectors.TypeBoolean, Default: false,
				Help: "Open comments on pages are added to the document. A new comment alone is not noticed: it comes with the next edit of the page.",
			},
			{
				Name: optionFiles, Title: "Files", Type: connectors.TypeBoolean, Default: true,
				Help: "Files that were uploaded to pages become documents as well.",
			},
			{
				Name: optionAPI, Title: "API address", Type: connectors.TypeString, Format: connectors.FormatURL, Default: defaultAPI, Destination: true, Advanced: true,
				Example: defaultAPI, Help: "Another address of Notion's API, such as that of a proxy.",
				Check: connectors.CheckString(func(text string) error { _, err := restapi.ParseBaseURL(text, defaultAPI); return err }),
			},
		},
		Credentials: []connectors.Option{{
			Name: credentialToken, Title: "Integration token", Type: connectors.TypeString, Sensitive: true,
			Help: "The secret of an internal integration, or of a connection, that the pages are shared with.",
		}},
		CheckSettings: func(s connectors.Settings) error {
			if s.Token == nil && s.Credentials[credentialToken] == "" {
				return &connectors.OptionError{Field: "credentials." + credentialToken, Message: "required (or connect an account)"}
			}
			return nil
		},
		New: func(_ context.Context, s connectors.Settings) (connectors.Source, error) { return open(dial, s) },
	}
}

func checkID(text string) error {
	if _, ok := parseID(text); !ok {
		return errors.New("is no address or id of Notion; copy the link of the page, which ends with 32 digits and letters")
	}
	return nil
}

var (
	hexID  = regexp.MustCompile(`[0-9a-fA-F]{32}$`)
	uuidID = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)
)

// parseID returns the id of a page, database or block in the form of the API. The
// text is an id or an address that ends with it.
func parseID(text string) (string, bool) {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "#")
	text, _, _ = strings.Cut(text, "?")
	text = strings.TrimRight(text, "/")
	plain := strings.ReplaceAll(uuidID.FindString(text), "-", "")
	if plain == "" {
		plain = hexID.FindString(text)
	}
	if plain == "" {
		return "", false
	}
	plain = strings.ToLower(plain)
	return plain[:8] + "-" + plain[8:12] + "-" + plain[12:16] + "-" + plain[16:20] + "-" + plain[20:], true
}

// bare returns an id without hyphens, as addresses have it.
func bare(id string) string { return strings.ToLower(strings.ReplaceAll(id, "-", "")) }

var apiID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// isID reports whether a text can be an id of the API, which is part of paths.
func isID(text string) bool { return apiID.MatchString(text) }
