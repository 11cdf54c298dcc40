package googledrive

import (
	"context"
	"crypto/rsa"
	"encoding/json"
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

// The scopes of requests.
const (
	scopeDrive   = "https://www.googleapis.com/auth/drive.readonly"
	scopeUsers   = "https://www.googleapis.com/auth/admin.directory.user.readonly"
	scopeMembers = "https://www.googleapis.com/auth/admin.directory.group.member.readonly"
)

const (
	defaultTokenURL = "https://oauth2.googleapis.com/token" //nolint:gosec // an address
	grantType       = "urn:ietf:params:oauth:grant-type:jwt-bearer"

	assertionLifetime = time.Hour
	renewBefore       = 5 * time.Minute // the end of a token's lifetime
)

// A serviceAccount is the key of a service account.
type serviceAccount struct {
	email, keyID, tokenURL string
	key                    *rsa.PrivateKey
}

// parseAccount parses the key file of a service account. Its errors do not repeat
// the text.
func parseAccount(text string) (*serviceAccount, error) {
	var content struct {
		Type         string `json:"type"`
		ClientEmail  string `json:"client_email"`
		PrivateKey   string `json:"private_key"`
		PrivateKeyID string `json:"private_key_id"`
		TokenURI     string `json:"token_uri"`
	}
	if json.Unmarshal([]byte(text), &content) != nil {
		return nil, errors.New("is not JSON; paste the whole key file that Google gave")
	}
	if content.Type != "" && content.Type != "service_account" {
		return nil, errors.New("is not the key of a service account; its type must be service_account")
	}
	if content.ClientEmail == "" || content.PrivateKey == "" {
		return nil, errors.New("has no client_email or private_key; paste the whole key file that Google gave")
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(content.PrivateKey))
	if err != nil {
		return nil, errors.New("has a private_key that is no RSA key in PEM")
	}
	account := &serviceAccount{email: content.ClientEmail, keyID: content.PrivateKeyID, tokenURL: content.TokenURI, key: key}
	if account.tokenURL == "" {
		account.tokenURL = defaultTokenURL
	}
	if _, err := restapi.ParseBaseURL(account.tokenURL, defaultTokenURL); err != nil {
		return nil, errors.New("has a token_uri that is no address")
	}
	return account, nil
}

// A tokenSource returns the access tokens of a service account.
type tokenSource struct {
	account *serviceAccount
	address string // of the token endpoint
	client  *restapi.Client
	now     func() time.Time

	mutex  sync.Mutex
	tokens map[string]accessToken // by subject and scope
}

type accessToken struct {
	token   string
	expires time.Time
}

func newTokenSource(account *serviceAccount, s connectors.Settings, dial connectors.Dial, now func() time.Time) (*tokenSource, error) {
	address, advice := account.tokenURL, "token_uri in credentials."+credentialAccount
	if override := s.String(optionAuth); override != "" {
		parsed, err := restapi.ParseBaseURL(override, defaultTokenURL)
		if err != nil {
			return nil, connectors.Fatal(fmt.Errorf("config.%s %w", optionAuth, err))
		}
		if strings.Trim(parsed.Path, "/") == "" {
			parsed.Path = "/token"
		}
		address, advice = parsed.String(), "config."+optionAuth
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, connectors.Fatal(errors.New("the address for tokens is not valid"))
	}
	client, err := restapi.New((&url.URL{Scheme: parsed.Scheme, Host: parsed.Host}).String(), dial, restapi.Options{
		Platform: "Google", ErrorMessage: tokenMessage, Advice: advice,
	})
	if err != nil {
		return nil, err
	}
	return &tokenSource{account: account, address: address, client: client, now: now, tokens: map[string]accessToken{}}, nil
}

// get returns a token for the scopes, in the name of subject if it is not empty.
// refused is a token that Google rejected.
func (t *tokenSource) get(ctx context.Context, subject, scopes, refused string) (string, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	key := subject + "\n" + scopes
	if have := t.tokens[key]; have.token != "" && have.token != refused && t.now().Before(have.expires) {
		return have.token, nil
	}
	made, err := t.request(ctx, subject, scopes)
	if err != nil {
		return "", err
	}
	t.tokens[key] = made
	return made.token, nil
}

// request exchanges a signed assertion for a token (RFC 7523).
func (t *tokenSource) request(ctx context.Context, subject, scopes string) (accessToken, error) {
	now := t.now()
	claims := jwt.MapClaims{
		"iss": t.account.email, "scope": scopes, "aud": t.account.tokenURL, "iat": now.Unix(), "exp": now.Add(assertionLifetime).Unix(),
	}
	if subject != "" {
		claims["sub"] = subject
	}
	unsigned := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	if t.account.keyID != "" {
		unsigned.Header["kid"] = t.account.keyID
	}
	assertion, err := unsigned.SignedString(t.account.key)
	if err != nil {
		return accessToken{}, connectors.NeedsAuth(fmt.Errorf("credentials.%s cannot sign", credentialAccount))
	}
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   any    `json:"expires_in"`
	}
	_, err = t.client.JSON(ctx, restapi.Request{
		Method: http.MethodPost, Path: t.address, Form: url.Values{"grant_type": {grantType}, "assertion": {assertion}}, RequiredFields: []string{"access_token"},
	}, &answer)
	if failure, ok := errors.AsType[*restapi.StatusError](err); ok && failure.Status/100 == 4 && failure.Status != http.StatusTooManyRequests {
		return accessToken{}, connectors.NeedsAuth(t.refusal(failure, subject, scopes))
	}
	if err != nil {
		return accessToken{}, fmt.Errorf("get a token of the service account: %w", err)
	}
	if answer.AccessToken == "" {
		return accessToken{}, connectors.Retryable(fmt.Errorf("%s gave no token for the service account", platform), 0)
	}
	lifetime := 2 * renewBefore
	if seconds, err := strconv.ParseFloat(fmt.Sprint(answer.ExpiresIn), 64); err == nil && seconds > 0 {
		lifetime = time.Duration(seconds) * time.Second
	}
	return accessToken{token: answer.AccessToken, expires: now.Add(max(lifetime-renewBefore, lifetime/2))}, nil
}

