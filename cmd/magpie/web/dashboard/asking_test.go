package dashboard_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
	"github.com/magpie-search/magpie/internal/testkit"
)

// ask puts a question on the page of questions.
func (p *person) ask(question string) {
	p.t.Helper()
	p.fill("Question", question)
	p.Press("\r")
}

// keepSaved keeps the files that the page saves, by their names.
const keepSaved = `(() => {
	window.saved = {};
	const files = new Map(), make = URL.createObjectURL, click = HTMLAnchorElement.prototype.click;
	URL.createObjectURL = (file) => { const url = make(file); files.set(url, file); return url; };
	HTMLAnchorElement.prototype.click = function () { files.get(this.href)?.text().then((text) => { saved[this.download] = text; }); return click.call(this); };
})()`

// conversation is a conversation as it is stored.
type conversation struct {
	Title    string
	Messages struct {
		Edges []struct {
			Node struct {
				Role, Content string
				Feedback      *struct{ Rating, Reason, Comment string }
			}
		}
	}
}

// conversations returns the owner's conversations, the newest first.
func (m *world) conversations() (found []conversation) {
	var all struct {
		Conversations struct{ Edges []struct{ Node conversation } }
	}
	m.GraphQL(&all, `{ conversations(kind: CHAT, first: 20) { edges { node { title messages(last: 10) { edges { node { role content feedback { rating reason comment } } } } } } } }`, nil)
	for _, edge := range all.Conversations.Edges {
		found = append(found, edge.Node)
	}
	return found
}

// readBack reads a long conversation to its beginning. What is read stays in its place, what is far away leaves the page,
// and comes back.
func (p *person) readBack(m *world) {
	p.t.Helper()
	const turns = 150
	m.Converse(turns)
	p.Do(chromedp.Reload())
	p.Until(`scrollY > 0 && hit("Show older messages")`)
	for isWhole := false; !isWhole; {
		p.Eval(`scrollTo(0, 0)`, nil)
		p.Until(`all("[data-question]")[0].getBoundingClientRect().top < innerHeight`)
		p.Eval(`(() => { const first = all("[data-question]")[0];
			window.text = first.textContent; window.place = first.getBoundingClientRect().top; hit("Show older messages").click(); })()`, nil)
		p.Until(`(() => { const shown = all("[data-question]"), now = shown.find((one) => one.textContent === text);
			return now && shown[0] !== now && Math.abs(now.getBoundingClientRect().top - place) < 2; })()`)
		p.Eval(`!hit("Show older messages")`, &isWhole)
	}
	const asks = `all("[data-question]").some((one) => one.textContent === "Question 1")`
	p.Eval(`scrollTo(0, 0)`, nil)
	p.Until(asks + ` && all("[data-question]").length < 60 && !says("Spare lamps")`)
	p.Eval(`scrollTo(0, document.documentElement.scrollHeight)`, nil)
	p.Until(`says("Spare lamps") && all("[data-question]").length < 60 && !` + asks)
}

func TestAskingQuestions(t *testing.T) {
	m := newWorld(t)
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/ask")

	p.ask("Who replaces a broken lamp?")
	p.sees("replaced by the night shift")
	p.Until(`location.pathname.startsWith("/ask/")`)
	p.Until(`hit("Good answer")`) // it is stored: what was written of it has left the page
	p.hit("Source 1: Lamps")
	p.sees("Spare lamps are in room 12.")
	p.accessibleHere("the passage of a citation")
	p.hit("Close")

	p.hit("Good answer")
	p.Until(`hit("Good answer")?.getAttribute("aria-pressed") === "true"`)
	p.hit("Bad answer")
	p.sees("What is wrong with it?")
	p.accessibleHere("the rating of an answer")
	p.hit("It is out of date")
	p.fill("Comment", "Room 14 now")
	p.hit("Save")
	p.Until(`hit("Bad answer")?.getAttribute("aria-pressed") === "true"`)
	if got := m.conversations()[0].Messages.Edges[1].Node.Feedback; got == nil || got.Rating != "NEGATIVE" || got.Reason != "OUTDATED" || got.Comment != "Room 14 now" {
		t.Errorf("the feedback is %+v", got)
	}
	p.hit("Bad answer")
	p.Until(`hit("Bad answer")?.getAttribute("aria-pressed") === "false"`)
	if got := m.conversations()[0].Messages.Edges[1].Node.Feedback; got != nil {
		t.Errorf("feedback that was taken back is %+v", got)
	}

	p.Do(chromedp.Reload())
	p.hit("What do the documents say about “Spare lamps”?")
	p.Until(`all("[data-question]").length === 2 && all("[aria-label='Good answer']").length === 2`)

	p.readBack(m)

	p.hit("Actions for Who replaces a broken lamp?")
	p.sees("Save as Markdown")
	p.accessibleHere("the menu of a conversation")
	p.hit("Rename")
	p.fill("Name", "Lamps of the house")
	p.hit("Save")
	p.Until(`title() === "Lamps of the house"`)
	p.Eval(keepSaved, nil)
	for _, format := range []struct{ item, end, part string }{{"Save as Markdown", ".md", "night shift"}, {"Save as JSON", ".json", "night shift"}} {
		p.pick("Actions for Lamps of the house", format.item)
		p.Until(`Object.entries(saved).some(([name, text]) => name.endsWith(` + quoted(format.end) + `) && text.includes(` + quoted(format.part) + `))`)
	}

	// A stopped answer leaves what was written, and the composer free.
	p.hit("New conversation")
	p.ask("Tell me slowly who replaces a lamp")
	p.sees("The lamp is replaced")
	p.hit("Stop")
	p.sees("Stopped")
	p.Until(`hit("Ask") || !says("Writing")`)
	p.sees("The lamp is replaced")

	// An answer goes on after a reload of the page.
	p.hit("New conversation")
	p.ask("Tell me slowly about a broken lamp")
	p.sees("The lamp is replaced")
	p.Until(`location.pathname.startsWith("/ask/")`)
	p.Do(chromedp.Reload())
	p.sees("The lamp is replaced")
	m.model.goOn()
	p.sees("replaced by the night shift")
	p.Until(`hit("Good answer")`)

	// What happened is shown, and asking again is one press away.
	p.hit("New conversation")
	p.ask("An answer about a broken lamp that is broken off")
	p.Until(`hit("Good answer")`) // what was written of it is stored
	p.sees("No answer")
	p.Until(`hit("Try again")`)
	p.hit("New conversation")
	p.ask("A hopeless question about a broken lamp")
	p.sees("No answer")
	p.accessibleHere("an answer that failed")

	p.open("/ask")
	p.fill("Find a conversation", "Lamps of the house")
	p.Until(`all("[aria-label=Conversations] a[href^='/ask/']").length === 1`)
	before := len(m.conversations())
	p.pick("Actions for Lamps of the house", "Delete")
	p.sees("No conversation contains this.")
	p.hit("Undo")
	p.pick("Actions for Lamps of the house", "Delete")
	p.sees("No conversation contains this.")
	// Who leaves cannot take it back any more.
	p.open("/ask")
	testkit.WaitFor(t, "the deletion of one conversation", func() bool { return len(m.conversations()) == before-1 })
	p.hit("Delete all conversations")
	p.fill("Type delete all to confirm", "delete all")
	p.confirm("Delete all conversations")
	p.sees("You have no conversations yet.")
	if left := m.conversations(); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	p.Clean()
}
