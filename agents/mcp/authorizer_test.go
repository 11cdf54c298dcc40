package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/magpie-search/magpie/agents/mcp"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/testkit/mcpserver"
)

func needsAuth(t *testing.T, err error) *mcp.NeedsAuthError {
	t.Helper()
	var needed *mcp.NeedsAuthError
	if !errors.As(err, &needed) {
		t.Fatalf("got %v, want a *NeedsAuthError", err)
	}
	return needed
}

func TestAPersonIsAskedToConnectAnAccountAndThenServed(t *testing.T) {
	t.Parallel()
	a := mcpserver.New(t)
	p := newPerson(t, a, newClient(t, mcp.Limits{}), "ada")
	_, err := p.whoami(t.Context())
	needed := needsAuth(t, err)
	if len(needed.Scopes) != 1 || needed.Scopes[0] != "read" {
		t.Errorf("the scopes are %v", needed.Scopes)
	}
	wantError(t, err, apierr.Unauthorized, "Tracker needs you to connect your account")
	if len(p.flows) != 1 {
		t.Errorf("%d connections were begun", len(p.flows))
	}
	if strings.Contains(err.Error(), "state=") || strings.Contains(apierr.From(err).Message, "http") {
		t.Errorf("the error has the address: %v", err)
	}
	flow, redirect := p.agree(t, needed.URL)
	if err := p.authorizer.Finish(t.Context(), flow, redirect); err != nil {
		t.Fatalf("finish: %v", err)
	}
	if who, err := p.whoami(t.Context()); err != nil || who != "ada" {
		t.Errorf("got %q, %v", who, err)
	}
}

func TestTheTokensOfTwoPeopleNeverMix(t *testing.T) {
	t.Parallel()
	a := mcpserver.New(t)
	client := newClient(t, mcp.Limits{})
	people := []*person{newPerson(t, a, client, "ada"), newPerson(t, a, client, "bob")}
	for _, p := range people {
		p.connect(t)
	}
	var calls sync.WaitGroup
	for i := range 40 {
		p := people[i%2]
		calls.Go(func() {
			if i%10 == 5 {
				a.Expire()
			}
			p.now.Add(int64(2 * time.Minute)) // so that a token that was just renewed is renewed again
			if who, err := p.whoami(t.Context()); err == nil && who != p.name {
				t.Errorf("%s is taken for %q", p.name, who)
			}
		})
	}
	calls.Wait()
	for _, p := range people {
		p.now.Add(int64(2 * time.Minute))
		if who, err := p.whoami(t.Context()); err != nil || who != p.name {
			t.Errorf("%s is taken for %q, %v", p.name, who, err)
		}
	}
}

func TestTwentyCallsRenewATokenOnce(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*mcpserver.Server, *person){
		"before it expires":       func(_ *mcpserver.Server, p *person) { p.now.Store(int64(time.Hour - 30*time.Second)) },
		"after it expired":        func(_ *mcpserver.Server, p *person) { p.now.Store(int64(2 * time.Hour)) },
		"when the server says so": func(a *mcpserver.Server, p *person) { a.Expire(); p.now.Store(int64(10 * time.Minute)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := mcpserver.New(t)
			client := newClient(t, mcp.Limits{Parallel: 20})
			p := newPerson(t, a, client, "ada")
			p.connect(t)
			end(a, p)
			var calls sync.WaitGroup
			for range 20 {
				s := open(t, client, mcp.Server{Transport: mcp.HTTP, URL: a.URL, OAuth: p.authorizer})
				calls.Go(func() {
					if _, _, err := s.Tools(t.Context()); err != nil {
						t.Errorf("list: %v", err)
					}
				})
			}
			calls.Wait()
			if n := a.Refreshes.Load(); n != 1 {
				t.Errorf("the token was renewed %d times", n)
			}
		})
	}
}

func TestARefreshTokenThatIsRefusedAsksThePersonAgain(t *testing.T) {
	t.Parallel()
	a := mcpserver.New(t)
	p := newPerson(t, a, newClient(t, mcp.Limits{}), "ada")
	p.connect(t)
	a.Expire()
	a.Forget()
	p.now.Store(int64(2 * time.Hour))
	_, err := p.whoami(t.Context())
	needed := needsAuth(t, err)
	if g, err := p.Load(t.Context()); err != nil || g.Access != "" || g.Refresh != "" {
		t.Errorf("the dead tokens are kept: %v", err)
	}
	before := a.Refreshes.Load()
	_, err = p.whoami(t.Context())
	_ = needsAuth(t, err)
	if a.Refreshes.Load() != before {
		t.Error("a refused refresh token was used again")
	}
	flow, redirect := p.agree(t, needed.URL)
	if err := p.authorizer.Finish(t.Context(), flow, redirect); err != nil {
		t.Fatalf("finish: %v", err)
	}
	if who, err := p.whoami(t.Context()); err != nil || who != "ada" {
		t.Errorf("got %q, %v", who, err)
	}
	if a.Registrations.Load() != 1 {
		t.Errorf("the client was registered %d times", a.Registrations.Load())
	}
}

