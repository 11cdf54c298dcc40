package platform

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/safetext"
)

// secretName is the credential that deliveries are verified with.
const secretName = "secret"

// Providers returns all providers of events.
func Providers() []event.Provider {
	return []event.Provider{Jira(), Zendesk(), GitHub(), Confluence(), Salesforce(), HubSpot()}
}

// secretOption describes the secret of a provider.
func secretOption(title, help string) connectors.Option {
	return connectors.Option{Name: secretName, Title: title, Help: help, Type: connectors.TypeString, Sensitive: true}
}

// sites returns the option with the hosts of a platform.
func sites(help, example string) connectors.Option {
	return connectors.Option{
		Name: "site", Title: "Site", Type: connectors.TypeString, Format: connectors.FormatHostname, Help: help, Example: example,
	}
}

// host returns the lower-case host of an address or of a bare host name.
func host(text string) string {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// keys returns the texts that are not empty, in lower case and once.
func keys(texts ...string) []string {
	var out []string
	for _, text := range texts {
		if text = strings.ToLower(strings.TrimSpace(text)); text != "" && len(text) <= 200 && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// decode reads a JSON object.
func decode(body []byte, into any) error {
	if json.Unmarshal(body, into) != nil {
		return event.ErrDelivery
	}
	return nil
}

// digest identifies a body of a platform that gives its deliveries no id.
func digest(parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		_, _ = hash.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// summary returns one line.
func summary(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return strings.TrimSpace(s) == "" })
	return safetext.TruncateBytes(safetext.Line(strings.Join(parts, " ")), 300)
}

// id is an id that is a number or a text in JSON.
type id string

// UnmarshalJSON accepts a text, a number, and null, which is empty.
func (i *id) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*i = id(text)
		return nil
	}
	var number json.Number
	if err := json.Unmarshal(b, &number); err != nil {
		return err //nolint:wrapcheck // encoding/json adds the field
	}
	*i = id(number.String())
	return nil
}

// orElse returns the first text that is not empty.
func orElse(texts ...string) string { return cmp.Or(texts...) }
