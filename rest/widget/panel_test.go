package widget_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/magpie-search/magpie/internal/testkit/browser"
)

// echo returns one result with the query as its title. It delays the results of some
// queries.
func echo(held map[string]chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Query string }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			return
		}
		if hold := held[asked.Query]; hold != nil {
			select {
			case <-hold:
			case <-r.Context().Done():
				return
			}
		}
		searchResults(map[string]any{"id": resultID, "title": "About " + asked.Query, "url": "https://docs.example.com/" + asked.Query, "snippet": asked.Query})(w, r)
	}
}

func TestAStaleResultIsNeverDisplayed(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	slow := make(chan struct{})
	d.answers(echo(map[string]chan struct{}{"slow": slow}), nil)
	b := visit(t, newSite(t).put(home, "/", page{attributes: attributes(d.url, "svc_pk_x")}))
	b.Until("window.MagpieWidget")
	b.Eval(`(() => { window.seen = []; MagpieWidget.open(); new MutationObserver(() => { const t = text("a.row .title"); if (t && seen.at(-1) !== t) seen.push(t); }).observe($("#results"), {childList: true}); })()`, nil)
	b.Eval(`(() => { const i = $("[role=combobox]"); i.value = "slow"; i.dispatchEvent(new Event("input")); })()`, nil)
	b.Until(`performance.now() > 0 && $(".busy")`)
	for deadline := time.Now().Add(patience); len(d.requests()) == 0 && time.Now().Before(deadline); {
		b.Until("true")
	}
	// Enter does not open a result of an earlier query.
	b.Eval(`(() => { const i = $("[role=combobox]"); i.value = "fast"; i.dispatchEvent(new Event("input")); })()`, nil)
	b.Until(`text("a.row .title") === "About fast"`)
	close(slow)
	b.Eval(`(() => { const i = $("[role=combobox]"); i.value = "last"; i.dispatchEvent(new Event("input")); })()`, nil)
	b.Until(`text("a.row .title") === "About last"`)
	b.Is(`window.seen.join()`, "About fast,About last")
	// Going back sends no request.
	before := len(d.requests())
	b.Eval(`(() => { const i = $("[role=combobox]"); i.value = "fast "; i.dispatchEvent(new Event("input")); })()`, nil)
	b.Until(`text("a.row .title") === "About fast"`)
	if after := len(d.requests()); after != before {
		t.Errorf("%d requests more", after-before)
	}
	// An empty field shows the start, also after a late response.
	b.Eval(`(() => { const i = $("[role=combobox]"); i.value = "gone"; i.dispatchEvent(new Event("input")); i.value = ""; i.dispatchEvent(new Event("input")); })()`, nil)
	b.Until(`$$(".row").length === 0 && text(".message").startsWith("Find a page")`)
	b.Clean()
}

