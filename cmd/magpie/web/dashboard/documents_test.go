package dashboard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
	"github.com/magpie-search/magpie/internal/testkit"
)

// hostile is a document that would do harm if a page made HTML of it.
const hostile = `# Old lamps

Old lamps are in the cellar.

<script>window.harmed = 1</script>

<img src="x" onerror="window.harmed = 2">

An [old lamp](javascript:window.harmed=3), and ![its picture](javascript:window.harmed=4).

    <script>window.harmed = 7</script> <img src="x" onerror="window.harmed = 8">

<iframe srcdoc="<script>parent.harmed = 5</script>"></iframe> <a href="#" onclick="window.harmed = 6">More about old lamps</a>
`

func TestReading(t *testing.T) {
	m := newWorld(t)
	collection := m.make(t, `mutation { createCollection(input: {name: "Archive"}) { id } }`, nil)
	connector := m.make(t, `mutation($c: ID!) { createConnector(input: {name: "Cellar", type: "file_upload", collection: $c}) { id } }`, object{"c": collection})
	var stock strings.Builder
	for shelf := range 300 {
		fmt.Fprintf(&stock, "## Shelf %d\n\n%s\n", shelf, strings.Repeat(fmt.Sprintf("Part %d of the machine stands here. ", shelf), 30))
	}
	fire := "# Fire drill\n\n" + strings.Repeat("When the siren sounds, leave the house and wait at the oak. ", 4)
	m.Upload(connector, map[string]string{
		"cellar/old.md": hostile, "cellar/stock.md": stock.String(), "cellar/fire.md": fire, "attic/fire.md": fire,
		"pump/2.md": "---\nversion: v2\n---\n# Pump\n\nThe pump needs grease.\n", "pump/1.md": "---\nversion: v1\n---\n# Pump\n\nThe pump needs grease.\n",
	})
	m.Member("VIEWER")
	s := newWebSite(t, "lamps")
	crawler := m.make(t, `mutation($c: ID!, $config: Map!) { createConnector(input: {name: "Guide", type: "web_crawler", collection: $c, config: $config}) { id } }`,
		object{"c": collection, "config": object{"startUrls": []string{s.url + "/guide/"}, "delayMs": 0}})
	m.sync(t, crawler)
	owner := func(t *testing.T, path string) *person {
		t.Helper()
		return signIn(t, m.Magpie, stacktest.Email, stacktest.Password, path)
	}
	t.Run("passages", func(t *testing.T) { passagesFlow(owner(t, "/documents?q=stock")) })
	t.Run("document", func(t *testing.T) { documentFlow(owner(t, "/documents")) })
	t.Run("search", func(t *testing.T) { searchFlow(owner(t, "/search")) })
}

// sync syncs a connector to the end.
func (m *world) sync(t *testing.T, connector string) {
	t.Helper()
	job := m.make(t, `mutation($c: ID!) { startSync(connectorId: $c) { id } }`, object{"c": connector})
	testkit.WaitFor(t, "the sync", func() bool {
		var now struct{ SyncJob struct{ Status string } }
		m.GraphQL(&now, `query($id: ID!) { syncJob(id: $id) { status } }`, object{"id": job})
		return now.SyncJob.Status == "COMPLETED"
	})
}

// passagesFlow opens a passage far down in a long document.
func passagesFlow(p *person) {
	p.t.Helper()
	p.Click(`all("tbody a")[0]`)
	p.Until(`location.pathname.startsWith("/documents/") && settled()`)
	p.open(p.Text(`location.pathname`) + "#passage-250")
	p.Until(`all("#passage-250").some((e) => e.getBoundingClientRect().top > 56 && e.getBoundingClientRect().bottom < innerHeight)`)
	p.Is(`document.querySelector("#passage-250").ariaCurrent`, "true")
	p.Is(`all("[id^=passage-]").length < 60`, "true")
	p.Clean()
}

