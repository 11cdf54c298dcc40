package widget_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"

	"github.com/magpie-search/magpie/internal/model/llm/llmtest"
	"github.com/magpie-search/magpie/internal/testkit"
)

const (
	home    = "docs.example.com"
	foreign = "foreign.example.com"
)

func handbook() map[string]string {
	return map[string]string{
		"guides/keys.md": "---\nurl: https://handbook.example.com/keys\n---\n# Rotate the signing key\n\nThe signing key is rotated once a year, by hand.\n\n" +
			"## Steps\n\nRun `magpie keys rotate` on the primary server, then restart every replica. The old signing key keeps working for seven days.\n\n" +
			"## Who may rotate\n\nOnly administrators may rotate the signing key. Ask in the operations channel.\n",
		"guides/backup.md":  "# Backups\n\nBackups of the database are taken every night and kept for a month.\n\n## Restore a backup\n\nStop the service, restore the latest backup of the database and start the service again.\n",
		"guides/release.md": "# Releases\n\nA release is cut every second Tuesday. The signing key signs the release archives.\n",
		"people/leave.md":   "# Holidays\n\nEverybody has thirty days of holiday a year. Holidays are entered in the calendar.\n",
	}
}

func TestSearchingOnAnAllowedHost(t *testing.T) {
	t.Parallel()
	m := start(t, handbook())
	key, _ := m.key(home, nil)
	page := newSite(t).put(home, "/", page{attributes: attributes(m.public, key, "data-title", "Handbook")})
	b := visit(t, page)
	b.Until("window.MagpieWidget")
	screenshot(b, "page-light")

	// A button of the page opens the widget and focuses the field.
	b.Click(`document.querySelector("#opener")`)
	b.Until(`$("dialog").open && focused() === $("[role=combobox]")`)
	screenshot(b, "empty-light")
	b.Type("signing key")
	b.Until(`$$(".row[role=option] .title").some((e) => e.textContent.startsWith("Rotate the signing key"))`)
	screenshot(b, "results-light")

	// The words of the query are highlighted.
	b.Is(`[...new Set($$(".snippet mark").map((e) => e.textContent.toLowerCase()))].sort().join()`, "key,signing,signs")
	b.Is(`$$(".snippet :not(mark)").length`, "0")
	b.Until(`/^\d+ results$|^1 result$/.test(text("[role=status]"))`)

	// The first result is selected. Arrow keys move the selection and wrap around; Home and End go to the ends.
	b.Is(`active().querySelector(".title").textContent`, "Rotate the signing key")
	b.Is(`active().getAttribute("aria-selected")`, "true")
	b.Press(kb.ArrowUp)
	b.Is(`active().textContent`, "Ask about “signing key”")
	b.Press(kb.Home)
	b.Is(`active() === $$("[role=option]")[0]`, "true")
	b.Press(kb.ArrowUp)
	b.Is(`active() === $$("[role=option]").at(-1)`, "true")
	b.Press(kb.Home)
	b.Is(`active() === $$("[role=option]")[0]`, "true")
	b.Press(kb.End)
	b.Is(`active() === $$("[role=option]").at(-1)`, "true")
	b.Press(kb.ArrowDown)
	b.Press(kb.ArrowDown)
	b.Is(`active() === $$("[role=option]")[1]`, "true")
	b.Is(`$$("[aria-selected=true][role=option]").length`, "1")

	// Enter opens the link in a new tab without an opener.
	b.Is(`active().localName + " " + active().getAttribute("href") + " " + active().target + " " + active().rel`,
		"a https://handbook.example.com/keys _blank noopener noreferrer")
	b.Eval(`(() => { window.followed = []; MagpieWidget.element.addEventListener("click", (e) => { const a = e.composedPath().find((n) => n.localName === "a"); if (a) { e.preventDefault(); followed.push(a.href); } }); })()`, nil)
	b.Press(kb.Enter)
	b.Is(`window.followed.join()`, "https://handbook.example.com/keys")

	// Escape closes the widget and restores the focus.
	b.Press(kb.Escape)
	b.Until(`!$("dialog").open && focused() === document.querySelector("#opener")`)
	// The close event, which comes later, does not move the focus of an immediate action.
	const closing = `MagpieWidget.open(); const closed = new Promise((done) => $("dialog").addEventListener("close", done)); MagpieWidget.close();`
	b.Is(`await (async () => { `+closing+` document.querySelector("#field").focus(); await closed; return focused().id; })()`, "field")
	b.Is(`await (async () => { `+closing+` MagpieWidget.open(); await closed; return $("dialog").open + " " + (focused() === $("[role=combobox]")); })()`, "true true")
	b.Press(kb.Escape)
	b.Until(`!$("dialog").open && focused() === document.querySelector("#field")`)
	// The hotkey opens and closes the widget, also from a field.
	b.Eval(`document.querySelector("#field").focus()`, nil)
	b.Press("k", input.ModifierCtrl)
	b.Until(`$("dialog").open && focused() === $("[role=combobox]") && focused().value === "signing key"`)
	b.Press("k", input.ModifierCtrl)
	b.Until(`!$("dialog").open && focused() === document.querySelector("#field")`)

	// Nothing is stored in the browser, and there was no request to another host.
	b.Is(`[document.cookie, localStorage.length, sessionStorage.length, (await indexedDB.databases()).length].join()`, ",0,0,0")
	b.Is(`[...new Set(performance.getEntriesByType("resource").map((e) => new URL(e.name).origin))].join()`, m.public)
	b.Clean()
}

