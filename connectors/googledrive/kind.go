package googledrive

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
	optionMyDrive      = "includeMyDrive"
	optionSharedDrives = "includeSharedDrives"
	optionSharedWithMe = "includeSharedWithMe"
	optionDrives       = "sharedDrives"
	optionFolders      = "folders"
	optionUsers        = "users"
	optionFormat       = "exportFormat"
	optionLinks        = "treatLinkAsPublic"
	optionAPI          = "apiUrl"
	optionAuth         = "authUrl"
	optionDirectory    = "directoryUrl"

	credentialAccount = "serviceAccountJson"
	credentialAdmin   = "adminEmail"
	credentialSecret  = "webhookSecret"
)

// The values of exportFormat.
const (
	formatMarkdown = "markdown"
	formatPDF      = "pdf"
)

// allUsers is the entry of users that stands for everybody in the directory.
const allUsers = "*"

const (
	platform = "Google"
	// apiVersion is the version of the Drive API that requests name.
	apiVersion       = "v3"
	defaultAPI       = "https://www.googleapis.com"
	defaultDirectory = "https://admin.googleapis.com"
	exportHost       = "https://docs.google.com"

	perMinute = 600 // below the default limit of a user
	burst     = 50
)

// Kind returns the kind, which connects with dial.
func Kind(dial connectors.Dial) connectors.Kind {
	return connectors.Kind{
		Name: "google_drive", Title: "Google Drive", Category: connectors.CategoryStorage,
		Description:   "Files of My Drive and shared drives, and Google Docs, Sheets and Slides.",
		Documentation: "https://developers.google.com/workspace/drive/api/guides/about-auth",
		Enumerates:    true, Feeds: true, Permissions: true, OAuth: "google", APIVersion: apiVersion,
		RateLimit:     connectors.RateLimit{PerMinute: perMinute, Burst: burst},
		Options:       options(),
		Credentials:   credentials(),
		Webhook:       webhook(),
		CheckSettings: checkSettings,
		New: func(_ context.Context, s connectors.Settings) (connectors.Source, error) {
			return open(dial, s)
		},
	}
}

func options() []connectors.Option {
	const content, addresses = "Content", "Addresses"
	flag := func(name, title string, standard bool, help string) connectors.Option {
		return connectors.Option{Name: name, Title: title, Type: connectors.TypeBoolean, Default: standard, Group: content, Help: help}
	}
	address := func(name, title, example, help string) connectors.Option {
		return connectors.Option{
			Name: name, Title: title, Type: connectors.TypeString, Format: connectors.FormatURL, Destination: true, Advanced: true, Group: addresses,
			Example: example, Help: help,
			Check: connectors.CheckString(func(text string) error { _, err := restapi.ParseBaseURL(text, example); return err }),
		}
	}
	links := flag(optionLinks, "Links count as public", false,
		"A share that only those with the link can open makes readers: everyone, or everybody of the domain. Without it, such a share makes none.")
	links.Group = "Permissions"
	return []connectors.Option{
		flag(optionMyDrive, "My Drive", true, "Files in the My Drive of the account or of the users."),
		flag(optionSharedDrives, "Shared drives", true, "Files in shared drives."),
		flag(optionSharedWithMe, "Shared with me", false, "Files that others shared with the account. A service account without adminEmail always reads them."),
		{
			Name: optionDrives, Title: "Only these shared drives", Type: connectors.TypeStringList, Example: "https://drive.google.com/drive/folders/0AExample", Group: content,
			Help: "Ids, addresses or names of shared drives. Without any: all that the account sees.", Check: connectors.CheckEach(checkDrive),
		},
		{
			Name: optionFolders, Title: "Only these folders", Type: connectors.TypeStringList, Example: "https://drive.google.com/drive/folders/1Example", Group: content,
			Help:  "Ids or addresses of folders, which are read with all folders in them. Other files are then only read from the shared drives that are named.",
			Check: connectors.CheckEach(checkPlace),
		},
		{
			Name: optionUsers, Title: "Users", Type: connectors.TypeStringList, Format: connectors.FormatEmail, Example: "ada@example.com", Group: content,
			Help:  "With adminEmail: the mail addresses of the people whose My Drive is read, or * for everybody. Without any: the administrator's.",
			Check: connectors.CheckEach(checkUser),
		},
		{
			Name: optionFormat, Title: "Export format", Type: connectors.TypeString, Default: formatMarkdown, Choices: []string{formatMarkdown, formatPDF}, Group: content, Advanced: true,
			Help: "How Google Docs are read. With pdf, Slides are read as PDF too.",
		},
		links,
		address(optionAPI, "API address", defaultAPI, "The address of Google's API, for a proxy. Also that of the directory unless directoryUrl is set."),
		address(optionAuth, "Token address", "https://oauth2.googleapis.com/token", "The address at which a service account gets its tokens. By default the one in serviceAccountJson."),
		address(optionDirectory, "Directory address", defaultDirectory, "The address of the Admin SDK, for a proxy."),
	}
}

