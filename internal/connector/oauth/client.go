package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/tracing"
)

// Limits of a request to a provider. Lengths are in bytes.
const (
	requestTimeout = 20 * time.Second
	accountTimeout = 5 * time.Second
	maxResponse    = 1 << 20
	maxAccount     = 320
	maxErrorCode   = 64
	maxReason      = 300
)

// NewHTTPClient returns a client for addresses that the operator configured. It
// follows no redirect, so credentials never reach an address that was not
// configured.
func NewHTTPClient() *http.Client {
	return &http.Client{
		Timeout: requestTimeout,
		Transport: tracing.Transport(&http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
			ResponseHeaderTimeout: requestTimeout, IdleConnTimeout: time.Minute, MaxIdleConns: 20, MaxResponseHeaderBytes: 64 << 10,
		}),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// providerClient talks to one provider.
type providerClient struct {
	Provider
	client   Client
	redirect string
	http     *http.Client
}

func (p *providerClient) config() *oauth2.Config {
	style := oauth2.AuthStyleInParams
	if p.basic {
		style = oauth2.AuthStyleInHeader
	}
	return &oauth2.Config{
		ClientID: p.client.ID, ClientSecret: p.client.Secret, RedirectURL: p.redirect, Scopes: p.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: p.Auth, TokenURL: p.Token, AuthStyle: style},
	}
}

// authCodeURL returns the address at which a person grants access.
func (p *providerClient) authCodeURL(state, verifier string) string {
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier)}
	for _, name := range slices.Sorted(maps.Keys(p.parameters)) {
		options = append(options, oauth2.SetAuthURLParam(name, p.parameters[name]))
	}
	if p.separator != "" {
		options = append(options, oauth2.SetAuthURLParam("scope", strings.Join(p.Scopes, p.separator)))
	}
	return p.config().AuthCodeURL(state, options...)
}

// tokens are the tokens of a grant, as they are sealed.
type tokens struct {
	Access  string            `json:"access"`
	Refresh string            `json:"refresh,omitempty"`
	Details map[string]string `json:"details,omitempty"`
}

// tokenResponse is a decoded response of the token endpoint.
type tokenResponse struct {
	tokens
	lifetime time.Duration // of the access token; 0 if unknown
	scopes   []string
	account  string
}

// withHTTPClient returns a context in which the oauth2 package sends token requests
// through a tokenTransport.
func (p *providerClient) withHTTPClient(ctx context.Context) context.Context {
	client := *p.http
	client.Transport = &tokenTransport{next: client.Transport, json: p.jsonBody}
	return context.WithValue(ctx, oauth2.HTTPClient, &client)
}

// exchange trades an authorization code for tokens.
func (p *providerClient) exchange(ctx context.Context, code, verifier string) (tokenResponse, error) {
	token, err := p.config().Exchange(p.withHTTPClient(ctx), code, oauth2.VerifierOption(verifier))
	if err != nil {
		return tokenResponse{}, p.providerError("exchange the code", err)
	}
	return p.read(token), nil
}

// refresh requests a new access token. If the provider returns no new refresh
// token, the old one stays valid and is kept.
func (p *providerClient) refresh(ctx context.Context, old tokens) (tokenResponse, error) {
	token, err := p.config().TokenSource(p.withHTTPClient(ctx), &oauth2.Token{RefreshToken: old.Refresh}).Token()
	if err != nil {
		return tokenResponse{}, p.providerError("renew the access token", err)
	}
	made := p.read(token)
	for name, value := range old.Details {
		if made.Details[name] == "" {
			if made.Details == nil {
				made.Details = map[string]string{}
			}
			made.Details[name] = value
		}
	}
	return made, nil
}

func (p *providerClient) read(t *oauth2.Token) tokenResponse {
	made := tokenResponse{tokens: tokens{Access: t.AccessToken, Refresh: t.RefreshToken}, lifetime: p.lifetime, scopes: p.Scopes}
	if !t.Expiry.IsZero() {
		made.lifetime = max(time.Until(t.Expiry), time.Second)
	}
	if granted, ok := t.Extra("scope").(string); ok && granted != "" {
		made.scopes = strings.FieldsFunc(granted, func(r rune) bool { return r == ' ' || r == ',' })
	}
	extra := func(path string) string {
		first, rest, nested := strings.Cut(path, ".")
		value := t.Extra(first)
		if nested {
			inner, _ := value.(map[string]any)
			value = inner[rest]
		}
		text, _ := value.(string)
		return text
	}
	for _, name := range p.details {
		if value := extra(name); value != "" {
			if made.Details == nil {
				made.Details = map[string]string{}
			}
			made.Details[name] = value
		}
	}
	for _, name := range p.accountKeys {
		if made.account == "" {
			made.account = line(extra(name), maxAccount)
		}
	}
	return made
}