func TestAskingOnAnAllowedHost(t *testing.T) {
	t.Parallel()
	model := llmtest.NewServer(t, llmtest.Reply{Parts: []string{
		"The signing key is rotated **once a year** [1", "]. On the primary server:\n\n", "```sh\nmagpie keys rotate\n```\n\nThen:\n\n",
		"1. restart every replica\n2. delete the old key after *seven days* [1]\n",
	}, Usage: &[2]int{100, 7}})
	m := start(t, handbook(), "LLM_BASE_URL", model.URL, "LLM_MODEL", "small")
	key, _ := m.key(home, nil)
	page := newSite(t).put(home, "/", page{attributes: attributes(m.public, key)})
	b := visit(t, page)
	b.Until("window.MagpieWidget")
	b.Click(`document.querySelector("#link")`)
	b.Until(`$("dialog").open && focused() === $("textarea")`)
	screenshot(b, "chat-empty-light")
	b.Type("How is the signing key rotated?")
	b.Press(kb.Enter)
	b.Until(`$(".sources li") && !$(".dots") && !$("#panel-chat").classList.contains("busy")`)
	screenshot(b, "chat-light")
	b.Is(`text(".question p")`, "How is the signing key rotated?")
	b.Is(`text(".text strong") + "|" + text(".text pre code") + "|" + text(".text ol li") + "|" + text(".text em")`, "once a year|magpie keys rotate|restart every replica|seven days")
	b.Is(`text(".sources li")`, "1Rotate the signing key")
	b.Is(`$$(".text .cite").map((e) => e.getAttribute("aria-label")).join()`, "Source 1: Rotate the signing key,Source 1: Rotate the signing key")
	b.Until(`text("[role=status]").startsWith("Answer: The signing key is rotated once a year")`)
	// A citation links to its source.
	b.Click(`$(".text .cite")`)
	b.Until(`focused() === $(".sources li")`)
	// A click on a follow-up question asks it in the same conversation.
	b.Is(`$$(".next button").length > 0`, "true")
	next := b.Text(`text(".next button")`)
	b.Click(`$(".next button")`)
	b.Until(`$$(".answer").length === 2 && $$(".sources").length === 2 && !$("#panel-chat").classList.contains("busy")`)
	b.Is(`$$(".question p").at(-1).textContent`, next)
	b.Is(`focused() === $("textarea")`, "true")
	requests := model.Requests()
	if last := requests[len(requests)-1]; !strings.Contains(sprint(last.Body), "How is the signing key rotated?") {
		t.Errorf("the second request does not have the first question: %v", last.Body)
	}
	b.Press(kb.Escape)
	b.Until(`!$("dialog").open && focused() === document.querySelector("#link")`)
	b.Clean()
}

// waitCanceled waits until the request to the model is canceled.
func waitCanceled(t *testing.T, model *llmtest.Server) {
	t.Helper()
	testkit.ReceiveWithin(t, patience, "the request to the model to be canceled", model.Gone())
}

