package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
)

const (
	// freshTime is how long a new token is not renewed because a server refuses it.
	freshTime = time.Minute
)

// Credentials identify a client that somebody registered at an authorization server.
type Credentials struct {
	ID, Secret string
	// Issuer is the authorization server that knows the client; empty means any.
	Issuer string
}

// AuthOptions configures an Authorizer.
type AuthOptions struct {
	// HTTP is the client of requests to authorization servers: [Client.HTTP].
	HTTP *http.Client
	// Server is the name of the server, for messages; URL is its address.
	Server, URL string
	// RedirectURL is the address that authorization servers send the person back to.
	RedirectURL string
	// MetadataURL is the address of the client's metadata document, which serves as its
	// id; empty if there is none.
	MetadataURL string
	// Client is a client that was registered by hand; nil if there is none.
	Client *Credentials
	Tokens Tokens
	// Flows is nil if the caller cannot connect an account.
	Flows Flows
	Now   func() time.Time // nil is time.Now
}

// Authorizer adds a person's access token to requests and renews it. Where there is
// none that works, it begins a connection and fails with a [NeedsAuthError]. It
// implements the SDK's auth.OAuthHandler and is safe for concurrent use.
type Authorizer struct {
	opt AuthOptions

	mu   sync.Mutex
	last beginning
}

// A beginning is a connection that was begun. The SDK asks twice within one call.
type beginning struct {
	cause string
	at    time.Time
	asked *NeedsAuthError
}

// sameBeginning is the time in which calls for the same reason get the same address.
const sameBeginning = 30 * time.Second

// NewAuthorizer returns an Authorizer.
func NewAuthorizer(opt AuthOptions) *Authorizer {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	return &Authorizer{opt: opt}
}

// load returns the grant if it belongs to the server's address.
func (a *Authorizer) load(ctx context.Context) (Grant, error) {
	g, err := a.opt.Tokens.Load(ctx)
	if err != nil {
		return Grant{}, err
	}
	if g.Server != a.opt.URL {
		return Grant{}, ErrNoGrant // a token goes only where it was given for
	}
	return g, nil
}

// TokenSource implements auth.OAuthHandler.
func (a *Authorizer) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	return tokenSource{a, ctx}, nil
}

type tokenSource struct {
	authorizer *Authorizer
	ctx        context.Context //nolint:containedctx // the interface of oauth2 takes none
}

// Token implements oauth2.TokenSource. A nil token means that there is none.
func (s tokenSource) Token() (*oauth2.Token, error) {
	a := s.authorizer
	ctx, cancel := context.WithTimeout(s.ctx, tokenTimeout)
	defer cancel()
	g, err := a.load(ctx)
	switch {
	case errors.Is(err, ErrNoGrant), err == nil && g.Access == "":
		return nil, nil //nolint:nilnil // the SDK sends the request without a token
	case err != nil:
		return nil, fmt.Errorf("read the grant: %w", err)
	}
	now := a.opt.Now()
	if g.Refresh != "" && g.endsSoon(now) {
		renewed, err := a.refresh(ctx, g.Access)
		switch {
		case err == nil:
			g = renewed
		case isRefused(err):
			return nil, nil //nolint:nilnil // the server asks for authorization
		case g.expired(now):
			return nil, a.unavailable(err)
		}
	}
	return &oauth2.Token{AccessToken: g.Access, TokenType: "Bearer"}, nil
}

func (a *Authorizer) unavailable(err error) error {
	return &apierr.Error{Code: apierr.Unavailable, Message: "The access to " + a.opt.Server + " cannot be renewed just now; try again.", Op: "renew a token", Cause: err}
}

