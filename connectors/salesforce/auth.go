package salesforce

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// assertionLifetime is the longest that Salesforce accepts.
const assertionLifetime = 3 * time.Minute

// parseKey parses the private key. Its errors do not repeat the text.
func parseKey(text string) (*rsa.PrivateKey, error) {
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(text))
	if err != nil {
		return nil, errors.New("is no RSA private key in PEM; paste the whole file, from -----BEGIN to -----END")
	}
	return key, nil
}

// A session is an access token, and the address of the organization that it is for.
type session struct{ token, base string }

// A sessionSource returns sessions. refused is a token that Salesforce rejected.
type sessionSource func(ctx context.Context, refused string) (session, error)

// grantSessions returns sessions of an OAuth grant. Its tokens go to the instance that
// Salesforce named with the grant.
func grantSessions(s connectors.Settings) sessionSource {
	return func(ctx context.Context, refused string) (session, error) {
		token, details, err := s.Token(ctx, refused)
		if err != nil {
			return session{}, err
		}
		base := details["instance_url"]
		if _, err := restapi.ParseBaseURL(base, exampleInstance); err != nil {
			return session{}, connectors.NeedsAuth(errors.New("the grant does not have the address of the organization; connect the account again"))
		}
		return session{token, strings.TrimRight(base, "/")}, nil
	}
}

// A tokenSource requests tokens with the credentials of an app.
type tokenSource struct {
	settings connectors.Settings
	client   *restapi.Client
	base     string
	now      func() time.Time

	mutex sync.Mutex
	token string
}

func newTokenSource(dial connectors.Dial, s connectors.Settings) (*tokenSource, error) {
	base := strings.TrimRight(strings.TrimSpace(s.String(optionURL)), "/")
	address, advice := base, "config."+optionURL
	if override := s.String(optionAuth); override != "" {
		address, advice = strings.TrimRight(strings.TrimSpace(override), "/"), "config."+optionAuth
	}
	client, err := restapi.New(address, dial, restapi.Options{Platform: platform, ErrorMessage: tokenMessage, Advice: advice, SameHost: true})
	if err != nil {
		return nil, err
	}
	return &tokenSource{settings: s, client: client, base: base, now: time.Now}, nil
}

func tokenMessage(body []byte) string {
	var problem struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(body, &problem)
	return strings.TrimSpace(problem.Error + " " + problem.Description)
}

// get implements sessionSource.
func (t *tokenSource) get(ctx context.Context, refused string) (session, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.token != "" && t.token != refused {
		return session{t.token, t.base}, nil
	}
	form, err := t.form()
	if err != nil {
		return session{}, err
	}
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	_, err = t.client.JSON(ctx, restapi.Request{Method: http.MethodPost, Path: "services/oauth2/token", Form: form, RequiredFields: []string{"access_token"}}, &answer)
	if failure, ok := errors.AsType[*restapi.StatusError](err); ok && (failure.Status == http.StatusBadRequest || failure.Status == http.StatusUnauthorized || failure.Status == http.StatusForbidden) {
		return session{}, connectors.NeedsAuth(t.refusal(failure))
	}
	if err != nil {
		return session{}, fmt.Errorf("get an access token: %w", err)
	}
	if answer.AccessToken == "" || answer.AccessToken == refused {
		return session{}, connectors.NeedsAuth(errors.New("Salesforce gives a token and does not accept it; check that the app has the scope api and its user the permission \"API Enabled\"")) //nolint:staticcheck // a name
	}
	t.token = answer.AccessToken
	return session{t.token, t.base}, nil
}

// form returns the request for a token: client credentials, or a signed assertion (RFC
// 7523).
func (t *tokenSource) form() (url.Values, error) {
	c := t.settings.Credentials
	if c[credentialKey] == "" {
		return url.Values{"grant_type": {"client_credentials"}, "client_id": {c[credentialID]}, "client_secret": {c[credentialSecret]}}, nil
	}
	key, err := parseKey(c[credentialKey])
	if err != nil {
		return nil, connectors.NeedsAuth(fmt.Errorf("credentials.%s %w", credentialKey, err))
	}
	audience := loginHost
	if t.settings.Boolean(optionSandbox) {
		audience = sandboxHost
	}
	assertion, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
		"iss": c[credentialID], "sub": c[credentialUsername], "aud": audience, "exp": t.now().Add(assertionLifetime).Unix(),
	}).SignedString(key)
	if err != nil {
		return nil, connectors.NeedsAuth(fmt.Errorf("credentials.%s cannot sign", credentialKey))
	}
	return url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}}, nil
}

// refusal says what to do about a refused request for a token.
func (t *tokenSource) refusal(failure *restapi.StatusError) error {
	var problem struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(failure.Body, &problem)
	text := loginProblem(problem.Error, problem.Description)
	detail := strings.TrimSpace(problem.Error + " " + problem.Description)
	if detail == "" || len(detail) > 300 {
		return errors.New(text)
	}
	return fmt.Errorf("%s: %s", text, detail)
}

// loginProblem says what to do about an error of the login.
func loginProblem(code, description string) (problem string) {
	switch code {
	case "invalid_client_id":
		return platform + " does not know the app; correct credentials." + credentialID
	case "invalid_client":
		return platform + " does not know the app or its secret; correct credentials." + credentialID + " and credentials." + credentialSecret
	case "unsupported_grant_type":
		return platform + " does not let the app use this flow; enable the client credentials or JWT bearer flow of the app"
	case "invalid_app_access":
		return platform + " does not let the user use the app; assign the app's permission set or profile to the user"
	case "inactive_user":
		return platform + " has deactivated the user of the app"
	case "inactive_org":
		return platform + " has deactivated the organization"
	}
	switch {
	case strings.Contains(description, "approved"):
		return platform + " has not approved the app for the user; set \"Admin approved users are pre-authorized\" and assign a profile or permission set"
	case code == "invalid_grant":
		return platform + " does not accept the request for a token; for client credentials choose a \"Run As\" user of the app, " +
			"for a private key check the username, the certificate and config." + optionSandbox
	}
	return platform + " does not accept the credentials"
}
