package dashboard_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/testkit/authserver"
	"github.com/magpie-search/magpie/internal/testkit/githubserver"
)

// A webSite has pages that change, and answers that can be held.
type webSite struct {
	url string

	mu    sync.Mutex
	pages []string
	held  chan struct{} // nil while pages are answered
}

func newWebSite(t *testing.T, pages ...string) *webSite {
	t.Helper()
	s := &webSite{pages: pages}
	server := httptest.NewServer(s)
	t.Cleanup(func() { s.release(); server.Close() })
	s.url = server.URL
	return s
}

func (s *webSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	pages, held := s.pages, s.held
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/html")
	if r.URL.Path == "/guide/" {
		for _, page := range pages {
			_, _ = fmt.Fprintf(w, "<a href=\"/guide/%s\">%s</a>\n", page, page)
		}
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/guide/")
	for _, page := range pages {
		if page != name {
			continue
		}
		if held != nil {
			select {
			case <-held:
			case <-r.Context().Done():
			}
		}
		_, _ = fmt.Fprintf(w, "<html><head><title>About %s</title></head><body><h1>About %s</h1><p>All that there is to know about the %s of the house.</p></body></html>", name, name, name)
		return
	}
	http.NotFound(w, r)
}

// has replaces the pages.
func (s *webSite) has(pages ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages = pages
}

// hold keeps the answers until release.
func (s *webSite) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = make(chan struct{})
}

func (s *webSite) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != nil {
		close(s.held)
	}
	s.held = nil
}

func TestSources(t *testing.T) {
	vectors := newVectors(t)
	provider := authserver.Start(t)
	m := newWorld(t, append(accountsAt(provider), "EMBEDDING_BASE_URL", vectors.url, "EMBEDDING_MODEL", "numbers", "EMBEDDING_DIMENSIONS", "4")...)
	owner := func(t *testing.T, path string) *person {
		t.Helper()
		return signIn(t, m.Magpie, stacktest.Email, stacktest.Password, path)
	}
	t.Run("collection", func(t *testing.T) { collectionFlow(owner(t, "/collections")) })
	t.Run("embedding model", func(t *testing.T) { modelFlow(owner(t, "/collections"), m, vectors) })
	t.Run("web site", func(t *testing.T) { siteFlow(owner(t, "/connectors")) })
	t.Run("repository", func(t *testing.T) { repositoryFlow(owner(t, "/connectors"), m) })
	t.Run("connected account", func(t *testing.T) { connectedFlow(owner(t, "/connectors/new"), m, provider) })
	t.Run("single sign-on", func(t *testing.T) { signOnFlow(owner(t, "/people?tab=sign-in"), m, provider) })
	t.Run("files", func(t *testing.T) { fileFlow(owner(t, "/connectors"), m) })
	t.Run("database", func(t *testing.T) { databaseFlow(owner(t, "/databases"), m) })
}

// deletes answers the question that asks for the name before something is deleted, first
// with another name.
func (p *person) deletes(name, button string) {
	p.t.Helper()
	label := "Type " + name + " to confirm"
	p.fill(label, strings.ToLower(name))
	p.Press("\r")
	p.Is(`all("[role=dialog] button[type=submit]")[0].disabled`, "true")
	p.accessibleHere("the question before a deletion")
	p.fill(label, name)
	p.asked(label, button)
}

// collectionFlow makes, changes and deletes a collection.
func collectionFlow(p *person) {
	p.t.Helper()
	p.hit("New collection")
	p.fill("Name", "Archive")
	p.enter("Description", "What we no longer need")
	p.accessibleHere("the form of a collection")
	p.hit("Create")
	p.Until(`title() === "Archive"`)
	p.sees("What we no longer need")
	p.hit("Count again")
	p.sees("Counted again")
	p.tab("Connectors")
	p.sees("No connector fills this collection")
	p.tab("Reliability")
	p.hit("Measure now")
	p.sees("Measured ")

	p.tab("Settings")
	p.fill("Name", "Attic")
	p.hit("Save")
	p.Until(`title() === "Attic"`)

	p.hit("Delete")
	p.deletes("Attic", "Delete")
	p.Until(`location.pathname === "/collections" && settled() && !` + rowWith("Attic"))
	p.Clean()
}

