package oauth

import (
	"net/url"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/apierr"
)

// maxReturnTo is the maximum length of a return address in bytes.
const maxReturnTo = 2000

// ReturnOrigins are the origins that a browser may be redirected to: the service
// itself and the dashboards that may call it.
type ReturnOrigins struct{ origins []string }

// NewReturnOrigins returns the origins of the service's base URL and of the given
// addresses. The wildcard "*" adds none.
func NewReturnOrigins(own string, origins []string) ReturnOrigins {
	var p ReturnOrigins
	for _, address := range append([]string{own}, origins...) {
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			p.origins = append(p.origins, originOf(u))
		}
	}
	return p
}

// originOf returns the origin of u with an explicit port, in lower case.
func originOf(u *url.URL) string {
	scheme, host, port := strings.ToLower(u.Scheme), strings.ToLower(u.Hostname()), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	return scheme + "://" + host + ":" + port
}

// Check returns the address as it is redirected to. The error names the field. An
// empty address is valid.
func (p ReturnOrigins) Check(field, address string) (string, error) {
	if address == "" {
		return "", nil
	}
	refused := apierr.Invalid(field, "must be an address of this service or of one of DASHBOARD_ORIGINS")
	// Browsers treat a backslash as a slash and ignore control characters.
	if len(address) > maxReturnTo || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f || r > 0x7e }) {
		return "", refused
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Opaque != "" || u.User != nil || u.Fragment != "" ||
		!slices.Contains(p.origins, originOf(u)) {
		return "", refused
	}
	return u.String(), nil
}

// WithQuery adds parameters to the query of an address that Check returned.
func WithQuery(address string, parameters url.Values) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	query := u.Query()
	for name := range parameters {
		query.Set(name, parameters.Get(name))
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// WithFragment adds parameters as the fragment of an address that Check returned.
// Browsers do not send a fragment to the server, so it appears in no log.
func WithFragment(address string, parameters url.Values) string {
	return address + "#" + parameters.Encode()
}
