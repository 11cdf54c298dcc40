package dashboard_test

import (
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
	"github.com/magpie-search/magpie/internal/testkit"
)

func TestManaging(t *testing.T) {
	m := newWorld(t)
	for _, flow := range []struct {
		name string
		of   func(*person, *world)
	}{
		{"keys", keyFlow},
		{"people", peopleFlow},
		{"analytics", analyticsFlow},
		{"golden set", goldenFlow},
		{"audit", auditFlow},
		{"problems in German", germanProblems}, // before an account chooses a language
		{"account", accountFlow},
		{"usage", usageFlow},
	} {
		t.Run(flow.name, func(t *testing.T) {
			p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/keys")
			flow.of(p, m)
			p.Clean()
		})
	}
	t.Run("doors", func(t *testing.T) { doorFlow(t, m) })
}

// tokenFlow makes a service token, which is shown once, and revokes it.
func (p *person) tokenFlow() {
	p.t.Helper()
	p.hit("New token")
	p.Until(`all("[role=dialog]").length`)
	p.choose("What it is for", "Search and chat")
	p.fill("Name", "Pipeline")
	p.accessibleHere("a new token")
	p.hit("Create token")
	p.Until(`all("[role=dialog] input, [role=dialog] code").some((e) => (e.value ?? e.innerText).startsWith("mgp_svc_"))`)
	p.hit("I have copied it")
	p.sees("Pipeline")
	p.hit("Revoke: Pipeline")
	p.confirm("Revoke")
	p.sees("The token is revoked.")
	p.Until(`!hit("Revoke: Pipeline")`)
}

// keyFlow changes, rotates and revokes a key.
func keyFlow(p *person, m *world) {
	p.t.Helper()
	p.tokenFlow()
	p.hit("Site")
	p.Until(`title() === "Site"`)
	p.fill("Name", "Website")
	p.fill("Requests a minute", "30")
	p.hit("Save")
	p.Until(`title() === "Website"`)
	p.sees("svc_pk_…")
	p.hit("Rotate")
	p.Until(`all("[role=dialog]").length`)
	p.accessibleHere("the rotation of a key")
	p.hit("Rotate")
	p.Until(`all("[role=dialog] input, [role=dialog] code").some((e) => (e.value ?? e.innerText).startsWith("svc_sk_"))`)
	secret := p.Text(`all("[role=dialog] input, [role=dialog] code").map((e) => e.value ?? e.innerText).find((text) => text.startsWith("svc_sk_"))`)
	p.hit("I have copied them")
	p.sees("The keys before work until")
	p.leaks(m, secret)
	p.hit("Revoke")
	p.deletes("Website", "Revoke")
	p.sees("This pair was revoked")
	var key struct {
		APIKey struct {
			Status             string
			RateLimitPerMinute *int
		}
	}
	m.GraphQL(&key, `query($id: ID!) { apiKey(id: $id) { status rateLimitPerMinute } }`, object{"id": m.key})
	if key.APIKey.Status != "REVOKED" || key.APIKey.RateLimitPerMinute == nil || *key.APIKey.RateLimitPerMinute != 30 {
		p.t.Errorf("the key is %+v", key.APIKey)
	}
}

// leaks sends the secret key of Website from a page, and ends it as the list of keys says.
func (p *person) leaks(m *world, secret string) {
	p.t.Helper()
	search := func() int {
		p.t.Helper()
		return m.Get("/v1/docs/search?query=lamp", http.Header{"X-Service-Key": {secret}, "Origin": {"https://example.com"}})
	}
	if status := search(); status != http.StatusOK {
		p.t.Errorf("a search by the secret key is answered with %d", status)
	}
	p.goTo("/keys")
	p.reloadUntil(`says("A secret key is known to browsers")`) // it is written after the answer
	p.sees("Website: a page of https://example.com sent the secret key.")
	p.row("Website", "Leaked")
	p.accessible("a key that has leaked, in the list")
	p.hit("See what to do")
	p.Until(`title() === "Website" && says("put the publishable key into the page")`)
	p.accessible("a key that has leaked")
	p.hit("Rotate now")
	p.sees("the current keys should end at once")
	p.Is(`field("The current keys go on working for").value`, "no time: they end at once")
	p.confirm("Rotate")
	p.hit("I have copied them")
	p.Until(`!says("is known to browsers") && !says("The keys before work until")`)
	if status := search(); status != http.StatusUnauthorized {
		p.t.Errorf("a search by the secret key that has leaked is answered with %d", status)
	}
	p.goTo("/keys")
	p.Until(rowWith("Website", "Active") + ` && !says("Leaked") && !says("is known to browsers")`)
	p.hit("Website")
	p.Until(`title() === "Website"`)
}

