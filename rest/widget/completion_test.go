package widget_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/magpie-search/magpie/internal/testkit"
)

// typed is an expression that replaces the text of the search field.
func typed(text string) string {
	return `(() => { const i = $("[role=combobox]"); i.value = "` + text + `"; i.dispatchEvent(new Event("input")); })()`
}

const shownCompletions = `$$(".completion").map((e) => e.textContent).join()`

func TestCompletionsFillTheField(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	d.answers(echo(nil), nil)
	d.suggests(completions("ROTATE", "rotated keys", "rotates <b>", "rotation", "rotor"))
	b := visit(t, newSite(t).put(home, "/", page{attributes: attributes(d.url, "svc_pk_x")}))
	b.Until("window.MagpieWidget")
	b.Eval(`MagpieWidget.open()`, nil)
	b.Eval(typed("rotate"), nil)
	b.Until(shownCompletions + ` === "rotated keys,rotates <b>,rotation"`)
	// Enter would open the first result.
	b.Is(`active().textContent.startsWith("About rotate") + "," + $$("[role=option]").indexOf(active())`, "true,4")
	b.Is(`$$(".completion")[1].getAttribute("aria-label") + $$(".completion b").length`, "Search for “rotates <b>”0")
	screenshot(b, "completions")
	// They stay when the query is settled, and are asked for once.
	b.Eval(`new Promise((done) => setTimeout(done, 1300))`, nil)
	b.Is(shownCompletions, "rotated keys,rotates <b>,rotation")
	if asked := d.suggestions(); len(asked) != 1 || asked[0] != "q=rotate&limit=4" {
		t.Errorf("%q", asked)
	}
	// The keys choose one, which is searched for as a settled query.
	for range 4 {
		b.Press(kb.ArrowUp)
	}
	b.Is(`active().textContent`, "rotated keys")
	b.Press(kb.Enter)
	b.Until(`text("a.row .title") === "About rotated keys"`)
	b.Is(`$("[role=combobox]").value + $("dialog").open + (focused() === $("[role=combobox]"))+ `+shownCompletions, "rotated keystruetrue")
	if got := d.requests(); strings.Contains(got[len(got)-1], "prefix") || len(d.suggestions()) != 1 {
		t.Errorf("%q %q", got, d.suggestions())
	}
	// So does the pointer. A query from the cache has its completions.
	b.Eval(typed("rotate"), nil)
	b.Until(shownCompletions + ` === "rotated keys,rotates <b>,rotation"`)
	b.Click(`$$(".completion")[2]`)
	b.Until(`text("a.row .title") === "About rotation"`)
	b.Is(`$("[role=combobox]").value + (focused() === $("[role=combobox]"))`, "rotationtrue")
	b.Clean()
}

func TestCompletionsAreThoseOfTheFilters(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	d.answers(echo(nil), nil)
	d.suggests(func(w http.ResponseWriter, r *http.Request) {
		completions("rotate "+r.URL.Query().Get("filters[version]"))(w, r)
	})
	in := attributes(d.url, "svc_pk_x", "data-versions", "2.0,1.0", "data-filters", `{"tags": ["a,b", "c"], "section": "guides"}`)
	b := visit(t, newSite(t).put(home, "/", page{attributes: in}))
	b.Until("window.MagpieWidget")
	b.Eval(`MagpieWidget.open()`, nil)
	b.Eval(typed("rotate"), nil)
	b.Until(shownCompletions + ` === "rotate 2.0"`)
	b.Eval(`(() => { const v = $("select.version"); v.value = "1.0"; v.dispatchEvent(new Event("change")); })()`, nil)
	b.Eval(typed("rotat"), nil)
	b.Eval(typed("rotate"), nil)
	b.Until(shownCompletions + ` === "rotate 1.0"`)
	asked := d.suggestions()
	for _, one := range asked {
		if query, err := url.ParseQuery(one); err != nil || query.Get("filters[section]") != "guides" || strings.Join(query["filters[tags]"], "|") != "a,b|c" {
			t.Errorf("%q, %v", one, err)
		}
	}
	b.Clean()
}

func TestOnlyCompletionsOfWhatIsTypedAreDisplayed(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	d.answers(echo(nil), nil)
	gone := make(chan struct{}, 1)
	d.suggests(func(w http.ResponseWriter, r *http.Request) {
		switch q := r.URL.Query().Get("q"); q {
		case "slow":
			<-r.Context().Done()
			gone <- struct{}{}
		case "limited":
			refused(429, "rate_limited", "Rate limit exceeded", "Retry-After", "60")(w, r)
		case "broken":
			_, _ = w.Write([]byte(`{"data": {"completions": [7, null]}}`))
		default:
			completions(q+"s")(w, r)
		}
	})
	b := visit(t, newSite(t).put(home, "/", page{attributes: attributes(d.url, "svc_pk_x")}))
	b.Until("window.MagpieWidget")
	b.Eval(`(() => { MagpieWidget.open(); window.seen = ""; new MutationObserver(() => { seen += text(".message"); }).observe($(".message"), {childList: true}); })()`, nil)
	for _, query := range []string{"slow", "limited", "broken"} { // results do not need them
		b.Eval(typed(query), nil)
		b.Until(`text("a.row .title") === "About ` + query + `"`)
		b.Is(shownCompletions+` + seen`, "")
	}
	testkit.ReceiveWithin(t, patience, "typing to end the request for completions", gone)
	b.Eval(typed("fast"), nil)
	b.Until(shownCompletions + ` === "fasts"`)
	b.Eval(typed(strings.Repeat("a", 201)), nil)
	b.Until(`text("a.row .title").length === 207`)
	b.Is(shownCompletions, "")
	if asked := d.suggestions(); len(asked) != 4 {
		t.Errorf("%q", asked)
	}
}

