package dashboard_test

import (
	"github.com/magpie-search/magpie/internal/testkit/authserver"
	"github.com/magpie-search/magpie/internal/testkit/driveserver"
)

const (
	clientID     = "magpie"
	clientSecret = "s3cret"
	idName       = "Company account"

	staff = "staff@example.com" // a group of the sample
)

// accountsAt are the settings of a Magpie where people sign in at a provider, and connect accounts of Google, which is the
// same server.
func accountsAt(provider *authserver.Server) []string {
	return []string{
		"OIDC_ISSUER", provider.URL, "OIDC_CLIENT_ID", clientID, "OIDC_CLIENT_SECRET", clientSecret, "OIDC_NAME", idName,
		"OAUTH_GOOGLE_CLIENT_ID", clientID, "OAUTH_GOOGLE_CLIENT_SECRET", clientSecret, "OAUTH_GOOGLE_AUTH_URL", provider.URL + authserver.AuthorizePath,
		"OAUTH_GOOGLE_TOKEN_URL", provider.URL + authserver.TokenPath, "OAUTH_GOOGLE_ACCOUNT_URL", provider.URL + authserver.UserinfoPath,
	}
}

// signOnFlow sets a provider up by what the page of the sign-in says. Somebody who has an account there is turned away
// until they are invited, and then comes in with their role, where they were going.
func signOnFlow(p *person, m *world, provider *authserver.Server) {
	p.t.Helper()
	p.sees(idName)
	p.sees(provider.URL)
	callback := p.Text(`all("main code, main pre").map((e) => e.innerText.trim()).find((text) => text.endsWith("/oidc/callback"))`)
	provider.Register(authserver.Client{ID: clientID, Secret: clientSecret, Redirects: []string{callback}})
	provider.SignIn(authserver.Account{Subject: "7", Email: "eve@example.com", Name: "Eve", Verified: true})

	q := visitor(p.t, m.Magpie, "/documents?q=lamps")
	q.hit("Continue with " + idName)
	q.sees("You may not come in this way.")
	q.sees("ask to be invited")
	q.accessibleHere("a sign-in that was refused")

	p.tab("Invitations")
	p.hit("Invite somebody")
	p.fill("Email address", "eve@example.com")
	p.hit("Editor")
	p.hit("Make the invitation")
	p.hit("I have copied it")
	p.row("eve@example.com", "Pending")

	q.hit("Sign in again")
	q.hit("Continue with " + idName)
	q.Until(`location.pathname === "/documents" && new URLSearchParams(location.search).get("q") === "lamps" && settled()`)
	q.Until(`hit("Account: Eve")`)
	q.Is(`Boolean(hit("Analytics")) + " " + Boolean(hit("API keys"))`, "true false")
	p.tab("Members")
	p.row("eve@example.com", "Editor")

	// Who comes again is the same person, whatever their address is now.
	provider.SignIn(authserver.Account{Subject: "7", Email: "evelyn@example.com", Name: "Evelyn", Verified: true})
	q.hit("Account: Eve")
	q.hit("Sign out")
	q.hit("Continue with " + idName)
	q.Until(`location.pathname === "/welcome" && hit("Account: Eve")`)
	q.hit("Skip these steps")
	q.Until(`location.pathname === "/search"`)
	elsewhere := visitor(p.t, m.Magpie, "/")
	elsewhere.hit("Continue with " + idName)
	elsewhere.Until(`hit("Account: Eve")`)
	elsewhere.Is(`location.pathname`, "/search")
	elsewhere.Clean()
	q.Clean()
	p.Clean()
}

