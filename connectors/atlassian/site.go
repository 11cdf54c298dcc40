package atlassian

import (
	"net/url"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// A Site is the site of a connector, and how requests to it are authorized.
type Site struct {
	// Cloud says that the site is in Atlassian's cloud.
	Cloud bool
	// Base is the URL at which people open the product, without a slash at the end.
	Base string
	// API is the URL of requests if it is not Base or that of the gateway.
	API string
	// Grant says that an OAuth grant replaces credentials.
	Grant bool
}

// parseAddress parses the URL of a site and removes what people copy with it. Its
// errors do not repeat the text, which may hold a password.
func (p Product) parseAddress(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	text, _, _ = strings.Cut(text, "#")
	text, _, _ = strings.Cut(text, "?")
	address, err := restapi.ParseBaseURL(text, p.Example)
	if err != nil {
		return nil, err
	}
	path := address.Path
	for _, inside := range p.Inside {
		if i := strings.Index(path+"/", inside); i >= 0 {
			path = path[:i]
		}
	}
	return &url.URL{Scheme: address.Scheme, Host: strings.ToLower(address.Host), Path: strings.TrimRight(path, "/")}, nil
}

// Site returns the site of a connector. Its errors are *OptionError.
func (p Product) Site(s connectors.Settings) (Site, error) {
	optionError := func(field, message string) error { return &connectors.OptionError{Field: field, Message: message} }
	address, err := p.parseAddress(s.String(OptionURL))
	if err != nil {
		return Site{}, optionError("config."+OptionURL, err.Error())
	}
	c := s.Credentials
	result := Site{Grant: s.Token != nil}
	atlassian := isAtlassian(address.Hostname())
	switch s.String(OptionDeployment) {
	case DeploymentCloud:
		result.Cloud = true
	case DeploymentCenter:
	default:
		result.Cloud = atlassian || result.Grant || c[CredentialEmail] != "" || c[CredentialKey] != ""
	}
	switch {
	case result.Grant && !result.Cloud:
		return Site{}, optionError("config."+OptionDeployment, "an OAuth grant of Atlassian is for Cloud")
	case result.Grant:
	case result.Cloud && (c[CredentialToken] != "" || c[CredentialUser] != "" || c[CredentialWord] != ""):
		return Site{}, optionError("credentials."+firstPresent(c, CredentialToken, CredentialUser, CredentialWord),
			"is for Data Center; Cloud takes "+CredentialEmail+" and "+CredentialKey)
	case result.Cloud && c[CredentialEmail] == "":
		return Site{}, optionError("credentials."+CredentialEmail, "required for Cloud, with "+CredentialKey+" (or connect an account)")
	case result.Cloud && c[CredentialKey] == "":
		return Site{}, optionError("credentials."+CredentialKey, "required with "+CredentialEmail)
	case result.Cloud:
	case c[CredentialEmail] != "" || c[CredentialKey] != "":
		return Site{}, optionError("credentials."+firstPresent(c, CredentialEmail, CredentialKey),
			"is for Cloud; Data Center takes "+CredentialToken+", or "+CredentialUser+" and "+CredentialWord)
	case c[CredentialToken] != "" && (c[CredentialUser] != "" || c[CredentialWord] != ""):
		return Site{}, optionError("credentials."+CredentialToken, "is given beside "+CredentialUser+"; use one of the two")
	case c[CredentialToken] != "":
	case c[CredentialUser] == "" && c[CredentialWord] == "":
		return Site{}, optionError("credentials."+CredentialToken, "required for Data Center, or "+CredentialUser+" and "+CredentialWord)
	case c[CredentialUser] == "":
		return Site{}, optionError("credentials."+CredentialUser, "required with "+CredentialWord)
	case c[CredentialWord] == "":
		return Site{}, optionError("credentials."+CredentialWord, "required with "+CredentialUser)
	}
	if result.Cloud && (p.CloudPath != "" || atlassian) {
		address.Path = p.CloudPath
	}
	result.Base = address.String()
	if text := s.String(OptionAPI); text != "" {
		api, err := restapi.ParseBaseURL(text, Gateway)
		if err != nil {
			return Site{}, optionError("config."+OptionAPI, err.Error())
		}
		result.API = strings.TrimRight(api.String(), "/")
	}
	return result, nil
}

// isAtlassian reports whether a host is in Atlassian's cloud.
func isAtlassian(host string) bool {
	return strings.HasSuffix(host, ".atlassian.net") || strings.HasSuffix(host, ".jira.com")
}

func firstPresent(credentials map[string]string, names ...string) string {
	for _, name := range names {
		if credentials[name] != "" {
			return name
		}
	}
	return names[0]
}
