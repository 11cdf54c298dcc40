package signon

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/oauth2"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Lifetimes of the steps of a sign-in.
const (
	StateLifetime = 10 * time.Minute // of the sign-in at the provider
	CodeLifetime  = 2 * time.Minute  // from the callback to the session
)

// CallbackPath is the path below BaseURL that the provider redirects browsers to.
const CallbackPath = "/api/v1/auth/oidc/callback"

const (
	statePurpose = "signin"
	codePurpose  = "signin-code"
)

// Options configure a SignOn. Without an Issuer, this way to sign in is off.
type Options struct {
	Issuer, ClientID, ClientSecret string
	// Name is the name of the provider on a button. Default: the issuer's host.
	Name string
	// Scopes are the requested scopes. Default: openid, email and profile.
	Scopes []string
	// BaseURL is the address of the service. Origins are further origins that a
	// browser may be redirected to.
	BaseURL string
	Origins []string
	// Join lets people of some domains join.
	Join Join
	// Guests signs in invited people. Without it, only people with an account or a
	// domain that may join can sign in.
	Guests Guests
	// Attempts limits how often a client may start a sign-in.
	Attempts authn.Attempts
	// HTTP sends requests to the provider. Default: oauth.NewHTTPClient.
	HTTP *http.Client
	Log  *slog.Logger
	Now  func() time.Time
}

// SignOn signs people in by an OpenID provider. Call Close at the end.
type SignOn struct {
	o         Options
	flows     *oauth.Flows
	returnTo  oauth.ReturnOrigins
	provider  *discovery
	admission *admission
}

// New returns the sign-on of a database. It sends no request.
func New(db *ent.Client, pool *pgxpool.Pool, flows *oauth.Flows, people People, o Options) *SignOn {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.HTTP == nil {
		o.HTTP = oauth.NewHTTPClient()
	}
	if len(o.Scopes) == 0 {
		o.Scopes = []string{oidc.ScopeOpenID, "email", "profile"}
	}
	if o.Name == "" {
		if u, err := url.Parse(o.Issuer); err == nil {
			o.Name = u.Host
		}
	}
	return &SignOn{
		o: o, flows: flows, returnTo: oauth.NewReturnOrigins(o.BaseURL, o.Origins),
		provider:  &discovery{issuer: o.Issuer, http: o.HTTP, now: o.Now},
		admission: &admission{db: db, pool: pool, people: people, guests: o.Guests, join: o.Join, provider: o.Name, now: o.Now},
	}
}

// Close closes idle connections to the provider.
func (s *SignOn) Close() { s.o.HTTP.CloseIdleConnections() }

// Method returns the name and the issuer of the provider, or false if there is
// none.
func (s *SignOn) Method() (name, issuer string, ok bool) {
	return s.o.Name, s.o.Issuer, s.o.Issuer != ""
}

func (s *SignOn) configured() error {
	if s.o.Issuer == "" {
		return apierr.New(apierr.InvalidRequest, "Sign-in by an OpenID provider is not set up here; the operator sets OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET")
	}
	return nil
}

func (s *SignOn) config(p *oidc.Provider) *oauth2.Config {
	endpoint := p.Endpoint()
	endpoint.AuthStyle = s.style(p) // without it the library would try several styles, but a code works once
	return &oauth2.Config{
		ClientID: s.o.ClientID, ClientSecret: s.o.ClientSecret, Endpoint: endpoint, Scopes: s.o.Scopes,
		RedirectURL: strings.TrimRight(s.o.BaseURL, "/") + CallbackPath,
	}
}