// moreOptions shows the fields of a connector's form that few people need.
func (p *person) moreOptions() {
	p.t.Helper()
	p.Click(`all("form button[aria-expanded=false]").at(-1)`)
	p.Until(`all("form button[aria-expanded=true]").length`)
}

// modelFlow changes the embedding model of a collection, and sees how far it is.
func modelFlow(p *person, m *world, vectors *vectors) {
	p.t.Helper()
	vectors.hold()
	p.goTo("/collections/" + m.collection + "?tab=settings")
	p.Until(`field("Embedding model")?.value.startsWith("builtin-")`)
	p.choose("Embedding model", "numbers")
	p.hit("Change the model")
	p.asked("numbers", "Change the model")
	p.tab("Overview")
	p.sees("The embedding model is changing")
	p.Until(`/0 of \d+ passages are embedded/.test(document.body.innerText)`)
	vectors.release()
	p.Until(`!says("The embedding model is changing") && says("numbers")`)

	// Somebody has removed the model from the settings: the reason is shown, and goes with the change.
	m.Execute(`update collections set next_model = 'gone' where id = $1`, m.collection)
	p.goTo("/collections/" + m.collection)
	p.sees("Workers compute vectors of gone for every passage.")
	p.sees("The last try failed. There will be another.")
	p.sees("This model is no longer configured.")
	p.accessibleHere("a change of models that fails")
	m.Execute(`update collections set next_model = null where id = $1`, m.collection)
	p.Until(`!says("The embedding model is changing") && says("numbers")`)
	p.Clean()
}

// siteFlow makes a connector of a web site, and follows its syncs, also over a lost
// connection. Then it changes the schedule.
func siteFlow(p *person) {
	p.t.Helper()
	s := newWebSite(p.t, "lamps", "chairs", "tables")
	s.hold()
	sockets := `window.sockets = []; window.WebSocket = class extends WebSocket { constructor(...all) { super(...all); sockets.push(this); } };`
	p.Do(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(sockets).Do(ctx)
		return err
	}))
	p.open("/connectors/new")
	p.hit("Web site")
	p.enter("Name", "Guide")
	p.choose("Collection", "Handbook")
	p.enter("Start addresses", s.url+"/guide/")
	p.enter("Pause between pages (ms)", "0")
	p.hit("Save and sync")
	p.Until(`title() === "Guide" && says("Live") && says("Running")`)
	p.Until(`(window.cut ??= (sockets.at(-1).close(4999), true)) && says("Connection lost")`)
	s.release()
	p.sees("Completed")
	p.sees("Live")
	p.sees("(4 changes)") // freshness, with the page of links

	s.hold()
	p.hit("Sync now")
	p.hit("Cancel the sync")
	p.sees("The sync stops at its next item")
	s.release()
	p.sees("Canceled")

	s.has("lamps", "chairs", "tables", "roofs")
	p.tab("Plan")
	p.hit("Make a plan")
	p.row("roofs", "Add")

	p.tab("Settings")
	p.choose("Interval of syncs", "Every hour")
	p.hit("Save")
	p.sees("Saved")
	p.tab("Overview")
	p.sees("Every hour")
	p.hit("Pause")
	p.hit("Resume")
	p.sees("Resumed")
	p.hit("Actions")
	p.Until(`hit("Delete the connector")`)
	p.accessibleHere("the menu of a connector")
	p.hit("Delete the connector")
	p.deletes("Guide", "Delete")
	p.Until(`location.pathname === "/connectors" && settled() && !` + rowWith("Guide"))
	p.Clean()
}

