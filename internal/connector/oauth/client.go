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
	"unicode"

	"golang.org/x/oauth2"
)

// Bounds of what is read from providers.
const (
	requestTimeout = 20 * time.Second
	accountTimeout = 5 * time.Second
	maxAnswer      = 1 << 20
	maxAccount     = 320
	maxReason      = 300
)

// NewHTTPClient makes the client for addresses that the operator set. It follows
// no redirect: a token endpoint that moved is for the operator to see, and
// credentials go nowhere else.
func NewHTTPClient() *http.Client {
	return &http.Client{
		Timeout: requestTimeout,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
			ResponseHeaderTimeout: requestTimeout, IdleConnTimeout: time.Minute, MaxIdleConns: 20, MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// remote speaks with one provider.
type remote struct {
	Provider
	client   Client
	redirect string
	http     *http.Client
}

func (p *remote) config() *oauth2.Config {
	style := oauth2.AuthStyleInParams
	if p.basic {
		style = oauth2.AuthStyleInHeader
	}
	return &oauth2.Config{
		ClientID: p.client.ID, ClientSecret: p.client.Secret, RedirectURL: p.redirect, Scopes: p.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: p.Auth, TokenURL: p.Token, AuthStyle: style},
	}
}

// authorization is where the browser begins.
func (p *remote) authorization(state, verifier string) string {
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier)}
	for _, name := range slices.Sorted(maps.Keys(p.parameters)) {
		options = append(options, oauth2.SetAuthURLParam(name, p.parameters[name]))
	}
	if p.separator != "" {
		options = append(options, oauth2.SetAuthURLParam("scope", strings.Join(p.Scopes, p.separator)))
	}
	return p.config().AuthCodeURL(state, options...)
}

// tokens is what a provider gave. It is sealed whole.
type tokens struct {
	Access  string            `json:"access"`
	Refresh string            `json:"refresh,omitempty"`
	Details map[string]string `json:"details,omitempty"`
}

// issued is a token answer, read.
type issued struct {
	tokens
	lifetime time.Duration // of the access token; 0 is not told
	scopes   []string
	account  string
}

func (p *remote) within(ctx context.Context) context.Context {
	client := *p.http
	client.Transport = &wire{next: client.Transport, json: p.jsonBody}
	return context.WithValue(ctx, oauth2.HTTPClient, &client)
}

// exchange turns an authorization code into tokens.
func (p *remote) exchange(ctx context.Context, code, verifier string) (issued, error) {
	token, err := p.config().Exchange(p.within(ctx), code, oauth2.VerifierOption(verifier))
	if err != nil {
		return issued{}, p.failure("exchange the code", err)
	}
	return p.read(token), nil
}

// refresh asks for a new access token. A provider that gives no new refresh
// token means the old one to be kept.
func (p *remote) refresh(ctx context.Context, old tokens) (issued, error) {
	token, err := p.config().TokenSource(p.within(ctx), &oauth2.Token{RefreshToken: old.Refresh}).Token()
	if err != nil {
		return issued{}, p.failure("renew the access token", err)
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

func (p *remote) read(t *oauth2.Token) issued {
	made := issued{tokens: tokens{Access: t.AccessToken, Refresh: t.RefreshToken}, lifetime: p.lifetime, scopes: p.Scopes}
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
			made.account = printable(extra(name), maxAccount)
		}
	}
	return made
}

// account asks whose tokens they are; empty when that cannot be told.
func (p *remote) account(ctx context.Context, access string) string {
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
	defer func() { _ = response.Body.Close() }() // was only read
	var fields map[string]any
	if response.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&fields) != nil {
		return ""
	}
	for _, key := range p.accountKeys {
		if text, _ := fields[key].(string); text != "" {
			return printable(text, maxAccount)
		}
	}
	return ""
}

// revoke withdraws tokens (RFC 7009). A provider without such an endpoint keeps
// them until the person withdraws the access there.
func (p *remote) revoke(ctx context.Context, t tokens) error {
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
		return fmt.Errorf("revoke the tokens: %w", quiet(err))
	}
	_ = response.Body.Close()
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("revoke the tokens: the provider answered %d", response.StatusCode)
	}
	return nil
}

// wire is the transport of token requests: answers are bounded, errors of
// ordinary statuses are told by their codes, and providers that take JSON get it.
type wire struct {
	next http.RoundTripper
	json bool
}

// RoundTrip sends one request.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Accept", "application/json") // some answer a form otherwise
	if w.json && r.Body != nil {
		raw, err := io.ReadAll(io.LimitReader(r.Body, maxAnswer))
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

// ProviderError is an error that a provider's endpoint answered, or that stood
// in its place. It holds nothing of a request or an answer but the error's code
// and the provider's own words for it.
type ProviderError struct {
	Provider string
	Op       string
	// Code is the error of the standards: invalid_grant, invalid_client, …;
	// empty when the provider gave none.
	Code   string
	Reason string
	Status int // of HTTP; 0 when there was no answer
	// After is how long the provider asks to wait.
	After time.Duration
	cause error
}

// Error says what failed.
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

// Unwrap returns what stood behind it.
func (e *ProviderError) Unwrap() error { return e.cause }

// Temporary reports whether trying again later may help.
func (e *ProviderError) Temporary() bool {
	return e.Status == 0 || e.Status >= 500 || e.Status == http.StatusTooManyRequests || e.Code == "temporarily_unavailable" || e.Code == "server_error"
}

// failure makes an error of what the library says, which repeats whole answers.
func (p *remote) failure(op string, err error) error {
	e := &ProviderError{Provider: p.Name, Op: op}
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) {
		e.cause = quiet(err)
		return e
	}
	e.Code, e.Reason = printable(answer.ErrorCode, 64), printable(answer.ErrorDescription, maxReason)
	if answer.Response != nil {
		e.Status = answer.Response.StatusCode
		if seconds, err := strconv.Atoi(answer.Response.Header.Get("Retry-After")); err == nil && seconds > 0 {
			e.After = time.Duration(min(seconds, 3600)) * time.Second
		}
	}
	return e
}

// quiet takes the address out of an error of net/http: it may hold a secret.
func quiet(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return errors.New("the answer cannot be read")
}

// printable makes text of others fit to be shown: one line, bounded.
func printable(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	text = strings.TrimSpace(text)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return text
}
