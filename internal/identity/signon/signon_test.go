package signon_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/identity/signon"
	"github.com/magpie-search/magpie/internal/testkit/authserver"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestAPersonSignsInAndIsIdentifiedBySubject(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	person := h.add(t, "ada@example.com")
	h.server.SignIn(ada())
	begun, err := h.signon.Start(t.Context(), app)
	must(t, err)
	to, err := url.Parse(begun.URL)
	must(t, err)
	if q := to.Query(); q.Get("code_challenge_method") != "S256" || q.Get("nonce") == "" || q.Get("scope") != "openid email profile" || strings.Contains(begun.URL, begun.Binding) {
		t.Errorf("the address is %s", begun.URL)
	}
	answered, err := h.signon.HandleCallback(t.Context(), returned(h.server.Browse(t, begun.URL)))
	must(t, err)
	place, err := url.Parse(answered.ReturnTo)
	must(t, err)
	fragment, err := url.ParseQuery(place.Fragment)
	must(t, err)
	if answered.Code != "" || place.RawQuery != "" || !strings.HasPrefix(answered.ReturnTo, app+"#") || len(fragment) != 1 {
		t.Errorf("the browser goes to %s", answered.ReturnTo)
	}
	tokens, err := h.signon.Finish(t.Context(), fragment.Get("code"), begun.Binding)
	must(t, err)
	v := h.who(t, tokens)
	if v.Subject != person || v.Workspace != h.workspace || v.Role != viewer.RoleEditor {
		t.Errorf("signed in as %+v", v)
	}
	if row, err := h.db.Ent.User.Get(system(t.Context()), person); err != nil || !row.EmailVerified {
		t.Errorf("the address does not count as verified: %+v, %v", row, err)
	}
	if _, err := h.accounts.SignIn(t.Context(), "ada@example.com", "a long enough passphrase"); code(err) != apierr.InvalidCredentials {
		t.Errorf("the password from before the verified address still works: %v", err)
	}
	moved := ada()
	moved.Email = "ada.lovelace@example.com"
	tokens, err = h.sign(t, h.signon, moved)
	must(t, err)
	if h.who(t, tokens).Subject != person {
		t.Error("a new address made another person")
	}
}

func TestAReassignedAddressGivesNoAccessToTheAccount(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.add(t, "ada@example.com")
	_, err := h.sign(t, h.signon, ada())
	must(t, err)
	successor := ada()
	successor.Subject = "eve-2"
	if _, err := h.sign(t, h.signon, successor); code(err) != apierr.Forbidden {
		t.Errorf("the successor: %v", err)
	}
}