func TestVersionsAreFoundInTheDocuments(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	answer := func(versions map[string][]string) {
		d.answers(func(w http.ResponseWriter, r *http.Request) {
			var asked struct {
				Query  string
				Facets []string
			}
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
				return
			}
			data := map[string]any{"results": []map[string]any{{"id": resultID, "title": "About " + asked.Query, "snippet": "s"}}, "total": 1}
			if asked.Facets != nil {
				values := []map[string]any{}
				for _, version := range versions[asked.Query] {
					values = append(values, map[string]any{"value": version, "label": version, "count": 1})
				}
				data["facets"] = []map[string]any{{"name": "version", "values": values}}
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
		}, nil)
	}
	answer(map[string][]string{"keys": {"1.9", "1.10"}, "users": {"2.0", "1.9"}})
	s := newSite(t)
	b := visit(t, s.put(home, "/", page{attributes: attributes(d.url, "svc_pk_x", "data-mode", "search", "data-versions", "auto")}))
	b.Until("window.MagpieWidget")
	search := func(query string) (request string) {
		t.Helper()
		b.Eval(`MagpieWidget.open({query: "`+query+`"})`, nil)
		b.Until(`text(".row .title") === "About ` + query + `"`)
		all := d.requests()
		return all[len(all)-1]
	}
	const offered = `$(".version").hidden + [...$(".version").options].map((o) => o.text).join() + "=" + $(".version").value`
	if got := search("none"); !strings.Contains(got, `"facets":["version"]`) {
		t.Errorf("%s", got)
	}
	b.Is(offered, "true=")
	search("keys")
	b.Is(offered, "false1.10,1.9,All versions=")
	search("users")
	b.Is(offered, "false2.0,1.10,1.9,All versions=")
	b.Eval(`(() => { $(".version").value = "1.10"; $(".version").dispatchEvent(new Event("change")); })()`, nil)
	b.Until(`$("#panel-search:not(.busy)")`)
	if got := search("last"); !strings.Contains(got, `"filters":{"version":"1.10"}`) || strings.Contains(got, "facets") {
		t.Errorf("%s", got)
	}
	// What is typed is searched for without counting. The page's own filter is chosen.
	other := visit(t, s.put(home, "/other", page{attributes: attributes(d.url, "svc_pk_x", "data-versions", "auto", "data-filters", `{"version": "1.9"}`)}))
	other.Until("window.MagpieWidget")
	other.Eval(`MagpieWidget.open()`, nil)
	before := len(d.requests())
	other.Eval(typed("users"), nil)
	other.Until(`!$(".version").hidden`)
	other.Is(offered, "false2.0,1.9,All versions=1.9")
	got := d.requests()[before:]
	if len(got) != 2 || strings.Contains(got[0], "facets") || !strings.Contains(got[1], `"facets":["version"]`) || !strings.Contains(got[1], `"filters":{"version":"1.9"}`) {
		t.Errorf("%q", got)
	}
}

func TestCopiesAreCounted(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	d.answers(searchResults(
		map[string]any{"id": "1", "title": "Keys", "version": "5.0", "snippet": "s", "duplicates": map[string]any{"count": 6, "versions": []string{"4.0", "3.0", "2.0", "1.0"}}},
		map[string]any{"id": "2", "title": "Copied", "version": nil, "snippet": "s", "duplicates": map[string]any{"count": 2, "versions": []string{}}},
		map[string]any{"id": "3", "title": "Two", "version": "2.0", "snippet": "s", "duplicates": map[string]any{"count": 1, "versions": []string{"1.0"}}},
		map[string]any{"id": "4", "title": "One", "version": "2.0", "snippet": "s"}), nil)
	b := visit(t, newSite(t).put(home, "/", page{attributes: attributes(d.url, "svc_pk_x", "data-mode", "search", "data-lang", "de")}))
	b.Until("window.MagpieWidget")
	b.Eval(`MagpieWidget.open({query: "keys"})`, nil)
	b.Until(`$$(".row").length === 4`)
	b.Is(`$$(".row").map((e) => [...e.querySelectorAll(".tag")].map((tag) => tag.firstChild.textContent).join(" ")).join()`, "5.0 4.0 3.0 2.0 +3,+2,2.0 1.0,2.0")
	b.Is(`$$(".tag .sr").map((e) => e.textContent).join()`, "3 weitere mit demselben Text,2 weitere mit demselben Text")
	screenshot(b, "copies")
}
