package hubspot

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// The names of options and credentials.
const (
	optionObjects      = "objects"
	optionProperties   = "properties"
	optionAssociations = "includeAssociations"
	optionVersion      = "apiVersion"
	optionAPI          = "apiUrl"

	credentialToken = "accessToken"
)

const (
	// Version is the version of the API that requests ask for.
	Version = "2026-03"
	// LegacyVersion is asked for what does not exist in [Version].
	LegacyVersion = "v3"

	defaultAPI = "https://api.hubapi.com"
	// perMinute is below the 5 searches a second and the 100 requests in 10 seconds that
	// HubSpot allows the smallest accounts.
	perMinute = 240
	burst     = 4
)

// Kind returns the kind, which connects with dial.
func Kind(dial connectors.Dial) connectors.Kind {
	return connectors.Kind{
		Name: "hubspot", Title: "HubSpot", Category: connectors.CategoryCRM,
		Description:   "Contacts, companies, deals, tickets, their notes, mails, calls, meetings and tasks, and custom objects of HubSpot.",
		Documentation: "https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/account-service-keys",
		Enumerates:    true, Feeds: true, OAuth: "hubspot", APIVersion: Version,
		RateLimit: connectors.RateLimit{PerMinute: perMinute, Burst: burst},
		Options:   options(),
		Credentials: []connectors.Option{{
			Name: credentialToken, Title: "Access token", Type: connectors.TypeString, Sensitive: true,
			Help: "A service key, or the access token of a private app, with the scopes of the objects.",
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

func options() []connectors.Option {
	const content = "Content"
	return []connectors.Option{
		{
			Name: optionObjects, Title: "Objects", Type: connectors.TypeStringList, Example: "tickets",
			Help:  "Which objects become documents: " + strings.Join(standardNames(), ", ") + ", or custom objects by name or id (2-1234567). Without any: all but custom objects.",
			Check: connectors.CheckEach(checkObject),
		},
		{
			Name: optionProperties, Title: "Further properties", Type: connectors.TypeStringList, Example: "deals.closed_lost_reason", Group: content,
			Help:  "Properties that documents show beside the usual ones, by object and internal name.",
			Check: connectors.CheckStrings(checkProperties),
		},
		{
			Name: optionAssociations, Title: "Associated records", Type: connectors.TypeBoolean, Default: true, Group: content,
			Help: "Documents name the companies, contacts, deals and tickets that a record belongs to.",
		},
		{
			Name: optionVersion, Title: "API version", Type: connectors.TypeString, Choices: []string{Version, LegacyVersion}, Default: Version, Advanced: true,
			Example: Version, Help: "The version of the API that is asked for first.",
		},
		{
			Name: optionAPI, Title: "API address", Type: connectors.TypeString, Format: connectors.FormatURL, Default: defaultAPI, Destination: true, Advanced: true,
			Example: defaultAPI, Help: "Another address of HubSpot's API, such as that of a proxy.",
			Check: connectors.CheckString(func(text string) error { _, err := restapi.ParseBaseURL(text, defaultAPI); return err }),
		},
	}
}

var (
	objectName   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,99}$|^[0-9]{1,3}-[0-9]{1,18}$`)
	propertyName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,99}$`)
)

func checkObject(name string) error {
	if !objectName.MatchString(name) {
		return errors.New("an object is a name such as tickets, or the id of a custom object such as 2-1234567")
	}
	return nil
}

// maxProperties bounds the properties of an object: their names are a part of an
// address.
const maxProperties = 150

func checkProperties(list []string) error {
	count := map[string]int{}
	for _, text := range list {
		object, property, err := parseProperty(text)
		if err != nil {
			return err
		}
		if count[object]++; count[object] > maxProperties/2 {
			return fmt.Errorf("has more than %d properties of %s", maxProperties/2, object)
		}
		if !propertyName.MatchString(property) {
			return fmt.Errorf("has the property %q; the internal name is shown at the property in HubSpot's settings, as closed_lost_reason", property)
		}
	}
	return nil
}

// parseProperty parses the name of an object and a property.
func parseProperty(text string) (object, property string, err error) {
	object, property, found := strings.Cut(text, ".")
	if !found || checkObject(object) != nil {
		return "", "", errors.New("write a property with its object, as deals.closed_lost_reason")
	}
	return object, property, nil
}