// A personError says that Google does not let the service account act for one
// person, whom it does not know or has suspended.
type personError struct {
	person string
	cause  error
}

func (e *personError) Error() string { return e.cause.Error() }
func (e *personError) Unwrap() error { return e.cause }

// isUnknownPerson reports whether an error concerns one person only.
func isUnknownPerson(err error) bool {
	_, ok := errors.AsType[*personError](err)
	return ok
}

// refusal explains why the token endpoint refused an assertion.
func (t *tokenSource) refusal(failure *restapi.StatusError, subject, scopes string) error {
	var problem struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(failure.Body, &problem)
	detail := ""
	if text := strings.TrimSpace(problem.Error + " " + problem.Description); text != "" && len(text) < 300 {
		detail = " (" + text + ")"
	}
	switch problem.Error {
	case "invalid_request", "access_denied":
		description := strings.ToLower(problem.Description)
		if subject != "" && (strings.Contains(description, "impersonation") || strings.Contains(description, "account restricted")) {
			return &personError{subject, fmt.Errorf("%s does not let the service account act for %s%s", platform, subject, detail)}
		}
	}
	switch problem.Error {
	case "unauthorized_client", "access_denied", "invalid_scope":
		if subject != "" {
			return fmt.Errorf("the service account may not act for %s%s; allow its client id the scope %s under Security, API controls, Domain-wide delegation of the Admin console", subject, detail, scopes)
		}
		return fmt.Errorf("the service account does not get the scope %s%s", scopes, detail)
	case "invalid_grant":
		if subject != "" {
			err := fmt.Errorf("%s does not accept the key of the service account, or does not know %s%s; correct credentials.%s or config.%s", platform, subject, detail, credentialAccount, optionUsers)
			if strings.Contains(problem.Description, "JWT") { // the signature or the clock
				return err
			}
			return &personError{subject, err}
		}
	}
	return fmt.Errorf("%s does not accept the key of the service account%s; enter credentials.%s again", platform, detail, credentialAccount)
}

func tokenMessage(body []byte) string {
	var problem struct {
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(body, &problem)
	return problem.Description
}
