package github

import (
	"context"
	"crypto/rsa"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	jwtLifetime = 9 * time.Minute // GitHub accepts at most ten minutes
	clockSkew   = time.Minute
	renewBefore = 5 * time.Minute // the end of a token's lifetime
)

// An authorizer returns the tokens for requests.
type authorizer struct {
	token  string
	grant  func(ctx context.Context, refused string) (string, map[string]string, error)
	app    *app
	tokens *installationTokens
}

// An app is an installation of a GitHub App.
type app struct {
	id, installation string
	key              *rsa.PrivateKey
	client           *restapi.Client
	fingerprint      [sha256.Size]byte
	now              func() time.Time
}

// parseKey parses a private key in PEM, whose line breaks may be written as
// "\n". Its errors do not repeat the text.
func parseKey(text string) (*rsa.PrivateKey, error) {
	if !strings.Contains(strings.TrimSpace(text), "\n") {
		text = strings.ReplaceAll(text, `\n`, "\n")
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(text))
	if err != nil {
		return nil, errors.New("is no RSA private key in PEM (-----BEGIN RSA PRIVATE KEY-----); paste the whole file that GitHub gave")
	}
	return key, nil
}

// currentToken returns the token to use. refused is a token that GitHub
// rejected. none reports whether there is no other.
func (a *authorizer) currentToken(ctx context.Context, refused string) (token string, isOnly bool, err error) {
	switch {
	case a.grant != nil:
		token, _, err := a.grant(ctx, refused)
		return token, false, err
	case a.app != nil:
		token, err := a.tokens.get(ctx, a.app, refused)
		return token, false, err
	default:
		return a.token, refused != "", nil
	}
}

// authorize returns an [restapi.Options].Authorize for the API or for git.
func (a *authorizer) authorize(git bool) func(*http.Request, bool) (bool, error) {
	var mutex sync.Mutex
	last := ""
	return func(r *http.Request, retry bool) (bool, error) {
		refused := ""
		if retry {
			mutex.Lock()
			refused = last
			mutex.Unlock()
		}
		token, isOnly, err := a.currentToken(r.Context(), refused)
		if err != nil || isOnly || retry && token == refused {
			return false, err
		}
		mutex.Lock()
		last = token
		mutex.Unlock()
		if git {
			r.SetBasicAuth("x-access-token", token)
		} else {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return true, nil
	}
}

// installationTokens caches the tokens of app installations until shortly
// before they expire. All sources of a process share them, since GitHub's ETags
// depend on the token.
type installationTokens struct {
	mutex  sync.Mutex
	tokens map[[sha256.Size]byte]*installationToken
}

type installationToken struct {
	mutex   sync.Mutex
	token   string
	expires time.Time
}

func newInstallationTokens() *installationTokens {
	return &installationTokens{tokens: map[[sha256.Size]byte]*installationToken{}}
}

// get returns a token that is valid for some minutes and is not the refused
// one.
func (t *installationTokens) get(ctx context.Context, a *app, refused string) (string, error) {
	t.mutex.Lock()
	h := t.tokens[a.fingerprint]
	if h == nil {
		for key, other := range t.tokens {
			if other.mutex.TryLock() {
				if a.now().After(other.expires) {
					delete(t.tokens, key)
				}
				other.mutex.Unlock()
			}
		}
		h = &installationToken{}
		t.tokens[a.fingerprint] = h
	}
	t.mutex.Unlock()

	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.token != "" && h.token != refused && a.now().Before(h.expires) {
		return h.token, nil
	}
	token, until, err := a.requestToken(ctx)
	if err != nil {
		return "", err
	}
	h.token, h.expires = token, until.Add(-renewBefore)
	return token, nil
}

// requestToken requests a token (POST /app/installations/{id}/access_tokens).
func (a *app) requestToken(ctx context.Context) (string, time.Time, error) {
	now := a.now()
	assertion, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Issuer: a.id, IssuedAt: jwt.NewNumericDate(now.Add(-clockSkew)), ExpiresAt: jwt.NewNumericDate(now.Add(jwtLifetime)),
	}).SignedString(a.key)
	if err != nil {
		return "", time.Time{}, connectors.NeedsAuth(errors.New("credentials.privateKey cannot sign"))
	}
	var result struct {
		Token     string    `json:"token"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	_, err = a.client.JSON(ctx, restapi.Request{
		Method: http.MethodPost, Path: "app/installations/" + a.installation + "/access_tokens",
		Header: http.Header{"Authorization": {"Bearer " + assertion}},
	}, &result)
	switch {
	case errors.Is(err, connectors.ErrNotFound):
		return "", time.Time{}, connectors.NeedsAuth(fmt.Errorf("the app has no installation %s; correct credentials.%s", a.installation, credentialInstallation))
	case err != nil:
		return "", time.Time{}, fmt.Errorf("get a token of the app: %w", err)
	case result.Token == "":
		return "", time.Time{}, connectors.Retryable(errors.New("GitHub gave no token for the app"), 0)
	}
	return result.Token, result.ExpiresAt, nil
}