func credentials() []connectors.Option {
	return []connectors.Option{
		{
			Name: credentialAccount, Title: "Service account key", Type: connectors.TypeString, Sensitive: true, Multiline: true,
			Help:  "The JSON file of a service account's key. Not needed for a connected account.",
			Check: connectors.CheckString(func(text string) error { _, err := parseAccount(text); return err }),
		},
		{
			Name: credentialAdmin, Title: "Administrator", Type: connectors.TypeString, Format: connectors.FormatEmail, Example: "admin@example.com",
			Help:  "With domain-wide delegation: the person in whose name the service account lists drives and groups.",
			Check: connectors.CheckString(checkAddress),
		},
		{
			Name: credentialSecret, Title: "Webhook secret", Type: connectors.TypeString, Sensitive: true,
			Help: "The token of notification channels. Magpie makes one if it is empty.",
		},
	}
}

func checkSettings(s connectors.Settings) error {
	wrong := func(field, message string) error { return &connectors.OptionError{Field: field, Message: message} }
	account, admin := s.Credentials[credentialAccount], s.Credentials[credentialAdmin]
	switch {
	case s.Token == nil && account == "":
		return wrong("credentials."+credentialAccount, "required, or connect an account")
	case admin != "" && account == "":
		return wrong("credentials."+credentialAdmin, "needs "+credentialAccount)
	case len(s.Strings(optionUsers)) > 0 && admin == "":
		return wrong("config."+optionUsers, "needs credentials."+credentialAdmin+" and domain-wide delegation")
	case s.Config[optionMyDrive] == false && s.Config[optionSharedDrives] == false && !s.Boolean(optionSharedWithMe) && len(s.Strings(optionFolders)) == 0 && (s.Token != nil || admin != ""):
		return wrong("config."+optionMyDrive, "nothing is selected; choose My Drive, shared drives, files that are shared with the account, or folders")
	}
	return nil
}

var idPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,200}$`)

// placeID returns the id of a folder or drive that a person wrote as an id or
// address.
func placeID(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if match := regexp.MustCompile(`^https?://[^?#]*/(?:folders|drives|d)/([A-Za-z0-9_-]+)`).FindStringSubmatch(text); match != nil {
		return match[1], true
	}
	if match := regexp.MustCompile(`^https?://[^#]*[?&]id=([A-Za-z0-9_-]+)`).FindStringSubmatch(text); match != nil {
		return match[1], true
	}
	return text, idPattern.MatchString(text)
}

func checkPlace(text string) error {
	if _, ok := placeID(text); !ok {
		return errors.New("must be an id or an address such as https://drive.google.com/drive/folders/1Example")
	}
	return nil
}

// checkDrive accepts ids, addresses and names.
func checkDrive(text string) error {
	if strings.TrimSpace(text) == "" || strings.Contains(text, "://") {
		return checkPlace(text)
	}
	return nil
}

func checkUser(text string) error {
	if text == allUsers {
		return nil
	}
	return checkAddress(text)
}

func checkAddress(text string) error {
	if !regexp.MustCompile(`^[^\s@]+@[^\s@]+$`).MatchString(text) {
		return errors.New("must be a mail address such as ada@example.com")
	}
	return nil
}
