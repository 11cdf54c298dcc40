package salesforce

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
	optionURL       = "instanceUrl"
	optionObjects   = "objects"
	optionCustom    = "includeCustomObjects"
	optionFilter    = "soqlFilter"
	optionFields    = "fields"
	optionComments  = "includeComments"
	optionEmails    = "includeEmails"
	optionTasks     = "includeTasks"
	optionFiles     = "includeFiles"
	optionLanguages = "knowledgeLanguages"
	optionKnowledge = "knowledgeForReaders"
	optionHierarchy = "hierarchyObjects"
	optionQuota     = "quotaShare"
	optionVersion   = "apiVersion"
	optionSandbox   = "sandbox"
	optionAuth      = "authUrl"

	credentialID       = "clientId"
	credentialSecret   = "clientSecret"
	credentialUsername = "username"
	credentialKey      = "privateKey"
)

const (
	platform = "Salesforce"
	// apiVersion is the version of the API that requests name.
	apiVersion      = "62.0"
	exampleInstance = "https://acme.my.salesforce.com"
	loginHost       = "https://login.salesforce.com"
	sandboxHost     = "https://test.salesforce.com"

	perMinute    = 600
	burst        = 50
	defaultQuota = 80
)

// defaultObjects are the objects that are read if none is named.
func defaultObjects() []string {
	return []string{"Account", "Contact", "Opportunity", "Lead", "Case", "Knowledge__kav"}
}

// Kind returns the kind, which connects with dial.
func Kind(dial connectors.Dial) connectors.Kind {
	return connectors.Kind{
		Name: "salesforce", Title: "Salesforce", Category: connectors.CategoryCRM,
		Description:   "Records of Salesforce with their comments, mails and tasks, Knowledge articles, and files.",
		Documentation: "https://help.salesforce.com/s/articleView?id=xcloud.connected_app_client_credentials_setup.htm",
		Enumerates:    true, Feeds: true, Permissions: true, VerifiesAccess: true, OAuth: "salesforce", APIVersion: apiVersion,
		RateLimit:     connectors.RateLimit{PerMinute: perMinute, Burst: burst},
		Options:       options(),
		Credentials:   credentials(),
		CheckSettings: checkSettings,
		New: func(_ context.Context, s connectors.Settings) (connectors.Source, error) {
			return open(dial, s)
		},
	}
}

func options() []connectors.Option {
	return append(append(contentOptions(), permissionOptions()...), connectionOptions()...)
}

func contentOptions() []connectors.Option {
	const content = "Content"
	flag := func(name, title string, standard bool, help string) connectors.Option {
		return connectors.Option{Name: name, Title: title, Type: connectors.TypeBoolean, Default: standard, Group: content, Help: help}
	}
	return []connectors.Option{
		{
			Name: optionURL, Title: "Address", Type: connectors.TypeString, Format: connectors.FormatURL, Destination: true, NoGrantToken: true, Example: exampleInstance,
			Help:  "The My Domain address of the organization. Not needed with a connected account.",
			Check: connectors.CheckString(func(text string) error { _, err := restapi.ParseBaseURL(text, exampleInstance); return err }),
		},
		{
			Name: optionObjects, Title: "Objects", Type: connectors.TypeStringList, Example: "Case", Group: content,
			Help: "API names of the objects whose records are read. Without any: " + strings.Join(defaultObjects(), ", ") +
				", as far as the organization has them.",
			Check: connectors.CheckEach(checkName),
		},
		flag(optionCustom, "Custom objects", false, "Also read all custom objects that the account sees."),
		{
			Name: optionFilter, Title: "SOQL filter", Type: connectors.TypeString, Multiline: true, Example: "Case: Status != 'Draft' AND IsClosed = false", Group: content,
			Help: "Conditions that records must match, one line for each object: the name of the object, a colon and what follows WHERE. " +
				"A line without an object is for all objects.",
			Check: connectors.CheckString(func(text string) error { _, err := parseFilters(text); return err }),
		},
		{
			Name: optionFields, Title: "Fields", Type: connectors.TypeStringList, Example: "Opportunity: Name, Description, StageName, Amount", Group: content,
			Help: "The fields in the documents of an object: its name, a colon and the names of fields. Without an entry: the fields with text " +
				"and, with imported permissions, only those that everybody with access to the object may see.",
			Check: connectors.CheckStrings(func(list []string) error { _, err := parseFields(list); return err }),
		},
		flag(optionComments, "Comments", true, "Add the comments of cases to their documents."),
		flag(optionEmails, "Mails", true, "Add the mails that are related to a record to its document."),
		flag(optionTasks, "Tasks", true, "Add tasks to the documents of their records."),
		flag(optionFiles, "Files", false, "Files attached to records become documents as well."),
		{
			Name: optionLanguages, Title: "Knowledge languages", Type: connectors.TypeStringList, Example: "en_US", Group: content, Advanced: true,
			Help: "The languages of Knowledge articles. Without any: all languages.", Check: connectors.CheckEach(checkLanguage),
		},
	}
}

