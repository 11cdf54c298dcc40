package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/magpie-search/magpie/internal/safetext"
)

const (
	tokenTimeout = 30 * time.Second
	// maxLifetime bounds the lifetime that a server gives a token.
	maxLifetime = 365 * 24 * time.Hour
)

// tokenError is a refusal of a token endpoint. It has no part of the request.
type tokenError struct {
	code, reason string
	status       int
}

// Error implements error.
func (e *tokenError) Error() string {
	text := fmt.Sprintf("the authorization server answered %d", e.status)
	if e.code != "" {
		text += ": " + e.code
	}
	if e.reason != "" {
		text += " (" + e.reason + ")"
	}
	return text
}

// refused reports that the grant, or its client, is no longer known: only the person
// can help.
func (e *tokenError) refused() bool {
	return e.code == "invalid_grant" || e.code == "invalid_client" || e.code == "unauthorized_client"
}

// isRefused reports whether err is a refusal that the SDK takes for a missing token.
func isRefused(err error) bool {
	var refused *oauth2.RetrieveError
	return errors.As(err, &refused) && refused.ErrorCode == "invalid_grant"
}

// request asks the token endpoint of a grant for tokens and returns the grant with
// them. A refresh token and scopes that the answer does not name stay.
func (a *Authorizer) request(ctx context.Context, g Grant, form url.Values) (Grant, error) {
	ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	form.Set("resource", g.Resource)
	if g.AuthMethod != "client_secret_basic" {
		form.Set("client_id", g.ClientID)
	}
	if g.AuthMethod == "client_secret_post" {
		form.Set("client_secret", g.ClientSecret)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return g, fmt.Errorf("request a token: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	if g.AuthMethod == "client_secret_basic" {
		r.SetBasicAuth(url.QueryEscape(g.ClientID), url.QueryEscape(g.ClientSecret))
	}
	client := *a.opt.HTTP
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := client.Do(r)
	if err != nil {
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err
		}
		return g, fmt.Errorf("request a token: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 256<<10))
	if err != nil {
		return g, fmt.Errorf("request a token: %w", err)
	}
	var answer struct {
		Access      string      `json:"access_token"`
		Refresh     string      `json:"refresh_token"`
		Type        string      `json:"token_type"`
		Lifetime    json.Number `json:"expires_in"`
		Scope       string      `json:"scope"`
		Code        string      `json:"error"`
		Description string      `json:"error_description"`
	}
	decodeErr := json.Unmarshal(body, &answer)
	if response.StatusCode != http.StatusOK || answer.Code != "" {
		return g, &tokenError{
			status: response.StatusCode, code: safetext.Truncate(safetext.Line(answer.Code), 64), reason: safetext.Truncate(safetext.Line(answer.Description), 300),
		}
	}
	switch {
	case decodeErr != nil || answer.Access == "" || len(answer.Access) > 64<<10:
		return g, errors.New("request a token: the answer has no token")
	case answer.Type != "" && !strings.EqualFold(answer.Type, "bearer"):
		return g, errors.New("request a token: the token is of a type that is not known")
	}
	g.Access, g.ObtainedAt, g.ExpiresAt = answer.Access, a.opt.Now(), time.Time{}
	if answer.Refresh != "" {
		g.Refresh = answer.Refresh
	}
	if answer.Scope != "" {
		g.Scopes = strings.Fields(answer.Scope)
	}
	if seconds, err := answer.Lifetime.Float64(); err == nil && seconds > 0 {
		g.ExpiresAt = g.ObtainedAt.Add(min(time.Duration(min(seconds, maxLifetime.Seconds()))*time.Second, maxLifetime))
	}
	return g, nil
}
