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
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/oauth2"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/ratelimit"
)

// Lifetimes of a sign-in on its way.
const (
	StateLifetime = 10 * time.Minute // at the provider
	CodeLifetime  = 2 * time.Minute  // between the provider's answer and the session
)

// CallbackPath is where the provider sends browsers back to, below BaseURL.
const CallbackPath = "/api/v1/auth/oidc/callback"

const (
	statePurpose = "signin"
	codePurpose  = "signin-code"
)

// Options of a SignOn. Without an Issuer nobody can sign in this way.
type Options struct {
	Issuer, ClientID, ClientSecret string
	// Name is what the provider is called on a button; the issuer's host when empty.
	Name string
	// Scopes are what is asked for; openid, email and profile when empty.
	Scopes []string
	// BaseURL is the service's own address; Origins are further places to which
	// a browser may return.
	BaseURL string
	Origins []string
	// Join lets people of some domains in who are not known.
	Join Join
	// Guests lets people in who are invited; nil lets in those only who have an
	// account or may join.
	Guests Guests
	// Attempts limits how often one client may begin a sign-in.
	Attempts authn.Attempts
	// HTTP speaks with the provider; oauth.NewHTTPClient when nil.
	HTTP *http.Client
	Log  *slog.Logger
	Now  func() time.Time
}

// SignOn signs people in by one OpenID provider. Close it once.
type SignOn struct {
	o        Options
	db       *ent.Client
	pool     *pgxpool.Pool
	flows    *oauth.Flows
	people   People
	places   oauth.ReturnOrigins
	provider *discovery
}

// New returns the sign-in of a database. It does not talk to the provider.
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
		o: o, db: db, pool: pool, flows: flows, people: people, places: oauth.NewReturnOrigins(o.BaseURL, o.Origins),
		provider: &discovery{issuer: o.Issuer, http: o.HTTP, now: o.Now},
	}
}

// Close gives the connections to the provider back.
func (s *SignOn) Close() { s.o.HTTP.CloseIdleConnections() }

// Method says what the provider is called, and who it is; false when there is none.
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
	endpoint.AuthStyle = s.style(p) // the library would try one after the other, and a code works once
	return &oauth2.Config{
		ClientID: s.o.ClientID, ClientSecret: s.o.ClientSecret, Endpoint: endpoint, Scopes: s.o.Scopes,
		RedirectURL: strings.TrimRight(s.o.BaseURL, "/") + CallbackPath,
	}
}

// style is how the client proves itself: by header, which every provider takes
// that does not say otherwise, else in the form, as a client without a secret does.
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

// pending is a sign-in at the provider.
type pending struct {
	Verifier string `json:"verifier"` // of PKCE
	Nonce    string `json:"nonce"`
	Place    string `json:"place"`   // where the browser goes in the end; empty: nowhere
	Binding  []byte `json:"binding"` // SHA-256 of the browser's secret
}

// Started is a sign-in that has begun.
type Started struct {
	// Address is where the browser has to go.
	Address string
	// Binding is a secret for the browser to keep until the end.
	Binding   string
	ExpiresAt time.Time
}

// startsPerMinute limits the sign-ins that one client may begin, because each
// takes a row until it ends.
const startsPerMinute = 30

// Start begins a sign-in. place is the address where the browser goes in the end;
// empty for none. It returns rate_limited for a client that begins too many.
func (s *SignOn) Start(ctx context.Context, place string) (Started, error) {
	if err := s.limitStarts(ctx); err != nil {
		return Started{}, err
	}
	if err := s.configured(); err != nil {
		return Started{}, err
	}
	place, err := s.places.Check("redirectUrl", place)
	if err != nil {
		return Started{}, err
	}
	p, err := s.discover(ctx)
	if err != nil {
		return Started{}, err
	}
	binding := oauth.NewToken()
	flow := pending{Verifier: oauth2.GenerateVerifier(), Nonce: oauth.NewToken(), Place: place, Binding: hash(binding)}
	state, expires, err := s.flows.Put(ctx, statePurpose, StateLifetime, flow)
	if err != nil {
		return Started{}, apierr.Wrap("begin a sign-in", err)
	}
	address := s.config(p.Provider).AuthCodeURL(state, oidc.Nonce(flow.Nonce), oauth2.S256ChallengeOption(flow.Verifier))
	return Started{Address: address, Binding: binding, ExpiresAt: expires}, nil
}