func permissionOptions() []connectors.Option {
	const permissions = "Permissions"
	return []connectors.Option{
		{
			Name: optionKnowledge, Title: "Knowledge for all readers", Type: connectors.TypeBoolean, Default: false, Group: permissions, Advanced: true,
			Help: "Everybody inside with the right to read Knowledge finds all published articles. Without it, nobody does: data categories cannot be read.",
		},
		{
			Name: optionHierarchy, Title: "Custom objects with hierarchy", Type: connectors.TypeStringList, Example: "Project__c", Group: permissions, Advanced: true,
			Help:  "Custom objects for which \"Grant Access Using Hierarchies\" is on, which Salesforce does not tell. Managers find records of their people only then.",
			Check: connectors.CheckEach(checkName),
		},
	}
}

func connectionOptions() []connectors.Option {
	const connection = "Connection"
	return []connectors.Option{
		{
			Name: optionQuota, Title: "Share of the API allowance", Type: connectors.TypeInteger, Default: int64(defaultQuota), Min: 1, Max: 100, Group: connection, Advanced: true,
			Help: "Syncs wait when the organization has used this share of its API requests of 24 hours, in percent.",
		},
		{
			Name: optionVersion, Title: "API version", Type: connectors.TypeString, Default: apiVersion, Example: apiVersion, Group: connection, Advanced: true,
			Help: "The version of Salesforce's API.", Check: connectors.CheckString(checkVersion),
		},
		{
			Name: optionSandbox, Title: "Sandbox", Type: connectors.TypeBoolean, Default: false, Group: connection, Advanced: true,
			Help: "The organization is a sandbox, for which the assertion of a private key is made out to test.salesforce.com.",
		},
		{
			Name: optionAuth, Title: "Token address", Type: connectors.TypeString, Format: connectors.FormatURL, Destination: true, NoGrantToken: true, Group: connection, Advanced: true,
			Example: loginHost, Help: "The address at which tokens are requested, if not the address of the organization.",
			Check: connectors.CheckString(func(text string) error { _, err := restapi.ParseBaseURL(text, loginHost); return err }),
		},
	}
}

func credentials() []connectors.Option {
	return []connectors.Option{
		{
			Name: credentialID, Title: "Consumer key", Type: connectors.TypeString, Help: "The consumer key of the external client app or connected app. Not needed with a connected account.",
			Example: "3MVG9exampleConsumerKey",
		},
		{
			Name: credentialSecret, Title: "Consumer secret", Type: connectors.TypeString, Sensitive: true,
			Help: "The consumer secret, for the client credentials flow.",
		},
		{
			Name: credentialUsername, Title: "Username", Type: connectors.TypeString, Example: "reader@acme.example",
			Help: "The username in whose name a private key signs, for the JWT bearer flow.",
		},
		{
			Name: credentialKey, Title: "Private key", Type: connectors.TypeString, Sensitive: true, Multiline: true,
			Help:  "The RSA key in PEM whose certificate the app has, for the JWT bearer flow.",
			Check: connectors.CheckString(func(text string) error { _, err := parseKey(text); return err }),
		},
	}
}

func checkSettings(s connectors.Settings) error {
	wrong := func(field, message string) error { return &connectors.OptionError{Field: field, Message: message} }
	secret, key := s.Credentials[credentialSecret], s.Credentials[credentialKey]
	switch {
	case s.Token != nil:
	case s.Credentials[credentialID] == "":
		return wrong("credentials."+credentialID, "required, or connect an account")
	case secret == "" && key == "":
		return wrong("credentials."+credentialSecret, "required, or "+credentialUsername+" and "+credentialKey)
	case secret != "" && key != "":
		return wrong("credentials."+credentialKey, "must be empty with "+credentialSecret+"; one of the two is used")
	case key != "" && s.Credentials[credentialUsername] == "":
		return wrong("credentials."+credentialUsername, "required with "+credentialKey)
	case s.String(optionURL) == "":
		return wrong("config."+optionURL, "required; enter the My Domain address, such as "+exampleInstance)
	}
	return nil
}

func checkName(name string) error {
	if len(name) > 80 || !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`).MatchString(name) {
		return errors.New("must be an API name such as Case or Project__c")
	}
	return nil
}

func checkLanguage(text string) error {
	if !regexp.MustCompile(`^[a-z]{2,3}(_[A-Za-z0-9]{2,8})*$`).MatchString(text) {
		return errors.New("must be a language as Salesforce writes it, such as en_US or de")
	}
	return nil
}

func checkVersion(text string) error {
	if !regexp.MustCompile(`^[0-9]{2,3}\.0$`).MatchString(text) {
		return errors.New("must be a version such as " + apiVersion)
	}
	return nil
}

// parseFields parses the entries of the option fields: the fields by object. An entry
// without an object continues the one before it, since lists are cut at commas.
func parseFields(list []string) (map[string][]string, error) {
	parsed := map[string][]string{}
	object := ""
	for _, entry := range list {
		before, names, found := strings.Cut(entry, ":")
		if found {
			object = strings.TrimSpace(before)
		} else {
			names = entry
		}
		if checkName(object) != nil {
			return nil, errors.New("must be an object, a colon and its fields, such as Opportunity: Name, Amount")
		}
		for name := range strings.SplitSeq(names, ",") {
			if name = strings.TrimSpace(name); checkName(name) != nil {
				return nil, fmt.Errorf("%s needs names of fields, with commas between them", object)
			}
			parsed[object] = append(parsed[object], name)
		}
	}
	return parsed, nil
}
