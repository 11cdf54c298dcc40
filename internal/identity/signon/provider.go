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

// Times of discovery.
const (
	discoveryTimeout = 10 * time.Second
	discoveryPause   = 3 * time.Second // after a failure, before the provider is asked again
)

// maxSubject is what OpenID Connect allows.
const maxSubject = 255

// discovery finds the provider when it is first needed, and keeps it.
type discovery struct {
	issuer string
	http   *http.Client
	now    func() time.Time

	mu     sync.Mutex
	found  *found
	failed time.Time
	err    error
}

// found is a provider with its keys, which the library fetches when a token
// names one that is not known.
type found struct{ *oidc.Provider }

// discover is the provider; unavailable when it cannot be reached just now.
func (s *SignOn) discover(ctx context.Context) (*found, error) {
	d := s.provider
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.found != nil {
		return d.found, nil
	}
	if d.err == nil || d.now().Sub(d.failed) >= discoveryPause {
		ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
		defer cancel()
		p, err := oidc.NewProvider(oidc.ClientContext(ctx, d.http), d.issuer)
		if err == nil {
			d.found, d.err = &found{p}, nil
			return d.found, nil
		}
		s.o.Log.WarnContext(ctx, "the OpenID provider was not found", slog.Any("error", err))
		if !errors.Is(err, context.Canceled) {
			d.failed, d.err = d.now(), err
		}
	}
	return nil, &apierr.Error{
		Code: apierr.Unavailable, Message: s.o.Name + " cannot be reached just now; try again", RetryAfter: discoveryPause, Op: "find the OpenID provider", Cause: d.err,
	}
}

// identity is who somebody is at the provider.
type identity struct {
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
	Email   string `json:"email"`
	Name    string `json:"name"`
}

// flag is a boolean that some providers write as a string.
type flag bool

// UnmarshalJSON reads either.
func (f *flag) UnmarshalJSON(raw []byte) error {
	*f = string(raw) == "true" || string(raw) == `"true"`
	return nil
}

type claims struct {
	Email    string `json:"email"`
	Verified flag   `json:"email_verified"`
	Name     string `json:"name"`
	Party    string `json:"azp"`
}

// prove exchanges the code and checks the ID token: signature, issuer, audience,
// authorized party, time, nonce, and that it belongs to the access token.
func (s *SignOn) prove(ctx context.Context, code string, flow pending) (identity, error) {
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
		return identity{}, unproven(errors.New("the provider gave no ID token"))
	}
	verified, err := p.Verifier(&oidc.Config{ClientID: s.o.ClientID, Now: s.o.Now}).Verify(ctx, raw)
	if err != nil {
		return identity{}, unproven(err)
	}
	var c claims
	if err := verified.Claims(&c); err != nil {
		return identity{}, unproven(errors.New("the claims cannot be read"))
	}
	switch {
	case verified.Nonce != flow.Nonce:
		return identity{}, unproven(errors.New("the nonce is another one"))
	case len(verified.Audience) > 1 && c.Party != s.o.ClientID, c.Party != "" && c.Party != s.o.ClientID:
		return identity{}, unproven(errors.New("the authorized party is another one"))
	case verified.Subject == "" || len(verified.Subject) > maxSubject:
		return identity{}, unproven(errors.New("the subject is missing or too long"))
	}
	if verified.AccessTokenHash != "" {
		if err := verified.VerifyAccessToken(token.AccessToken); err != nil {
			return identity{}, unproven(err)
		}
	}
	if c.Email == "" {
		c = s.userinfo(ctx, p, token, verified.Subject, c)
	}
	if c.Email == "" || !bool(c.Verified) {
		return identity{}, apierr.New(apierr.Forbidden, s.o.Name+" does not say that your email address is verified; it has to be")
	}
	return identity{Issuer: verified.Issuer, Subject: verified.Subject, Email: c.Email, Name: printable(c.Name, 200)}, nil
}

// userinfo asks for the claims that some providers leave out of the ID token.
func (s *SignOn) userinfo(ctx context.Context, p *found, token *oauth2.Token, subject string, known claims) claims {
	if p.UserInfoEndpoint() == "" {
		return known
	}
	info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil || info.Subject != subject {
		return known
	}
	if known.Name == "" {
		var more claims
		if info.Claims(&more) == nil {
			known.Name = more.Name
		}
	}
	known.Email, known.Verified = info.Email, flag(info.EmailVerified)
	return known
}

// exchangeError says whether it helps to come again. What the library says may
// hold the provider's whole answer, which stays out of messages and logs.
func (s *SignOn) exchangeError(ctx context.Context, err error) error {
	var answer *oauth2.RetrieveError
	switch {
	case ctx.Err() != nil:
		return apierr.Wrap("exchange the code", ctx.Err())
	case !errors.As(err, &answer), answer.Response != nil && (answer.Response.StatusCode >= 500 || answer.Response.StatusCode == http.StatusTooManyRequests):
		return &apierr.Error{
			Code: apierr.Unavailable, Message: s.o.Name + " cannot be reached just now; try again", RetryAfter: discoveryPause, Op: "exchange the code",
			Cause: errors.New("the token endpoint gave no usable answer"),
		}
	case answer.ErrorCode == "invalid_client" || answer.ErrorCode == "unauthorized_client":
		return &apierr.Error{
			Code: apierr.Unavailable, Message: s.o.Name + " does not know this service; the operator has to look at OIDC_CLIENT_ID and OIDC_CLIENT_SECRET",
			Op: "exchange the code", Cause: errors.New(answer.ErrorCode),
		}
	}
	return unproven(errors.New("the token endpoint answered " + printable(answer.ErrorCode, 64)))
}