func TestAClientThatIsNotKnownAnyMoreIsRegisteredAgain(t *testing.T) {
	t.Parallel()
	a := mcpserver.New(t)
	p := newPerson(t, a, newClient(t, mcp.Limits{}), "ada")
	p.connect(t)
	a.Expire()
	a.ForgetClients()
	p.now.Store(int64(2 * time.Hour))
	_, err := p.whoami(t.Context())
	flow, redirect := p.agree(t, needsAuth(t, err).URL)
	if err := p.authorizer.Finish(t.Context(), flow, redirect); err != nil {
		t.Fatalf("finish: %v", err)
	}
	if who, err := p.whoami(t.Context()); err != nil || who != "ada" || a.Registrations.Load() != 2 {
		t.Errorf("got %q, %v after %d registrations", who, err, a.Registrations.Load())
	}
}

func TestANewRefreshTokenIsKeptEvenIfTheCallerLeaves(t *testing.T) {
	t.Parallel()
	a := mcpserver.New(t)
	p := newPerson(t, a, newClient(t, mcp.Limits{}), "ada")
	p.connect(t)
	p.now.Store(int64(2 * time.Hour))
	ctx, leave := context.WithCancel(t.Context())
	p.renewing = leave
	source, err := p.authorizer.TokenSource(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = source.Token() // the caller may get it or not
	if who, err := p.whoami(t.Context()); err != nil || who != "ada" || a.Refreshes.Load() != 1 {
		t.Errorf("got %q, %v after %d renewals", who, err, a.Refreshes.Load())
	}
}

func TestWhoeverCannotConnectAnAccountGetsNoAddress(t *testing.T) {
	t.Parallel()
	a := mcpserver.New(t)
	client := newClient(t, mcp.Limits{})
	p := newPerson(t, a, client, "ada")
	s := open(t, client, mcp.Server{Transport: mcp.HTTP, URL: a.URL, OAuth: mcp.NewAuthorizer(mcp.AuthOptions{HTTP: client.HTTP(), Server: "Tracker", URL: a.URL, Tokens: p})})
	_, _, err := s.Tools(t.Context())
	if needed := needsAuth(t, err); needed.URL != "" || needed.More || a.Registrations.Load() != 0 {
		t.Errorf("got %+v after %d registrations", needed, a.Registrations.Load())
	}
}

func TestAnAuthorizationServerThatIsDownCostsNoGrant(t *testing.T) {
	t.Parallel()
	a := mcpserver.New(t)
	p := newPerson(t, a, newClient(t, mcp.Limits{}), "ada")
	p.connect(t)
	a.BreakTokens.Store(true)
	p.now.Store(int64(time.Hour - 30*time.Second))
	if who, err := p.whoami(t.Context()); err != nil || who != "ada" {
		t.Errorf("before it expires: %q, %v", who, err)
	}
	p.now.Store(int64(2 * time.Hour))
	_, err := p.whoami(t.Context())
	wantError(t, err, apierr.Unavailable, "cannot be renewed just now")
	a.BreakTokens.Store(false)
	if who, err := p.whoami(t.Context()); err != nil || who != "ada" {
		t.Errorf("when it is back: %q, %v", who, err)
	}
}

func TestMorePermissionsAreAskedForOnce(t *testing.T) {
	t.Parallel()
	a := mcpserver.New(t)
	p := newPerson(t, a, newClient(t, mcp.Limits{}), "ada")
	p.connect(t)
	wanted := "write"
	a.Scope.Store(&wanted)
	_, err := p.whoami(t.Context())
	needed := needsAuth(t, err)
	if fmt.Sprint(needed.Scopes) != "[read write]" || !needed.More {
		t.Errorf("the scopes are %v", needed.Scopes)
	}
	flow, redirect := p.agree(t, needed.URL)
	if err := p.authorizer.Finish(t.Context(), flow, redirect); err != nil {
		t.Fatalf("finish: %v", err)
	}
	_, err = p.whoami(t.Context()) // and the server asks again all the same
	wantError(t, err, apierr.Forbidden, "has already given")
}

func TestARedirectFromElsewhereIsRefused(t *testing.T) {
	t.Parallel()
	a := mcpserver.New(t)
	p := newPerson(t, a, newClient(t, mcp.Limits{}), "ada")
	for name, change := range map[string]func(*mcp.Flow, *mcp.Redirect){
		"of another issuer":        func(_ *mcp.Flow, r *mcp.Redirect) { r.Issuer = "https://evil.example" },
		"of no issuer":             func(_ *mcp.Flow, r *mcp.Redirect) { r.Issuer = "" },
		"with another verifier":    func(f *mcp.Flow, _ *mcp.Redirect) { f.Verifier += "x" },
		"without a code":           func(_ *mcp.Flow, r *mcp.Redirect) { r.Code = "" },
		"with a refusal":           func(_ *mcp.Flow, r *mcp.Redirect) { r.Error = "access_denied" },
		"for another tool server":  func(f *mcp.Flow, _ *mcp.Redirect) { f.Server = "https://other.example/mcp" },
		"with a code of elsewhere": func(_ *mcp.Flow, r *mcp.Redirect) { r.Code = "guessed" },
	} {
		address, err := p.authorizer.Begin(t.Context())
		if err != nil {
			t.Fatalf("begin: %v", err)
		}
		flow, redirect := p.agree(t, address)
		change(&flow, &redirect)
		if err := p.authorizer.Finish(t.Context(), flow, redirect); err == nil {
			t.Errorf("a redirect %s is accepted", name)
		}
	}
	if _, err := p.Load(t.Context()); !errors.Is(err, mcp.ErrNoGrant) {
		t.Errorf("there is a grant: %v", err)
	}
}

func TestATokenGoesOnlyWhereItWasGivenFor(t *testing.T) {
	t.Parallel()
	a, other := mcpserver.New(t), mcpserver.New(t)
	client := newClient(t, mcp.Limits{})
	p := newPerson(t, a, client, "ada")
	p.connect(t)
	moved := newPerson(t, other, client, "ada") // the address of the integration was changed
	moved.grant = p.grant
	_, err := moved.whoami(t.Context())
	_ = needsAuth(t, err)
}

func TestMetadataOfOthersIsRefused(t *testing.T) {
	t.Parallel()
	evil := "https://evil.example/mcp"
	for name, lie := range map[string]func(*mcpserver.Server){
		"a resource of another host": func(a *mcpserver.Server) { a.OtherResource.Store(&evil) },
		"an issuer of another host":  func(a *mcpserver.Server) { a.OtherIssuer.Store(&evil) },
	} {
		a := mcpserver.New(t)
		lie(a)
		p := newPerson(t, a, newClient(t, mcp.Limits{}), "ada")
		_, err := p.whoami(t.Context())
		wantError(t, err, apierr.Unavailable, "its authorization server cannot be used")
		if a.Registrations.Load() != 0 {
			t.Errorf("%s: a client was registered", name)
		}
	}
}

func TestTheOldTransportSendsTokensToo(t *testing.T) {
	t.Parallel()
	a := mcpserver.New(t)
	client := newClient(t, mcp.Limits{})
	server := newServer(&sdk.Tool{Name: "a"}, answer("x"))
	handler := sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return server }, nil)
	address := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.Valid(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	p := newPerson(t, a, client, "ada")
	p.connect(t)
	find(t, open(t, client, mcp.Server{Transport: mcp.SSE, URL: address, OAuth: p.authorizer}), "a")
	a.Expire()
	p.now.Store(int64(10 * time.Minute))
	find(t, open(t, client, mcp.Server{Transport: mcp.SSE, URL: address, OAuth: p.authorizer}), "a")
}

func FuzzTheChallengeOfAServer(f *testing.F) {
	f.Add(`Bearer error="insufficient_scope", scope="a b", resource_metadata="https://example.com"`)
	f.Add(`Basic realm="x", Bearer scope=`)
	f.Fuzz(func(t *testing.T, header string) {
		p := &person{flows: map[string]mcp.Flow{}}
		a := mcp.NewAuthorizer(mcp.AuthOptions{HTTP: &http.Client{Transport: refusing{}}, Server: "Tracker", URL: "https://example.com/mcp", Tokens: p, Flows: p})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://example.com/mcp", nil)
		if err != nil {
			t.Fatal(err)
		}
		err = a.Authorize(t.Context(), r, &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{"Www-Authenticate": {header}}, Body: http.NoBody})
		if err == nil {
			t.Error("the request may be sent again")
		}
	})
}

type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("refused") }
