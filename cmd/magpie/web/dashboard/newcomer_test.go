package dashboard_test

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
	"github.com/magpie-search/magpie/internal/testkit/browser"
)

// A person who never saw Magpie has a browser and nothing else: they bring in a folder and
// a web site, search and ask, publish, invite a colleague, hide a document from them, and
// let an agent act.
func TestANewcomerNeedsOnlyTheBrowser(t *testing.T) {
	model := chatModel(t)
	model.answer = "Create the new key with `tidectl keys rotate`, check that every node has it, and **wait for the overlap** to pass [1]. Sessions stay valid."
	model.ticket = "The signing key expires on Friday"
	m := stacktest.Start(t, "SIGN_UP", "open", "LLM_BASE_URL", model.url, "LLM_MODEL", "stand-in", "ALLOWED_PRIVATE_NETWORKS", "127.0.0.0/8")
	p := visitor(t, m, "/")
	p.hit("Create a workspace")
	p.fill("Name of the workspace", "Tidewater")
	p.fill("Your name", "Ada")
	p.fill("Email address", "ada@example.com")
	p.fill("Password", "a good password")
	p.hit("Create a workspace")
	p.sees("Welcome to Tidewater")
	p.uploadManual()
	p.addWebSite(intranet(t))
	p.search()
	p.askModel()
	p.askWhyNot()
	p.makeKey()
	p.putWidgetOnPage()
	colleague := p.invite(m, "bo@example.com")
	p.hideRoles(colleague)
	p.letAgentAct(model.ticket)
	p.Clean()
}

// uploadManual uploads the folder of a manual as the first source, and looks on while it
// is synced.
func (p *person) uploadManual() {
	p.t.Helper()
	folder, err := filepath.Abs("../../../../testdata/demo/docs/en/v2.0")
	if err != nil {
		p.t.Fatal(err)
	}
	files := 0
	if err := filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files++
		}
		return err
	}); err != nil {
		p.t.Fatal(err)
	}
	p.hit("Upload files")
	p.Until(`hit("Choose a folder")`)
	p.Do(chromedp.SetUploadFiles(`input[type=file][webkitdirectory]`, []string{folder}, chromedp.ByQuery))
	p.sees(fmt.Sprintf("%d files uploaded", files))
	p.sees(fmt.Sprintf("%d documents can be found, 0 wait, 0 failed.", files))
}

// intranet is a site of two pages.
func intranet(t *testing.T) (address string) {
	t.Helper()
	site := http.NewServeMux()
	site.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<html><title>The office</title><h1>The office</h1><p>Where to leave <a href="/parking">your car</a>.</p></html>`)
	})
	site.HandleFunc("/parking", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<html><title>Parking</title><h1>Parking</h1><p>Visitors park behind the house. The barrier opens at seven.</p></html>`)
	})
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	return server.URL
}

// addWebSite goes on with the first steps, which are shown at the start while some are left: it adds a web site, waits for
// its first sync, and comes back.
func (p *person) addWebSite(address string) {
	p.t.Helper()
	p.goTo("/account")
	p.goTo("/")
	p.Is(`location.pathname`, "/welcome")
	p.goTo("/account")
	p.goTo("/welcome?step=source") // a step that opens would move what is pressed
	p.hit("A web site")
	p.Until(`title() === "New connector: Web site" && field("Collection").value === "Documents"`)
	p.fill("Name", "Intranet")
	p.fill("Start", address+"/")
	p.hit("Save and sync")
	p.sees("Completed")
	p.hit("Back to the first steps")
	p.sees("Welcome to Tidewater")
}

// search finds passages of both sources.
func (p *person) search() {
	p.t.Helper()
	p.Press("/")
	p.Until(`location.pathname === "/search" && document.activeElement.matches("[data-search-box]")`)
	p.Type("when does the barrier open")
	p.Press("\r")
	p.sees("The barrier opens at seven")
	p.fill("Search the documents", "rotate the signing key")
	p.Press("\r")
	p.sees("Access tokens are signed with an Ed25519 key")
	p.Until(`settled()`)
	p.picture("search")
}

// askModel gets an answer, and opens what it cites.
func (p *person) askModel() {
	p.t.Helper()
	p.hit("Ask")
	p.fill("Question", "How do I rotate the signing key?")
	p.Press("\r")
	p.sees("wait for the overlap to pass")
	p.hit("Source 1: Rotate the signing key")
	p.Until(`all("[role=dialog]").some((e) => e.innerText.includes("Access tokens are signed"))`)
	p.picture("ask")
	p.hit("Close")
}

// askWhyNot learns why a search does not find a document.
func (p *person) askWhyNot() {
	p.t.Helper()
	p.open("/search?q=zeppelin")
	p.hit("Why is a document not found?")
	p.fill("Document", "Roles and access control")
	p.hit("Explain")
	p.sees("It has no word of the search")
	p.hit("Close")
}

// makeKey makes a key and sees it once.
func (p *person) makeKey() {
	p.t.Helper()
	p.hit("API keys")
	p.hit("New API key")
	p.fill("Name", "Programs")
	p.hit("Create the key")
	p.sees("svc_sk_")
	p.hit("I have copied them")
	p.Until(`title() === "Programs"`)
	p.goTo("/") // no first step is left
	p.Is(`location.pathname`, "/search")
	p.hit("First steps")
	p.sees("4 of 4 steps are done")
}

