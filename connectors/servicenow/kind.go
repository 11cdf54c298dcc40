package servicenow

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// The names of options and credentials.
const (
	optionURL         = "instanceUrl"
	optionTables      = "tables"
	optionQuery       = "query"
	optionBases       = "knowledgeBases"
	optionAttachments = "includeAttachments"
	optionFields      = "fields"

	credentialUser = "username"
	credentialWord = "password"
	credentialKey  = "apiKey"
)

const (
	example   = "https://acme.service-now.com"
	perMinute = 300
	burst     = 10
)

// Kind returns the kind, which connects with dial.
func Kind(dial connectors.Dial) connectors.Kind {
	return connectors.Kind{
		Name: "servicenow", Title: "ServiceNow", Category: connectors.CategoryITSM,
		Description:   "Knowledge articles, incidents, catalog items and other tables of ServiceNow, with attached files.",
		Documentation: "https://www.servicenow.com/docs/r/api-reference/rest-apis/c_TableAPI.html",
		Enumerates:    true, Feeds: true, Permissions: true, OAuth: "servicenow", APIVersion: apiVersion,
		RateLimit: connectors.RateLimit{PerMinute: perMinute, Burst: burst},
		Options:   options(),
		Credentials: []connectors.Option{
			{Name: credentialUser, Title: "User name", Type: connectors.TypeString, Example: "magpie.reader", Help: "A user who may read the tables."},
			{Name: credentialWord, Title: "Password", Type: connectors.TypeString, Sensitive: true, Help: "The user's password."},
			{Name: credentialKey, Title: "API key", Type: connectors.TypeString, Sensitive: true, Help: "A REST API key of such a user, in place of name and password."},
		},
		CheckSettings: checkSettings,
		New:           func(_ context.Context, s connectors.Settings) (connectors.Source, error) { return open(dial, s) },
	}
}

func checkSettings(s connectors.Settings) error {
	switch user, word := s.Credentials[credentialUser], s.Credentials[credentialWord]; {
	case s.Token != nil || s.Credentials[credentialKey] != "" || user != "" && word != "":
		return nil
	case user != "":
		return &connectors.OptionError{Field: "credentials." + credentialWord, Message: "required with a user name"}
	default:
		return &connectors.OptionError{Field: "credentials." + credentialUser, Message: "required (or an API key, or connect an account)"}
	}
}

func options() []connectors.Option {
	const limits = "Limits"
	return []connectors.Option{
		{
			Name: optionURL, Title: "Address", Type: connectors.TypeString, Format: connectors.FormatURL, Required: true, Destination: true, Example: example,
			Help:  "The address of the instance.",
			Check: connectors.CheckString(func(text string) error { _, err := restapi.ParseBaseURL(text, example); return err }),
		},
		{
			Name: optionTables, Title: "Tables", Type: connectors.TypeStringList, Example: "incident", Check: connectors.CheckEach(checkTable),
			Help: "Names of the tables whose rows become documents. Without any: " + strings.Join(defaultTables(), ", ") + ".",
		},
		{
			Name: optionBases, Title: "Knowledge bases", Type: connectors.TypeStringList, Example: "IT", Group: limits, Check: connectors.CheckEach(checkBase),
			Help: "Titles or ids of knowledge bases. Without any: all that the user may read.",
		},
		{
			Name: optionQuery, Title: "Queries", Type: connectors.TypeStringList, Example: "incident: active=true^priority<=2", Group: limits,
			Help: "A table and an encoded query that its rows must match as well.", Check: connectors.CheckEach(func(text string) error { _, _, err := parseQuery(text); return err }),
		},
		{
			Name: optionFields, Title: "Further fields", Type: connectors.TypeStringList, Example: "incident.close_code", Advanced: true,
			Help: "Fields that documents show beside the usual ones, with their table.", Check: connectors.CheckEach(func(text string) error { _, _, err := parseField(text); return err }),
		},
		{
			Name: optionAttachments, Title: "Attachments", Type: connectors.TypeBoolean, Default: false,
			Help: "Files attached to rows become documents as well.",
		},
	}
}

func defaultTables() []string { return []string{tableKnowledge, "incident", "sc_cat_item"} }

var tableName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,79}$`)

func checkTable(name string) error {
	if !tableName.MatchString(name) || name == fileTable {
		return errors.New("is no name of a table, such as incident or u_contract")
	}
	return nil
}

func checkBase(text string) error {
	if text == "" || strings.ContainsAny(text, "^,\n") {
		return errors.New("is no title or id of a knowledge base")
	}
	return nil
}

// parseQuery parses a table and an encoded query.
func parseQuery(text string) (table, query string, err error) {
	table, query, found := strings.Cut(text, ":")
	table, query = strings.TrimSpace(table), strings.Trim(strings.TrimSpace(query), "^")
	switch {
	case !found || checkTable(table) != nil || query == "":
		return "", "", errors.New("write a table, a colon and an encoded query, as incident: active=true")
	case slices.ContainsFunc(strings.Split(query, "^"), func(part string) bool {
		return strings.HasPrefix(part, "NQ") || strings.HasPrefix(part, "ORDERBY") || strings.HasPrefix(part, "GROUPBY")
	}):
		return "", "", errors.New("must not have NQ, ORDERBY or GROUPBY")
	}
	return table, query, nil
}

// parseField parses a field with its table.
func parseField(text string) (table, field string, err error) {
	table, field, found := strings.Cut(text, ".")
	if !found || checkTable(table) != nil || !regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*){0,2}$`).MatchString(field) {
		return "", "", errors.New("write a field with its table, as incident.close_code")
	}
	return table, field, nil
}