// style returns how the client authenticates: by header, unless the provider does
// not support that or the client has no secret.
func (s *SignOn) style(p *oidc.Provider) oauth2.AuthStyle {
	var metadata struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := p.Claims(&metadata); err != nil || s.o.ClientSecret == "" {
		return oauth2.AuthStyleInParams
	}
	if len(metadata.Methods) == 0 || slices.Contains(metadata.Methods, "client_secret_basic") {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}

// pendingSignIn is a sign-in that waits for the provider.
type pendingSignIn struct {
	Verifier string `json:"verifier"` // of PKCE
	Nonce    string `json:"nonce"`
	ReturnTo string `json:"place"`   // where the browser goes at the end; empty: nowhere
	Binding  []byte `json:"binding"` // SHA-256 of the browser's binding
	Query    bool   `json:"query"`   // the outcome is in the query of ReturnTo, not in its fragment
}

// result returns where the browser goes with the outcome.
func (p pendingSignIn) result(outcome url.Values) CallbackResult {
	if p.Query {
		return CallbackResult{ReturnTo: oauth.WithQuery(p.ReturnTo, outcome)}
	}
	return CallbackResult{ReturnTo: oauth.WithFragment(p.ReturnTo, outcome)}
}

// Authorization is a started sign-in.
type Authorization struct {
	// URL is the address to redirect the browser to.
	URL string
	// Binding is a secret that the browser must present to Finish.
	Binding   string
	ExpiresAt time.Time
}

// maxStartsPerMinute limits the sign-ins that a client may start: each takes a row.
const maxStartsPerMinute = 30

// Start starts a sign-in. returnTo is the address that the browser is redirected to
// at the end; it may be empty. The error is rate_limited if the client starts too
// many.
func (s *SignOn) Start(ctx context.Context, returnTo string) (Authorization, error) {
	return s.start(ctx, returnTo, false)
}

// StartPage is Start for a page of this service without scripts: the outcome is in the
// query of returnTo. The code in it is of no use without the binding.
func (s *SignOn) StartPage(ctx context.Context, returnTo string) (address, binding string, err error) {
	begun, err := s.start(ctx, returnTo, true)
	return begun.URL, begun.Binding, err
}

func (s *SignOn) start(ctx context.Context, returnTo string, query bool) (Authorization, error) {
	if err := limitStarts(ctx, s.o.Attempts); err != nil {
		return Authorization{}, err
	}
	if err := s.configured(); err != nil {
		return Authorization{}, err
	}
	returnTo, err := s.returnTo.Check("redirectUrl", returnTo)
	if err != nil {
		return Authorization{}, err
	}
	p, err := s.discover(ctx)
	if err != nil {
		return Authorization{}, err
	}
	binding := oauth.NewToken()
	flow := pendingSignIn{Verifier: oauth2.GenerateVerifier(), Nonce: oauth.NewToken(), ReturnTo: returnTo, Binding: hash(binding), Query: query}
	state, expires, err := s.flows.Put(ctx, statePurpose, StateLifetime, flow)
	if err != nil {
		return Authorization{}, apierr.Wrap("begin a sign-in", err)
	}
	address := s.config(p.Provider).AuthCodeURL(state, oidc.Nonce(flow.Nonce), oauth2.S256ChallengeOption(flow.Verifier))
	return Authorization{URL: address, Binding: binding, ExpiresAt: expires}, nil
}

// limitStarts counts a sign-in of the client. All ways to sign in count together.
func limitStarts(ctx context.Context, attempts authn.Attempts) error {
	limit, err := attempts.AllowIn(ctx, "oidc:"+ratelimit.ClientOf(ctx), maxStartsPerMinute, time.Minute)
	if err != nil {
		return apierr.Wrap("count the sign-in", err)
	}
	if !limit.Allowed {
		return &apierr.Error{Code: apierr.RateLimited, Message: "Too many attempts to sign in; wait a little", RetryAfter: max(limit.RetryAfter, 1)}
	}
	return nil
}

func hash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// Callback is the request with which the provider sends the browser back.
type Callback struct{ State, Code, Error, Description, Issuer string }

// CallbackResult is the result of a callback: the one-time code for Finish, or the
// address to redirect the browser to, with the code in its fragment or query.
type CallbackResult struct{ Code, ReturnTo string }

// verifiedIdentity is an identity that waits for Finish.
type verifiedIdentity struct {
	identity
	Binding []byte `json:"binding"`
}

// HandleCallback verifies the provider's response. A wrong state is an
// invalid_request without a redirect. Later failures are reported to the ReturnTo
// address if there is one, and else as an error.
func (s *SignOn) HandleCallback(ctx context.Context, r Callback) (CallbackResult, error) {
	if err := s.configured(); err != nil {
		return CallbackResult{}, err
	}
	var flow pendingSignIn
	switch err := s.flows.Take(ctx, statePurpose, r.State, &flow); {
	case errors.Is(err, oauth.ErrNoFlow):
		return CallbackResult{}, apierr.Invalid("state", "is unknown, was used before or has expired; begin the sign-in again")
	case err != nil:
		return CallbackResult{}, apierr.Wrap("end a sign-in", err)
	}
	code, err := s.handleResponse(ctx, flow, r)
	if err != nil {
		s.o.Log.InfoContext(ctx, "openid sign-in failed", slog.Any("error", err))
		failed := apierr.From(err)
		if flow.ReturnTo == "" || failed.Code == apierr.Internal {
			return CallbackResult{}, err
		}
		return flow.result(url.Values{"error": {string(failed.Code)}, "error_description": {failed.Message}}), nil
	}
	if flow.ReturnTo != "" {
		return flow.result(url.Values{"code": {code}}), nil
	}
	return CallbackResult{Code: code}, nil
}

// handleResponse verifies the provider's response and stores the identity for
// Finish.
func (s *SignOn) handleResponse(ctx context.Context, flow pendingSignIn, r Callback) (code string, err error) {
	if r.Error != "" {
		text := s.o.Name + " refused the sign-in: " + line(r.Error, 64)
		if reason := line(r.Description, 200); reason != "" {
			text += " (" + reason + ")"
		}
		return "", apierr.New(apierr.Forbidden, text)
	}
	if r.Code == "" {
		return "", apierr.Invalid("code", "is required")
	}
	if r.Issuer != "" && r.Issuer != s.o.Issuer { // RFC 9207: the response of another provider
		return "", errUnverified(fmt.Errorf("the answer is of another issuer"))
	}
	who, err := s.verify(ctx, r.Code, flow)
	if err != nil {
		return "", err
	}
	code, _, err = s.flows.Put(ctx, codePurpose, CodeLifetime, verifiedIdentity{identity: who, Binding: flow.Binding})
	return code, apierr.Wrap("keep the sign-in", err)
}

// errUnverified returns the error for a response that is not valid.
func errUnverified(cause error) error {
	return &apierr.Error{Code: apierr.InvalidCredentials, Message: "The sign-in could not be verified; try again", Op: "sign-in", Cause: cause}
}

// Finish opens the session of a sign-in, given the code of the callback and the
// binding of the start. Either works once.
func (s *SignOn) Finish(ctx context.Context, code, binding string) (authn.Tokens, error) {
	if err := s.configured(); err != nil {
		return authn.Tokens{}, err
	}
	who, err := takeIdentity(ctx, s.flows, codePurpose, code, binding)
	if err != nil {
		return authn.Tokens{}, err
	}
	return s.admission.openSession(ctx, who)
}

// takeIdentity returns the identity of a one-time code for the browser with the
// binding.
func takeIdentity(ctx context.Context, flows *oauth.Flows, purpose, code, binding string) (identity, error) {
	var who verifiedIdentity
	err := flows.Take(ctx, purpose, code, &who)
	if err != nil && !errors.Is(err, oauth.ErrNoFlow) {
		return identity{}, apierr.Wrap("end a sign-in", err)
	}
	if err != nil || subtle.ConstantTimeCompare(hash(binding), who.Binding) != 1 {
		return identity{}, apierr.Invalid("code", "is unknown, was used before, has expired or belongs to another browser; begin the sign-in again")
	}
	return who.identity, nil
}

// line returns text of the provider on one printable line of at most limit bytes.
func line(text string, limit int) string {
	return safetext.TruncateBytes(safetext.Line(text), limit)
}
