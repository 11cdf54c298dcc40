package rest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/rest/openapi"
)

const (
	// cookieParameter is the query parameter by which a page of the service's own
	// origin asks to keep the refresh token in a cookie instead of in a script.
	cookieParameter = "cookie"
	// refreshTokenKey is the field of a response that has the refresh token.
	refreshTokenKey = "refresh_token"
	// refreshVariable is the variable of a refresh that has it.
	refreshVariable = "refreshToken"
	// sessionCookiePath is the path to which browsers send the cookie.
	sessionCookiePath = "/api/v1/auth"
	// maxSessionCookie is the maximum length of a cookie that is looked up, in bytes.
	maxSessionCookie = 512
)

// ownOrigin returns the origin of a URL as browsers write it, or "" for another text.
func ownOrigin(public string) string {
	u, err := url.Parse(public)
	if err != nil || u.Host == "" {
		return ""
	}
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if port := u.Port(); scheme == "https" && port == "443" || scheme == "http" && port == "80" {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return scheme + "://" + host
}

// sessionCookieName returns the name of the cookie of a refresh token. It has the port
// of the service's origin, since browsers share cookies between the ports of a host.
// With https, the prefix __Secure- prevents pages without it from setting the cookie.
func sessionCookieName(origin string, secure bool) string {
	name := "magpie_session"
	if _, port, err := net.SplitHostPort(strings.TrimPrefix(strings.TrimPrefix(origin, "https://"), "http://")); err == nil {
		name += "_" + port
	}
	if secure {
		name = "__Secure-" + name
	}
	return name
}

// readCookieMode reads whether the request asks for the refresh token as a cookie.
// Only pages of the service's own origin may: otherwise a page of strangers could sign
// the browser in to their account, or use the session of the person.
func (x *exchange) readCookieMode() error {
	given := x.r.URL.Query()[cookieParameter]
	switch {
	case !x.t.operations[x.route.Operation].opensSession || len(given) == 0:
		return nil
	case len(given) > 1:
		return apierr.Invalid(cookieParameter, "is given more than once")
	case given[0] != "1":
		return apierr.Invalid(cookieParameter, "must be 1, or be left out")
	case !x.fromOwnPage():
		return apierr.New(apierr.Forbidden, "cookie=1 is for pages of this service's own origin; leave it out, and keep the refresh_token of the response")
	}
	x.cookieMode = true
	return nil
}

// fromOwnPage reports whether the browser says that a page of the same origin sent the
// request. Browsers send Sec-Fetch-Site to https and to the local machine; the others
// send the Origin of a POST.
func (x *exchange) fromOwnPage() bool {
	if site := x.r.Header.Values("Sec-Fetch-Site"); len(site) > 0 {
		return len(site) == 1 && site[0] == "same-origin"
	}
	origin := x.r.Header.Values("Origin")
	if len(origin) != 1 {
		return false
	}
	if origin[0] == x.t.origin && x.t.origin != "" {
		return true
	}
	u, err := url.Parse(origin[0])
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, x.r.Host) && (u.Scheme == "https" || u.Scheme == "http" && !x.t.secure)
}

// readSessionCookie copies the cookie to the variables of a refresh.
func (x *exchange) readSessionCookie(values variables) error {
	x.usesCookie = true
	kept := x.r.CookiesNamed(x.t.cookieName)
	switch {
	case len(kept) > 1:
		// The browser does not say which of them this service has set.
		return apierr.New(apierr.Unauthorized, "Session required; the browser sent several cookies of the name "+x.t.cookieName+": delete the cookies of this site and sign in again")
	case len(kept) == 0 || kept[0].Value == "" || len(kept[0].Value) > maxSessionCookie:
		return apierr.New(apierr.Unauthorized, "Session required")
	}
	values.set(refreshVariable, kept[0].Value)
	return nil
}

// forgetSession removes a cookie whose token was refused.
func (x *exchange) forgetSession(err error) {
	if x.usesCookie && apierr.From(err).Code.Status() == http.StatusUnauthorized {
		http.SetCookie(x.w, x.t.sessionCookie("", -1))
	}
}

// keepSession sets the cookie of new tokens, or removes it at the end of a session. It
// returns the shape of the response, which has no refresh token beside the cookie.
func (x *exchange) keepSession(data json.RawMessage) (*shape, error) {
	o := x.t.operations[x.route.Operation]
	if x.route.endsSession && len(x.r.CookiesNamed(x.t.cookieName)) > 0 {
		http.SetCookie(x.w, x.t.sessionCookie("", -1))
	}
	if !x.cookieMode {
		return o.shape, nil
	}
	raw, err := valueAt(data, "data."+refreshTokenKey)
	if err != nil {
		return nil, err
	}
	var token string
	if err := json.Unmarshal(raw, &token); err != nil {
		return nil, fmt.Errorf("read the refresh token: %w", err)
	}
	cookie := x.t.sessionCookie(token, int(authn.RefreshLifetime/time.Second))
	if err := cookie.Valid(); err != nil {
		return nil, fmt.Errorf("make the cookie: %w", err)
	}
	http.SetCookie(x.w, cookie)
	return o.shape.withoutMember("data", refreshTokenKey), nil
}

// sessionCookie returns the cookie of a refresh token, which scripts cannot read and
// which browsers send to the routes of sessions only. Negative seconds remove it.
func (t *Transport) sessionCookie(token string, seconds int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // without https there is no Secure
		Name: t.cookieName, Value: token, Path: sessionCookiePath, MaxAge: seconds,
		HttpOnly: true, Secure: t.secure, SameSite: http.SameSiteStrictMode,
	}
}

// withoutMember returns a copy of the shape without a member of one of its objects.
func (s *shape) withoutMember(in, key string) *shape {
	outer := *s
	outer.verbatim, outer.members = false, slices.Clone(s.members)
	for i, m := range outer.members {
		if m.key != in {
			continue
		}
		inner := *m.shape
		inner.verbatim = false
		inner.members = slices.DeleteFunc(slices.Clone(inner.members), func(m member) bool { return m.key == key })
		outer.members[i].shape = &inner
	}
	return &outer
}

// cookieModeParameter describes the query parameter.
func cookieModeParameter() *openapi.Parameter {
	schema := openapi.Of(openapi.String)
	schema.Enum = []any{"1"}
	return &openapi.Parameter{
		Name: cookieParameter, In: "query", Schema: schema,
		Description: "With 1, the response has no refresh_token: a cookie that scripts cannot read has it, and a refresh without a body uses that. " +
			"Only for pages of the service's own origin, by Sec-Fetch-Site or else Origin; others are answered with 403.",
	}
}

// sessionCookieHeader describes the header that sets or removes the cookie.
func sessionCookieHeader(r *route) *openapi.Header {
	about := "With cookie=1: the refresh token, for the paths below " + sessionCookiePath + ". A refused refresh removes it."
	if r.endsSession {
		about = "Removes the cookie of the session, if the request has it."
	}
	return &openapi.Header{Description: about, Schema: openapi.Of(openapi.String)}
}