func TestFastTypingSendsOneSearch(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	d.answers(echo(nil), nil)
	b := visit(t, newSite(t).put(home, "/", page{attributes: attributes(d.url, "svc_pk_x", "data-collection", "018f0000-0000-8000-8000-00000000c011")}))
	b.Until("window.MagpieWidget")
	b.Eval(`(() => { MagpieWidget.open(); const i = $("[role=combobox]"); for (const c of "rotate the key") { i.value += c; i.dispatchEvent(new Event("input")); } })()`, nil)
	b.Until(`text("a.row .title") === "About rotate the key"`)
	// What was typed is searched for once. A second later the query is settled, and is searched for as such.
	b.Until(`$("#panel-search:not(.busy)")`)
	settled := `{"query":"rotate the key","collection":"018f0000-0000-8000-8000-00000000c011","limit":10,"distinct":"document","highlight":true}`
	typed := strings.TrimSuffix(settled, "}") + `,"prefix":true}`
	b.Eval(`new Promise((done) => setTimeout(done, 1500))`, nil)
	if got := d.requests(); !slices.Equal(got, []string{typed, settled}) {
		t.Errorf("%q", got)
	}
	if got := d.suggestions(); !slices.Equal(got, []string{"q=rotate+the+key&limit=4&collection=018f0000-0000-8000-8000-00000000c011"}) {
		t.Errorf("%q", got)
	}
	// A click on a result tells of it, with the request that was settled. Typing on and selecting settles at once.
	b.Eval(`(() => { document.addEventListener("magpie:select", (e) => e.preventDefault()); $("a.row").click(); })()`, nil)
	b.Eval(`(() => { MagpieWidget.open(); const i = $("[role=combobox]"); i.value = "keys"; i.dispatchEvent(new Event("input")); })()`, nil)
	b.Until(`text("a.row .title") === "About keys"`)
	b.Press(kb.Enter)
	b.Until(`!$("dialog").open`)
	for deadline := time.Now().Add(patience); len(d.requests()) < 6 && time.Now().Before(deadline); {
		b.Until("true")
	}
	got := strings.Join(d.requests()[2:], "\n")
	for _, want := range []string{`{"type":"click","request_id":"request-7","result_id":"` + resultID + `","position":0}`, `{"query":"keys","collection":"018f0000-0000-8000-8000-00000000c011","limit":10,"distinct":"document","highlight":true,"prefix":true}`,
		`{"query":"keys","collection":"018f0000-0000-8000-8000-00000000c011","limit":10,"distinct":"document","highlight":true}`} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%s has %d times %s", got, strings.Count(got, want), want)
		}
	}
	if !regexp.MustCompile(`{"type":"click","request_id":"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}","result_id"`).MatchString(got) {
		t.Errorf("%s has no click with an id of its own", got)
	}
}

const resultID = "018f0000-0000-8000-8000-000000003355"

func TestNothingIsMissingInTheMiddleOfAWord(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	d.answers(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Query   string
			Prefix  bool
			Filters map[string]any
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			return
		}
		if asked.Prefix && asked.Query != "xyz" {
			searchResults(map[string]any{"id": "1", "document_id": "a", "title": fmt.Sprint("In ", asked.Filters), "heading_path": []string{"Page", "One"}}, map[string]any{"id": "2", "document_id": "b", "title": "Other"})(w, r)
			return
		}
		searchResults()(w, r)
	}, nil)
	s := newSite(t)
	b := visit(t, s.put(home, "/", page{attributes: attributes(d.url, "svc_pk_x", "data-mode", "search", "data-filters", `{"tags": ["a"], "version": "1.0"}`, "data-versions", "2.0, 1.0"),
		body: article + `<button id="second" data-magpie-open data-magpie-widget="api">API</button><script src="` + d.url + `/widget.js" data-key="svc_pk_y" data-name="api" data-mode="chat" data-lang="fr-CA" defer></script>`}))
	b.Until("window.MagpieWidget?.widgets.length === 2")
	b.Eval(`(() => { window.seen = ""; MagpieWidget.open(); new MutationObserver(() => { seen += text(".message"); }).observe($(".message"), {childList: true, subtree: true});
		const i = $("[role=combobox]"); i.value = "kuberne"; i.dispatchEvent(new Event("input")); })()`, nil)
	b.Until(`$$("a.row, div.row[role=option]").length === 2`)
	b.Eval(`new Promise((done) => setTimeout(done, 1500))`, nil)
	b.Is(`/Nothing/.test(seen) + $$(".row .title").map((e) => e.textContent).join()`, "falseOne,Other") // kept when settled
	b.Is(`$(".version").value + [...$(".version").options].map((o) => o.text).join()`, "1.02.0,1.0,All versions")
	if got := d.requests(); len(got) != 2 || !strings.Contains(got[0], `"filters":{"tags":["a"],"version":"1.0"}`) {
		t.Errorf("%q", got)
	}
	b.Eval(`(() => { $(".version").value = ""; $(".version").dispatchEvent(new Event("change")); })()`, nil)
	b.Until(`text(".message").startsWith("Nothing was found for “kuberne”.")`)
	if got := d.requests(); !strings.Contains(got[len(got)-1], `"filters":{"tags":["a"]}`) {
		t.Errorf("%q", got)
	}
	b.Eval(`(() => { const i = $("[role=combobox]"); i.value = "xyz"; i.dispatchEvent(new Event("input")); })()`, nil)
	b.Until(`text(".message") === "Searching"`)
	b.Until(`text(".message").startsWith("Nothing was found for “xyz”.")`)
	b.Press(kb.Escape)
	// The second widget is the script's own, in its language, without a button.
	b.Click(`document.querySelector("#second")`)
	b.Until(`MagpieWidget.widgets[1].element.shadowRoot.querySelector("dialog").open && !$("dialog").open`)
	b.Is(`MagpieWidget.widgets[1].name + MagpieWidget.widgets[1].element.shadowRoot.querySelector("textarea").placeholder + MagpieWidget.widgets[1].element.shadowRoot.querySelector(".launch")`, "apiPoser une questionnull")
	d.answers(nil, chatAnswer("Once a year."))
	b.Eval(`MagpieWidget.widgets[1].open({query: "How often?"})`, nil)
	b.Until(`MagpieWidget.widgets[1].element.shadowRoot.querySelector(".thumbs button[aria-label=Utile]")`)
	b.Eval(`MagpieWidget.widgets[1].element.shadowRoot.querySelector(".thumbs button[aria-label=Utile]").click()`, nil)
	b.Until(`MagpieWidget.widgets[1].element.shadowRoot.querySelector(".thumbs").textContent === "Merci."`)
	for deadline := time.Now().Add(patience); !slices.Contains(d.requests(), `{"type":"feedback","request_id":"request-7","rating":"positive"}`); {
		if b.Until("true"); time.Now().After(deadline) {
			t.Fatalf("no thumb: %q", d.requests())
		}
	}
}

