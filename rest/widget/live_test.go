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
	b.until("window.MagpieWidget")
	b.screenshot("page-light")

	// A button of the page opens the widget and focuses the field.
	b.click(`document.querySelector("#opener")`)
	b.until(`$("dialog").open && focused() === $("[role=combobox]")`)
	b.screenshot("empty-light")
	b.typed("signing key")
	b.until(`$$(".row[role=option] .title").some((e) => e.textContent.startsWith("Rotate the signing key"))`)
	b.screenshot("results-light")

	// The words of the query are highlighted.
	b.is(`[...new Set($$(".snippet mark").map((e) => e.textContent.toLowerCase()))].sort().join()`, "key,keys,signing,signs")
	b.is(`$$(".snippet :not(mark)").length`, "0")
	b.until(`/^\d+ results$|^1 result$/.test(text("[role=status]"))`)

	// The first result is selected. Arrow keys move the selection and wrap around; Home and End go to the ends.
	b.is(`active().querySelector(".title").textContent`, "Rotate the signing key")
	b.is(`active().getAttribute("aria-selected")`, "true")
	b.press(kb.ArrowUp)
	b.is(`active().textContent`, "Ask about “signing key”")
	b.press(kb.ArrowUp)
	b.is(`active() === $$("[role=option]").at(-1)`, "true")
	b.press(kb.Home)
	b.is(`active() === $$("[role=option]")[0]`, "true")
	b.press(kb.End)
	b.is(`active() === $$("[role=option]").at(-1)`, "true")
	b.press(kb.ArrowDown)
	b.press(kb.ArrowDown)
	b.is(`active() === $$("[role=option]")[1]`, "true")
	b.is(`$$("[aria-selected=true][role=option]").length`, "1")

	// Enter opens the link in a new tab without an opener.
	b.is(`active().localName + " " + active().getAttribute("href") + " " + active().target + " " + active().rel`,
		"a https://handbook.example.com/keys _blank noopener noreferrer")
	b.eval(`(() => { window.followed = []; MagpieWidget.element.addEventListener("click", (e) => { const a = e.composedPath().find((n) => n.localName === "a"); if (a) { e.preventDefault(); followed.push(a.href); } }); })()`, nil)
	b.press(kb.Enter)
	b.is(`window.followed.join()`, "https://handbook.example.com/keys")

	// Escape closes the widget and restores the focus.
	b.press(kb.Escape)
	b.until(`!$("dialog").open && focused() === document.querySelector("#opener")`)
	// The close event, which comes later, does not move the focus of an immediate action.
	const closing = `MagpieWidget.open(); const closed = new Promise((done) => $("dialog").addEventListener("close", done)); MagpieWidget.close();`
	b.is(`await (async () => { `+closing+` document.querySelector("#field").focus(); await closed; return focused().id; })()`, "field")
	b.is(`await (async () => { `+closing+` MagpieWidget.open(); await closed; return $("dialog").open + " " + (focused() === $("[role=combobox]")); })()`, "true true")
	b.press(kb.Escape)
	b.until(`!$("dialog").open && focused() === document.querySelector("#field")`)
	// The hotkey opens and closes the widget, also from a field.
	b.eval(`document.querySelector("#field").focus()`, nil)
	b.press("k", input.ModifierCtrl)
	b.until(`$("dialog").open && focused() === $("[role=combobox]") && focused().value === "signing key"`)
	b.press("k", input.ModifierCtrl)
	b.until(`!$("dialog").open && focused() === document.querySelector("#field")`)

	// Nothing is stored in the browser, and there was no request to another host.
	b.is(`[document.cookie, localStorage.length, sessionStorage.length, (await indexedDB.databases()).length].join()`, ",0,0,0")
	b.is(`[...new Set(performance.getEntriesByType("resource").map((e) => new URL(e.name).origin))].join()`, m.public)
	b.clean()
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
	b.until("window.MagpieWidget")
	b.click(`document.querySelector("#link")`)
	b.until(`$("dialog").open && focused() === $("textarea")`)
	b.screenshot("chat-empty-light")
	b.typed("How is the signing key rotated?")
	b.press(kb.Enter)
	b.until(`$(".sources li") && !$(".dots") && !$("#panel-chat").classList.contains("busy")`)
	b.screenshot("chat-light")
	b.is(`text(".question p")`, "How is the signing key rotated?")
	b.is(`text(".text strong") + "|" + text(".text pre code") + "|" + text(".text ol li") + "|" + text(".text em")`, "once a year|magpie keys rotate|restart every replica|seven days")
	b.is(`text(".sources li")`, "1Rotate the signing key")
	b.is(`$$(".text .cite").map((e) => e.getAttribute("aria-label")).join()`, "Source 1: Rotate the signing key,Source 1: Rotate the signing key")
	b.until(`text("[role=status]").startsWith("Answer: The signing key is rotated once a year")`)
	// A citation links to its source.
	b.click(`$(".text .cite")`)
	b.until(`focused() === $(".sources li")`)
	// A click on a follow-up question asks it in the same conversation.
	b.is(`$$(".next button").length > 0`, "true")
	next := b.text(`text(".next button")`)
	b.click(`$(".next button")`)
	b.until(`$$(".answer").length === 2 && $$(".sources").length === 2 && !$("#panel-chat").classList.contains("busy")`)
	b.is(`$$(".question p").at(-1).textContent`, next)
	b.is(`focused() === $("textarea")`, "true")
	requests := model.Requests()
	if last := requests[len(requests)-1]; !strings.Contains(sprint(last.Body), "How is the signing key rotated?") {
		t.Errorf("the second request does not have the first question: %v", last.Body)
	}
	b.press(kb.Escape)
	b.until(`!$("dialog").open && focused() === document.querySelector("#link")`)
	b.clean()
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
	b.until("window.MagpieWidget")
	b.eval(`MagpieWidget.open({query: "How is the signing key rotated?"})`, nil)
	b.until(`/once a year/.test(text(".text"))`) // before the end of the answer
	b.is(`$("button[aria-label=Stop]").hidden`, "false")
	b.click(`$("button[aria-label=Stop]")`)
	waitCanceled(t, model)
	b.until(`text(".answer").endsWith("Stopped.") && $("button[aria-label=Stop]").hidden && focused() === $("textarea")`)
	b.is(`text("[role=status]")`, "Stopped.")
	b.is(`/once a year/.test(text(".text"))`, "true")
	// Closing the widget stops an answer, too.
	b.typed("And now?")
	b.press(kb.Enter)
	b.until(`$$(".answer").length === 2 && /once a year/.test($$(".text")[1].textContent)`)
	b.press(kb.Escape)
	waitCanceled(t, model)
	b.until(`!$("dialog").open`)
	if asked := len(model.Requests()); asked != 3 {
		t.Errorf("%d requests to the model", asked)
	}
	b.clean()
}

