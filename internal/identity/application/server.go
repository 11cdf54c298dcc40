package application

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/collection"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Lifetimes and limits.
const (
	requestLifetime      = 15 * time.Minute // from the first page to the decision
	codeLifetime         = time.Minute
	fetchTimeout         = 5 * time.Second
	registrationsPerHour = 60
	exchangesPerMinute   = 120
)

// Scope is the only scope: to search and read as the person.
const Scope = "search"

// The purposes of stored flows.
const (
	requestPurpose = "application-request"
	codePurpose    = "application-code"
)

// People checks passwords; people.People implements it.
type People interface {
	CheckPassword(ctx context.Context, email, password string) (*ent.User, error)
}

// Provider is where people may sign in, besides by password.
type Provider struct {
	ID     string // in the form of the page
	Name   string // on its button
	SignOn SignOn
}

// SignOn signs people in at a provider; signon.SignOn and signon.SAML implement it.
type SignOn interface {
	// StartPage starts a sign-in that ends at returnTo with a code, or an error, in its
	// query. The browser must present binding to Finish.
	StartPage(ctx context.Context, returnTo string) (address, binding string, err error)
	// Finish opens the session of a sign-in.
	Finish(ctx context.Context, code, binding string) (authn.Tokens, error)
}

// Options configure a Server. All but Providers, Log and Now are required.
type Options struct {
	Ent      *ent.Client
	Accounts *authn.Accounts
	People   People
	// Providers are the ways to sign in besides passwords.
	Providers []Provider
	Flows     *oauth.Flows
	Secrets   *secret.Box
	Attempts  authn.Attempts
	// HTTP reads the metadata of clients. It must refuse private addresses and
	// redirects.
	HTTP *http.Client
	// Issuer is the public address of the service, without a trailing slash.
	Issuer string
	// Dashboard is the address of the dashboard, without a trailing slash.
	Dashboard string
	// Resource is the URL of the protected resource.
	Resource string
	Log      *slog.Logger
	Now      func() time.Time
}

// Server is an authorization server. It is safe for concurrent use.
type Server struct {
	o Options

	mu     sync.Mutex
	cached map[string]cachedClient // by id that is an address
}

type cachedClient struct {
	client Client
	at     time.Time
}

// New returns a server.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Server{o: o, cached: map[string]cachedClient{}}
}

// Issuer returns the public address of the service.
func (s *Server) Issuer() string { return s.o.Issuer }

// Resource returns the URL of the protected resource.
func (s *Server) Resource() string { return s.o.Resource }

// Authenticate returns the viewer of an access token for the resource, or of a personal
// token, which is for what its groups say.
func (s *Server) Authenticate(ctx context.Context, token string) (viewer.Viewer, error) {
	if strings.HasPrefix(token, authn.PersonalTokenPrefix) {
		return s.o.Accounts.Authenticate(ctx, token)
	}
	return s.o.Accounts.AuthenticateApplication(ctx, token, s.o.Resource)
}

// An Error is an error of OAuth (RFC 6749, section 5.2).
type Error struct{ Code, Description string }

// Error implements error.
func (e *Error) Error() string { return e.Code + ": " + e.Description }

func (s *Server) limit(ctx context.Context, what string, limit int, period time.Duration) error {
	result, err := s.o.Attempts.AllowIn(ctx, "application:"+what+":"+ratelimit.ClientOf(ctx), limit, period)
	if err != nil {
		return apierr.Wrap("count the request", err)
	}
	if !result.Allowed {
		return &apierr.Error{Code: apierr.RateLimited, Message: "Too many requests; wait a little", RetryAfter: max(result.RetryAfter, time.Second)}
	}
	return nil
}

// Request is an authorization request (RFC 6749, section 4.1.1, with PKCE and RFC
// 8707). Device is the name of the machine of the command line.
type Request struct {
	ResponseType, ClientID, RedirectURI, State, CodeChallenge, CodeChallengeMethod, Scope, Resource, Device string
}

