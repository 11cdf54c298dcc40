package restapi

import (
	"errors"
	"net/url"
	"strings"
)

// ParseBaseURL parses the URL of a service that a person entered: a scheme, a host
// and a path. Its errors say how to write it, as in example, and do not repeat the
// text, which may hold a password.
func ParseBaseURL(text, example string) (*url.URL, error) {
	parsed, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil:
		return nil, errors.New("is no address; write it as " + example)
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return nil, errors.New("must begin with https:// or http://")
	case parsed.User != nil:
		return nil, errors.New("must not hold a user or password; they go to the credentials")
	case parsed.Hostname() == "" || strings.ContainsAny(parsed.Host, " %"):
		return nil, errors.New("has no host; write it as " + example)
	case parsed.RawQuery != "" || parsed.Fragment != "":
		return nil, errors.New("must be an address alone, as " + example)
	}
	return parsed, nil
}
