package sharepointserver

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// An App is a registered app with the permissions that were granted to it.
type App struct {
	ClientID, Secret string
	Certificate      *x509.Certificate
	// Rights are application permissions, such as Sites.Read.All.
	Rights map[string]bool
	// Sites are the ids of the sites that an app with Sites.Selected may read.
	Sites []string
	// Disabled refuses tokens, as after the end of a consent.
	Disabled bool
}

// AddApp registers an app.
func (s *Server) AddApp(app App) *App {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if app.Rights == nil {
		app.Rights = map[string]bool{}
	}
	s.apps[app.ClientID] = &app
	return &app
}

// ChangeApp changes an app.
func (s *Server) ChangeApp(clientID string, change func(*App)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	change(s.apps[clientID])
}

// Grant adds an access token of a person.
func (s *Server) Grant(text, user string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.tokens[text] = &token{app: &App{Rights: map[string]bool{}}, audience: s.URL, user: user}
}

func (c *call) refuseLogin(status int, code, description string) {
	c.answer(status, object{"error": code, "error_description": description + " Trace ID: 5c0f9b9e-0000-4000-8000-000000000000 Correlation ID: 1 Timestamp: 2026-03-01 08:00:00Z", "error_codes": []int{7000215}})
}

// issueToken answers the token endpoint of a tenant.
func (c *call) issueToken(tenant string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	form, err := url.ParseQuery(string(c.body))
	if err != nil || c.r.Method != http.MethodPost {
		c.refuseLogin(http.StatusBadRequest, "invalid_request", "AADSTS900144: The request body must contain the following parameter: 'grant_type'.")
		return
	}
	app := c.apps[form.Get("client_id")]
	resource, isDefault := strings.CutSuffix(form.Get("scope"), "/.default")
	switch {
	case unescape(tenant) != Tenant && !strings.HasSuffix(tenant, ".onmicrosoft.com"):
		c.refuseLogin(http.StatusBadRequest, "invalid_request", "AADSTS90002: Tenant '"+tenant+"' not found.")
		return
	case form.Get("grant_type") != "client_credentials":
		c.refuseLogin(http.StatusBadRequest, "unsupported_grant_type", "AADSTS70003: The app requested an unsupported grant type.")
		return
	case app == nil:
		c.refuseLogin(http.StatusBadRequest, "unauthorized_client", "AADSTS700016: Application with identifier '"+form.Get("client_id")+"' was not found in the directory.")
		return
	case !isDefault:
		c.refuseLogin(http.StatusBadRequest, "invalid_scope", "AADSTS1002012: The provided value for scope is not valid. Client credential flows must have a scope value with /.default suffixed to the resource identifier.")
		return
	case app.Disabled:
		c.refuseLogin(http.StatusUnauthorized, "invalid_client", "AADSTS7000112: Application is disabled.")
		return
	}
	certificate := form.Get("client_assertion") != ""
	switch {
	case certificate && !c.isProof(app, form):
		c.refuseLogin(http.StatusUnauthorized, "invalid_client", "AADSTS700027: Client assertion failed signature validation.")
		return
	case !certificate && (form.Get("client_secret") == "" || form.Get("client_secret") != app.Secret):
		c.refuseLogin(http.StatusUnauthorized, "invalid_client", "AADSTS7000215: Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, not the client secret ID.")
		return
	}
	text := "eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiJ9." + rand.Text()
	c.tokens[text] = &token{app: app, audience: resource, certificate: certificate}
	c.answer(http.StatusOK, object{"token_type": "Bearer", "expires_in": 3599, "ext_expires_in": 3599, "access_token": text})
}

// isProof reports whether the client assertion is signed by the app's certificate,
// as described in "Microsoft identity platform application authentication certificate
// credentials".
func (c *call) isProof(app *App, form url.Values) bool {
	if app.Certificate == nil || form.Get("client_assertion_type") != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" {
		return false
	}
	var claims jwt.RegisteredClaims
	parsed, err := jwt.ParseWithClaims(form.Get("client_assertion"), &claims, func(t *jwt.Token) (any, error) {
		thumbprint := sha256.Sum256(app.Certificate.Raw)
		if t.Header["x5t#S256"] != base64.RawURLEncoding.EncodeToString(thumbprint[:]) {
			return nil, jwt.ErrTokenUnverifiable
		}
		return app.Certificate.PublicKey, nil
	}, jwt.WithValidMethods([]string{"PS256", "RS256"}), jwt.WithAudience(c.URL+c.r.URL.Path), jwt.WithIssuer(app.ClientID), jwt.WithSubject(app.ClientID), jwt.WithExpirationRequired())
	return err == nil && parsed.Valid && claims.ID != ""
}

// authenticate reports whether the request has a token for one of the resources.
func (c *call) authenticate(resources ...string) bool {
	text, _ := strings.CutPrefix(c.r.Header.Get("Authorization"), "Bearer ")
	c.mutex.Lock()
	c.token = c.tokens[text]
	c.mutex.Unlock()
	if c.token == nil || !slices.Contains(resources, c.token.audience) || c.token.app.Disabled {
		c.refuse(http.StatusUnauthorized, "InvalidAuthenticationToken", "Access token has expired or is not yet valid.")
		return false
	}
	return true
}