// pending is a request that waits for its person.
type pending struct {
	Client      string    `json:"client"`
	Name        string    `json:"name"`
	Host        string    `json:"host"`
	RedirectURI string    `json:"redirect"`
	State       string    `json:"state"`
	Challenge   string    `json:"challenge"`
	Binding     []byte    `json:"binding"`            // SHA-256 of the browser's cookie
	Person      uuid.UUID `json:"person"`             // zero before the sign-in
	Provider    string    `json:"provider,omitempty"` // at which a sign-in was started
}

// Page is what a person is asked.
type Page struct {
	Token string // continues the request
	// Client is the name that the client gives itself. Host publishes its metadata,
	// or is empty for a client that could have any name. RedirectHost is where the
	// browser goes at the end.
	Client, Host, RedirectHost string
	// Workspaces are those of the person; nil before the sign-in.
	Workspaces []Workspace
	Email      string // of the person
}

// Workspace is a workspace that a person may give access to.
type Workspace struct {
	ID          uuid.UUID
	Name        string
	Collections []string // names, at most maxCollections
	More        bool     // there are more collections
}

const maxCollections = 12

// Begin checks a request and stores it. binding is a secret of the browser. An
// *Error with redirect "" must be shown to the person; otherwise the browser is
// redirected there, which tells the client. A request of the CommandLine is not stored:
// the browser is redirected to the page of the dashboard that asks the person.
func (s *Server) Begin(ctx context.Context, r Request, binding string) (page Page, redirect string, err error) {
	if err := s.limit(ctx, "authorize", exchangesPerMinute, time.Minute); err != nil {
		return Page{}, "", err
	}
	if r.ClientID == CommandLine {
		redirect, err = s.beginLogin(r)
		return Page{}, redirect, err
	}
	c, err := s.client(ctx, r.ClientID)
	if err != nil {
		return Page{}, "", err
	}
	if r.RedirectURI == "" && len(c.Redirects) == 1 {
		r.RedirectURI = c.Redirects[0]
	}
	if !c.allows(r.RedirectURI) {
		return Page{}, "", &Error{"invalid_request", "the redirect URI is not one that the client has registered"}
	}
	fail := func(code, description string) (Page, string, error) {
		return Page{}, s.redirect(r.RedirectURI, url.Values{"error": {code}, "error_description": {description}}, r.State), &Error{code, description}
	}
	switch {
	case r.ResponseType != "code":
		return fail("unsupported_response_type", "response_type must be code")
	case r.CodeChallengeMethod != "S256" || len(r.CodeChallenge) != 43:
		return fail("invalid_request", "PKCE with code_challenge_method S256 is required")
	case r.Resource != "" && !s.isResource(r.Resource):
		return fail("invalid_target", "resource must be "+s.o.Resource)
	case !validScope(r.Scope):
		return fail("invalid_scope", "scope must be "+Scope)
	}
	p := pending{
		Client: c.ID, Name: c.Name, Host: c.Host, RedirectURI: r.RedirectURI, State: r.State, Challenge: r.CodeChallenge, Binding: hash(binding),
	}
	token, _, err := s.o.Flows.Put(ctx, requestPurpose, requestLifetime, p)
	if err != nil {
		return Page{}, "", apierr.Wrap("keep an authorization request", err)
	}
	return p.page(token), "", nil
}

func (p pending) page(token string) Page {
	page := Page{Token: token, Client: p.Name, Host: p.Host}
	if u, err := url.Parse(p.RedirectURI); err == nil {
		page.RedirectHost = u.Host
	}
	return page
}

// validScope reports whether a request asks for no more than Scope. Clients may add
// offline_access, which a refresh token needs elsewhere.
func validScope(scope string) bool {
	for name := range strings.FieldsSeq(scope) {
		if name != Scope && name != "offline_access" {
			return false
		}
	}
	return true
}