// peopleFlow changes the role of a member, makes a password link for them, asks what they
// find, and removes them; and revokes an invitation.
func peopleFlow(p *person, m *world) {
	p.t.Helper()
	email, _ := m.Member("VIEWER")
	p.open("/people")
	p.hit("Actions for A viewer")
	p.accessibleHere("the menu of a member")
	p.hit("Change the role")
	p.Until(`all("[role=dialog]").length`)
	p.accessibleHere("the role of a member")
	p.hit("Editor")
	p.hit("Save")
	p.row("A viewer", "Editor")

	p.hit("Actions for A viewer")
	p.hit("Make a password link")
	p.sees("An earlier link stops working")
	p.hit("Make the link")
	viewer := visitor(p.t, m.Magpie, p.link("/reset-password"))
	viewer.fill("New password", "an even better password")
	viewer.hit("Set the password and sign in")
	viewer.Until(`location.pathname !== "/reset-password" && settled()`)
	viewer.Clean()

	p.tab("Who sees a document")
	p.fill("Person", email)
	p.fill("Document", "Lamps")
	p.Until(`all("[role=option]").length`)
	p.Click(`all("[role=option]")[0]`)
	p.hit("Check")
	p.sees(email + " finds it")

	p.tab("Invitations")
	p.hit("Invite somebody")
	p.fill("Email address", "new@example.com")
	p.hit("Make the invitation")
	p.hit("I have copied it")
	p.row("new@example.com", "Pending")
	p.hit("Actions for new@example.com")
	p.hit("Revoke")
	p.asked("You can invite the address again", "Revoke")
	p.sees("The invitation is revoked")

	p.tab("Roles")
	p.sees("Each role may do everything")
	p.tab("Source groups")
	p.sees("No connector imports permissions")
	p.tab("Sign-in")
	p.sees("By email and password")
	p.tab("Members")
	p.hit("Actions for A viewer")
	p.hit("Remove from the workspace")
	p.fill("Type "+email+" to confirm", email)
	p.asked("Their sessions here end at once", "Remove")
	p.Until(`!` + rowWith("A viewer"))
}

// analyticsFlow sees a question that found nothing, and asks it again.
func analyticsFlow(p *person, _ *world) {
	p.t.Helper()
	p.open("/search?q=zeppelin")
	p.sees("Nothing was found")
	// The records are written each second.
	p.open("/analytics")
	p.reloadUntil(`settled() && !says("Nobody has asked anything yet")`)
	p.tab("Without results")
	p.reloadUntil(`settled() && !!` + rowWith("zeppelin")) // other questions are written earlier
	p.open(p.Text(`location.pathname + location.search`))
	p.row("zeppelin", "Add")
	p.Is(`all("[role=tab][aria-selected=true]").at(-1).innerText`, "Without results")
	p.Eval(rowWith("zeppelin")+`.focus()`, nil)
	p.Press(kb.End)
	p.Is(`document.activeElement.tagName`, "TR")
	p.tab("Weak results")
	p.Until(`all("[role=tabpanel]").some((e) => e.innerText.includes("No question of this kind"))`) // a question without results is in the other list
	p.tab("Without results")
	p.hit("zeppelin")
	p.Until(`location.pathname === "/search" && new URLSearchParams(location.search).get("q")?.includes("zeppelin")`)
}

// goldenFlow names the right document of a question, measures it and takes the question back.
func goldenFlow(p *person, m *world) {
	p.t.Helper()
	p.goTo("/collections/" + m.collection + "?tab=reliability&question=broken+lamp")
	p.choose("Grade of Lamps", "The answer")
	p.sees("Golden set: 1")
	p.hit("Measure now")
	p.row("broken lamp", "GOLDEN")
	p.accessible("the golden set")
	p.hit("Remove the question broken lamp")
	p.fill("Type broken lamp to confirm", "broken lamp")
	p.confirm("Remove")
	p.sees("Golden set: 0")
}

// auditFlow finds an entry of before, and what changed.
func auditFlow(p *person, _ *world) {
	p.t.Helper()
	p.open("/audit")
	p.fill("Text in action or names", "Website")
	p.Press("\r")
	p.row("Website")
	p.Until(`new URLSearchParams(location.search).size > 0`)
	p.hit("Export")
	p.Until(`all("[role=menuitem]").length === 2`)
	p.accessibleHere("the menu of the export")
	p.Press("\x1b")
}