func TestMoreResultsAreLoaded(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	d.answers(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Offset int }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			return
		}
		results := []map[string]any{}
		for i := asked.Offset; i < min(asked.Offset+10, 23); i++ {
			results = append(results, map[string]any{"id": fmt.Sprint(i), "title": fmt.Sprint("Result ", i), "url": "https://docs.example.com/", "snippet": "s"})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": map[string]any{"results": results, "total": 23}})
	}, nil)
	b := visit(t, newSite(t).put(home, "/", page{attributes: attributes(d.url, "svc_pk_x", "data-mode", "search")}))
	b.Until("window.MagpieWidget")
	b.Eval(`MagpieWidget.open({query: "x"})`, nil)
	b.Until(`text("[role=status]") === "10 of 23 results"`)
	b.Press(kb.ArrowUp)
	b.Is(`active().textContent`, "More results")
	b.Press(kb.Enter)
	b.Until(`text("[role=status]") === "20 of 23 results"`)
	b.Is(`active().querySelector(".title").textContent`, "Result 10")
	b.Press(kb.End)
	b.Press(kb.Enter)
	b.Until(`text("[role=status]") === "23 results" && !$(".more")`)
	b.Is(`$$(".row").length`, "23")
	b.Is(`$$("[role=tab], .ask").length`, "0") // the page enables search only
}

func TestACorrectedQueryIsDisplayed(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	d.answers(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Query string }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			return
		}
		data := map[string]any{"results": []map[string]any{}, "total": 0}
		if strings.HasSuffix(asked.Query, "bok") {
			data["did_you_mean"], data["corrected"] = "<b>playbook", []map[string]any{{"from": "playbok", "to": "playbook"}}
		}
		if strings.HasPrefix(asked.Query, "play") {
			data["results"], data["total"] = []map[string]any{{"id": "1", "title": "Playbooks", "url": "https://docs.example.com/", "snippet": "s"}}, 1
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	}, nil)
	b := visit(t, newSite(t).put(home, "/", page{attributes: attributes(d.url, "svc_pk_x", "data-mode", "search")}))
	b.Until("window.MagpieWidget")
	b.Eval(`MagpieWidget.open({query: "playbok"})`, nil)
	b.Until(`$$("a.row").length === 1`)
	b.Is(`text(".corrected") + text("[role=status]")`, "Showing results for “<b>playbook”Showing results for “<b>playbook”. 1 result")
	screenshot(b, "corrected")
	b.Eval(`MagpieWidget.open({query: "playbook"})`, nil)
	b.Until(`text("[role=status]") === "1 result"`)
	b.Is(`$(".corrected").hidden`, "true")
	b.Eval(`MagpieWidget.open({query: "xbok"})`, nil)
	b.Until(`text(".message").startsWith("Nothing was found for “<b>playbook”.")`)
	b.Is(`$(".corrected").hidden`, "true")
}