func TestOnlyKnownPeopleAndThoseWhoMayJoinCanSignIn(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for what, a := range map[string]authserver.Account{
		"unknown":    {Subject: "1", Email: "stranger@example.com", Verified: true},
		"unverified": {Subject: "2", Email: "owner@example.com"},
		"no address": {Subject: "3", Verified: true},
		"a claim of another kind": {Subject: "4", Email: "owner@example.com", Verified: true,
			Claims: map[string]any{"email_verified": "yes"}},
	} {
		if _, err := h.sign(t, h.signon, a); code(err) != apierr.Forbidden {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n, _ := h.db.Ent.User.Query().Count(system(t.Context())); n != 1 {
		t.Errorf("there are %d people", n)
	}
	if n := h.count(t, "identities"); n != 0 {
		t.Errorf("%d identities were kept", n)
	}
	text := authserver.Account{Subject: "5", Email: "OWNER@example.com", Verified: true, Claims: map[string]any{"email_verified": "true"}}
	if _, err := h.sign(t, h.signon, text); err != nil {
		t.Errorf("a flag in quotes, and another way of writing the address: %v", err)
	}
}

func TestADomainMayJoin(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	join := func(o *signon.Options) {
		o.Join = signon.Join{Domains: []string{"example.com"}, Workspace: h.workspace, Role: membership.RoleViewer}
	}
	s := h.node(t, join)
	var group sync.WaitGroup
	h.server.SignIn(ada())
	for range 6 { // concurrent sign-ins create one person
		group.Go(func() {
			begun, err := s.Start(t.Context(), "")
			if err != nil {
				t.Error(err)
				return
			}
			answered, err := s.HandleCallback(t.Context(), returned(h.server.Browse(t, begun.URL)))
			if err == nil {
				_, err = s.Finish(t.Context(), answered.Code, begun.Binding)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	p, err := h.db.Ent.User.Query().Where(user.Email("ada@example.com")).WithMemberships().Only(system(t.Context()))
	must(t, err)
	if !p.EmailVerified || p.Name != "Ada" || p.PasswordHash != "" || len(p.Edges.Memberships) != 1 || p.Edges.Memberships[0].Role != membership.RoleViewer {
		t.Errorf("made %+v", p)
	}
	for _, email := range []string{"eve@example.com.evil.org", "eve@evil-example.com", "eve@sub.example.com", `"eve@example.com"@evil.org`} {
		if _, err := h.sign(t, s, authserver.Account{Subject: email, Email: email, Verified: true}); code(err) != apierr.Forbidden {
			t.Errorf("%s: %v", email, err)
		}
	}
	// A removed person cannot sign in again.
	_, err = h.db.Ent.Membership.Delete().Where(membership.UserID(p.ID)).Exec(system(t.Context()))
	must(t, err)
	if _, err := h.sign(t, s, ada()); code(err) != apierr.Forbidden {
		t.Errorf("who was removed: %v", err)
	}
}

// invited signs in people with an account and those on its list.
type invited struct {
	accounts  *authn.Accounts
	workspace uuid.UUID
	emails    []string
}

func (i *invited) SignInVerified(ctx context.Context, email, name string) (authn.Tokens, error) {
	person, err := i.accounts.FindPerson(ctx, email)
	if err != nil {
		if !slices.Contains(i.emails, email) {
			return authn.Tokens{}, apierr.New(apierr.Forbidden, "There is no account for this email address; ask for an invitation")
		}
		if person, err = i.accounts.CreatePerson(ctx, authn.PersonDraft{Email: email, Name: name, Verified: true}); err != nil {
			return authn.Tokens{}, err
		}
	}
	if slices.Contains(i.emails, email) {
		if _, err := i.accounts.Join(ctx, i.workspace, person.ID, membership.RoleEditor); err != nil {
			return authn.Tokens{}, err
		}
		i.emails = slices.DeleteFunc(i.emails, func(e string) bool { return e == email })
	}
	return i.accounts.OpenSession(ctx, person.ID, uuid.Nil)
}

func TestAnInvitationIsAccepted(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	list := &invited{accounts: h.accounts, workspace: h.workspace, emails: []string{"ada@example.com"}}
	s := h.node(t, func(o *signon.Options) {
		o.Guests = list
		o.Join = signon.Join{Domains: []string{"example.com"}, Workspace: h.workspace, Role: membership.RoleViewer}
	})
	tokens, err := h.sign(t, s, ada())
	must(t, err)
	v := h.who(t, tokens)
	if v.Role != viewer.RoleEditor {
		t.Errorf("the invitation's role has to count: %+v", v)
	}
	s = h.node(t, func(o *signon.Options) { o.Guests = list })
	if _, err := h.sign(t, s, authserver.Account{Subject: "9", Email: "eve@example.com", Verified: true}); code(err) != apierr.Forbidden {
		t.Errorf("who was not invited: %v", err)
	}
	if n, _ := h.db.Ent.User.Query().Count(system(t.Context())); n != 2 {
		t.Errorf("there are %d people", n)
	}
	// The person is removed and invited again.
	_, err = h.db.Ent.Membership.Delete().Where(membership.UserID(v.Subject)).Exec(system(t.Context()))
	must(t, err)
	if _, err := h.sign(t, s, ada()); code(err) != apierr.Forbidden {
		t.Errorf("who was removed: %v", err)
	}
	list.emails = append(list.emails, "ada@example.com")
	tokens, err = h.sign(t, s, ada())
	must(t, err)
	if h.who(t, tokens).Role != viewer.RoleEditor {
		t.Error("who was invited again has another role")
	}
}

func TestTheIDTokenIsChecked(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.add(t, "ada@example.com")
	later := h.clock.now().Add(-time.Hour).Unix()
	for what, change := range map[string]func(map[string]any){
		"another audience":         func(c map[string]any) { c["aud"] = "somebody-else" },
		"several, another's party": func(c map[string]any) { c["aud"] = []string{"magpie", "other"}; c["azp"] = "other" },
		"several, nobody's party":  func(c map[string]any) { c["aud"] = []string{"magpie", "other"} },
		"another issuer":           func(c map[string]any) { c["iss"] = "https://evil.example.com" },
		"another nonce":            func(c map[string]any) { c["nonce"] = "x" },
		"no nonce":                 func(c map[string]any) { delete(c, "nonce") },
		"expired":                  func(c map[string]any) { c["exp"] = later },
		"no expiry":                func(c map[string]any) { delete(c, "exp") },
		"not yet valid":            func(c map[string]any) { c["nbf"] = h.clock.now().Add(time.Hour).Unix() },
		"another access token":     func(c map[string]any) { c["at_hash"] = "AAAAAAAAAAAAAAAAAAAAAA" },
		"no subject":               func(c map[string]any) { delete(c, "sub") },
		"a very long subject":      func(c map[string]any) { c["sub"] = strings.Repeat("x", 5000) },
	} {
		h.server.AlterIDToken(change)
		if _, err := h.sign(t, h.signon, ada()); code(err) != apierr.InvalidCredentials {
			t.Errorf("%s: %v", what, err)
		}
	}
	h.server.AlterIDToken(func(c map[string]any) { c["aud"] = []string{"magpie", "other"}; c["azp"] = "magpie" })
	if _, err := h.sign(t, h.signon, ada()); err != nil {
		t.Errorf("several audiences, and the party is this one: %v", err)
	}
	h.server.AlterIDToken(nil)
	h.server.ForgeSignatures()
	if _, err := h.sign(t, h.signon, ada()); code(err) != apierr.InvalidCredentials {
		t.Errorf("a forged signature: %v", err)
	}
}

func TestAddressesMayComeFromUserinfo(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.add(t, "ada@example.com")
	h.server.AlterIDToken(func(c map[string]any) { delete(c, "email"); delete(c, "email_verified") })
	if _, err := h.sign(t, h.signon, ada()); err != nil {
		t.Errorf("with userinfo: %v", err)
	}
	h.server.Fail(authserver.UserinfoPath, authserver.Fault{Status: 500})
	if _, err := h.sign(t, h.signon, ada()); code(err) != apierr.Forbidden {
		t.Errorf("without: %v", err)
	}
}

func TestKeysRotate(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.add(t, "ada@example.com")
	for range 2 {
		for range 3 {
			_, err := h.sign(t, h.signon, ada())
			must(t, err)
		}
		h.server.RotateKeys(authserver.RS256)
	}
	if n := h.server.Requests(authserver.KeysPath); n != 2 {
		t.Errorf("the keys were fetched %d times for two sets", n)
	}
	if n := h.server.Requests(authserver.DiscoveryPath); n != 1 {
		t.Errorf("the provider was looked up %d times", n)
	}
}

func TestEachStepWorksOnceUntilItExpiresInOneBrowser(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.add(t, "ada@example.com")
	h.server.SignIn(ada())
	ctx := t.Context()
	start := func() (signon.Authorization, signon.Callback) {
		t.Helper()
		begun, err := h.signon.Start(ctx, "")
		must(t, err)
		return begun, returned(h.server.Browse(t, begun.URL))
	}
	begun, back := start()
	other := h.node(t) // another node completes the sign-in
	answered, err := other.HandleCallback(ctx, back)
	must(t, err)
	if _, err := h.signon.HandleCallback(ctx, back); code(err) != apierr.InvalidRequest {
		t.Errorf("the answer a second time: %v", err)
	}
	if _, err := h.signon.Finish(ctx, answered.Code, "another browser's"); code(err) != apierr.InvalidRequest {
		t.Errorf("another browser: %v", err)
	}
	if _, err := h.signon.Finish(ctx, answered.Code, begun.Binding); code(err) != apierr.InvalidRequest {
		t.Errorf("the code after another browser tried it: %v", err)
	}
	begun, back = start()
	answered, err = h.signon.HandleCallback(ctx, back)
	must(t, err)
	var won atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := other.Finish(ctx, answered.Code, begun.Binding); err == nil {
				won.Add(1)
			}
		})
	}
	group.Wait()
	if won.Load() != 1 {
		t.Errorf("%d sessions came of one code", won.Load())
	}
	_, back = start()
	h.clock.forward(10 * time.Minute)
	if _, err := h.signon.HandleCallback(ctx, back); code(err) != apierr.InvalidRequest {
		t.Errorf("a late answer: %v", err)
	}
	begun, back = start()
	answered, err = h.signon.HandleCallback(ctx, back)
	must(t, err)
	h.clock.forward(2 * time.Minute)
	if _, err := h.signon.Finish(ctx, answered.Code, begun.Binding); code(err) != apierr.InvalidRequest {
		t.Errorf("a late end: %v", err)
	}
	_, back = start()
	back.Issuer = "https://evil.example.com"
	if _, err := h.signon.HandleCallback(ctx, back); code(err) != apierr.InvalidCredentials {
		t.Errorf("another provider's answer: %v", err)
	}
	// A code is valid for one purpose only.
	begun, back = start()
	if _, err := h.signon.Finish(ctx, back.State, begun.Binding); code(err) != apierr.InvalidRequest {
		t.Errorf("a state for a code: %v", err)
	}
	for _, state := range []string{"", "x", strings.Repeat("A", 43)} {
		if _, err := h.signon.HandleCallback(ctx, signon.Callback{State: state, Code: "c"}); code(err) != apierr.InvalidRequest {
			t.Errorf("state %q: %v", state, err)
		}
	}
	if _, err := h.signon.Start(ctx, "https://evil.example.com/"); code(err) != apierr.InvalidRequest {
		t.Errorf("a place of strangers: %v", err)
	}
}

func TestFailuresAreReportedToTheReturnAddress(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	denies := ada()
	denies.Denies = true
	h.server.SignIn(denies)
	begun, err := h.signon.Start(t.Context(), app)
	must(t, err)
	answered, err := h.signon.HandleCallback(t.Context(), returned(h.server.Browse(t, begun.URL)))
	must(t, err)
	_, text, _ := strings.Cut(answered.ReturnTo, "#")
	if fragment, err := url.ParseQuery(text); err != nil || fragment.Get("error") != "forbidden" || !strings.Contains(fragment.Get("error_description"), "access_denied") || fragment.Has("code") {
		t.Errorf("the browser goes to %s", answered.ReturnTo)
	}
	if _, err := h.sign(t, h.signon, denies); code(err) != apierr.Forbidden {
		t.Errorf("without a place: %v", err)
	}
}

func TestAProviderThatIsDownIsFoundLater(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.add(t, "ada@example.com")
	h.server.Fail(authserver.DiscoveryPath, authserver.Fault{Status: 500})
	if name, issuer, ok := h.signon.Method(); !ok || name != "Example ID" || issuer != h.server.URL {
		t.Errorf("the method is %q %q %v", name, issuer, ok)
	}
	for range 5 { // one request
		if _, err := h.signon.Start(t.Context(), ""); code(err) != apierr.Unavailable {
			t.Errorf("while it is down: %v", err)
		}
	}
	if n := h.server.Requests(authserver.DiscoveryPath); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
	h.clock.forward(3 * time.Second)
	if _, err := h.sign(t, h.signon, ada()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	for _, try := range []struct {
		path  string
		fault authserver.Fault
		want  apierr.Code
	}{
		{authserver.TokenPath, authserver.Fault{Status: 500}, apierr.Unavailable},
		{authserver.TokenPath, authserver.Fault{Status: 429}, apierr.Unavailable},
		{authserver.TokenPath, authserver.Fault{Status: 401, Error: "invalid_client"}, apierr.Unavailable},
		{authserver.TokenPath, authserver.Fault{Status: 400, Error: "invalid_grant"}, apierr.InvalidCredentials},
		{authserver.TokenPath, authserver.Fault{Status: 200}, apierr.Unavailable},
	} {
		h.server.Fail(try.path, try.fault)
		if _, err := h.sign(t, h.signon, ada()); code(err) != try.want {
			t.Errorf("%+v: %v", try, err)
		}
	}
	if strings.Contains(h.log.String(), "s3cret") {
		t.Error("the log has the client's secret")
	}
}

func TestAnUnreachableProviderDoesNotPreventTheStart(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	s := h.node(t, func(o *signon.Options) { o.Issuer = gone.URL; o.Name = "" })
	if name, _, ok := s.Method(); !ok || !strings.HasPrefix(name, "127.0.0.1:") {
		t.Errorf("its name is %q", name)
	}
	if _, err := s.Start(t.Context(), ""); code(err) != apierr.Unavailable || apierr.From(err).RetryAfter == 0 {
		t.Errorf("got %v", err)
	}
	lying := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": "https://accounts.example.com"})
	}))
	t.Cleanup(lying.Close)
	s = h.node(t, func(o *signon.Options) { o.Issuer = lying.URL })
	if _, err := s.Start(t.Context(), ""); code(err) != apierr.Unavailable {
		t.Errorf("an issuer of another name: %v", err)
	}
	none := h.node(t, func(o *signon.Options) { o.Issuer = "" })
	_, _, ok := none.Method()
	_, err := none.Start(t.Context(), "")
	_, err2 := none.HandleCallback(t.Context(), signon.Callback{})
	_, err3 := none.Finish(t.Context(), "", "")
	if ok || !slices.Equal([]apierr.Code{code(err), code(err2), code(err3)}, []apierr.Code{apierr.InvalidRequest, apierr.InvalidRequest, apierr.InvalidRequest}) {
		t.Errorf("without a provider: %v %v %v", err, err2, err3)
	}
}