// refresh renews the access token, unless it is no longer the used one: then somebody
// else renewed it. A refusal is an *oauth2.RetrieveError.
func (a *Authorizer) refresh(ctx context.Context, used string) (renewed Grant, err error) {
	err = a.opt.Tokens.Lock(ctx, func(ctx context.Context) error {
		g, err := a.load(ctx)
		if err != nil {
			return err
		}
		if g.Access != used && g.Access != "" {
			renewed = g
			return nil
		}
		refused := &oauth2.RetrieveError{ErrorCode: "invalid_grant"}
		if g.Refresh == "" {
			return refused
		}
		// The answer may have the only refresh token that works, whoever called is gone or
		// not.
		next, err := a.request(context.WithoutCancel(ctx), g, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {g.Refresh}})
		var answer *tokenError
		if errors.As(err, &answer) && answer.refused() {
			g.Access, g.Refresh, g.ExpiresAt = "", "", time.Time{}
			g.Registered = g.Registered && answer.code == "invalid_grant" // else the client is not known any more
			if err := a.opt.Tokens.Save(context.WithoutCancel(ctx), g); err != nil {
				return fmt.Errorf("save the grant: %w", err)
			}
			return refused
		}
		if err != nil {
			return err
		}
		if err := a.opt.Tokens.Save(context.WithoutCancel(ctx), next); err != nil {
			return fmt.Errorf("save the grant: %w", err)
		}
		renewed = next
		return nil
	})
	return renewed, err
}

// Authorize implements auth.OAuthHandler: it handles an answer of 401 or 403. It
// returns nil if the request may be sent again, and a *NeedsAuthError if a person must
// grant access.
func (a *Authorizer) Authorize(ctx context.Context, request *http.Request, response *http.Response) error {
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
	_ = response.Body.Close()
	ctx, cancel := context.WithTimeout(ctx, 2*tokenTimeout)
	defer cancel()
	c := readChallenge(response.Header)
	g, err := a.load(ctx)
	if err != nil && !errors.Is(err, ErrNoGrant) {
		return fmt.Errorf("read the grant: %w", err)
	}
	used, _ := strings.CutPrefix(request.Header.Get("Authorization"), "Bearer ")
	if response.StatusCode == http.StatusForbidden {
		if c.failure != "insufficient_scope" {
			return apierr.New(apierr.Forbidden, a.opt.Server+" does not allow this with the connected account.")
		}
		if used != "" && len(c.scopes) > 0 && !slices.ContainsFunc(c.scopes, func(s string) bool { return !slices.Contains(g.Scopes, s) }) {
			return apierr.New(apierr.Forbidden, a.opt.Server+" asks for permissions that the connected account has already given; ask its operator.")
		}
	} else if g.Access != "" && used != g.Access {
		return nil // somebody renewed it since
	} else if now := a.opt.Now(); g.Refresh != "" && (now.After(g.ObtainedAt.Add(freshTime)) || g.expired(now)) {
		if _, err := a.refresh(ctx, used); err == nil {
			return nil
		} else if !isRefused(err) {
			return a.unavailable(err)
		}
	}
	err = a.begin(ctx, c, g)
	if needed, ok := errors.AsType[*NeedsAuthError](err); ok {
		needed.More = response.StatusCode == http.StatusForbidden && used != ""
	}
	return err
}

// begin starts a connection and returns the *NeedsAuthError that asks for it.
func (a *Authorizer) begin(ctx context.Context, c challenge, before Grant) error {
	if a.opt.Flows == nil {
		return &NeedsAuthError{Server: a.opt.Server}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	cause := fmt.Sprintf("%q %q", c, before.Access)
	if a.last.cause == cause && a.opt.Now().Before(a.last.at.Add(sameBeginning)) {
		return &NeedsAuthError{Server: a.opt.Server, URL: a.last.asked.URL, Scopes: a.last.asked.Scopes}
	}
	flow, err := a.discover(ctx, c, before)
	if err != nil {
		return err
	}
	flow.Verifier = oauth2.GenerateVerifier()
	state, err := a.opt.Flows.Begin(ctx, flow)
	if err != nil {
		return fmt.Errorf("keep the connection that begins: %w", err)
	}
	config := oauth2.Config{
		ClientID: flow.ClientID, RedirectURL: flow.RedirectURL, Scopes: flow.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: flow.AuthorizationURL, TokenURL: flow.TokenURL},
	}
	address := config.AuthCodeURL(state, oauth2.S256ChallengeOption(flow.Verifier), oauth2.SetAuthURLParam("resource", flow.Resource))
	asked := &NeedsAuthError{Server: a.opt.Server, URL: address, Scopes: flow.Scopes}
	a.last = beginning{cause: cause, at: a.opt.Now(), asked: asked}
	return asked
}

