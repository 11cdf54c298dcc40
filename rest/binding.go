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

// boundFor is how long a browser keeps what ties it to what it began, in seconds:
// as long as the state works.
const boundFor = 600

// boundName is the cookie of a state. Each has one of its own, so that several
// connections may be on their way in one browser. With https its prefix keeps
// other hosts of the domain from setting it.
func (t *Transport) boundName(state string) string {
	sum := sha256.Sum256([]byte(state))
	name := "magpie_oauth_" + base64.RawURLEncoding.EncodeToString(sum[:9])
	if t.secure {
		return "__Host-" + name
	}
	return name
}

// bind gives the browser that begins the secret that it has to come back with. No
// script can read it, and the answer does not hold it.
func (x *exchange) bind(data json.RawMessage) error {
	if x.route.bound {
		if state := x.r.URL.Query().Get("state"); state != "" {
			http.SetCookie(x.w, x.boundCookie(state, "", -1))
		}
	}
	if !x.route.binds {
		return nil
	}
	var begun struct {
		Data struct {
			Address string `json:"authorizationUrl"`
			Binding string `json:"unseen_binding"`
		}
	}
	if err := json.Unmarshal(data, &begun); err != nil {
		return fmt.Errorf("read what began: %w", err)
	}
	address, err := url.Parse(begun.Data.Address)
	if err != nil {
		return fmt.Errorf("read the address of the provider: %w", err)
	}
	http.SetCookie(x.w, x.boundCookie(address.Query().Get("state"), begun.Data.Binding, boundFor))
	return nil
}

// boundCookie goes with what leads a browser here from the provider (Lax). A
// dashboard on another site gets it only where it may be stored there, which
// takes https; such a page has to ask with credentials.
func (x *exchange) boundCookie(state, value string, seconds int) *http.Cookie {
	c := &http.Cookie{ //nolint:gosec // without https there is no Secure
		Name: x.t.boundName(state), Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, Secure: x.t.secure, SameSite: http.SameSiteLaxMode,
	}
	if x.t.secure && strings.EqualFold(x.r.Header.Get("Sec-Fetch-Site"), "cross-site") {
		c.SameSite = http.SameSiteNoneMode
	}
	return c
}

// binding moves what the browser kept into values.
func (x *exchange) binding(values variables) {
	if !x.route.bound {
		return
	}
	state, _ := values.get("input.state").(string)
	for _, c := range x.r.CookiesNamed(x.t.boundName(state)) {
		if c.Value != "" {
			values.set("input.binding", c.Value)
		}
	}
}

// takesCookies reports whether a page of an allowed origin may have its browser
// keep what a path answers. The name of every origin, "*", is none for that.
func (t *Transport) takesCookies(path string) bool {
	return path == "/api/v1/oauth/init" && !slices.Contains(t.origins, "*")
}
