package sharepoint

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// The names of options and credentials.
const (
	optionSite         = "siteUrl"
	optionSites        = "sites"
	optionLibraries    = "libraries"
	optionPages        = "includePages"
	optionLists        = "includeLists"
	optionPersonal     = "includePersonalSites"
	optionUsers        = "users"
	optionNoSites      = "excludedSites"
	optionNoPaths      = "excludedPaths"
	optionLinkIsPublic = "treatLinkAsPublic"
	optionGraph        = "graphUrl"
	optionAuth         = "authUrl"
	optionSuffix       = "domainSuffix"

	credentialTenant      = "tenantId"
	credentialClient      = "clientId"
	credentialSecret      = "clientSecret"
	credentialCertificate = "certificate"
	credentialKey         = "privateKey"
	credentialWebhook     = "webhookSecret"
)

const (
	graphVersion  = "v1.0"
	defaultGraph  = "https://graph.microsoft.com"
	defaultAuth   = "https://login.microsoftonline.com"
	defaultSuffix = "sharepoint.com"
	// perMinute is below the quota of a small tenant, which is 1,250 resource units a
	// minute; most requests of a sync cost one.
	perMinute = 1000
	burst     = 60
	// maxClientState is the longest clientState of a subscription.
	maxClientState = 128
)

// Kind returns the kind, which connects with dial.
func Kind(dial connectors.Dial) connectors.Kind {
	tokens := newTokenCache()
	return connectors.Kind{
		Name: "sharepoint", Title: "SharePoint and OneDrive", Category: connectors.CategoryStorage, Aliases: []string{"onedrive"},
		Description:   "Files, pages and lists of SharePoint sites, and files of OneDrives.",
		Documentation: "https://learn.microsoft.com/graph/auth-register-app-v2",
		Enumerates:    true, Permissions: true, Feeds: true, OAuth: "microsoft", APIVersion: graphVersion,
		RateLimit:     connectors.RateLimit{PerMinute: perMinute, Burst: burst},
		Options:       options(),
		Credentials:   credentials(),
		CheckSettings: checkSettings,
		Webhook:       webhook(),
		New: func(_ context.Context, s connectors.Settings) (connectors.Source, error) {
			return open(dial, tokens, s, time.Now)
		},
	}
}

func options() []connectors.Option {
	const content, limits, platform = "Content", "Limits", "Platform"
	flag := func(name, title, group string, standard bool, help string) connectors.Option {
		return connectors.Option{Name: name, Title: title, Type: connectors.TypeBoolean, Default: standard, Group: group, Help: help}
	}
	return []connectors.Option{
		{
			// Microsoft Graph gets the credentials, not the site.
			Name: optionSite, Title: "Site", Type: connectors.TypeString, Example: "https://acme.sharepoint.com/sites/handbook",
			Help:  "The address or name of a site. Without siteUrl and sites: all sites of the organisation.",
			Check: connectors.CheckString(func(text string) error { _, err := parseSiteRef(text); return err }),
		},
		{
			Name: optionSites, Title: "Sites", Type: connectors.TypeStringList, Example: "https://acme.sharepoint.com/sites/sales",
			Help:  "Addresses, ids or names of sites. An app with Sites.Selected needs addresses or ids.",
			Check: connectors.CheckEach(func(text string) error { _, err := parseSiteRef(text); return err }),
		},
		{
			Name: optionLibraries, Title: "Libraries", Type: connectors.TypeStringList, Example: "Documents", Group: limits,
			Help: "Names or ids of document libraries. Without any: all libraries of the sites.",
		},
		flag(optionPages, "Pages", content, true, "Pages of the sites become documents as well."),
		flag(optionLists, "Lists", content, false, "Entries of lists become documents as well."),
		flag(optionPersonal, "OneDrives", content, false, "Files of OneDrives: of those named in users or, without any, of all people."),
		{
			Name: optionUsers, Title: "People", Type: connectors.TypeStringList, Example: "ada@acme.com", Group: content,
			Help: "Sign-in names or ids of the people whose OneDrives are included.", Check: connectors.CheckEach(checkUser),
			DependsOn: []connectors.Dependency{{Option: optionPersonal, Values: []any{true}}},
		},
		{
			Name: optionNoSites, Title: "Excluded sites", Type: connectors.TypeStringList, Format: connectors.FormatPattern, Example: "sites/archive-*", Group: limits,
			Help: "Patterns of the paths of sites that are left out, such as sites/archive-*, or their addresses.", Check: connectors.CheckPatterns,
		},
		{
			Name: optionNoPaths, Title: "Excluded paths", Type: connectors.TypeStringList, Format: connectors.FormatPattern, Example: "**/Old versions/**", Group: limits,
			Help: "Patterns of the paths of items that are left out.", Check: connectors.CheckPatterns,
		},
		flag(optionLinkIsPublic, "Links count as public", "Permissions", false,
			"A share that only those with the link can open makes readers: everyone with access to the collection. Without it, such a share makes none."),
		{
			Name: optionGraph, Title: "Address of Graph", Type: connectors.TypeString, Format: connectors.FormatURL, Destination: true, Advanced: true, Group: platform,
			Default: defaultGraph, Example: "https://graph.microsoft.us", Help: "For national clouds: the address of Microsoft Graph.", Check: connectors.CheckString(checkURL),
		},
		{
			Name: optionAuth, Title: "Address of the login", Type: connectors.TypeString, Format: connectors.FormatURL, Destination: true, NoGrantToken: true, Advanced: true, Group: platform,
			Example: "https://login.microsoftonline.us", Help: "For national clouds: the address that issues tokens. By default the one that belongs to graphUrl.",
			Check: connectors.CheckString(checkURL),
		},
		{
			// With a certificate, site groups are read from the site's own host.
			Name: optionSuffix, Title: "Domain of SharePoint", Type: connectors.TypeString, Format: connectors.FormatHostname, Destination: true, Advanced: true, Group: platform,
			Example: "sharepoint.us", Help: "For national clouds: the domain of the sites' addresses. By default the one that belongs to graphUrl.",
			Check: connectors.CheckString(checkSuffix),
		},
	}
}

