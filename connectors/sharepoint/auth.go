package sharepoint

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	assertionLifetime = 9 * time.Minute
	clockSkew         = time.Minute
	renewBefore       = 5 * time.Minute // the end of a token's lifetime
)

// A fieldError says which credential is wrong.
type fieldError struct{ field, message string }

// parseCertificate parses a certificate and its RSA key in PEM. The key may be in
// the text of the certificate. Line breaks may be written as "\n".
func parseCertificate(certificate, key string) (*x509.Certificate, *rsa.PrivateKey, *fieldError) {
	lines := func(text string) string {
		if !strings.Contains(strings.TrimSpace(text), "\n") {
			text = strings.ReplaceAll(text, `\n`, "\n")
		}
		return text
	}
	certificate, key = lines(certificate), lines(key)
	if key == "" && strings.Contains(certificate, "PRIVATE KEY-----") {
		if at := strings.Index(certificate, "-----BEGIN "); at >= 0 {
			for block, rest := pem.Decode([]byte(certificate)); block != nil; block, rest = pem.Decode(rest) {
				if strings.Contains(block.Type, "PRIVATE KEY") {
					key = string(pem.EncodeToMemory(block))
				}
			}
		}
	}
	if key == "" {
		return nil, nil, &fieldError{credentialKey, "required with a certificate"}
	}
	parsedKey, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(key))
	if err != nil {
		return nil, nil, &fieldError{credentialKey, "is no RSA private key in PEM (-----BEGIN PRIVATE KEY-----)"}
	}
	for block, rest := pem.Decode([]byte(certificate)); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		parsed, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			break
		}
		if public, ok := parsed.PublicKey.(*rsa.PublicKey); !ok || !public.Equal(&parsedKey.PublicKey) {
			return nil, nil, &fieldError{credentialKey, "does not belong to the certificate"}
		}
		return parsed, parsedKey, nil
	}
	return nil, nil, &fieldError{credentialCertificate, "is no certificate in PEM (-----BEGIN CERTIFICATE-----)"}
}

// An authorizer returns access tokens of an app or a grant.
type authorizer struct {
	grant       func(ctx context.Context, refused string) (string, map[string]string, error)
	tenant      string
	clientID    string
	secret      string
	certificate *x509.Certificate
	key         *rsa.PrivateKey
	client      *restapi.Client // of the login
	base        string          // of the login
	tokens      *tokenCache
	now         func() time.Time
}

func newAuthorizer(dial connectors.Dial, tokens *tokenCache, authURL string, s connectors.Settings, now func() time.Time) (*authorizer, error) {
	a := &authorizer{tokens: tokens, now: now, base: strings.TrimRight(authURL, "/")}
	if s.Token != nil && s.Credentials[credentialClient] == "" && s.Credentials[credentialSecret] == "" {
		a.grant = s.Token
		return a, nil
	}
	a.tenant, a.clientID, a.secret = s.Credentials[credentialTenant], s.Credentials[credentialClient], s.Credentials[credentialSecret]
	if s.Credentials[credentialCertificate] != "" || s.Credentials[credentialKey] != "" {
		certificate, key, wrong := parseCertificate(s.Credentials[credentialCertificate], s.Credentials[credentialKey])
		if wrong != nil {
			return nil, connectors.NeedsAuth(fmt.Errorf("credentials.%s %s", wrong.field, wrong.message))
		}
		a.certificate, a.key = certificate, key
	}
	client, err := restapi.New(a.base, dial, restapi.Options{Platform: "Microsoft's login", Wait: s.Wait, ErrorMessage: loginMessage, Advice: "config." + optionAuth})
	a.client = client
	return a, err
}

// close closes idle connections.
func (a *authorizer) close() {
	if a.client != nil {
		a.client.Close()
	}
}

// loginMessage returns the message of the token endpoint, without the lines of
// identifiers behind it.
func loginMessage(body []byte) string {
	var failure struct {
		Description string `json:"error_description"`
		Error       string `json:"error"`
	}
	if json.Unmarshal(body, &failure) != nil {
		return ""
	}
	text, _, _ := strings.Cut(failure.Description, "\n")
	text, _, _ = strings.Cut(text, " Trace ID:")
	if text = strings.TrimSpace(text); text == "" {
		text = failure.Error
	}
	return text
}

// authorize returns an [restapi.Options].Authorize for a resource.
func (a *authorizer) authorize(scope string) func(*http.Request, bool) (bool, error) {
	var mutex sync.Mutex
	last := ""
	return func(r *http.Request, refused bool) (bool, error) {
		rejected := ""
		if refused {
			mutex.Lock()
			rejected = last
			mutex.Unlock()
		}
		token, err := a.token(r.Context(), scope, rejected)
		if err != nil || refused && token == rejected {
			return false, err
		}
		mutex.Lock()
		last = token
		mutex.Unlock()
		r.Header.Set("Authorization", "Bearer "+token)
		return true, nil
	}
}

