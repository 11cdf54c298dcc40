package signon_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beevik/etree"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/identity/signon"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/testkit/authserver"
	"github.com/magpie-search/magpie/internal/testkit/samlserver"
	"github.com/magpie-search/magpie/internal/viewer"
)

// samlFixture is a fixture with a SAML identity provider.
type samlFixture struct {
	*fixture
	idp  *samlserver.Server
	saml *signon.SAML
}

func newSAMLFixture(t *testing.T, change ...func(*signon.SAMLOptions)) *samlFixture {
	t.Helper()
	h := &samlFixture{fixture: newFixture(t), idp: samlserver.Start(t)}
	h.idp.SetClock(h.clock.now)
	h.saml = h.samlNode(t, change...)
	return h
}

// samlNode returns the sign-in of another node.
func (h *samlFixture) samlNode(t *testing.T, change ...func(*signon.SAMLOptions)) *signon.SAML {
	t.Helper()
	box, err := secret.NewBox(map[string][]byte{"k": bytes.Repeat([]byte{9}, 32)}, "k")
	must(t, err)
	client := oauth.NewHTTPClient()
	t.Cleanup(client.CloseIdleConnections)
	o := signon.SAMLOptions{
		LoadMetadata: signon.FetchMetadata(client, h.idp.MetadataURL), Name: "Example ID", BaseURL: baseURL, Origins: []string{"https://app.example.com"},
		Attempts: ratelimit.New(ratelimit.Options{}), Log: slog.New(slog.NewTextHandler(&locked{w: h.log}, nil)), Now: h.clock.now,
	}
	for _, c := range change {
		c(&o)
	}
	return signon.NewSAML(h.db.Ent, h.db.Pool, oauth.NewFlows(h.db.Pool, box, h.clock.now), h.accounts, o)
}

func samlAda() samlserver.Person {
	return samlserver.Person{NameID: "ada-1", Email: "ada@example.com", Name: "Ada"}
}

// enter signs a person in, after changes of the response.
func (h *samlFixture) enter(t *testing.T, s *signon.SAML, who samlserver.Person, changes ...func(*samlserver.Response)) (authn.Tokens, error) {
	t.Helper()
	begun, err := s.Start(t.Context(), "")
	if err != nil {
		return authn.Tokens{}, err
	}
	response, state := h.idp.Respond(t, begun.URL, who, changes...)
	answered, err := s.HandleResponse(t.Context(), signon.SAMLResponse{Response: response, RelayState: state})
	if err != nil {
		return authn.Tokens{}, err
	}
	return s.Finish(t.Context(), answered.Code, begun.Binding)
}

func TestAPersonSignsInBySAML(t *testing.T) {
	t.Parallel()
	h := newSAMLFixture(t)
	person := h.add(t, "ada@example.com")
	begun, err := h.saml.Start(t.Context(), app)
	must(t, err)
	request := h.idp.Read(t, begun.URL)
	if request.Issuer != baseURL+signon.SAMLMetadataPath || request.ACS != baseURL+signon.SAMLACSPath || request.Signed ||
		!strings.HasPrefix(begun.URL, request.Destination) || strings.Contains(begun.URL, begun.Binding) || len(request.RelayState) > 80 {
		t.Errorf("the request is %+v", request)
	}
	response, state := h.idp.Respond(t, begun.URL, samlAda())
	answered, err := h.saml.HandleResponse(t.Context(), signon.SAMLResponse{Response: response, RelayState: state})
	must(t, err)
	place, err := url.Parse(answered.ReturnTo)
	must(t, err)
	fragment, err := url.ParseQuery(place.Fragment)
	must(t, err)
	if !strings.HasPrefix(answered.ReturnTo, app+"#") || len(fragment) != 1 {
		t.Errorf("the browser goes to %s", answered.ReturnTo)
	}
	tokens, err := h.saml.Finish(t.Context(), fragment.Get("code"), begun.Binding)
	must(t, err)
	if v := h.who(t, tokens); v.Subject != person || v.Role != viewer.RoleEditor {
		t.Errorf("signed in as %+v", v)
	}
	if _, err := h.accounts.SignIn(t.Context(), "ada@example.com", "a long enough passphrase"); code(err) != apierr.InvalidCredentials {
		t.Errorf("the password from before the provider vouched for the address still works: %v", err)
	}
	moved := samlAda()
	moved.Email = "ada.lovelace@example.com"
	tokens, err = h.enter(t, h.saml, moved)
	must(t, err)
	if h.who(t, tokens).Subject != person {
		t.Error("a new address made another person")
	}
	successor := samlAda()
	successor.NameID = "eve-2"
	if _, err := h.enter(t, h.saml, successor); code(err) != apierr.Forbidden {
		t.Errorf("who was given the address later: %v", err)
	}
}