func TestAPageMayHandleResults(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	d.answers(echo(nil), nil)
	b := visit(t, newSite(t).put(home, "/", page{attributes: attributes(d.url, "svc_pk_x")}))
	b.Until("window.MagpieWidget")
	b.Eval(`(() => { document.addEventListener("magpie:select", (e) => { e.preventDefault(); window.chosen = e.detail.query + " " + e.detail.result.url; }); MagpieWidget.open({query: "keys"}); })()`, nil)
	b.Until(`$("a.row")`)
	b.Press(kb.Enter)
	b.Until(`window.chosen === "keys https://docs.example.com/keys" && !$("dialog").open`)
	b.Is(`location.pathname`, "/")
}

func TestTheFocusStaysInTheDialog(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	d.answers(echo(nil), nil)
	b := visit(t, newSite(t).put(home, "/", page{attributes: attributes(d.url, "svc_pk_x")}))
	b.Until("window.MagpieWidget")
	b.Eval(`document.addEventListener("keydown", (e) => { window.leaked = (window.leaked ?? "") + e.key; })`, nil)
	b.Click(`$(".launch")`)
	b.Until(`focused() === $("[role=combobox]")`)
	b.Type("keys")
	b.Until(`$("a.row")`)
	var seen []string
	for range 12 {
		seen = append(seen, b.Text(`focused().getAttribute("aria-label") ?? focused().textContent`))
		b.Press(kb.Tab)
	}
	want := []string{"Search", "Clear", "Search", "Close"}
	if !slices.Equal(seen[:8], append(slices.Clone(want), want...)) {
		t.Errorf("%q", seen)
	}
	b.Eval(`$("[role=combobox]").focus()`, nil)
	b.Press(kb.Tab, input.ModifierShift)
	b.Press(kb.Tab, input.ModifierShift)
	b.Is(`focused().getAttribute("role")`, "tab")
	b.Press(kb.ArrowRight)
	b.Is(`focused().textContent + focused().getAttribute("aria-selected") + $("#panel-chat").hidden`, "Asktruefalse")
	b.Press(kb.ArrowRight)
	b.Is(`focused().textContent + $("#panel-chat").hidden`, "Searchtrue")
	// The page does not receive keys that are typed in the dialog.
	b.Is(`window.leaked`, "undefined")
	// A click outside closes the dialog and focuses the button that opened it.
	b.Do(chromedp.MouseClickXY(20, 400))
	b.Until(`!$("dialog").open && focused() === $(".launch")`)
	b.Clean()
}

// With an empty field, the list of versions and the button that closes are the last stops.
func TestTheFocusReachesTheVersions(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	b := visit(t, newSite(t).put(home, "/", page{attributes: attributes(d.url, "svc_pk_x", "data-versions", "2.0, 1.9")}))
	b.Until("window.MagpieWidget")
	b.Click(`$(".launch")`)
	b.Until(`focused() === $("[role=combobox]")`)
	var seen []string
	for range 8 {
		seen = append(seen, b.Text(`focused().getAttribute("aria-label") ?? focused().textContent`))
		b.Press(kb.Tab)
	}
	want := []string{"Search", "Version", "Search", "Close"}
	if !slices.Equal(seen, append(slices.Clone(want), want...)) {
		t.Errorf("%q", seen)
	}
	b.Eval(`$("[role=tab][tabindex='0']").focus()`, nil)
	b.Press(kb.Tab, input.ModifierShift)
	b.Is(`focused().className`, "version")
	b.Clean()
}