func (a *authorizer) token(ctx context.Context, scope, refused string) (string, error) {
	if a.grant != nil {
		token, _, err := a.grant(ctx, refused)
		return token, err
	}
	return a.tokens.get(ctx, a, scope, refused)
}

// request requests a token by the client credentials grant (RFC 6749, section 4.4).
func (a *authorizer) request(ctx context.Context, scope string) (token string, lifetime time.Duration, err error) {
	path := url.PathEscape(a.tenant) + "/oauth2/v2.0/token"
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {a.clientID}, "scope": {scope}}
	if a.key == nil {
		form.Set("client_secret", a.secret)
	} else {
		assertion, err := a.assertion(a.base + "/" + path)
		if err != nil {
			return "", 0, err
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	}
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   any    `json:"expires_in"` // a number, or a text in some clouds
	}
	_, err = a.client.JSON(ctx, restapi.Request{Method: http.MethodPost, Path: path, Form: form, RequiredFields: []string{"access_token"}}, &answer)
	if err != nil {
		return "", 0, loginError(err)
	}
	if answer.AccessToken == "" {
		return "", 0, connectors.Retryable(fmt.Errorf("Microsoft's login gave no token; check config.%s", optionAuth), 0) //nolint:staticcheck // a name
	}
	seconds, err := strconv.ParseFloat(fmt.Sprint(answer.ExpiresIn), 64)
	if err != nil || seconds <= 0 {
		return answer.AccessToken, 2 * renewBefore, nil
	}
	return answer.AccessToken, time.Duration(seconds) * time.Second, nil
}

// loginError returns the marked error of the token endpoint, which refuses
// credentials with 400 or 401 and an unknown tenant with 400 or 404.
func loginError(err error) error {
	if unexpected, ok := errors.AsType[*restapi.UnexpectedResponseError](err); ok {
		unexpected.Request = "the request of a token" // without the tenant
	}
	switch restapi.StatusOf(err) {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden:
		return connectors.NeedsAuth(fmt.Errorf("the app cannot sign in; check tenantId, clientId and the secret or certificate, which expire: %w", opaque(err)))
	case http.StatusNotFound, http.StatusGone:
		return connectors.NeedsAuth(fmt.Errorf("there is no login for this tenant; check credentials.%s and config.%s: %w", credentialTenant, optionAuth, opaque(err)))
	}
	return err
}

// opaque returns an error with the text of err and without its marks.
func opaque(err error) error { return errors.New(err.Error()) }

// assertion returns the signed proof of the certificate's owner.
func (a *authorizer) assertion(audience string) (string, error) {
	now := a.now()
	thumbprint := sha256.Sum256(a.certificate.Raw)
	token := jwt.NewWithClaims(jwt.SigningMethodPS256, jwt.RegisteredClaims{
		Issuer: a.clientID, Subject: a.clientID, Audience: jwt.ClaimStrings{audience}, ID: rand.Text(),
		NotBefore: jwt.NewNumericDate(now.Add(-clockSkew)), IssuedAt: jwt.NewNumericDate(now.Add(-clockSkew)), ExpiresAt: jwt.NewNumericDate(now.Add(assertionLifetime)),
	})
	token.Header["x5t#S256"] = base64.RawURLEncoding.EncodeToString(thumbprint[:])
	text, err := token.SignedString(a.key)
	if err != nil {
		return "", connectors.NeedsAuth(fmt.Errorf("credentials.%s cannot sign", credentialKey))
	}
	return text, nil
}

// A tokenCache keeps tokens until shortly before they expire. All sources of a
// process share it.
type tokenCache struct {
	mutex  sync.Mutex
	tokens map[[sha256.Size]byte]*cachedToken
}

type cachedToken struct {
	mutex   sync.Mutex
	token   string
	expires time.Time
}

func newTokenCache() *tokenCache { return &tokenCache{tokens: map[[sha256.Size]byte]*cachedToken{}} }

// get returns a token that is valid for some minutes and is not the refused one.
func (t *tokenCache) get(ctx context.Context, a *authorizer, scope, refused string) (string, error) {
	parts := []string{a.base, a.tenant, a.clientID, a.secret, scope}
	if a.key != nil {
		parts = append(parts, string(a.certificate.Raw), a.key.D.String())
	}
	name, _ := json.Marshal(parts)
	fingerprint := sha256.Sum256(name)
	t.mutex.Lock()
	h := t.tokens[fingerprint]
	if h == nil {
		for key, other := range t.tokens {
			if other.mutex.TryLock() {
				if a.now().After(other.expires) {
					delete(t.tokens, key)
				}
				other.mutex.Unlock()
			}
		}
		h = &cachedToken{}
		t.tokens[fingerprint] = h
	}
	t.mutex.Unlock()

	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.token != "" && h.token != refused && a.now().Before(h.expires) {
		return h.token, nil
	}
	token, lifetime, err := a.request(ctx, scope)
	if err != nil {
		return "", err
	}
	h.token, h.expires = token, a.now().Add(max(lifetime-renewBefore, 0))
	return token, nil
}
