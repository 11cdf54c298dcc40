package confluence

import (
	"errors"
	"net/url"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// site is which Confluence a connector is for, and how it shows who it is.
type site struct {
	cloud bool
	// base is where people open it, without a slash at the end: with /wiki for Cloud.
	base string
	// grant says that an OAuth grant stands for credentials.
	grant bool
}

// parseAddress reads the address of an instance, and cuts what a person copied
// along with it. Its errors do not repeat the text, which may hold a password.
func parseAddress(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	address, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("is no address; write it as https://acme.atlassian.net/wiki")
	case address.Scheme != "http" && address.Scheme != "https":
		return nil, errors.New("must begin with https:// or http://")
	case address.User != nil:
		return nil, errors.New("must not hold a user or password; they go to the credentials")
	case address.Hostname() == "" || strings.ContainsAny(address.Host, " %"):
		return nil, errors.New("has no host; write it as https://acme.atlassian.net/wiki")
	}
	path := address.Path
	for _, inside := range []string{"/spaces/", "/display/", "/pages/", "/rest/api", "/api/v2", "/login.action", "/dashboard.action", "/home", "/index.action"} {
		if at := strings.Index(path+"/", inside); at >= 0 {
			path = path[:at]
		}
	}
	return &url.URL{Scheme: address.Scheme, Host: strings.ToLower(address.Host), Path: strings.TrimRight(path, "/")}, nil
}

// siteOf decides what a connector talks to. Its errors are *OptionError.
func siteOf(s connectors.Settings) (site, error) {
	wrong := func(field, message string) error { return &connectors.OptionError{Field: field, Message: message} }
	address, err := parseAddress(s.String(optionURL))
	if err != nil {
		return site{}, wrong("config."+optionURL, err.Error())
	}
	c := s.Credentials
	made := site{grant: s.Token != nil}
	atlassian := strings.HasSuffix(address.Hostname(), ".atlassian.net") || strings.HasSuffix(address.Hostname(), ".jira.com")
	switch s.String(optionDeployment) {
	case deploymentCloud:
		made.cloud = true
	case deploymentCenter:
	default:
		made.cloud = atlassian || made.grant || c[credentialEmail] != "" || c[credentialKey] != ""
	}
	switch {
	case made.grant && !made.cloud:
		return site{}, wrong("config."+optionDeployment, "an OAuth grant of Atlassian is for Cloud")
	case made.grant:
	case made.cloud && (c[credentialToken] != "" || c[credentialUser] != "" || c[credentialWord] != ""):
		return site{}, wrong("credentials."+firstGiven(c, credentialToken, credentialUser, credentialWord),
			"is for Data Center; Cloud takes "+credentialEmail+" and "+credentialKey)
	case made.cloud && c[credentialEmail] == "":
		return site{}, wrong("credentials."+credentialEmail, "required for Cloud, with "+credentialKey+" (or connect an account)")
	case made.cloud && c[credentialKey] == "":
		return site{}, wrong("credentials."+credentialKey, "required with "+credentialEmail)
	case made.cloud:
	case c[credentialEmail] != "" || c[credentialKey] != "":
		return site{}, wrong("credentials."+firstGiven(c, credentialEmail, credentialKey),
			"is for Cloud; Data Center takes "+credentialToken+", or "+credentialUser+" and "+credentialWord)
	case c[credentialToken] != "" && (c[credentialUser] != "" || c[credentialWord] != ""):
		return site{}, wrong("credentials."+credentialToken, "is given beside "+credentialUser+"; use one of the two")
	case c[credentialToken] != "":
	case c[credentialUser] == "" && c[credentialWord] == "":
		return site{}, wrong("credentials."+credentialToken, "required for Data Center, or "+credentialUser+" and "+credentialWord)
	case c[credentialUser] == "":
		return site{}, wrong("credentials."+credentialUser, "required with "+credentialWord)
	case c[credentialWord] == "":
		return site{}, wrong("credentials."+credentialWord, "required with "+credentialUser)
	}
	if made.cloud {
		address.Path = "/wiki"
	}
	made.base = address.String()
	return made, nil
}

func firstGiven(credentials map[string]string, names ...string) string {
	for _, name := range names {
		if credentials[name] != "" {
			return name
		}
	}
	return names[0]
}