func TestAssistiveTechnologySeesACombobox(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	d.answers(echo(nil), chatAnswer("Once a year [1].", map[string]any{"id": "1", "title": "Keys"}))
	b := visit(t, newSite(t).put(home, "/", page{attributes: attributes(d.url, "svc_pk_x", "data-title", "Handbook")}))
	b.Until("window.MagpieWidget")
	tree := b.Accessible()
	if !slices.ContainsFunc(tree["button"], func(n browser.Node) bool { return n.Name.Value == "Search" && n.Property("hasPopup") == "dialog" }) {
		t.Errorf("no button: %+v", tree["button"])
	}
	b.Eval(`MagpieWidget.open({query: "keys"})`, nil)
	b.Until(`$("a.row")`)
	tree = b.Accessible()
	one := func(role, name string, properties ...any) {
		t.Helper()
		for _, n := range tree[role] {
			if n.Name.Value != name {
				continue
			}
			for i := 0; i < len(properties); i += 2 {
				if got := n.Property(properties[i].(string)); got != properties[i+1] {
					t.Errorf("%s %q: %v is %v", role, name, properties[i], got)
				}
			}
			return
		}
		t.Errorf("no %s named %q: %+v", role, name, tree[role])
	}
	one("dialog", "Handbook", "modal", true)
	one("combobox", "Search", "expanded", true, "focused", true, "autocomplete", "list")
	one("listbox", "Results")
	one("option", "Ask about “keys”", "selected", false)
	one("option", "About keys keys (opens in a new tab)", "selected", true)
	one("tab", "Search", "selected", true)
	one("tab", "Ask", "selected", false)
	one("tabpanel", "Search")
	one("button", "Close")
	one("status", "")
	b.Eval(`MagpieWidget.open({mode: "chat", query: "How often?"})`, nil)
	b.Until(`$(".sources li")`)
	tree = b.Accessible()
	one("log", "Conversation")
	one("textbox", "Ask a question", "focused", true)
	one("article", "Answer")
	one("button", "Source 1: Keys")
	one("button", "Send", "disabled", true)
	one("heading", "Sources")
	// Every control has a name.
	for _, role := range []string{"button", "link", "tab", "option", "textbox", "combobox"} {
		for _, n := range tree[role] {
			if name, _ := n.Name.Value.(string); strings.TrimSpace(name) == "" {
				t.Errorf("a %s has no name", role)
			}
		}
	}
}

func TestLanguageLabelsAndDirection(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	d.answers(searchResults(), nil)
	s := newSite(t)
	german := visit(t, s.put(home, "/de", page{attributes: attributes(d.url, "svc_pk_x", "data-lang", "de-AT", "data-labels", `{"close": "Zu", "x": 1}`)}))
	german.Until("window.MagpieWidget")
	german.Eval(`MagpieWidget.open({query: "Schlüssel"})`, nil)
	german.Until(`text(".message").startsWith("Zu „Schlüssel“ wurde nichts gefunden.")`)
	german.Is(`$$("[role=tab]").map((e) => e.textContent).join() + text(".ask .title")`, "Suchen,FragenNach „Schlüssel“ fragen")
	german.Is(`$("header .quiet").getAttribute("aria-label") + $(".root").lang`, "Zude-AT")
	screenshot(german, "german")
	// The default language is that of the page. Arabic is written from the right, with English labels.
	arabic := visit(t, s.put(home, "/ar", page{attributes: attributes(d.url, "svc_pk_x", "data-placeholder", "ابحث في الوثائق", "data-title", "الدليل"), html: `lang="ar" dir="rtl"`}))
	arabic.Until("window.MagpieWidget")
	d.answers(searchResults(map[string]any{"id": "1", "title": "تدوير المفتاح", "url": "https://x.example.org/", "snippet": "يتم تدوير <mark>المفتاح</mark> مرة واحدة في السنة.", "heading_path": []string{"تدوير المفتاح", "الخطوات"}},
		map[string]any{"id": "2", "title": "Rotate the key", "url": "https://x.example.org/", "snippet": "Once a year."}), nil)
	arabic.Eval(`MagpieWidget.open({query: "المفتاح"})`, nil)
	arabic.Until(`$$("a.row").length === 2`)
	arabic.Is(`$(".root").dir + getComputedStyle($(".launch")).left + $("[role=combobox]").placeholder`, "rtl20pxابحث في الوثائق")
	arabic.Is(`$("a.row .icon-page").getBoundingClientRect().x > $("a.row .title").getBoundingClientRect().x`, "true")
	screenshot(arabic, "arabic")
}