// connectedFlow connects an account instead of entering credentials, first without the person's consent, and syncs what
// it may read, for those who may see it there.
func connectedFlow(p *person, m *world, provider *authserver.Server) {
	p.t.Helper()
	drive, _ := driveserver.NewSample()
	p.t.Cleanup(drive.Close)
	provider.OnToken(func(token string, of authserver.Account) { drive.Grant(token, of.Email) })
	provider.Register(authserver.Client{ID: clientID, Secret: clientSecret, Redirects: []string{
		m.URL + "/api/v1/oauth/callback/google", m.URL + "/api/v1/auth/oidc/callback",
	}})
	ada := authserver.Account{Subject: "1", Email: driveserver.SampleAdmin, Name: "Ada", Verified: true}

	p.hit("Google Drive")
	p.enter("Name", "Drive of the company")
	p.choose("Collection", "Handbook")
	p.hit("Connected account")
	p.sees("No account is connected yet.")
	p.moreOptions()
	p.enter("API address", drive.URL)
	p.Click(`field("Import permissions")`)
	p.Until(`field("Import permissions").checked`)

	refusing := ada
	refusing.Denies = true
	provider.SignIn(refusing)
	p.hit("Connect an account of Google")
	p.sees("The account was not connected")
	p.sees("The user denied access")
	p.accessibleHere("an account that was not connected")
	provider.SignIn(ada)
	p.hit("Connect an account of Google")
	p.sees("The account is connected.")
	p.Until(`field("Name").value === "Drive of the company" && field("API address").value === ` + quoted(drive.URL) + ` && field("Import permissions").checked`)
	p.Until(`field(` + quoted(ada.Email) + `)?.checked`)
	p.accessibleHere("an account that is connected")
	p.hit("Test the connection")
	p.sees("The connection works")
	p.hit("Save and sync")
	p.Until(`title() === "Drive of the company" && /Completed/.test(document.body.innerText)`)
	p.tab("Documents")
	p.sees("It has 5 documents, which their source does not show to you.")

	p.tab("Overview")
	p.sees("Strict: people find what they may see at the source.")
	p.hit("Read again")
	p.sees("The permissions are being read")
	p.tab("Syncs")
	p.row("Refresh of permissions", "Completed")
	p.Clean()

	// The address of a colleague is known to be theirs, so that the source's groups hold for them.
	m.GraphQL(nil, `mutation($email: String!) { inviteMember(input: {email: $email, role: ADMIN}) { token } }`, object{"email": driveserver.SampleGuest})
	provider.SignIn(authserver.Account{Subject: "2", Email: driveserver.SampleGuest, Name: "Bob", Verified: true})
	q := visitor(p.t, m.Magpie, p.Text(`location.pathname`)+"?tab=documents")
	q.hit("Continue with " + idName)
	q.row("On call", "Indexed")
	q.Is(`Boolean(`+rowWith("Raises")+`)`, "false")
	q.groupFlow()
	q.Clean()
}

// groupFlow looks at the groups of a source, and who may read what.
func (p *person) groupFlow() {
	p.t.Helper()
	p.goTo("/people?tab=groups")
	p.row(staff, "2")
	p.accessibleHere("the groups of a source")
	p.hit(staff)
	p.Until(`["ada@example.com", "bob@example.com"].every((name) => all("[role=dialog] li").some((e) => e.innerText === name))`)
	p.accessibleHere("the members of a group")
	p.hit("Close")
	p.fill("Find a group by name or id", "nobody")
	p.sees("The source has reported no group")

	p.tab("Who sees a document")
	p.askWho(driveserver.SampleGuest, "On call", "finds it", "A group of the person may see it.")
	p.Until(`all("main [role=status]").some((e) => /may see it\s+staff@example.com\s+Team/.test(e.innerText))`)
	p.accessibleHere("why somebody finds a document")
	p.askWho("mallory@example.org", "On call", "does not find it", "Neither the person nor a group of theirs may see it.")
}

// askWho asks whether somebody finds a document.
func (p *person) askWho(email, document, answer, why string) {
	p.t.Helper()
	p.fill("Person", email)
	p.choose("Document", document)
	p.hit("Check")
	p.sees(email + " " + answer)
	p.sees(why)
}