// Keycloak has the same text as OpenID issuer and as entity ID.
func TestAPersonHasBothWaysToSignIn(t *testing.T) {
	t.Parallel()
	h := newSAMLFixture(t)
	person := h.add(t, "ada@example.com")
	for range 2 {
		tokens, err := h.enter(t, h.saml, samlAda())
		must(t, err)
		first := h.who(t, tokens)
		tokens, err = h.sign(t, h.signon, ada())
		must(t, err)
		if second := h.who(t, tokens); first.Subject != person || second.Subject != person {
			t.Errorf("signed in as %v and %v, want %v", first.Subject, second.Subject, person)
		}
	}
	if _, err := h.sign(t, h.signon, authserver.Account{Subject: "saml:ada-1", Email: "other@example.com", Verified: true}); code(err) != apierr.Forbidden {
		t.Errorf("a subject that looks like the other one: %v", err)
	}
	var n int
	must(t, h.db.Pool.QueryRow(t.Context(), "select count(*) from identities where issuer = 'saml:' || $1 and subject = 'ada-1'", h.idp.EntityID).Scan(&n))
	if n != 1 {
		t.Errorf("%d identities of SAML", n)
	}
}

func TestSAMLPeopleJoinInTheRoleOfTheirGroup(t *testing.T) {
	t.Parallel()
	h := newSAMLFixture(t)
	s := h.samlNode(t, func(o *signon.SAMLOptions) {
		o.Join = signon.Join{Domains: []string{"example.com"}, Workspace: h.workspace, Role: membership.RoleViewer,
			Groups: []signon.GroupRole{{Group: "Magpie Admins", Role: membership.RoleAdmin}, {Group: "Authors", Role: membership.RoleEditor}}}
	})
	for email, c := range map[string]struct {
		groups []string
		role   viewer.Role
	}{
		"admin@example.com":  {[]string{"Authors", "Magpie Admins"}, viewer.RoleAdmin},
		"author@example.com": {[]string{"Staff", "Authors"}, viewer.RoleEditor},
		"reader@example.com": {[]string{"authors"}, viewer.RoleViewer},
	} {
		tokens, err := h.enter(t, s, samlserver.Person{NameID: email, Email: email, Name: "Somebody"}, func(r *samlserver.Response) { r.Attributes["groups"] = c.groups })
		must(t, err)
		if v := h.who(t, tokens); v.Role != c.role {
			t.Errorf("%s is %s, want %s", email, v.Role, c.role)
		}
	}
	for _, email := range []string{"eve@evil-example.com", "eve@sub.example.com"} {
		if _, err := h.enter(t, s, samlserver.Person{NameID: email, Email: email}); code(err) != apierr.Forbidden {
			t.Errorf("%s: %v", email, err)
		}
	}
	if n, err := h.db.Ent.User.Query().Where(user.EmailVerified(true)).Count(system(t.Context())); err != nil || n != 3 {
		t.Errorf("%d people with a verified address, %v", n, err)
	}
}