// documentFlow reads a document, restricts it, deletes it and restores it.
func documentFlow(p *person) {
	p.t.Helper()
	p.fill("Title or path", "old")
	p.Until(`location.search.includes("q=old") && all("tr").length === 2`)
	p.hit("Old lamps")
	p.sees(`<script>window.harmed = 7</script> <img src="x" onerror="window.harmed = 8">`)
	p.Is(`document.querySelectorAll("main script, main img, main iframe, main a[href^=javascript], main [onclick]").length`, "0")
	p.tab("Passages")
	p.sees("1 of 1 passages")
	p.Is(`typeof harmed`, "undefined")
	p.tab("Details")
	p.sees("cellar/old.md")
	p.sees("Metadata")

	p.tab("Readers")
	p.sees("Nobody restricted it by hand.")
	p.hit("Restrict")
	p.Until(`field("People")`)
	p.enter("People", stacktest.Email)
	p.accessibleHere("the restriction of a document")
	p.asked("Only those you name", "Restrict")
	p.sees("Only these may read it")
	p.fill("Email address of a person", "viewer@example.com")
	p.Press("\r")
	p.Until(`all("[role=alert]").some((e) => e.innerText.includes("does not find it"))`)
	p.hit("End the restriction")
	p.asked("finds it again", "End the restriction")
	p.sees("Nobody restricted it by hand.")
	p.tab("History")
	p.sees("Restriction ended")

	p.hit("Delete")
	p.asked("Delete the document?", "Delete")
	p.hit("Undo")
	p.Until(`title() === "Old lamps" && says("Restored")`)
	p.hit("Delete")
	p.asked("Delete the document?", "Delete")
	p.Until(`location.pathname === "/documents" && settled()`)
	p.choose("State", "Deleted")
	p.row("old.md", "Restore")
	p.hit("Restore")
	p.Until(`says("No document matches")`)
	p.Clean()
}

// searchFlow searches, narrows, and asks why something is found or not.
func searchFlow(p *person) {
	p.t.Helper()
	p.fill("Search the documents", "lam")
	p.Until(`all("[role=option]").some((e) => e.innerText === "Lamps")`)
	p.accessibleHere("suggestions")
	p.Click(`all("[role=option]").find((e) => e.innerText === "Lamps")`)
	p.Until(`location.search.includes("q=Lamps") && all("mark").length > 0 && field("Archive") && field("Web site")`)
	p.Click(`field("Archive")`)
	p.Until(`location.search.includes("in=") && says("Remove all filters") && !all("h2").some((e) => e.innerText === "Lamps")`)
	p.Eval(`history.back()`, nil)
	p.Until(`!location.search.includes("in=") && all("h2").some((e) => e.innerText === "Lamps")`)

	p.hit("Lamps")
	p.Until(`all("[role=dialog] [aria-current=true]").some((e) => e.innerText.includes("night shift"))`)
	p.accessibleHere("the preview of a result")
	p.tab("Why do I see this?")
	p.sees("“lamps” is in the title")
	p.accessibleHere("why a result is there")
	p.Press("\u001b")
	p.Until(`!all("[role=dialog]").length`)

	p.hit("More")
	p.hit("Copy as curl")
	p.Until(`all("[role=dialog] pre, [role=dialog] code").some((e) => e.innerText.includes("curl") && e.innerText.includes("Lamps"))`)
	p.accessibleHere("a search as curl")
	p.Press("\u001b")
	p.Until(`!all("[role=dialog]").length`)
	p.hit("More")
	p.hit("Why is a document not found?")
	p.Until(`field("Document")`)
	p.enter("Document", "Parking")
	p.hit("Explain")
	p.sees("What helps:")
	p.accessibleHere("why a document is not found")
	p.Press("\u001b")
	p.Until(`!all("[role=dialog]").length`)

	p.fill("Search the documents", "old lamps window harmed")
	p.Press("\r")
	p.Until(`all("main mark").some((e) => e.parentElement.innerText.includes("onerror"))`) // a passage of hostile, as text
	p.Is(`document.querySelectorAll("main script, main img, main iframe, main a[href^=javascript], main [onclick]").length`, "0")
	p.Is(`typeof harmed`, "undefined")

	p.fill("Search the documents", "siren oak")
	p.Press("\r")
	p.sees("One copy of it is left out")
	p.fill("Search the documents", "pump grease")
	p.Press("\r")
	p.sees("Nearly the same in v1")

	p.fill("Search the documents", "xylophone")
	p.Press("\r")
	p.sees("Nothing was found")
	p.Eval(`document.activeElement.blur()`, nil)
	p.Press("/", input.ModifierShift) // as on keyboards that have it above a digit
	p.Until(`document.activeElement === field("Search the documents")`)
	p.Press("k", input.ModifierCtrl)
	p.Until(`all("[role=dialog]").length === 1 && hit("Databases")`)
	p.accessibleHere("the list of pages")
	p.Type("invite s")
	p.Press("\r")
	p.Until(`location.pathname === "/people" && field("Email address")`)
	p.Press("k", input.ModifierCtrl)
	p.Until(`document.activeElement.ariaLabel === "Commands"`)
	p.Type("appearance: d")
	p.Press("\r")
	p.Until(`document.documentElement.dataset.mantineColorScheme === "dark"`)
	p.Press("\x1b")
	p.Until(`!all("[role=dialog]").length`)
	p.Press("k", input.ModifierCtrl)
	p.Until(`document.activeElement.ariaLabel === "Commands"`)
	p.Type("xylo")
	p.sees("No page or command has this name")
	p.Press("\b\b\b\b")
	p.Type("datab")
	p.Press("\r")
	p.Until(`location.pathname === "/databases" && title() === "Databases"`)
	p.Clean()
}