func credentials() []connectors.Option {
	return []connectors.Option{
		{Name: credentialTenant, Title: "Tenant", Type: connectors.TypeString, Example: "11111111-2222-3333-4444-555555555555", Help: "The directory (tenant) id, or a domain of the organisation."},
		{Name: credentialClient, Title: "Client", Type: connectors.TypeString, Example: "66666666-7777-8888-9999-000000000000", Help: "The application (client) id of the registered app."},
		{Name: credentialSecret, Title: "Client secret", Type: connectors.TypeString, Sensitive: true, Help: "The value of a client secret of the app, or a certificate instead."},
		{
			Name: credentialCertificate, Title: "Certificate", Type: connectors.TypeString, Sensitive: true, Multiline: true,
			Help: "The certificate of the app in PEM. Groups of sites can only be read with a certificate.",
		},
		{Name: credentialKey, Title: "Private key", Type: connectors.TypeString, Sensitive: true, Multiline: true, Help: "The private key of the certificate in PEM."},
		{
			Name: credentialWebhook, Title: "Webhook secret", Type: connectors.TypeString, Sensitive: true,
			Help: "The clientState of notifications, at most 128 characters. Without one, Magpie makes one.", //nolint:misspell // clientState is Graph's word
		},
	}
}

func checkSettings(s connectors.Settings) error {
	wrong := func(field, message string) error {
		return &connectors.OptionError{Field: field, Message: message}
	}
	has := func(name string) bool { return s.Credentials[name] != "" }
	if len(s.Credentials[credentialWebhook]) > maxClientState {
		return wrong("credentials."+credentialWebhook, "is longer than 128 characters, which Microsoft Graph does not accept")
	}
	if s.Token != nil && !has(credentialClient) && !has(credentialSecret) {
		return nil
	}
	for _, name := range []string{credentialTenant, credentialClient} {
		if !has(name) {
			return wrong("credentials."+name, "required, unless an account is connected instead")
		}
		if !regexp.MustCompile(`^[A-Za-z0-9._-]{1,200}$`).MatchString(s.Credentials[name]) {
			return wrong("credentials."+name, "is no id; copy it from the app's overview in Microsoft Entra")
		}
	}
	switch {
	case has(credentialCertificate) || has(credentialKey):
		if _, _, err := parseCertificate(s.Credentials[credentialCertificate], s.Credentials[credentialKey]); err != nil {
			return wrong("credentials."+err.field, err.message)
		}
	case !has(credentialSecret):
		return wrong("credentials."+credentialSecret, "required, unless there is a certificate with its private key, or an account is connected instead")
	}
	return nil
}

func checkURL(text string) error {
	_, err := restapi.ParseBaseURL(text, defaultGraph)
	return err
}

func checkSuffix(text string) error {
	if !regexp.MustCompile(`^[A-Za-z0-9.-]+(:\d+)?$`).MatchString(text) {
		return errors.New("must be a domain alone, as sharepoint.com")
	}
	return nil
}

func checkUser(text string) error {
	if !regexp.MustCompile(`^[^\s/?#%\\]{1,250}$`).MatchString(strings.ReplaceAll(text, "#EXT#", "")) {
		return errors.New("a person is named by the sign-in name, as ada@acme.com, or by the id")
	}
	return nil
}

const maxSiteName = 255

// A siteRef names a site by its id, by its host and path, or by its name.
type siteRef struct{ id, host, path, name string }

// parseSiteRef parses the address, id or name of a site.
func parseSiteRef(text string) (siteRef, error) {
	text = strings.TrimSpace(text)
	if strings.Contains(text, "://") {
		parsed, err := url.Parse(text)
		if err != nil || parsed.Hostname() == "" || parsed.User != nil || parsed.Scheme != "https" && parsed.Scheme != "http" {
			return siteRef{}, errors.New("is no address of a site; write it as https://acme.sharepoint.com/sites/handbook")
		}
		return siteRef{host: strings.ToLower(parsed.Host), path: sitePath(parsed.Path)}, nil
	}
	if regexp.MustCompile(`^[A-Za-z0-9.:-]+,[0-9A-Za-z-]+,[0-9A-Za-z-]+$|^[0-9a-fA-F-]{36}$`).MatchString(text) {
		return siteRef{id: text}, nil
	}
	host, path, hasPath := strings.Cut(text, "/")
	if isHost := regexp.MustCompile(`^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(:\d+)?$`).MatchString(host); !isHost {
		if hasPath || text == "" || len(text) > maxSiteName || strings.ContainsFunc(text, unicode.IsControl) {
			return siteRef{}, errors.New("is no address of a site; write it as https://acme.sharepoint.com/sites/handbook")
		}
		return siteRef{name: text}, nil
	}
	return siteRef{host: strings.ToLower(host), path: sitePath(path)}, nil
}

// sitePath returns the path of a site in an address that may lead to one of its
// pages or libraries.
func sitePath(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, part := range parts {
		lower := strings.ToLower(part)
		if strings.HasSuffix(lower, ".aspx") || lower == "sitepages" || lower == "_layouts" || lower == "forms" || lower == "shared documents" {
			parts = parts[:i]
			break
		}
	}
	return strings.Join(parts, "/")
}

// String returns the reference for people.
func (r siteRef) String() string {
	if r.id+r.name != "" {
		return r.id + r.name
	}
	return strings.TrimRight(r.host+"/"+r.path, "/")
}