func TestInvalidAttributesAreIgnored(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	s := newSite(t)
	b := visit(t, s.put(home, "/", page{attributes: attributes(d.url, "svc_pk_x", "data-theme", "pink", "data-accent", "red;}*{display:none", "data-mode", "x",
		"data-labels", "{", "data-min-score", "7", "data-hotkey", "/", "data-button", "false", "data-collection", "Handbook")}))
	b.Until("window.MagpieWidget")
	b.Is(`$(".launch")`, "null")
	b.Is(`$(".root").className`, "root light")
	// A key without Ctrl opens the widget except in a text field.
	b.Eval(`document.querySelector("#field").focus()`, nil)
	b.Type("/")
	b.Is(`$("dialog").open + document.querySelector("#field").value`, "false/")
	b.Eval(`document.activeElement.blur()`, nil)
	b.Type("/")
	b.Until(`$("dialog").open`)
	b.Is(`$("[role=combobox]").value`, "")
	b.Type("/") // does not close it
	b.Is(`$("dialog").open + $("[role=combobox]").value`, "true/")
	// Loading it twice creates one widget; removing it from the page restores it.
	b.Eval(`new Promise((done) => { const script = document.createElement("script"); script.src = "`+d.url+`/widget.js"; script.dataset.key = "svc_pk_x"; script.onload = done; document.head.append(script); })`, nil)
	b.Is(`document.querySelectorAll("magpie-widget").length`, "1")
	b.Eval(`(() => { MagpieWidget.close(); MagpieWidget.element.remove(); MagpieWidget.open(); })()`, nil)
	b.Is(`$("dialog").open`, "true")
	// A collection that is none is in no request.
	d.answers(echo(nil), chatAnswer("Once a year."))
	b.Eval(`MagpieWidget.open({query: "keys"})`, nil)
	b.Until(`text("a.row .title") === "About keys"`)
	b.Eval(`MagpieWidget.open({mode: "chat", query: "How often?"})`, nil)
	b.Until(`$(".next button")`)
	if got := d.requests(); slices.ContainsFunc(got, func(body string) bool { return strings.Contains(body, "collection") }) || len(got) < 2 {
		t.Errorf("%q", got)
	}
	// Without a key there is no widget.
	without := visit(t, s.put(home, "/without", page{attributes: map[string]string{"src": d.url + "/widget.js"}}))
	without.Until(`document.readyState === "complete"`)
	without.Is(`window.MagpieWidget`, "undefined")
	// A secret key is rejected.
	secret := visit(t, s.put(home, "/secret", page{attributes: attributes(d.url, "svc_sk_x")}))
	secret.Until(`document.readyState === "complete"`)
	secret.Is(`window.MagpieWidget`, "undefined")
}

// legible is an expression for the WCAG contrast of an element's text.
const legible = `((e) => {
  const parse = (c) => c.match(/[\d.]+/g).map(Number), light = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  let ground = e; while (ground && (parse(getComputedStyle(ground).backgroundColor)[3] ?? 1) < 1) ground = ground.parentElement;
  const [a, b] = [light(parse(getComputedStyle(e).color)), light(parse(getComputedStyle(ground).backgroundColor))].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
})`