// fetchAccount returns the name of the account that the access token belongs to, or
// "" if the provider does not say.
func (p *providerClient) fetchAccount(ctx context.Context, access string) string {
	if p.Account == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, accountTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Account, nil)
	if err != nil {
		return ""
	}
	r.Header.Set("Authorization", "Bearer "+access)
	r.Header.Set("Accept", "application/json")
	response, err := p.http.Do(r)
	if err != nil {
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	var fields map[string]any
	if response.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(response.Body, maxResponse)).Decode(&fields) != nil {
		return ""
	}
	for _, key := range p.accountKeys {
		if text, _ := fields[key].(string); text != "" {
			return line(text, maxAccount)
		}
	}
	return ""
}

// revoke revokes the tokens at the provider (RFC 7009). It does nothing if the
// provider has no revocation endpoint.
func (p *providerClient) revoke(ctx context.Context, t tokens) error {
	if p.Revoke == "" {
		return nil
	}
	form := url.Values{"token": {t.Access}, "token_type_hint": {"access_token"}}
	if t.Refresh != "" {
		form = url.Values{"token": {t.Refresh}, "token_type_hint": {"refresh_token"}}
	}
	if !p.basic {
		form.Set("client_id", p.client.ID)
		form.Set("client_secret", p.client.Secret)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.Revoke, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("revoke the tokens: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if p.basic {
		r.SetBasicAuth(url.QueryEscape(p.client.ID), url.QueryEscape(p.client.Secret))
	}
	response, err := p.http.Do(r)
	if err != nil {
		return fmt.Errorf("revoke the tokens: %w", withoutURL(err))
	}
	_ = response.Body.Close()
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("revoke the tokens: the provider answered %d", response.StatusCode)
	}
	return nil
}

// tokenTransport sends token requests. It asks for a JSON response, and encodes the
// form as JSON for providers that expect that.
type tokenTransport struct {
	next http.RoundTripper
	json bool
}

// RoundTrip implements http.RoundTripper.
func (w *tokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Accept", "application/json") // some providers respond with a form otherwise
	if w.json && r.Body != nil {
		raw, err := io.ReadAll(io.LimitReader(r.Body, maxResponse))
		_ = r.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("read the form: %w", err)
		}
		form, err := url.ParseQuery(string(raw))
		if err != nil {
			return nil, fmt.Errorf("read the form: %w", err)
		}
		fields := map[string]string{}
		for name := range form {
			fields[name] = form.Get(name)
		}
		body, err := json.Marshal(fields)
		if err != nil {
			return nil, fmt.Errorf("write the fields: %w", err)
		}
		r.Body, r.ContentLength, r.GetBody = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		r.Header.Set("Content-Type", "application/json")
	}
	return w.next.RoundTrip(r)
}

// ProviderError is a failed request to a provider. It contains no part of the
// request, and of the response only the error code and description.
type ProviderError struct {
	Provider string
	Op       string
	// Code is the OAuth error code, such as invalid_grant; empty if there is none.
	Code   string
	Reason string
	Status int // of HTTP; 0 without a response
	// RetryAfter is the delay that the provider asks for.
	RetryAfter time.Duration
	cause      error
}

// Error implements error.
func (e *ProviderError) Error() string {
	text := e.Op + " at " + e.Provider + ": "
	switch {
	case e.Code != "" && e.Reason != "":
		return text + e.Code + " (" + e.Reason + ")"
	case e.Code != "":
		return text + e.Code
	case e.Status != 0:
		return text + "answered with status " + strconv.Itoa(e.Status)
	default:
		return text + "no usable answer"
	}
}

// Unwrap returns the cause.
func (e *ProviderError) Unwrap() error { return e.cause }

// Temporary reports whether a later attempt may succeed.
func (e *ProviderError) Temporary() bool {
	return e.Status == 0 || e.Status >= 500 || e.Status == http.StatusTooManyRequests || e.Code == "temporarily_unavailable" || e.Code == "server_error"
}

// providerError converts an error of the oauth2 package, whose text quotes whole
// responses.
func (p *providerClient) providerError(op string, err error) error {
	e := &ProviderError{Provider: p.Name, Op: op}
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) {
		e.cause = withoutURL(err)
		return e
	}
	e.Code, e.Reason = line(answer.ErrorCode, maxErrorCode), line(answer.ErrorDescription, maxReason)
	if answer.Response != nil {
		e.Status = answer.Response.StatusCode
		if seconds, err := strconv.Atoi(answer.Response.Header.Get("Retry-After")); err == nil && seconds > 0 {
			e.RetryAfter = time.Duration(min(seconds, 3600)) * time.Second
		}
	}
	return e
}

// withoutURL removes the address from an error of net/http, since it may contain a
// secret.
func withoutURL(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return errors.New("the answer cannot be read")
}

// line returns text of a provider on one printable line of at most limit bytes.
func line(text string, limit int) string {
	return safetext.TruncateBytes(safetext.Line(text), limit)
}
