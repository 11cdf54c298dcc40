package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// bindingAge is the lifetime of a binding cookie in seconds, equal to that of the
// state.
const bindingAge = 600

// bindingCookieName returns the name of a state's cookie. Each state has its own
// cookie, so that a browser can run several flows at once. With https, the prefix
// __Host- prevents other hosts of the domain from setting it.
func (t *Transport) bindingCookieName(state string) string {
	sum := sha256.Sum256([]byte(state))
	name := "magpie_oauth_" + base64.RawURLEncoding.EncodeToString(sum[:9])
	if t.secure {
		return "__Host-" + name
	}
	return name
}

// setBinding sends the secret that binds a flow to the browser as a cookie, which
// scripts cannot read. The response body does not contain it.
func (x *exchange) setBinding(data json.RawMessage) error {
	if x.route.finishesFlow {
		if state := x.r.URL.Query().Get("state"); state != "" {
			http.SetCookie(x.w, x.bindingCookie(state, "", -1))
		}
	}
	if !x.route.startsFlow {
		return nil
	}
	var result struct {
		Data struct {
			Address string `json:"authorizationUrl"`
			Binding string `json:"hidden_binding"`
		}
	}
	if err := json.Unmarshal(data, &result); err != nil {
		return fmt.Errorf("read the result: %w", err)
	}
	address, err := url.Parse(result.Data.Address)
	if err != nil {
		return fmt.Errorf("parse the URL of the provider: %w", err)
	}
	http.SetCookie(x.w, x.bindingCookie(address.Query().Get("state"), result.Data.Binding, bindingAge))
	return nil
}

// bindingCookie returns the binding cookie. SameSite Lax sends it with the redirect
// from the provider. A dashboard on another site needs https and a request with
// credentials; then SameSite is None.
func (x *exchange) bindingCookie(state, value string, seconds int) *http.Cookie {
	c := &http.Cookie{ //nolint:gosec // without https there is no Secure
		Name: x.t.bindingCookieName(state), Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, Secure: x.t.secure, SameSite: http.SameSiteLaxMode,
	}
	if x.t.secure && strings.EqualFold(x.r.Header.Get("Sec-Fetch-Site"), "cross-site") {
		c.SameSite = http.SameSiteNoneMode
	}
	return c
}

// readBinding copies the binding cookie to the variables.
func (x *exchange) readBinding(values variables) {
	if !x.route.finishesFlow {
		return
	}
	state, _ := values.get("input.state").(string)
	for _, c := range x.r.CookiesNamed(x.t.bindingCookieName(state)) {
		if c.Value != "" {
			values.set("input.binding", c.Value)
		}
	}
}

// allowsCredentials reports whether pages of allowed origins may send requests with
// credentials to a path. The origin "*" does not count as allowed.
func (t *Transport) allowsCredentials(path string) bool {
	starts := path == "/api/v1/oauth/init" || strings.HasPrefix(path, "/api/v1/tool-integrations/") && strings.HasSuffix(path, "/authorize")
	return starts && !slices.Contains(t.origins, "*")
}