// accountFlow changes the name, the language and the appearance, which hold after a
// reload, and ends another session.
func accountFlow(p *person, m *world) {
	p.t.Helper()
	p.open("/account")
	p.fill("Name", "The Owner")
	p.hit("Save")
	p.Until(`hit("Account: The Owner")`)
	p.fill("Current password", "not this one")
	p.fill("New password", "a new good password")
	p.hit("Change the password")
	p.sees("The present password is wrong")
	p.choose("Language", "Deutsch")
	p.Until(`title() === "Konto"`)
	p.open("/account")
	p.Is(`title()`, "Konto")
	p.Is(`document.documentElement.lang`, "de")
	p.choose("Sprache", "English")
	p.Until(`title() === "Account" && field("Language")?.value === "English" && !all("[role=listbox]").length`)
	p.hit("Dark")
	p.Until(`document.documentElement.dataset.mantineColorScheme === "dark"`)
	// The look changes before the service has kept it.
	testkit.WaitFor(p.t, "the look to be kept", func() bool {
		var kept struct {
			Me struct {
				User struct{ Preferences struct{ Theme string } }
			}
		}
		m.GraphQL(&kept, `{ me { user { preferences { theme } } } }`, nil)
		return kept.Me.User.Preferences.Theme == "DARK"
	})
	p.open("/account")
	p.Until(`document.documentElement.dataset.mantineColorScheme === "dark"`)
	p.hit("As the device")
	p.Until(`document.documentElement.dataset.mantineColorScheme === "light"`)
	p.fill("Time zone", "Kiritimati")
	p.Until(`all("[role=option]").length === 1`)
	p.Click(`all("[role=option]")[0]`)
	p.Until(`localStorage.getItem("magpie-time-zone") === "Pacific/Kiritimati"`)
	other := signIn(p.t, m.Magpie, stacktest.Email, stacktest.Password, "/search") // used last, so that it is the first in the list
	p.open("/account")
	p.Until(`[0, 1, 2].some((minutes) => says("Now it is " + new Intl.DateTimeFormat(document.documentElement.lang,
		{dateStyle: "medium", timeStyle: "short", timeZone: "Pacific/Kiritimati"}).format(Date.now() - minutes * 60000)))`)
	p.hit("End")
	p.sees("The session has ended")
	// The page that is still open has to sign in, and goes on there.
	other.Eval(`history.pushState({}, "", "/documents?q=lamps")`, nil)
	other.Until(`location.pathname === "/sign-in" && new URLSearchParams(location.search).get("next") === "/documents?q=lamps"`)
}

// usageFlow reads the pages that only show.
func usageFlow(p *person, _ *world) {
	p.t.Helper()
	p.open("/usage")
	p.row("Handbook")
	p.open("/applications")
	p.sees("/mcp")
	p.open("/system")
	p.sees("Schema of the database")
	p.sees("stand-in")
	p.row("magpie-upkeep")
	p.Eval(`document.querySelector("[aria-label=Queues] tr[tabindex='0']").focus()`, nil)
	p.Press(kb.ArrowDown)
	p.Until(`document.activeElement.rowIndex === 2`)
	p.Press("k", input.ModifierCtrl)
	p.Until(`document.activeElement.matches("[role=dialog] input")`)
	p.accessibleHere("the commands")
	p.Type("usage")
	p.Press("\r")
	p.Until(`location.pathname === "/usage"`)
}

// Somebody makes another workspace, which has nothing of the first, goes back, and ends all sessions.
func TestWorkspaces(t *testing.T) {
	m := newWorld(t, "SIGN_UP", "open")
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/account")
	p.fill("Another workspace", "Second House")
	p.hit("Create")
	p.Until(`settled() && location.pathname !== "/account"`)
	p.open("/collections")
	p.Until(`!` + rowWith("Handbook"))
	p.open("/documents/" + m.document)
	p.Until(`!says("night shift") && all("[role=alert]").length`)
	p.open("/account")
	p.sees("Second House")
	p.Click(`all("main button").find((e) => named(e).startsWith("Change to ") && !named(e).includes("Second House"))`)
	p.Until(`settled() && location.pathname !== "/account"`)
	p.open("/collections")
	p.row("Handbook")

	other := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/search")
	p.open("/account")
	p.hit("Sign out everywhere")
	p.asked("All your sessions end", "Sign out everywhere")
	p.sees("You are signed out on all devices.")
	other.Eval(`history.pushState({}, "", "/documents")`, nil)
	other.Until(`location.pathname === "/sign-in"`)
	p.Clean()
}

// doorFlow is turned away, signs in and out.
func doorFlow(t *testing.T, m *world) {
	t.Helper()
	p := visitor(t, m.Magpie, "/documents?q=lamps")
	p.Until(`location.pathname === "/sign-in"`)
	p.fill("Email address", stacktest.Email)
	p.fill("Password", "not the password")
	p.Press("\r")
	p.Until(`all("[role=alert]").length`)
	p.fill("Password", stacktest.Password)
	p.Press("\r")
	p.Until(`location.pathname === "/documents" && new URLSearchParams(location.search).get("q") === "lamps"`)
	p.Until(`hit("Account: The Owner")`)
	p.hit("Account: The Owner")
	p.accessibleHere("the menu of the person")
	p.hit("Sign out")
	p.Until(`location.pathname === "/sign-in" && settled()`)
	p.inGerman("/documents")
	p.Until(`location.pathname === "/sign-in"`)
	p.fill("E-Mail-Adresse", stacktest.Email)
	p.fill("Passwort", "not the password")
	p.Press("\r")
	p.sees("E-Mail-Adresse oder Passwort ist falsch")
	p.Clean()
}