func TestTheAttributesOfTheUsualProvidersAreKnown(t *testing.T) {
	t.Parallel()
	h := newSAMLFixture(t)
	h.add(t, "ada@example.com")
	for what, attributes := range map[string]map[string][]string{
		"Entra ID": {"http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress": {"ada@example.com"}, "http://schemas.microsoft.com/identity/claims/displayname": {"Ada"}},
		"Okta":     {"email": {"ada@example.com"}, "firstName": {"Ada"}, "lastName": {"Lovelace"}},
		"Keycloak": {"urn:oid:1.2.840.113549.1.9.1": {"ada@example.com"}, "urn:oid:2.5.4.42": {"Ada"}},
		"LDAP":     {"urn:oid:0.9.2342.19200300.100.1.3": {"ada@example.com"}},
	} {
		if _, err := h.enter(t, h.saml, samlAda(), func(r *samlserver.Response) { r.Attributes = attributes }); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	address := samlserver.Person{NameID: "owner@example.com"}
	asAddress := func(r *samlserver.Response) { r.NameIDFormat = samlserver.EmailAddress }
	if _, err := h.enter(t, h.saml, address, asAddress); err != nil {
		t.Errorf("Google sends the address as the NameID: %v", err)
	}
	if _, err := h.enter(t, h.saml, samlserver.Person{NameID: "bob@example.com"}); code(err) != apierr.Forbidden || !strings.Contains(err.Error(), "SAML_EMAIL_ATTRIBUTE") {
		t.Errorf("a NameID of another format is taken for an address: %v", err)
	}
	if _, err := h.enter(t, h.saml, samlAda(), func(r *samlserver.Response) { r.NameIDFormat = samlserver.Transient }); code(err) != apierr.Forbidden || !strings.Contains(err.Error(), "persistent") {
		t.Errorf("a transient NameID: %v", err)
	}
	named := h.samlNode(t, func(o *signon.SAMLOptions) { o.EmailAttributes = []string{"workAddress"} })
	if _, err := h.enter(t, named, samlAda()); code(err) != apierr.Forbidden {
		t.Errorf("an attribute that the operator did not name counts: %v", err)
	}
	if _, err := h.enter(t, named, samlAda(), func(r *samlserver.Response) { r.Attributes["workAddress"] = []string{"ada@example.com"} }); err != nil {
		t.Errorf("the named attribute: %v", err)
	}
}

func TestResponsesThatAreNotRightAreRefused(t *testing.T) {
	t.Parallel()
	h := newSAMLFixture(t)
	h.add(t, "ada@example.com")
	other := samlserver.Start(t)
	other.SetClock(h.clock.now)
	for what, c := range map[string]struct {
		change func(*samlserver.Response)
		reason string
	}{
		"unsigned":                 {func(r *samlserver.Response) { r.SignAssertion = false }, "no valid signature"},
		"another audience":         {func(r *samlserver.Response) { r.Audience = "https://other.example.com" }, "for another service"},
		"no audience":              {func(r *samlserver.Response) { r.Audience = "" }, "for another service"},
		"another destination":      {func(r *samlserver.Response) { r.Destination = "https://other.example.com/acs" }, "for another address"},
		"another recipient":        {func(r *samlserver.Response) { r.Recipient = "https://other.example.com/acs" }, "for another address"},
		"a longer destination":     {func(r *samlserver.Response) { r.Destination += "/x" }, "for another address"},
		"another issuer":           {func(r *samlserver.Response) { r.Issuer = other.EntityID }, "of another provider"},
		"an answer to another one": {func(r *samlserver.Response) { r.InResponseTo = "id-0000" }, "answers another request"},
		"an answer to none":        {func(r *samlserver.Response) { r.InResponseTo = "" }, "answers another request"},
		"expired":                  {func(r *samlserver.Response) { r.NotOnOrAfter = h.clock.now().Add(-4 * time.Minute) }, "has expired"},
		"issued long ago":          {func(r *samlserver.Response) { r.IssuedAt = h.clock.now().Add(-time.Hour) }, "has expired"},
		"not valid yet":            {func(r *samlserver.Response) { r.NotBefore = h.clock.now().Add(4 * time.Minute) }, "not valid yet"},
		"a comment in the NameID":  {func(r *samlserver.Response) { r.NameID = "ada-1<!-- -->.evil" }, "malformed"},
		"an instruction":           {func(r *samlserver.Response) { r.NameID = "ada-1<?x y?>.evil" }, "malformed"},
		"an empty NameID":          {func(r *samlserver.Response) { r.NameID = " " }, "NameID"},
		"a long NameID":            {func(r *samlserver.Response) { r.NameID = strings.Repeat("a", 256) }, "NameID"},
		"an unknown condition": {func(r *samlserver.Response) {
			r.Extra = `<x:Only xmlns:x="urn:x">somebody</x:Only>`
		}, "not supported"},
		"a refusal": {func(r *samlserver.Response) { r.Status = "urn:oasis:names:tc:SAML:2.0:status:Responder" }, "refused the sign-in"},
	} {
		_, err := h.enter(t, h.saml, samlAda(), c.change)
		if got := code(err); got != apierr.InvalidCredentials && (got != apierr.Forbidden || what != "a refusal") || !strings.Contains(apierr.From(err).Message, c.reason) {
			t.Errorf("%s: %v", what, err)
		}
	}
	begun, err := h.saml.Start(t.Context(), "")
	must(t, err)
	request := h.idp.Read(t, begun.URL)
	forged := other.Answer(request, samlAda())
	forged.Issuer, forged.SignResponse = h.idp.EntityID, true
	_, err = h.saml.HandleResponse(t.Context(), signon.SAMLResponse{Response: samlserver.Encode(t, other.Sign(t, forged)), RelayState: request.RelayState})
	if code(err) != apierr.InvalidCredentials || !strings.Contains(apierr.From(err).Message, "no valid signature") {
		t.Errorf("signed by somebody else: %v", err)
	}
	if n := h.count(t, "identities"); n != 0 {
		t.Errorf("%d identities were kept", n)
	}
	for what, change := range map[string]func(*samlserver.Response){
		"the response is signed": func(r *samlserver.Response) { r.SignAssertion, r.SignResponse = false, true },
		"both are signed":        func(r *samlserver.Response) { r.SignResponse = true },
		"the clocks differ": func(r *samlserver.Response) {
			r.IssuedAt, r.NotBefore = h.clock.now().Add(2*time.Minute), h.clock.now().Add(2*time.Minute)
		},
	} {
		if _, err := h.enter(t, h.saml, samlAda(), change); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Signature wrapping: the signed element is somewhere else than the one that is read.
func TestSignaturesCoverWhatIsRead(t *testing.T) {
	t.Parallel()
	h := newSAMLFixture(t)
	h.add(t, "ada@example.com")
	evil := func(of *etree.Element) *etree.Element {
		out := of.Copy()
		for _, id := range out.FindElements(".//NameID") {
			id.SetText("owner-1")
		}
		for _, value := range out.FindElements(".//AttributeValue") {
			value.SetText("owner@example.com")
		}
		return out
	}
	unsigned := func(of *etree.Element) *etree.Element {
		out := of.Copy()
		if signature := out.SelectElement("Signature"); signature != nil {
			out.RemoveChild(signature)
		}
		return out
	}
	for what, c := range map[string]struct {
		signResponse bool
		change       func(t *testing.T, document *etree.Document)
	}{
		"changed after it was signed": {false, func(_ *testing.T, d *etree.Document) {
			d.FindElement("//NameID").SetText("owner-1")
		}},
		"a copy before the signed assertion": {false, func(_ *testing.T, d *etree.Document) {
			a := d.FindElement("//Assertion")
			forged := unsigned(evil(a))
			forged.CreateAttr("ID", "evil")
			d.Root().InsertChildAt(a.Index(), forged)
		}},
		"a copy behind the signed assertion": {false, func(_ *testing.T, d *etree.Document) {
			forged := unsigned(evil(d.FindElement("//Assertion")))
			forged.CreateAttr("ID", "evil")
			d.Root().AddChild(forged)
		}},
		"the signed assertion in the forged one": {false, func(_ *testing.T, d *etree.Document) {
			a := d.FindElement("//Assertion")
			forged := unsigned(evil(a))
			forged.CreateAttr("ID", "evil")
			d.Root().RemoveChild(a)
			forged.AddChild(a)
			d.Root().AddChild(forged)
		}},
		"the signed assertion in the signature of the forged one": {false, func(_ *testing.T, d *etree.Document) {
			a := d.FindElement("//Assertion")
			forged := evil(a)
			d.Root().RemoveChild(a)
			forged.SelectElement("Signature").CreateElement("ds:Object").AddChild(unsigned(a))
			d.Root().AddChild(forged)
		}},
		"the same ID twice": {false, func(_ *testing.T, d *etree.Document) {
			a := d.FindElement("//Assertion")
			d.Root().InsertChildAt(a.Index(), unsigned(evil(a)))
		}},
		"the signed assertion in extensions": {false, func(_ *testing.T, d *etree.Document) {
			a := d.FindElement("//Assertion")
			forged := evil(a)
			d.Root().RemoveChild(a)
			extensions := etree.NewElement("samlp:Extensions")
			extensions.AddChild(a)
			d.Root().InsertChildAt(1, extensions)
			d.Root().AddChild(forged)
		}},
		"the signed response in the forged one": {true, func(_ *testing.T, d *etree.Document) {
			signed := d.Root().Copy()
			forged := evil(unsigned(signed))
			forged.CreateAttr("ID", "evil")
			forged.AddChild(signed)
			d.SetRoot(forged)
		}},
		"the signed response in the signature of the forged one": {true, func(_ *testing.T, d *etree.Document) {
			signed := d.Root().Copy()
			forged := evil(signed)
			forged.SelectElement("Signature").CreateElement("ds:Object").AddChild(unsigned(signed))
			d.SetRoot(forged)
		}},
	} {
		begun, err := h.saml.Start(t.Context(), "")
		must(t, err)
		request := h.idp.Read(t, begun.URL)
		answer := h.idp.Answer(request, samlAda())
		answer.SignAssertion, answer.SignResponse = !c.signResponse, c.signResponse
		document := h.idp.Sign(t, answer)
		c.change(t, document)
		answered, err := h.saml.HandleResponse(t.Context(), signon.SAMLResponse{Response: samlserver.Encode(t, document), RelayState: request.RelayState})
		if code(err) != apierr.InvalidCredentials || answered != (signon.CallbackResult{}) {
			t.Errorf("%s: %+v, %v", what, answered, err)
		}
	}
	if n := h.count(t, "identities"); n != 0 {
		t.Errorf("%d identities were kept", n)
	}
}

func TestHostileXMLIsRefusedBeforeItIsRead(t *testing.T) {
	t.Parallel()
	h := newSAMLFixture(t)
	bomb := `<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol">&b;</samlp:Response>`
	for what, text := range map[string]string{
		"an empty text":          "",
		"no XML":                 "hello",
		"entities":               bomb,
		"an external entity":     `<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><r>&x;</r>`,
		"an undefined entity":    `<r>&x;</r>`,
		"deep elements":          strings.Repeat("<a>", 100) + strings.Repeat("</a>", 100),
		"many elements":          "<r>" + strings.Repeat("<a/>", 30_000) + "</r>",
		"it ends too early":      "<r><a></a>",
		"another root":           `<r xmlns="urn:oasis:names:tc:SAML:2.0:protocol"/>`,
		"bytes that are no text": "<r>\xff\xfe</r>",
	} {
		begun, err := h.saml.Start(t.Context(), "")
		must(t, err)
		state := h.idp.Read(t, begun.URL).RelayState
		_, err = h.saml.HandleResponse(t.Context(), signon.SAMLResponse{Response: base64.StdEncoding.EncodeToString([]byte(text)), RelayState: state})
		if got := code(err); got != apierr.InvalidCredentials && got != apierr.InvalidRequest {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, response := range map[string]string{"no base64": "<xml>", "a long one": strings.Repeat("A", signon.MaxSAMLResponse+1)} {
		begun, err := h.saml.Start(t.Context(), "")
		must(t, err)
		_, err = h.saml.HandleResponse(t.Context(), signon.SAMLResponse{Response: response, RelayState: h.idp.Read(t, begun.URL).RelayState})
		if got := code(err); got != apierr.InvalidCredentials && got != apierr.InvalidRequest {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestSAMLStepsWorkOnceUntilTheyExpireInOneBrowser(t *testing.T) {
	t.Parallel()
	h := newSAMLFixture(t)
	h.add(t, "ada@example.com")
	second := h.samlNode(t)
	start := func() (begun signon.Authorization, posted signon.SAMLResponse) {
		t.Helper()
		begun, err := h.saml.Start(t.Context(), "")
		must(t, err)
		posted.Response, posted.RelayState = h.idp.Respond(t, begun.URL, samlAda())
		return begun, posted
	}
	begun, posted := start()
	answered, err := second.HandleResponse(t.Context(), posted) // on another node
	must(t, err)
	for _, s := range []*signon.SAML{h.saml, second} {
		if _, err := s.HandleResponse(t.Context(), posted); code(err) != apierr.InvalidRequest {
			t.Errorf("a response that was used: %v", err)
		}
	}
	if _, err := h.saml.Finish(t.Context(), answered.Code, "another browser"); code(err) != apierr.InvalidRequest {
		t.Errorf("another browser: %v", err)
	}
	if _, err := h.saml.Finish(t.Context(), answered.Code, begun.Binding); code(err) != apierr.InvalidRequest {
		t.Errorf("a code that another browser tried: %v", err)
	}

	// A response of another sign-in, under the state of this one.
	_, stolen := start()
	_, mine := start()
	if _, err := h.saml.HandleResponse(t.Context(), signon.SAMLResponse{Response: stolen.Response, RelayState: mine.RelayState}); code(err) != apierr.InvalidCredentials {
		t.Errorf("a response to another request: %v", err)
	}
	if _, err := h.saml.HandleResponse(t.Context(), signon.SAMLResponse{Response: stolen.Response, RelayState: app}); code(err) != apierr.InvalidRequest {
		t.Errorf("a RelayState that is an address: %v", err)
	}
	// Codes of OpenID sign-ins are no codes of SAML, and the other way round.
	begun, posted = start()
	answered, err = h.saml.HandleResponse(t.Context(), posted)
	must(t, err)
	if _, err := h.signon.Finish(t.Context(), answered.Code, begun.Binding); code(err) != apierr.InvalidRequest {
		t.Errorf("a code of SAML at OpenID: %v", err)
	}
	_, posted = start()
	h.clock.forward(signon.StateLifetime + time.Second)
	if _, err := h.saml.HandleResponse(t.Context(), posted); code(err) != apierr.InvalidRequest {
		t.Errorf("a late response: %v", err)
	}
	begun, posted = start()
	answered, err = h.saml.HandleResponse(t.Context(), posted)
	must(t, err)
	h.clock.forward(signon.CodeLifetime + time.Second)
	if _, err := h.saml.Finish(t.Context(), answered.Code, begun.Binding); code(err) != apierr.InvalidRequest {
		t.Errorf("a late code: %v", err)
	}
}

// An assertion counts once on all nodes, also if the requests that it answers do not
// tell it apart.
func TestAnAssertionIsUsedOnce(t *testing.T) {
	t.Parallel()
	h := newSAMLFixture(t)
	h.add(t, "ada@example.com")
	nodes := []*signon.SAML{h.saml, h.samlNode(t)}
	const id = "id-the-same"
	var group sync.WaitGroup
	var mu sync.Mutex
	results := map[apierr.Code]int{}
	for i := range 6 {
		s := nodes[i%2]
		begun, err := s.Start(t.Context(), "")
		must(t, err)
		response, state := h.idp.Respond(t, begun.URL, samlAda(), func(r *samlserver.Response) { r.AssertionID = id })
		group.Go(func() {
			_, err := s.HandleResponse(context.WithoutCancel(t.Context()), signon.SAMLResponse{Response: response, RelayState: state})
			if err != nil && !strings.Contains(apierr.From(err).Message, "used before") {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			results[code(err)]++
		})
	}
	group.Wait()
	if results[""] != 1 || results[apierr.InvalidCredentials] != 5 {
		t.Errorf("the results are %v", results)
	}
}

func TestSAMLFailuresAreReportedToTheReturnAddress(t *testing.T) {
	t.Parallel()
	h := newSAMLFixture(t)
	begun, err := h.saml.Start(t.Context(), app)
	must(t, err)
	response, state := h.idp.Respond(t, begun.URL, samlAda(), func(r *samlserver.Response) { r.SignAssertion = false })
	answered, err := h.saml.HandleResponse(t.Context(), signon.SAMLResponse{Response: response, RelayState: state})
	must(t, err)
	place, err := url.Parse(answered.ReturnTo)
	must(t, err)
	fragment, err := url.ParseQuery(place.Fragment)
	must(t, err)
	if fragment.Get("error") != "invalid_credentials" || !strings.Contains(fragment.Get("error_description"), "signature") || answered.Code != "" {
		t.Errorf("the browser goes to %s", answered.ReturnTo)
	}
	for _, address := range []string{"https://evil.example.org/", "javascript:alert(1)", "//evil.example.org"} {
		if _, err := h.saml.Start(t.Context(), address); code(err) != apierr.InvalidRequest {
			t.Errorf("%s: %v", address, err)
		}
	}
	if strings.Contains(h.log.String(), "ada@example.com") {
		t.Error("the log has an address")
	}
}

func TestSAMLStartsAreLimited(t *testing.T) {
	t.Parallel()
	h := newSAMLFixture(t)
	limited := 0
	for range 40 {
		if _, err := h.saml.Start(t.Context(), ""); code(err) == apierr.RateLimited {
			limited++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if limited != 10 {
		t.Errorf("%d of 40 sign-ins were refused", limited)
	}
}