// isResource reports whether an address is the resource, or the whole service, which
// some clients name.
func (s *Server) isResource(address string) bool {
	address = strings.TrimSuffix(address, "/")
	return strings.EqualFold(address, s.o.Resource) || strings.EqualFold(address, s.o.Issuer)
}

// redirect returns the address of the client with parameters.
func (s *Server) redirect(address string, parameters url.Values, state string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	query := u.Query()
	for name, values := range parameters {
		query[name] = values
	}
	if state != "" {
		query.Set("state", state)
	}
	query.Set("iss", s.o.Issuer)
	u.RawQuery = query.Encode()
	return u.String()
}

// errExpired reports a request that does not exist any more, or of another browser.
func errExpired() error {
	return apierr.New(apierr.InvalidRequest, "This request has expired or was answered already. Begin it again in the program that asked.")
}

// take removes a stored request of the browser.
func (s *Server) take(ctx context.Context, token, binding string) (pending, error) {
	var p pending
	if err := s.o.Flows.Take(ctx, requestPurpose, token, &p); errors.Is(err, oauth.ErrNoFlow) {
		return pending{}, errExpired()
	} else if err != nil {
		return pending{}, apierr.Wrap("read an authorization request", err)
	}
	if subtle.ConstantTimeCompare(p.Binding, hash(binding)) != 1 {
		return pending{}, errExpired()
	}
	return p, nil
}

// SignIn checks who the person is. After invalid_credentials and rate_limited the
// returned page asks again.
func (s *Server) SignIn(ctx context.Context, token, binding, email, password string) (Page, error) {
	p, err := s.take(ctx, token, binding)
	if err != nil {
		return Page{}, err
	}
	person, signInError := s.o.People.CheckPassword(ctx, email, password)
	return s.signedIn(ctx, p, person, signInError)
}

// signedIn continues a request after a sign-in that succeeded or failed.
func (s *Server) signedIn(ctx context.Context, p pending, person *ent.User, signInError error) (Page, error) {
	if signInError == nil {
		p.Person = person.ID
	}
	next, _, err := s.o.Flows.Put(ctx, requestPurpose, requestLifetime, p)
	if err != nil {
		return Page{}, apierr.Wrap("keep an authorization request", err)
	}
	page := p.page(next)
	if signInError != nil {
		return page, signInError
	}
	page.Email = person.Email
	page.Workspaces, err = s.workspaces(ctx, person)
	return page, err
}

// Providers returns where people may sign in, besides by password.
func (s *Server) Providers() []Provider { return s.o.Providers }

func (s *Server) provider(id string) (Provider, bool) {
	at := slices.IndexFunc(s.o.Providers, func(p Provider) bool { return p.ID == id })
	if at < 0 {
		return Provider{}, false
	}
	return s.o.Providers[at], true
}

// StartSignOn starts the sign-in at the provider with an ID. returnTo returns the
// address of the page that continues with a token. The browser must present signOn to
// EndSignOn.
func (s *Server) StartSignOn(ctx context.Context, provider, token, binding string, returnTo func(token string) string) (address, signOn string, err error) {
	at, known := s.provider(provider)
	if !known {
		return "", "", apierr.New(apierr.InvalidRequest, "There is no such provider here. Sign in with your password.")
	}
	p, err := s.take(ctx, token, binding)
	if err != nil {
		return "", "", err
	}
	p.Provider = at.ID
	next, _, err := s.o.Flows.Put(ctx, requestPurpose, requestLifetime, p)
	if err != nil {
		return "", "", apierr.Wrap("keep an authorization request", err)
	}
	return at.SignOn.StartPage(ctx, returnTo(next))
}