func TestAForeignHostGetsAHelpfulError(t *testing.T) {
	t.Parallel()
	m := start(t, handbook())
	key, _ := m.key(home, nil)
	s := newSite(t)
	b := visit(t, s.put(foreign, "/", page{attributes: attributes(m.public, key)}))
	b.until("window.MagpieWidget")
	b.press("k", input.ModifierCtrl)
	b.until(`$("dialog").open`)
	b.typed("signing key")
	b.until(`/An administrator has to add foreign.example.com to the allowed hosts/.test(text(".message"))`)
	b.is(`$$(".row").length`, "0")
	b.is(`/allowed hosts/.test(text("[role=status]"))`, "true")
	b.screenshot("foreign")
	b.eval(`MagpieWidget.open({mode: "chat", query: "How is the key rotated?"})`, nil)
	b.until(`/An administrator has to add foreign.example.com/.test(text(".answer"))`)
	b.clean()
}

func TestTheRateLimitErrorHasSeconds(t *testing.T) {
	t.Parallel()
	m := start(t, handbook())
	key, _ := m.key(home, map[string]any{"rateLimitPerMinute": 1})
	b := visit(t, newSite(t).put(home, "/", page{attributes: attributes(m.public, key)}))
	b.until("window.MagpieWidget")
	b.eval(`MagpieWidget.open({query: "signing key"})`, nil)
	b.until(`$$(".row").length > 1`)
	b.eval(`MagpieWidget.open({query: "backup"})`, nil)
	b.until(`/too many requests in a short time. Try again in \d+ seconds/.test(text(".message"))`)
	b.is(`$$(".row").length`, "0") // not those of the previous query
	// Earlier results are cached.
	b.eval(`MagpieWidget.open({query: "signing key"})`, nil)
	b.until(`$$(".row").length > 1`)
	b.clean()
}

func sprint(value any) string { return fmt.Sprint(value) }

func TestTheDemoPage(t *testing.T) {
	t.Parallel()
	m := start(t, handbook())
	key, _ := m.key("127.0.0.1", nil)
	b := visit(t, m.url+"/playground/widget.html")
	b.until(`document.querySelector("#snippet").textContent.includes("svc_pk_…")`)
	b.is(`window.MagpieWidget`, "undefined")
	b.eval(`document.querySelector("[name=key]").focus()`, nil)
	b.typed(key)
	b.press(kb.Enter)
	b.until(`window.MagpieWidget`)
	b.is(`document.querySelector("#snippet").textContent`, `<script src="`+m.url+`/widget.js"
  data-key="`+key+`" defer></script>`)
	b.screenshot("demo")
	b.click(`document.querySelector("[data-magpie-open]")`)
	b.typed("backup")
	b.until(`$$(".row .title").some((e) => e.textContent === "Backups")`)
	b.clean()
}
