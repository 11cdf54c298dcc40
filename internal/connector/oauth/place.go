package oauth

import (
	"net/url"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/apierr"
)

// maxPlace bounds an address to return to, in bytes.
const maxPlace = 2000

// Places are the origins that a browser may be sent to at the end: the
// service's own and those of dashboards that may call it.
type Places struct{ origins []string }

// NewPlaces takes the service's own address and further origins. "*", which lets
// any page call the service, names no place.
func NewPlaces(own string, origins []string) Places {
	var p Places
	for _, address := range append([]string{own}, origins...) {
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			p.origins = append(p.origins, originOf(u))
		}
	}
	return p
}

// originOf writes scheme, host and port in one form.
func originOf(u *url.URL) string {
	scheme, host, port := strings.ToLower(u.Scheme), strings.ToLower(u.Hostname()), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	return scheme + "://" + host + ":" + port
}

// Check returns the address in the form in which it is redirected to, or an
// error that names the field. Empty stays empty.
func (p Places) Check(field, address string) (string, error) {
	if address == "" {
		return "", nil
	}
	refused := apierr.Invalid(field, "must be an address of this service or of one of DASHBOARD_ORIGINS")
	// Browsers read backslashes as slashes and drop control characters.
	if len(address) > maxPlace || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f || r > 0x7e }) {
		return "", refused
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Opaque != "" || u.User != nil || u.Fragment != "" ||
		!slices.Contains(p.origins, originOf(u)) {
		return "", refused
	}
	return u.String(), nil
}

// WithQuery adds parameters to the query of an address that Check made.
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

// WithFragment puts parameters into the fragment of an address that Check made:
// it is sent to no server and stands in no log.
func WithFragment(address string, parameters url.Values) string {
	return address + "#" + parameters.Encode()
}