// EndSignOn continues a request with the code of the provider's sign-in. An empty code
// means that the provider refused. After a failed sign-in the returned page asks again.
func (s *Server) EndSignOn(ctx context.Context, token, binding, code, signOn string) (Page, error) {
	p, err := s.take(ctx, token, binding)
	if err != nil {
		return Page{}, err
	}
	person, err := s.signOn(ctx, p.Provider, code, signOn)
	return s.signedIn(ctx, p, person, err)
}

// signOn returns the person of a sign-in at a provider. The session that it opens
// ends at once: the page needs none.
func (s *Server) signOn(ctx context.Context, provider, code, binding string) (*ent.User, error) {
	at, known := s.provider(provider)
	if !known || code == "" {
		return nil, apierr.New(apierr.InvalidCredentials, "You were not signed in. Try again, or use your password.")
	}
	tokens, err := at.SignOn.Finish(ctx, code, binding)
	if err != nil {
		return nil, err
	}
	v, err := s.o.Accounts.Authenticate(ctx, tokens.Access)
	if err != nil {
		return nil, err
	}
	if err := s.o.Accounts.SignOut(viewer.With(ctx, v)); err != nil {
		return nil, err
	}
	person, err := s.o.Ent.User.Get(viewer.With(ctx, viewer.System(uuid.Nil)), v.Subject)
	return person, apierr.Wrap("read the person", err)
}

// workspaces returns the workspaces of a person with the names of their collections.
func (s *Server) workspaces(ctx context.Context, person *ent.User) ([]Workspace, error) {
	system := viewer.With(ctx, viewer.System(uuid.Nil))
	members, err := s.o.Ent.Membership.Query().Where(membership.UserID(person.ID)).WithWorkspace().
		Order(membership.ByCreatedAt(), membership.ByID()).All(system)
	if err != nil {
		return nil, apierr.Wrap("read the workspaces", err)
	}
	out := make([]Workspace, len(members))
	for i, m := range members {
		out[i] = Workspace{ID: m.WorkspaceID, Name: m.Edges.Workspace.Name}
		inside := viewer.With(ctx, viewer.System(m.WorkspaceID))
		names, err := s.o.Ent.Collection.Query().Order(collection.ByName()).Limit(maxCollections + 1).Select(collection.FieldName).Strings(inside)
		if err != nil {
			return nil, apierr.Wrap("read the collections", err)
		}
		out[i].More = len(names) > maxCollections
		out[i].Collections = names[:min(len(names), maxCollections)]
	}
	return out, nil
}

// grant is what a code stands for.
type grant struct {
	Client      string    `json:"client"`
	Name        string    `json:"name"`
	RedirectURI string    `json:"redirect"`
	Challenge   string    `json:"challenge"`
	Person      uuid.UUID `json:"person"`
	Workspace   uuid.UUID `json:"workspace"`
}

// Decide ends a request with the person's decision and returns the address to
// redirect the browser to.
func (s *Server) Decide(ctx context.Context, token, binding string, workspace uuid.UUID, agreed bool) (redirect string, err error) {
	p, err := s.take(ctx, token, binding)
	if err != nil {
		return "", err
	}
	if !agreed {
		return s.redirect(p.RedirectURI, url.Values{"error": {"access_denied"}, "error_description": {"The person refused the access."}}, p.State), nil
	}
	if p.Person == uuid.Nil {
		return "", errExpired()
	}
	member, err := s.o.Ent.Membership.Query().Where(membership.UserID(p.Person), membership.WorkspaceID(workspace)).
		Exist(viewer.With(ctx, viewer.System(uuid.Nil)))
	if err != nil {
		return "", apierr.Wrap("read the membership", err)
	}
	if !member {
		return "", apierr.New(apierr.Forbidden, "You are not a member of this workspace.")
	}
	code, _, err := s.o.Flows.Put(ctx, codePurpose, codeLifetime, grant{
		Client: p.Client, Name: p.Name, RedirectURI: p.RedirectURI, Challenge: p.Challenge, Person: p.Person, Workspace: workspace,
	})
	if err != nil {
		return "", apierr.Wrap("keep an authorization code", err)
	}
	return s.redirect(p.RedirectURI, url.Values{"code": {code}}, p.State), nil
}