func (s *SignOn) limitStarts(ctx context.Context) error {
	limit, err := s.o.Attempts.AllowIn(ctx, "oidc:"+ratelimit.ClientOf(ctx), startsPerMinute, time.Minute)
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

// Return is what the provider sent the browser back with.
type Return struct{ State, Code, Error, Description, Issuer string }

// Answered is the provider's verdict: the one-time code for Finish, in Place's
// fragment where the beginning named a place.
type Answered struct{ Code, Place string }

// proven is who somebody is at the provider, checked.
type proven struct {
	identity
	Binding []byte `json:"binding"`
}

// Answer takes what the provider sent the browser back with. A wrong state is
// an invalid_request and sends nobody anywhere. What goes wrong later is told at
// the place that the beginning named, in the fragment, else as an error.
func (s *SignOn) Answer(ctx context.Context, r Return) (Answered, error) {
	if err := s.configured(); err != nil {
		return Answered{}, err
	}
	var flow pending
	switch err := s.flows.Take(ctx, statePurpose, r.State, &flow); {
	case errors.Is(err, oauth.ErrNoFlow):
		return Answered{}, apierr.Invalid("state", "is unknown, was used before or has expired; begin the sign-in again")
	case err != nil:
		return Answered{}, apierr.Wrap("end a sign-in", err)
	}
	code, err := s.check(ctx, flow, r)
	if err != nil {
		s.o.Log.InfoContext(ctx, "a sign-in by the OpenID provider failed", slog.Any("error", err))
		failed := apierr.From(err)
		if flow.Place == "" || failed.Code == apierr.Internal {
			return Answered{}, err
		}
		return Answered{Place: oauth.WithFragment(flow.Place, url.Values{"error": {string(failed.Code)}, "error_description": {failed.Message}})}, nil
	}
	if flow.Place != "" {
		return Answered{Place: oauth.WithFragment(flow.Place, url.Values{"code": {code}})}, nil
	}
	return Answered{Code: code}, nil
}

// check has the provider's answer proven and keeps who it is for Finish.
func (s *SignOn) check(ctx context.Context, flow pending, r Return) (code string, err error) {
	if r.Error != "" {
		text := s.o.Name + " refused the sign-in: " + printable(r.Error, 64)
		if reason := printable(r.Description, 200); reason != "" {
			text += " (" + reason + ")"
		}
		return "", apierr.New(apierr.Forbidden, text)
	}
	if r.Code == "" {
		return "", apierr.Invalid("code", "is required")
	}
	if r.Issuer != "" && r.Issuer != s.o.Issuer { // RFC 9207: another provider's answer was put in
		return "", unproven(fmt.Errorf("the answer is of another issuer"))
	}
	who, err := s.prove(ctx, r.Code, flow)
	if err != nil {
		return "", err
	}
	code, _, err = s.flows.Put(ctx, codePurpose, CodeLifetime, proven{identity: who, Binding: flow.Binding})
	return code, apierr.Wrap("keep the sign-in", err)
}

// unproven is all that is told of an answer that does not hold.
func unproven(cause error) error {
	return &apierr.Error{Code: apierr.InvalidCredentials, Message: "The sign-in could not be verified; try again", Op: "sign-in", Cause: cause}
}

// Finish opens the session of a sign-in: the code of the answer together with
// the binding of the beginning. Either works once.
func (s *SignOn) Finish(ctx context.Context, code, binding string) (authn.Tokens, error) {
	if err := s.configured(); err != nil {
		return authn.Tokens{}, err
	}
	var who proven
	err := s.flows.Take(ctx, codePurpose, code, &who)
	if err != nil && !errors.Is(err, oauth.ErrNoFlow) {
		return authn.Tokens{}, apierr.Wrap("end a sign-in", err)
	}
	if err != nil || subtle.ConstantTimeCompare(hash(binding), who.Binding) != 1 {
		return authn.Tokens{}, apierr.Invalid("code", "is unknown, was used before, has expired or belongs to another browser; begin the sign-in again")
	}
	return s.session(ctx, who.identity)
}

// printable makes text of others fit to be shown: one line, bounded.
func printable(text string, most int) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "")))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return text
}