// Begin starts a connection before any call needs it. It returns the address where the
// person grants access.
func (a *Authorizer) Begin(ctx context.Context) (authorizationURL string, err error) {
	before, err := a.load(ctx)
	if err != nil && !errors.Is(err, ErrNoGrant) {
		return "", fmt.Errorf("read the grant: %w", err)
	}
	c, err := a.ask(ctx)
	if err != nil {
		return "", a.undiscovered(err)
	}
	err = a.begin(ctx, c, before)
	var needed *NeedsAuthError
	if errors.As(err, &needed) {
		return needed.URL, nil
	}
	return "", err
}

// ask sends the server a request without a token and returns its challenge.
func (a *Authorizer) ask(ctx context.Context) (challenge, error) {
	ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"magpie","version":"1"}}}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.opt.URL, strings.NewReader(hello))
	if err != nil {
		return challenge{}, fmt.Errorf("ask the server: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	response, err := a.opt.HTTP.Do(r)
	if err != nil {
		return challenge{}, fmt.Errorf("ask the server: %w", err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		return challenge{}, nil // discovery works without
	}
	return readChallenge(response.Header), nil
}

// Redirect has the parameters of an authorization server's redirect.
type Redirect struct{ Code, Issuer, Error, Description string }

// Finish ends a connection: it trades the code for tokens and saves the grant. The
// caller has found the flow by its state and checked that the person began it.
func (a *Authorizer) Finish(ctx context.Context, flow Flow, r Redirect) error {
	if flow.Server != a.opt.URL {
		return apierr.New(apierr.Conflict, "The address of "+a.opt.Server+" has changed since; begin the connection again.")
	}
	if r.Issuer != flow.Issuer && (r.Issuer != "" || flow.Issued) {
		return apierr.Invalid("iss", "is not the authorization server of "+a.opt.Server)
	}
	if r.Error != "" {
		text := a.opt.Server + " did not grant access: " + safetext.Truncate(safetext.Line(r.Error), 64)
		if reason := safetext.Truncate(safetext.Line(r.Description), 300); reason != "" {
			text += " (" + reason + ")"
		}
		return apierr.New(apierr.InvalidRequest, text)
	}
	if r.Code == "" {
		return apierr.Invalid("code", "is required")
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": {r.Code}, "redirect_uri": {flow.RedirectURL}, "code_verifier": {flow.Verifier}}
	g, err := a.request(ctx, flow.Grant, form)
	if err != nil {
		var answer *tokenError
		if errors.As(err, &answer) {
			return &apierr.Error{Code: apierr.InvalidRequest, Message: a.opt.Server + " did not grant access: " + answer.Error(), Op: "trade the code", Cause: err}
		}
		return &apierr.Error{Code: apierr.Unavailable, Message: "The authorization server of " + a.opt.Server + " gave no usable answer; try again.", Op: "trade the code", Cause: err}
	}
	// The grant exists at the server even if the browser is gone.
	ctx = context.WithoutCancel(ctx)
	if err := a.opt.Tokens.Lock(ctx, func(ctx context.Context) error { return a.opt.Tokens.Save(ctx, g) }); err != nil {
		return fmt.Errorf("save the grant: %w", err)
	}
	return nil
}

// challenge is the demand for authorization in an answer.
type challenge struct {
	metadataURL, failure string
	scopes               []string
}

func readChallenge(header http.Header) (c challenge) {
	all, err := oauthex.ParseWWWAuthenticate(header.Values("WWW-Authenticate"))
	if err != nil {
		return c // discovery works without
	}
	for _, one := range all {
		if one.Scheme != "bearer" {
			continue
		}
		if c.metadataURL == "" {
			c.metadataURL = one.Params["resource_metadata"]
		}
		if c.failure == "" {
			c.failure = one.Params["error"]
		}
		if len(c.scopes) == 0 {
			c.scopes = strings.Fields(one.Params["scope"])
		}
	}
	return c
}
