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
	jwtLife   = 9 * time.Minute // GitHub takes ten at most
	clockSkew = time.Minute
	renewal   = 5 * time.Minute // before a token's end
)

// authority gives the token for requests.
type authority struct {
	token  string
	grant  func(ctx context.Context, refused string) (string, map[string]string, error)
	app    *app
	tokens *installationTokens
}

// app is an installation of a GitHub App.
type app struct {
	id, installation string
	key              *rsa.PrivateKey
	api              *restapi.Client
	fingerprint      [sha256.Size]byte
	now              func() time.Time
}

// parseKey reads a private key in PEM, also one whose line breaks became "\n" on
// their way through a form. Its errors do not repeat the text.
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

// current is the token to use; refused is one that GitHub did not accept. none
// says that there is no other.
func (a *authority) current(ctx context.Context, refused string) (token string, none bool, err error) {
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

// authorize is [restapi.Options].Authorize, for the API and for git.
func (a *authority) authorize(git bool) func(*http.Request, bool) (bool, error) {
	var mutex sync.Mutex
	last := ""
	return func(r *http.Request, again bool) (bool, error) {
		refused := ""
		if again {
			mutex.Lock()
			refused = last
			mutex.Unlock()
		}
		token, none, err := a.current(r.Context(), refused)
		if err != nil || none || again && token == refused {
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

// installationTokens keeps the tokens of installations until shortly before
// their end, for all sources of a process: GitHub's ETags go by them.
type installationTokens struct {
	mutex sync.Mutex
	held  map[[sha256.Size]byte]*heldToken
}

type heldToken struct {
	mutex sync.Mutex
	token string
	until time.Time
}

func newInstallationTokens() *installationTokens {
	return &installationTokens{held: map[[sha256.Size]byte]*heldToken{}}
}

// get is a token that is good for some minutes, and another one than refused.
func (t *installationTokens) get(ctx context.Context, a *app, refused string) (string, error) {
	t.mutex.Lock()
	h := t.held[a.fingerprint]
	if h == nil {
		for key, other := range t.held {
			if other.mutex.TryLock() {
				if a.now().After(other.until) {
					delete(t.held, key)
				}
				other.mutex.Unlock()
			}
		}
		h = &heldToken{}
		t.held[a.fingerprint] = h
	}
	t.mutex.Unlock()

	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.token != "" && h.token != refused && a.now().Before(h.until) {
		return h.token, nil
	}
	token, until, err := a.request(ctx)
	if err != nil {
		return "", err
	}
	h.token, h.until = token, until.Add(-renewal)
	return token, nil
}

// request has GitHub make a token (POST /app/installations/{id}/access_tokens).
func (a *app) request(ctx context.Context) (string, time.Time, error) {
	now := a.now()
	assertion, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Issuer: a.id, IssuedAt: jwt.NewNumericDate(now.Add(-clockSkew)), ExpiresAt: jwt.NewNumericDate(now.Add(jwtLife)),
	}).SignedString(a.key)
	if err != nil {
		return "", time.Time{}, connectors.NeedsAuth(errors.New("credentials.privateKey cannot sign"))
	}
	var answer struct {
		Token     string    `json:"token"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	_, err = a.api.JSON(ctx, restapi.Request{
		Method: http.MethodPost, Path: "app/installations/" + a.installation + "/access_tokens",
		Header: http.Header{"Authorization": {"Bearer " + assertion}},
	}, &answer)
	switch {
	case errors.Is(err, connectors.ErrNotFound):
		return "", time.Time{}, connectors.NeedsAuth(fmt.Errorf("the app has no installation %s; correct credentials.%s", a.installation, credentialInstallation))
	case err != nil:
		return "", time.Time{}, fmt.Errorf("get a token of the app: %w", err)
	case answer.Token == "":
		return "", time.Time{}, connectors.Retryable(errors.New("GitHub gave no token for the app"), 0)
	}
	return answer.Token, answer.ExpiresAt, nil
}
