// Package google gives requests to Google's services a token of the default credentials: a file that
// GOOGLE_APPLICATION_CREDENTIALS names, those of the gcloud command, or those of the machine in Google's cloud.
//
// Allowed imports: golang.org/x/oauth2, internal/model/llm/provider.
package google

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// scope is the permission of the tokens, which the roles of the account narrow.
const scope = "https://www.googleapis.com/auth/cloud-platform"

// Client returns a client whose requests have a token and are sent by base. The credentials are looked up by the first
// request, so that a process starts without them.
func Client(base *http.Client) *http.Client {
	client := *base
	client.Transport = &transport{client: base}
	return &client
}

type transport struct {
	client *http.Client

	mu     sync.Mutex
	source oauth2.TokenSource
}

// RoundTrip implements http.RoundTripper. The error of a missing token is a *provider.Error.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	token, err := t.token(request.Context())
	if err != nil {
		if request.Body != nil {
			_ = request.Body.Close() // as the interface demands
		}
		return nil, err
	}
	request = request.Clone(request.Context())
	token.SetAuthHeader(request)
	base := t.client.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	return base.RoundTrip(request)
}

// CloseIdleConnections closes those of the base.
func (t *transport) CloseIdleConnections() { t.client.CloseIdleConnections() }

func (t *transport) token(ctx context.Context) (*oauth2.Token, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.source == nil {
		// The source asks for tokens later, too.
		found, err := google.FindDefaultCredentials(context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, t.client), scope)
		switch {
		case err != nil && strings.Contains(err.Error(), "GOOGLE_APPLICATION_CREDENTIALS"):
			return nil, refusal("the file of GOOGLE_APPLICATION_CREDENTIALS cannot be used")
		case err != nil:
			return nil, refusal("there are no Google credentials")
		}
		t.source = found.TokenSource
	}
	token, err := t.source.Token()
	if err != nil {
		return nil, failure(err)
	}
	return token, nil
}

// failure returns the error of a token that was not given: one that may pass if Google's service of tokens failed or cannot
// be reached, and a refusal otherwise.
func failure(err error) error {
	var answered *oauth2.RetrieveError
	var network net.Error
	status := 0
	switch {
	case errors.As(err, &answered) && answered.Response != nil:
		if status = answered.Response.StatusCode; status < http.StatusInternalServerError && status != http.StatusTooManyRequests {
			return refusal("Google gave no token for the credentials")
		}
	// The library keeps only the text of some causes.
	case !errors.As(err, &network) && !strings.Contains(err.Error(), "cannot fetch token"):
		return refusal("Google gave no token for the credentials")
	}
	return &provider.Error{Kind: provider.KindUnavailable, Op: "google", Status: status, Message: "Google's service of tokens failed or cannot be reached"}
}

// refusal leaves out the cause, whose text may have parts of the credentials.
func refusal(message string) error {
	return &provider.Error{
		Kind: provider.KindAuth, Op: "google", Message: message,
		Advice: "Google's credentials are missing or not valid: set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account that may use Vertex AI.",
	}
}

// VertexURL returns the address of Vertex AI in a location.
func VertexURL(location string) string {
	if location == "global" {
		return "https://aiplatform.googleapis.com"
	}
	return "https://" + location + "-aiplatform.googleapis.com"
}