func TestThemesAccentsAndSmallScreens(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	d.answers(searchResults(map[string]any{"id": "1", "title": "Rotate the signing key", "url": "https://x.example.org/", "version": "v2.0", "snippet": "The <mark>signing</mark> <mark>key</mark> is rotated once a year, by hand.", "heading_path": []string{"Rotate the signing key", "Steps"}},
		map[string]any{"id": "2", "title": "Releases", "url": nil, "snippet": "A release is cut every second Tuesday. The <mark>signing</mark> <mark>key</mark> signs the archives."}),
		chatAnswer("The signing key is rotated **once a year** [1], by hand:\n\n1. Run `magpie keys rotate` on the primary server.\n2. Restart every replica [2].\n\n| Role | May rotate |\n|---|---|\n| Administrator | yes |\n| Member | no |\n",
			map[string]any{"id": "1", "title": "Rotate the signing key", "url": "https://x.example.org/"}, map[string]any{"id": "2", "title": "Releases"}))
	s := newSite(t)
	dark := emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}, {Name: "prefers-reduced-motion", Value: "reduce"}})
	for name, c := range map[string]struct {
		more  []string
		first []chromedp.Action
		theme string
	}{
		"light": {nil, nil, "light"}, "dark": {nil, []chromedp.Action{dark}, "dark"}, "forced-light": {[]string{"data-theme", "light"}, []chromedp.Action{dark}, "light"},
		"yellow": {[]string{"data-accent", "#ffe14d"}, nil, "light"}, "yellow-dark": {[]string{"data-accent", "#fe4", "data-theme", "dark"}, nil, "dark"},
		"navy-dark": {[]string{"data-accent", "#0b1f4a", "data-theme", "dark"}, nil, "dark"},
		"small":     {nil, []chromedp.Action{chromedp.EmulateViewport(390, 760, chromedp.EmulateMobile, chromedp.EmulateScale(2))}, "light"},
		"contrast":  {nil, []chromedp.Action{emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "forced-colors", Value: "active"}})}, "light"},
	} {
		b := visit(t, s.put(home, "/"+name, page{attributes: attributes(d.url, "svc_pk_x", append(c.more, "data-versions", "2.0, 1.9")...)}), c.first...)
		b.Until("window.MagpieWidget")
		screenshot(b, "theme-"+name+"-page")
		b.Eval(`MagpieWidget.open({query: "signing key"})`, nil)
		b.Until(`$$(".row").length === 3`)
		b.Is(`$(".root").className`, "root "+c.theme)
		screenshot(b, "theme-"+name+"-search")
		if name != "contrast" { // where the system chooses the colours
			b.Is(`$$(".title, .path, .snippet, mark, .tag, .tabs button, .count, .row.ask .title, .version").map((e) => [e.className || e.localName, `+legible+`(e)]).filter(([, n]) => n < 4.5).join()`, "")
		}
		b.Eval(`MagpieWidget.open({mode: "chat", query: "How is the signing key rotated?"})`, nil)
		b.Until(`$(".next button")`)
		b.Eval(`($("textarea").value = "And who may?", $("textarea").dispatchEvent(new Event("input")))`, nil)
		screenshot(b, "theme-"+name+"-chat")
		if name != "contrast" {
			b.Is(`$$(".text p, .text td, .text th, .text code, .cite, .question p, .sources a, .sources li, h3, .next button, .send:not([hidden]), .button.small").map((e) => [e.className || e.localName, `+legible+`(e)]).filter(([, n]) => n < 4.5).join()`, "")
		}
		b.Is(`document.documentElement.scrollWidth <= innerWidth && $(".frame").scrollWidth <= $(".frame").clientWidth`, "true")
		if name == "small" {
			b.Until(`[$(".frame").getBoundingClientRect().width, $(".frame").getBoundingClientRect().height].join() === "390,760"`) // at the end of the animation
		}
		if name == "dark" {
			b.Is(`parseFloat(getComputedStyle($(".frame")).animationDuration) < 0.001`, "true")
		}
		b.Clean()
	}
}
