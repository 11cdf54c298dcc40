package application

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/viewer"
)

// CommandLine is the client id of `magpie login`, which asks for a personal token: a
// native application (RFC 8252). Everybody knows the id; what keeps codes from others is
// that they are sent to a loopback address only, and PKCE.
const CommandLine = "magpie-cli"

// LoginPage is the page of the dashboard where a person answers the command line. The
// request is in its fragment. That keeps it out of the log of the page, but it is no secret:
// AuthorizePath and the page for signing in have the same values in their queries. Only who
// has the verifier can use the code.
const LoginPage = "/command-line"

const (
	loginPurpose  = "application-login"
	loginCallback = "/callback"
	maxState      = 200
	maxDevice     = 100 // characters
)

var challengePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// LoginRequest is what the command line asks with.
type LoginRequest struct {
	// RedirectURI is a loopback address with the port of the program.
	RedirectURI string
	State       string // comes back with the answer
	// CodeChallenge is that of PKCE with S256.
	CodeChallenge string
}

// check returns a message for a request that must not be answered, or "".
func (r LoginRequest) check() string {
	switch {
	case !isLoginRedirect(r.RedirectURI):
		return "redirect_uri must be http://127.0.0.1:PORT/callback or http://[::1]:PORT/callback"
	case r.State == "" || len(r.State) > maxState:
		return "state must have 1 to 200 bytes"
	case !challengePattern.MatchString(r.CodeChallenge):
		return "PKCE with code_challenge_method S256 is required"
	}
	return ""
}

// isLoginRedirect accepts exactly the addresses that the command line listens at. Names
// such as localhost could lead elsewhere (RFC 8252, section 8.3).
func isLoginRedirect(address string) bool {
	rest, ok := strings.CutPrefix(address, "http://")
	host, ok2 := strings.CutSuffix(rest, loginCallback)
	at, err := netip.ParseAddrPort(host)
	return ok && ok2 && err == nil && at.Port() != 0 && (at.Addr() == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || at.Addr() == netip.IPv6Loopback()) && at.String() == host
}

// beginLogin returns the address of the page where a person answers the command line.
// The program is told nothing of a request that is wrong: it would be told at the address
// that is in question.
func (s *Server) beginLogin(r Request) (redirect string, err error) {
	login := LoginRequest{RedirectURI: r.RedirectURI, State: r.State, CodeChallenge: r.CodeChallenge}
	problem := login.check()
	switch {
	case problem != "":
	case r.ResponseType != "code":
		problem = "response_type must be code"
	case r.CodeChallengeMethod != "S256":
		problem = "PKCE with code_challenge_method S256 is required"
	case r.Scope != "":
		problem = "scope must be left out: the person chooses it"
	}
	if problem != "" {
		return "", &Error{"invalid_request", problem}
	}
	fragment := url.Values{"redirect_uri": {r.RedirectURI}, "state": {r.State}, "code_challenge": {r.CodeChallenge}}
	if device := safetext.Truncate(strings.TrimSpace(safetext.Line(r.Device)), maxDevice); device != "" {
		fragment.Set("device", device)
	}
	return s.o.Dashboard + LoginPage + "#" + fragment.Encode(), nil
}

// loginGrant is what a code of the command line stands for: the token is created when the
// code is used, so that no other copy of it exists.
type loginGrant struct {
	RedirectURI string         `json:"redirect"`
	Challenge   string         `json:"challenge"`
	Person      uuid.UUID      `json:"person"`
	Session     uuid.UUID      `json:"session"` // of the person; the code ends with it
	Workspace   uuid.UUID      `json:"workspace"`
	Name        string         `json:"name"`
	Role        viewer.Role    `json:"role"`
	Groups      []viewer.Group `json:"groups"`
	ExpiresAt   *time.Time     `json:"expires"`
}