func TestStoppingAnAnswer(t *testing.T) {
	t.Parallel()
	// Both answers are blocked, but not the rewriting of the second question, whose timeout would dominate the test.
	held := llmtest.Reply{Parts: []string{"The signing key is rotated ", "once a year, and "}, HoldAfter: make(chan struct{})}
	model := llmtest.NewServer(t, held, llmtest.Reply{Parts: []string{"How is the signing key rotated now?"}}, held)
	m := start(t, handbook(), "LLM_BASE_URL", model.URL, "LLM_MODEL", "small")
	key, _ := m.key(home, nil)
	page := newSite(t).put(home, "/", page{attributes: attributes(m.public, key, "data-mode", "chat")})
	b := visit(t, page)
	b.Until("window.MagpieWidget")
	b.Eval(`MagpieWidget.open({query: "How is the signing key rotated?"})`, nil)
	b.Until(`/once a year/.test(text(".text"))`) // before the end of the answer
	b.Is(`$("button[aria-label=Stop]").hidden`, "false")
	b.Click(`$("button[aria-label=Stop]")`)
	waitCanceled(t, model)
	b.Until(`text(".answer").endsWith("Stopped.") && $("button[aria-label=Stop]").hidden && focused() === $("textarea")`)
	b.Is(`text("[role=status]")`, "Stopped.")
	b.Is(`/once a year/.test(text(".text"))`, "true")
	// Closing the widget stops an answer, too.
	b.Type("And now?")
	b.Press(kb.Enter)
	b.Until(`$$(".answer").length === 2 && /once a year/.test($$(".text")[1].textContent)`)
	b.Press(kb.Escape)
	waitCanceled(t, model)
	b.Until(`!$("dialog").open`)
	if asked := len(model.Requests()); asked != 3 {
		t.Errorf("%d requests to the model", asked)
	}
	b.Clean()
}

func TestAForeignHostGetsAHelpfulError(t *testing.T) {
	t.Parallel()
	m := start(t, handbook())
	key, _ := m.key(home, nil)
	s := newSite(t)
	b := visit(t, s.put(foreign, "/", page{attributes: attributes(m.public, key)}))
	b.Until("window.MagpieWidget")
	b.Press("k", input.ModifierCtrl)
	b.Until(`$("dialog").open`)
	b.Type("signing key")
	b.Until(`/An administrator has to add foreign.example.com to the allowed hosts/.test(text(".message"))`)
	b.Is(`$$(".row").length`, "0")
	b.Is(`/allowed hosts/.test(text("[role=status]"))`, "true")
	screenshot(b, "foreign")
	b.Eval(`MagpieWidget.open({mode: "chat", query: "How is the key rotated?"})`, nil)
	b.Until(`/An administrator has to add foreign.example.com/.test(text(".answer"))`)
	b.Clean()
}

func TestTheRateLimitErrorHasSeconds(t *testing.T) {
	t.Parallel()
	m := start(t, handbook())
	key, _ := m.key(home, map[string]any{"rateLimitPerMinute": 1})
	b := visit(t, newSite(t).put(home, "/", page{attributes: attributes(m.public, key)}))
	b.Until("window.MagpieWidget")
	b.Eval(`MagpieWidget.open({query: "signing key"})`, nil)
	b.Until(`$$(".row").length > 1`)
	b.Eval(`MagpieWidget.open({query: "backup"})`, nil)
	b.Until(`/too many requests in a short time. Try again in \d+ seconds/.test(text(".message"))`)
	b.Is(`$$(".row").length`, "0") // not those of the previous query
	// Earlier results are cached.
	b.Eval(`MagpieWidget.open({query: "signing key"})`, nil)
	b.Until(`$$(".row").length > 1`)
	b.Clean()
}

func sprint(value any) string { return fmt.Sprint(value) }

func TestTheDemoPage(t *testing.T) {
	t.Parallel()
	m := start(t, handbook())
	key, _ := m.key("127.0.0.1", nil)
	b := visit(t, m.URL+"/playground/widget.html")
	b.Until(`document.querySelector("#snippet").textContent.includes("svc_pk_…")`)
	b.Is(`window.MagpieWidget`, "undefined")
	b.Eval(`document.querySelector("[name=key]").focus()`, nil)
	b.Type(key)
	b.Press(kb.Enter)
	b.Until(`window.MagpieWidget`)
	b.Is(`document.querySelector("#snippet").textContent`, `<script src="`+m.URL+`/widget.js"
  data-key="`+key+`" defer></script>`)
	screenshot(b, "demo")
	b.Click(`document.querySelector("[data-magpie-open]")`)
	b.Type("backup")
	b.Until(`$$(".row .title").some((e) => e.textContent === "Backups")`)
	b.Clean()
}