// repositoryFlow follows files that vanish from a repository: few are deleted, many wait in
// quarantine.
func repositoryFlow(p *person, m *world) {
	p.t.Helper()
	const repository, token = "acme/handbook", "github_pat_0123456789abcdef"
	server := githubserver.New()
	p.t.Cleanup(server.Close)
	server.AddToken(token, githubserver.Token{Login: "ada", Repos: []string{"acme/*"}})
	server.AddRepo(repository, githubserver.RepoOptions{Private: true})
	add := func(name string) {
		server.Put(repository, "", name+".md", []byte("# "+name+"\n\nAll that there is to know about "+name+".\n"))
	}
	remove := func(names ...string) {
		for _, name := range names {
			server.Delete(repository, "", name+".md")
		}
	}
	for _, name := range []string{"Lamps", "Chairs", "Tables", "Doors", "Stairs", "Roofs"} {
		add(name)
	}
	p.open("/connectors/new/github")
	p.enter("Name", "Code")
	p.choose("Collection", "Handbook")
	p.enter("Repositories", repository)
	p.enter("Content", "files")
	p.hit("By hand")
	p.moreOptions()
	p.enter("Address of the API", server.API)
	p.enter("Personal access token", "github_pat_of_somebody_else")
	p.hit("Test the connection")
	p.sees("The connection does not work")
	p.accessibleHere("a connection that does not work")
	p.enter("Personal access token", token)
	p.hit("Test the connection")
	p.sees("The connection works")
	p.hit("Save")
	p.Until(`title() === "Code"`)
	p.sees("Deliveries cannot be verified yet")
	p.hit("Sync now")
	p.sees("Completed")
	remove("Roofs")
	add("Windows")
	p.tab("Plan")
	p.hit("Make a plan")
	p.row("Windows.md", "Add")
	p.row("Roofs.md", "Delete")
	p.sees("The deletion needs no approval")

	remove("Lamps", "Chairs", "Tables")
	p.hit("Sync now")
	p.sees("The deletion of 4 documents waits for a decision")
	p.hit("Look at them")
	p.row("Chairs.md")
	p.hit("Keep them")
	p.asked("Keep 4 documents?", "Keep them")
	p.sees("4 documents stay")
	p.sees("Nothing is in quarantine")

	remove("Doors")
	p.hit("Sync now")
	p.sees("The deletion of 5 documents waits for a decision")
	p.hit("Delete them")
	p.deletes("Code", "Delete them")
	p.sees("The documents are being deleted")
	p.sees("Nothing is in quarantine")
	p.tab("Syncs")
	p.Until(rowWith("Approved deletion", "Completed"))
	p.Click(rowWith("Approved deletion") + `.querySelector("button")`)
	p.hit("Restore deleted documents")
	p.asked("5 documents were deleted", "Restore deleted documents")
	p.sees("The documents are being restored")
	p.tab("Documents")
	p.row("Chairs.md", "Indexed")
	p.Clean()
}