// AnswerLogin answers the command line for the viewer, who must have signed in, and
// returns the address to send the browser to. A nil draft refuses the token.
func (s *Server) AnswerLogin(ctx context.Context, r LoginRequest, draft *authn.TokenDraft) (redirect string, err error) {
	if err := s.limit(ctx, "authorize", exchangesPerMinute, time.Minute); err != nil {
		return "", err
	}
	if problem := r.check(); problem != "" {
		return "", apierr.New(apierr.InvalidRequest, problem)
	}
	if draft == nil {
		return s.redirect(r.RedirectURI, url.Values{"error": {"access_denied"}, "error_description": {"The person refused the token."}}, r.State), nil
	}
	checked, err := s.o.Accounts.CheckPersonalToken(ctx, *draft)
	if err != nil {
		return "", err
	}
	v, _ := viewer.From(ctx) // checked
	code, _, err := s.o.Flows.Put(ctx, loginPurpose, codeLifetime, loginGrant{
		RedirectURI: r.RedirectURI, Challenge: r.CodeChallenge, Person: v.Subject, Session: v.Session, Workspace: v.Workspace,
		Name: checked.Name, Role: checked.Role, Groups: checked.Groups, ExpiresAt: checked.ExpiresAt,
	})
	if err != nil {
		return "", apierr.Wrap("keep an authorization code", err)
	}
	return s.redirect(r.RedirectURI, url.Values{"code": {code}}, r.State), nil
}

// ExchangeLogin exchanges a code of the command line for a new personal token. Its errors
// are *Error, except rate_limited and failures of the service.
func (s *Server) ExchangeLogin(ctx context.Context, r TokenRequest) (*authn.CreatedToken, error) {
	if err := s.limit(ctx, "token", exchangesPerMinute, time.Minute); err != nil {
		return nil, err
	}
	if r.GrantType != "authorization_code" {
		return nil, &Error{"unsupported_grant_type", "grant_type must be authorization_code"}
	}
	var g loginGrant
	if err := s.o.Flows.Take(ctx, loginPurpose, r.Code, &g); errors.Is(err, oauth.ErrNoFlow) {
		return nil, errInvalidCode()
	} else if err != nil {
		return nil, apierr.Wrap("read an authorization code", err)
	}
	switch {
	case r.RedirectURI != g.RedirectURI:
		return nil, errOtherRedirect()
	case !verifies(r.CodeVerifier, g.Challenge):
		return nil, errWrongVerifier()
	}
	person, err := s.o.Accounts.SessionViewer(ctx, g.Session)
	switch {
	case err != nil && apierr.From(err).Code == apierr.Unauthorized, err == nil && (person.Subject != g.Person || person.Workspace != g.Workspace):
		return nil, &Error{"invalid_grant", "the person has signed out meanwhile; log in again"}
	case err != nil:
		return nil, err
	}
	person.Surface = viewer.SurfaceInternal
	made, err := s.o.Accounts.CreatePersonalToken(viewer.With(ctx, person), authn.TokenDraft{
		Name: g.Name, Role: g.Role, Groups: g.Groups, ExpiresAt: g.ExpiresAt, Numbered: true,
	})
	if e := apierr.From(err); err != nil && e.Code.Status() < 500 && e.Code != apierr.RateLimited {
		return nil, &Error{"invalid_grant", e.Message} // such as a role that the person has lost meanwhile
	}
	return made, err
}

// RevokeLogin ends a personal token for the command line that holds it (RFC 7009),
// whatever groups it has, and though its person may be suspended. A token that is not valid
// is ignored.
func (s *Server) RevokeLogin(ctx context.Context, token string) error {
	if err := s.limit(ctx, "token", exchangesPerMinute, time.Minute); err != nil {
		return err
	}
	if !strings.HasPrefix(token, authn.PersonalTokenPrefix) {
		return &Error{"unsupported_token_type", "only personal tokens can be revoked here"}
	}
	return s.o.Accounts.RevokePresented(ctx, token)
}
