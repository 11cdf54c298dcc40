package confluence

import (
	"net/url"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// A site is the Confluence of a connector, and how requests to it are
// authorized.
type site struct {
	cloud bool
	// base is the URL at which people open it, without a slash at the end; with
	// /wiki for Cloud.
	base string
	// grant says that an OAuth grant replaces credentials.
	grant bool
}

// parseAddress parses the URL of a Confluence and removes the path of a page.
// Its errors do not repeat the text, which may hold a password.
func parseAddress(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	text, _, _ = strings.Cut(text, "#")
	text, _, _ = strings.Cut(text, "?")
	address, err := restapi.ParseBaseURL(text, "https://acme.atlassian.net/wiki")
	if err != nil {
		return nil, err
	}
	path := address.Path
	for _, inside := range []string{"/spaces/", "/display/", "/pages/", "/rest/api", "/api/v2", "/login.action", "/dashboard.action", "/home", "/index.action"} {
		if i := strings.Index(path+"/", inside); i >= 0 {
			path = path[:i]
		}
	}
	return &url.URL{Scheme: address.Scheme, Host: strings.ToLower(address.Host), Path: strings.TrimRight(path, "/")}, nil
}

// newSite returns the site of a connector. Its errors are *OptionError.
func newSite(s connectors.Settings) (site, error) {
	optionError := func(field, message string) error { return &connectors.OptionError{Field: field, Message: message} }
	address, err := parseAddress(s.String(optionURL))
	if err != nil {
		return site{}, optionError("config."+optionURL, err.Error())
	}
	c := s.Credentials
	result := site{grant: s.Token != nil}
	atlassian := strings.HasSuffix(address.Hostname(), ".atlassian.net") || strings.HasSuffix(address.Hostname(), ".jira.com")
	switch s.String(optionDeployment) {
	case deploymentCloud:
		result.cloud = true
	case deploymentCenter:
	default:
		result.cloud = atlassian || result.grant || c[credentialEmail] != "" || c[credentialKey] != ""
	}
	switch {
	case result.grant && !result.cloud:
		return site{}, optionError("config."+optionDeployment, "an OAuth grant of Atlassian is for Cloud")
	case result.grant:
	case result.cloud && (c[credentialToken] != "" || c[credentialUser] != "" || c[credentialWord] != ""):
		return site{}, optionError("credentials."+firstPresent(c, credentialToken, credentialUser, credentialWord),
			"is for Data Center; Cloud takes "+credentialEmail+" and "+credentialKey)
	case result.cloud && c[credentialEmail] == "":
		return site{}, optionError("credentials."+credentialEmail, "required for Cloud, with "+credentialKey+" (or connect an account)")
	case result.cloud && c[credentialKey] == "":
		return site{}, optionError("credentials."+credentialKey, "required with "+credentialEmail)
	case result.cloud:
	case c[credentialEmail] != "" || c[credentialKey] != "":
		return site{}, optionError("credentials."+firstPresent(c, credentialEmail, credentialKey),
			"is for Cloud; Data Center takes "+credentialToken+", or "+credentialUser+" and "+credentialWord)
	case c[credentialToken] != "" && (c[credentialUser] != "" || c[credentialWord] != ""):
		return site{}, optionError("credentials."+credentialToken, "is given beside "+credentialUser+"; use one of the two")
	case c[credentialToken] != "":
	case c[credentialUser] == "" && c[credentialWord] == "":
		return site{}, optionError("credentials."+credentialToken, "required for Data Center, or "+credentialUser+" and "+credentialWord)
	case c[credentialUser] == "":
		return site{}, optionError("credentials."+credentialUser, "required with "+credentialWord)
	case c[credentialWord] == "":
		return site{}, optionError("credentials."+credentialWord, "required with "+credentialUser)
	}
	if result.cloud {
		address.Path = "/wiki"
	}
	result.base = address.String()
	return result, nil
}

func firstPresent(credentials map[string]string, names ...string) string {
	for _, name := range names {
		if credentials[name] != "" {
			return name
		}
	}
	return names[0]
}