// putWidgetOnPage makes a key for a website, and puts the line of the widget into a page.
func (p *person) putWidgetOnPage() {
	p.t.Helper()
	var mu sync.Mutex
	line := ""
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, "<!doctype html><html lang=en><title>Tidewater</title><h1>Tidewater</h1>%s</html>", line)
	}))
	p.t.Cleanup(page.Close)
	p.hit("Widget")
	p.hit("Make a key for the website")
	p.fill("Allowed hosts", strings.TrimPrefix(page.URL, "http://"))
	p.Press("\r")
	p.hit("Create the key")
	p.hit("I have copied them")
	p.Until(`all("pre, code").some((e) => e.innerText.includes("svc_pk_") && !e.innerText.includes("…"))`)
	p.previewWidget()
	mu.Lock()
	line = p.Text(`all("pre, code").find((e) => e.innerText.includes("svc_pk_")).innerText`)
	mu.Unlock()
	reader := browser.Visit(p.t, page.URL, browser.Options{Prelude: `const widget = () => window.MagpieWidget?.element.shadowRoot;`, Describe: `widget().textContent`})
	reader.Click(`widget()?.querySelector("button")`)
	reader.Until(`widget().activeElement?.matches("input")`)
	reader.Type("barrier")
	reader.Until(`widget().textContent.includes("The barrier opens at seven")`)
	reader.Clean()
}

// previewWidget changes how the widget looks, and opens it in the preview.
func (p *person) previewWidget() {
	p.t.Helper()
	p.hit("dark")
	p.choose("Find only documents by", "Language")
	p.fill("Language", "en")
	p.fill("Name of the widget", "guide")
	p.Until(`all("pre, code").some((e) => ['data-theme="dark"', 'data-filters="{&quot;language&quot;:&quot;en&quot;}"', 'data-name="guide"'].every((part) => e.innerText.includes(part)))`)
	const preview = `document.querySelector("iframe").contentWindow`
	p.Until(preview + `.document.body?.classList.contains("dark") && ` + preview + `.MagpieWidget`)
	p.Eval(preview+`.document.querySelector("button").click()`, nil)
	p.Until(preview + `.MagpieWidget.element.shadowRoot.activeElement?.matches("input")`)
}

// invite invites a colleague, who joins in a browser of their own.
func (p *person) invite(m *stacktest.Magpie, email string) *person {
	p.t.Helper()
	p.hit("People")
	p.hit("Invitations")
	p.hit("Invite somebody")
	p.fill("Email address", email)
	p.hit("Make the invitation")
	p.sees("Send this link to the person")
	colleague := visitor(p.t, m, p.link("/accept-invitation"))
	colleague.fill("Your name", "Bo")
	colleague.fill("New password", "another good password")
	colleague.hit("Join")
	colleague.Until(`location.pathname !== "/accept-invitation" && settled()`)
	return colleague
}

// hideRoles restricts a document, which the colleague then does not find any more.
func (p *person) hideRoles(colleague *person) {
	p.t.Helper()
	const search, secret = "/search?q=one+role+in+each+harbor", "has one role in each harbor"
	colleague.open(search)
	colleague.sees(secret)
	p.open("/documents?q=Roles")
	p.hit("Roles and access control")
	p.hit("Readers")
	p.hit("Restrict")
	p.fill("People", "ada@example.com")
	p.Press("\r")
	p.hit("Restrict")
	p.sees("Only these may read it")
	p.picture("document")
	colleague.open(search)
	colleague.Until(`settled() && says(" results in ") && !says(` + quoted(secret) + `)`)
	colleague.Clean()
	p.open(search)
	p.sees(secret)
}

// letAgentAct gives an agent a tool that acts, and approves what it wants to do.
func (p *person) letAgentAct(ticket string) {
	p.t.Helper()
	tickets := make(chan string, 1)
	desk := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		select {
		case tickets <- r.Method + " " + r.URL.Path + " " + string(body):
		default:
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id": 7}`)
	}))
	p.t.Cleanup(desk.Close)
	p.hit("Integrations")
	p.hit("Add an integration")
	p.hit("Webhook")
	p.fill("Name", "Desk")
	p.fill("First part of the tools' names", "desk")
	p.fill("Address", desk.URL)
	p.hit("Create")
	p.hit("New tool")
	p.fill("Name", "create_ticket")
	p.fill("Title", "Create a ticket")
	p.fill("Description", "Creates a ticket")
	p.fill("Path", "/tickets")
	p.fill("Arguments, as JSON schema", `{"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}`)
	p.hit("Save")
	p.sees("Create a ticket")

	p.hit("Agents")
	p.hit("New agent")
	p.fill("Name", "On call")
	p.fill("Instructions", "You are on call for Tidewater.")
	p.Click(`field("Create a ticket")`)
	p.Until(`field("Create a ticket").checked`)
	p.hit("Create")
	p.sees("create_ticket")
	p.fill("Message", "Open a ticket: the signing key expires soon")
	p.hit("Send")
	p.sees(ticket)
	p.picture("approval")
	if len(tickets) > 0 {
		p.t.Error("the agent acted before it was allowed to")
	}
	p.hit("Approve")
	p.sees("wait for the overlap to pass")
	select {
	case got := <-tickets:
		if want := fmt.Sprintf(`POST /tickets {"title":%q}`, ticket); got != want {
			p.t.Errorf("the desk got %s, want %s", got, want)
		}
	default:
		p.t.Error("the desk got no ticket")
	}
}