func hash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// TokenRequest is a request for tokens (RFC 6749, sections 4.1.3 and 6).
type TokenRequest struct {
	GrantType, ClientID, Code, CodeVerifier, RedirectURI, RefreshToken, Scope, Resource string
}

// Exchange exchanges a code or a refresh token. Its errors are *Error, except
// rate_limited and failures of the service.
func (s *Server) Exchange(ctx context.Context, r TokenRequest) (authn.Tokens, error) {
	if err := s.limit(ctx, "token", exchangesPerMinute, time.Minute); err != nil {
		return authn.Tokens{}, err
	}
	if r.Resource != "" && !s.isResource(r.Resource) {
		return authn.Tokens{}, &Error{"invalid_target", "resource must be " + s.o.Resource}
	}
	if !validScope(r.Scope) {
		return authn.Tokens{}, &Error{"invalid_scope", "scope must be " + Scope}
	}
	switch r.GrantType {
	case "authorization_code":
		return s.exchangeCode(ctx, r)
	case "refresh_token":
		tokens, err := s.o.Accounts.RefreshApplication(ctx, r.RefreshToken, authn.Application{ClientID: r.ClientID, Audience: s.o.Resource})
		if err != nil && apierr.From(err).Code == apierr.Unauthorized {
			return authn.Tokens{}, &Error{"invalid_grant", "the refresh token is not valid, was used before, or the person has ended the access"}
		}
		return tokens, err
	case "":
		return authn.Tokens{}, &Error{"invalid_request", "grant_type is required"}
	default:
		return authn.Tokens{}, &Error{"unsupported_grant_type", "grant_type must be authorization_code or refresh_token"}
	}
}

func (s *Server) exchangeCode(ctx context.Context, r TokenRequest) (authn.Tokens, error) {
	var g grant
	if err := s.o.Flows.Take(ctx, codePurpose, r.Code, &g); errors.Is(err, oauth.ErrNoFlow) {
		return authn.Tokens{}, errInvalidCode()
	} else if err != nil {
		return authn.Tokens{}, apierr.Wrap("read an authorization code", err)
	}
	switch {
	case g.Client != r.ClientID:
		return authn.Tokens{}, &Error{"invalid_grant", "the code was given to another client"}
	case r.RedirectURI != "" && r.RedirectURI != g.RedirectURI:
		return authn.Tokens{}, errOtherRedirect()
	case !verifies(r.CodeVerifier, g.Challenge):
		return authn.Tokens{}, errWrongVerifier()
	}
	tokens, err := s.o.Accounts.ConnectApplication(ctx, g.Person, g.Workspace, authn.Application{ClientID: g.Client, Name: g.Name, Audience: s.o.Resource})
	if err != nil && apierr.From(err).Code == apierr.CodeNotFound {
		return authn.Tokens{}, errNoMember()
	}
	return tokens, err
}

func errInvalidCode() error {
	return &Error{"invalid_grant", "the code is not valid, was used before or has expired"}
}

func errOtherRedirect() error {
	return &Error{"invalid_grant", "redirect_uri is not that of the authorization request"}
}

func errWrongVerifier() error {
	return &Error{"invalid_grant", "code_verifier does not fit code_challenge"}
}

func errNoMember() error {
	return &Error{"invalid_grant", "the person is no longer a member of the workspace"}
}

// Revoke ends the access of a refresh token (RFC 7009).
func (s *Server) Revoke(ctx context.Context, clientID, token string) error {
	if err := s.limit(ctx, "token", exchangesPerMinute, time.Minute); err != nil {
		return err
	}
	return s.o.Accounts.DisconnectApplication(ctx, token, authn.Application{ClientID: clientID})
}