// fileFlow uploads a folder, a dropped file and one that is no document.
func fileFlow(p *person, m *world) {
	p.t.Helper()
	folder := filepath.Join(p.t.TempDir(), "manual")
	if err := os.Mkdir(folder, 0o750); err != nil {
		p.t.Fatal(err)
	}
	for name, text := range map[string]string{"one.md": "# One\n\nThe first page.\n", "Two.md": "# Two\n\nThe second page.\n", "bad.docx": "this is no document", ".hidden": "hidden"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
	id := m.make(p.t, `mutation($c: ID!) { createConnector(input: {name: "Inbox", type: "file_upload", collection: $c}) { id } }`, object{"c": m.collection})
	p.open("/connectors/" + id + "?tab=files")
	p.Do(chromedp.SetUploadFiles(`input[aria-label="Choose a folder"]`, []string{folder}, chromedp.ByQuery))
	p.sees("3 files uploaded")
	p.sees("1 hidden file was left out")
	p.Eval(`(() => {
		const data = new DataTransfer();
		data.items.add(new File(["# Dropped\n\nThe third page.\n"], "dropped.md"));
		document.querySelector("[aria-label='Upload of files']").dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
	})()`, nil)
	p.sees("4 files uploaded")
	annex := filepath.Join(p.t.TempDir(), "annex")
	for _, name := range []string{"deep/four.md", ".git/config", ".hidden"} {
		path := filepath.Join(annex, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte("# Four\n"), 0o600)); err != nil {
			p.t.Fatal(err)
		}
	}
	p.drop(`document.querySelector("[aria-label='Upload of files']")`, annex)
	p.sees("5 files uploaded")
	p.sees("2 hidden files were left out")
	p.row("annex/deep/four.md")
	p.Until(`all("tr").length === 6`)
	p.hit("Index them now")
	p.tab("Overview")
	p.sees("Completed with failures")
	p.tab("Items")
	p.row("dropped.md", "Indexed")
	p.row("bad.docx", "Failed", "Word document is damaged")
	p.hit("Retry all failed")
	p.sees("The items are being synced again")
	p.tab("Files")
	p.Until(rowWith("Two.md"))
	p.Click(rowWith("Two.md") + `.querySelector("input")`)
	p.hit("Delete selected (1)")
	p.deletes("manual/Two.md", "Delete")
	p.sees("1 file deleted")
	p.Until(`all("tr").length === 5`)

	// Of a thousand rows those in view are in the page; the keys reach all.
	many := map[string]string{}
	for n := range 996 {
		many[fmt.Sprintf("pages/%d.md", n)] = "# A page\n"
	}
	m.Store(id, many)
	p.open("/connectors/" + id + "?tab=files")
	p.Until(`hit("Show more")?.click() || says("1000 of 1,000 rows")`)
	few := `all("tr").length < 100`
	p.Until(few)
	p.Eval(`document.querySelector("tr[tabindex='0']").focus()`, nil)
	for _, move := range []struct{ key, row string }{
		{kb.End, "1001"}, {kb.ArrowUp, "1000"}, {kb.ArrowDown, "1001"}, {kb.Home, "2"}, {kb.ArrowDown, "3"}, {kb.End, "1001"},
	} {
		p.Press(move.key)
		p.Until(`document.activeElement.ariaRowIndex === "` + move.row + `" && document.activeElement.getBoundingClientRect().top > 56 && document.activeElement.getBoundingClientRect().bottom <= innerHeight`)
		p.Is(few, "true")
	}
	p.Press(kb.PageUp)
	p.Until(`Number(document.activeElement.ariaRowIndex) > 950 && Number(document.activeElement.ariaRowIndex) < 995`)
	p.Do(chromedp.Evaluate(`scrollTo(0, document.documentElement.scrollHeight / 2)`, nil))
	p.Until(`document.elementFromPoint(innerWidth / 2, innerHeight / 2)?.closest("tr")?.ariaRowIndex > 400`)
	p.accessibleHere("a table of a thousand rows")
	p.Clean()
}

// databaseFlow attaches a database, reads its schema and queries it.
func databaseFlow(p *person, m *world) {
	p.t.Helper()
	urls := testkit.EmptyDatabase(p.t)
	owner, err := pgx.Connect(p.t.Context(), urls.OwnerURL)
	if err != nil {
		p.t.Fatal(err)
	}
	_, err = owner.Exec(p.t.Context(), `create table lamps (id int primary key, room text not null); comment on table lamps is 'Lamps of the house';
		insert into lamps values (1, 'the hall'), (2, 'the cellar'); grant usage on schema public to public; grant select on lamps to public; analyze`)
	if err := errors.Join(err, owner.Close(p.t.Context())); err != nil {
		p.t.Fatal(err)
	}
	host, port, login := testkit.TCP(p.t, urls.AppURL)
	password, _ := login.Password()
	id := m.make(p.t, `mutation($input: CreateConnectorInput!) { createConnector(input: $input) { id } }`, object{"input": object{
		"name": "House", "type": "postgresql", "collection": m.collection, "credentials": object{"user": login.Username(), "password": password},
		"config": object{"host": host, "port": port, "database": urls.Name, "allowWriteAccess": true, "sslMode": "disable"},
	}})
	p.open("/connectors/" + id)
	p.hit("Read the schema")
	p.sees("Completed")
	p.open("/databases")
	p.hit("House")
	p.hit("public.lamps")
	p.sees("Lamps of the house")
	p.row("room", "text")
	p.hit("Query it")
	p.hit("Run")
	p.row("2", "the cellar")
	p.sees("2 rows in")
	p.fill("SQL", "update lamps set room = 'the attic'")
	p.hit("Run")
	p.sees("SHOW are allowed, not UPDATE")
	p.accessibleHere("a refused statement")
	p.Clean()
}
