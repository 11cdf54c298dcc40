package signon

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/magpie-search/magpie/internal/apierr"
)

const (
	discoveryTimeout    = 10 * time.Second
	discoveryRetryDelay = 3 * time.Second // after a failure
)

// maxSubject is the maximum length in OpenID Connect.
const maxSubject = 255

// discovery finds the provider at its first use.
type discovery struct {
	issuer string
	http   *http.Client
	now    func() time.Time

	mu       sync.Mutex
	provider *provider
	failed   time.Time
	err      error
}

// provider is a provider with its keys. The library fetches unknown keys.
type provider struct{ *oidc.Provider }

// discover returns the provider. The error is unavailable if it cannot be reached.
func (s *SignOn) discover(ctx context.Context) (*provider, error) {
	d := s.provider
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.provider != nil {
		return d.provider, nil
	}
	if d.err == nil || d.now().Sub(d.failed) >= discoveryRetryDelay {
		ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
		defer cancel()
		p, err := oidc.NewProvider(oidc.ClientContext(ctx, d.http), d.issuer)
		if err == nil {
			d.provider, d.err = &provider{p}, nil
			return d.provider, nil
		}
		s.o.Log.WarnContext(ctx, "openid provider discovery failed", slog.Any("error", err))
		if !errors.Is(err, context.Canceled) {
			d.failed, d.err = d.now(), err
		}
	}
	return nil, &apierr.Error{
		Code: apierr.Unavailable, Message: s.o.Name + " cannot be reached just now; try again", RetryAfter: discoveryRetryDelay, Op: "find the OpenID provider", Cause: d.err,
	}
}

// identity is a person at the provider.
type identity struct {
	Issuer  string   `json:"issuer"`
	Subject string   `json:"subject"`
	Email   string   `json:"email"`
	Name    string   `json:"name"`
	Groups  []string `json:"groups,omitempty"`
}

// boolOrString is a boolean that some providers encode as a string.
type boolOrString bool

// UnmarshalJSON implements json.Unmarshaler.
func (f *boolOrString) UnmarshalJSON(raw []byte) error {
	*f = string(raw) == "true" || string(raw) == `"true"`
	return nil
}

type claims struct {
	Email    string       `json:"email"`
	Verified boolOrString `json:"email_verified"`
	Name     string       `json:"name"`
	Party    string       `json:"azp"`
}

// verify exchanges the code and checks the ID token: signature, issuer, audience,
// authorized party, time, nonce, and the hash of the access token.
func (s *SignOn) verify(ctx context.Context, code string, flow pendingSignIn) (identity, error) {
	p, err := s.discover(ctx)
	if err != nil {
		return identity{}, err
	}
	ctx = oidc.ClientContext(ctx, s.o.HTTP)
	token, err := s.config(p.Provider).Exchange(ctx, code, oauth2.VerifierOption(flow.Verifier))
	if err != nil {
		return identity{}, s.exchangeError(ctx, err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return identity{}, errUnverified(errors.New("the provider gave no ID token"))
	}
	verified, err := p.Verifier(&oidc.Config{ClientID: s.o.ClientID, Now: s.o.Now}).Verify(ctx, raw)
	if err != nil {
		return identity{}, errUnverified(err)
	}
	var c claims
	if err := verified.Claims(&c); err != nil {
		return identity{}, errUnverified(errors.New("the claims cannot be read"))
	}
	switch {
	case verified.Nonce != flow.Nonce:
		return identity{}, errUnverified(errors.New("the nonce is another one"))
	case len(verified.Audience) > 1 && c.Party != s.o.ClientID, c.Party != "" && c.Party != s.o.ClientID:
		return identity{}, errUnverified(errors.New("the authorized party is another one"))
	case verified.Subject == "" || len(verified.Subject) > maxSubject:
		return identity{}, errUnverified(errors.New("the subject is missing or too long"))
	}
	if verified.AccessTokenHash != "" {
		if err := verified.VerifyAccessToken(token.AccessToken); err != nil {
			return identity{}, errUnverified(err)
		}
	}
	if c.Email == "" {
		c = s.userinfo(ctx, p, token, verified.Subject, c)
	}
	if c.Email == "" || !bool(c.Verified) {
		return identity{}, apierr.New(apierr.Forbidden, s.o.Name+" does not say that your email address is verified; it has to be")
	}
	return identity{Issuer: verified.Issuer, Subject: verified.Subject, Email: c.Email, Name: line(c.Name, 200)}, nil
}

// userinfo requests claims that some providers leave out of the ID token.
func (s *SignOn) userinfo(ctx context.Context, p *provider, token *oauth2.Token, subject string, c claims) claims {
	if p.UserInfoEndpoint() == "" {
		return c
	}
	info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil || info.Subject != subject {
		return c
	}
	if c.Name == "" {
		var more claims
		if info.Claims(&more) == nil {
			c.Name = more.Name
		}
	}
	c.Email, c.Verified = info.Email, boolOrString(info.EmailVerified)
	return c
}

// exchangeError converts an error of the oauth2 package, whose text may quote the
// whole response.
func (s *SignOn) exchangeError(ctx context.Context, err error) error {
	var answer *oauth2.RetrieveError
	switch {
	case ctx.Err() != nil:
		return apierr.Wrap("exchange the code", ctx.Err())
	case !errors.As(err, &answer), answer.Response != nil && (answer.Response.StatusCode >= 500 || answer.Response.StatusCode == http.StatusTooManyRequests):
		return &apierr.Error{
			Code: apierr.Unavailable, Message: s.o.Name + " cannot be reached just now; try again", RetryAfter: discoveryRetryDelay, Op: "exchange the code",
			Cause: errors.New("the token endpoint gave no usable answer"),
		}
	case answer.ErrorCode == "invalid_client" || answer.ErrorCode == "unauthorized_client":
		return &apierr.Error{
			Code: apierr.Unavailable, Message: s.o.Name + " does not know this service; the operator has to look at OIDC_CLIENT_ID and OIDC_CLIENT_SECRET",
			Op: "exchange the code", Cause: errors.New(answer.ErrorCode),
		}
	}
	return errUnverified(errors.New("the token endpoint answered " + line(answer.ErrorCode, 64)))
}
