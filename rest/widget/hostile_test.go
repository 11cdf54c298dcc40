package widget_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// searchResults answers a search.
func searchResults(results ...map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if results == nil {
			results = []map[string]any{}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"data": map[string]any{
			"results": results, "total": len(results), "limit": 10, "offset": 0, "took_ms": 1,
		}})
	}
}

// completions answers a request for completions.
func completions(texts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if texts == nil {
			texts = []string{}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": map[string]any{"completions": texts, "titles": []any{}}})
	}
}

// chatAnswer answers a chat.
func chatAnswer(text string, sources ...map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if sources == nil {
			sources = []map[string]any{}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Conversation-Id", "018f0000-0000-8000-8000-00000000ca70")
		for _, e := range []struct {
			name string
			data any
		}{
			{"content", map[string]any{"delta": text}}, {"sources", map[string]any{"sources": sources}},
			{"follow_up", map[string]any{"questions": []string{attack}}}, {"done", map[string]any{"usage": map[string]any{}}},
		} {
			data, err := json.Marshal(e.data)
			if err != nil {
				return
			}
			_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.name, data)
		}
	}
}

func refused(status int, code, message string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"code": code, "message": message}})
	}
}

// attack is a text that runs a script where it is interpreted as HTML.
const attack = `<img src=x onerror="window.hacked=1"><script>window.hacked=2</script>"'><svg onload=window.hacked=3>`

// addresses returns URLs that links must not have.
func addresses() []string {
	return []string{
		"javascript:window.hacked=4", " JaVaScRiPt:window.hacked=5", "java\nscript:window.hacked=6", "data:text/html,<script>window.hacked=7</script>",
		"vbscript:x", "file:///etc/passwd", "blob:http://docs.example.com/x", "//evil.example.net", "/relative", "not an address", "",
	}
}

func TestHostileContentIsDisplayedAsText(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	results := []map[string]any{{
		"id": "0", "document_id": "0", "title": attack, "url": "https://good.example.com/a?b=1&c=\"'<>#x", "heading_path": []string{attack, attack}, "version": attack,
		"snippet":  `a &lt;b&gt; &amp;amp; &#34;q&#39; <mark>hit</mark> ` + attack + `<mark onclick=window.hacked=8>x</mark><a href="javascript:window.hacked=9">y</a> &#x1F426; &#0; &#99999999; &unknown;`,
		"metadata": map[string]any{},
	}}
	for i, address := range addresses() {
		results = append(results, map[string]any{
			"id": fmt.Sprint(i), "document_id": "1", "title": "T" + fmt.Sprint(i), "url": address, "snippet": "s", "heading_path": nil, "metadata": map[string]any{"url": address},
		})
	}
	// Missing fields and fields of other types must not break the list.
	results = append(results, map[string]any{"id": 7, "title": nil, "url": 7, "snippet": nil, "heading_path": "x", "metadata": nil, "version": map[string]any{}})
	links := make([]string, 0, len(addresses()))
	sources := []map[string]any{{"id": "s", "title": attack, "url": "https://good.example.com/"}}
	for _, address := range addresses() {
		links = append(links, "[link]("+address+")")
		sources = append(sources, map[string]any{"id": "s", "title": "bad", "url": address})
	}
	text := attack + "\n\n# " + attack + "\n\n- " + attack + "\n\n> " + attack + "\n\n```html\n" + attack + "\n```\n\n| " + attack + " |\n|---|\n| x |\n\n" +
		strings.Join(links, " ") + " ![picture](https://evil.example.net/pixel.png) <javascript:x> [1] [2] [99] [good](https://good.example.com/x) https://bare.example.com/y."
	d.answers(searchResults(results...), chatAnswer(text, sources...))
	b := visit(t, newSite(t).put(home, "/", page{attributes: attributes(d.url, "svc_pk_x", "data-title", attack)}))
	b.Until("window.MagpieWidget")
	b.Eval(`MagpieWidget.open({query: "x"})`, nil)
	b.Until(fmt.Sprintf(`$$(".row:not(.ask)").length === %d`, len(results)))
	b.Is(`$$(".row:not(.ask) .title")[0].firstChild.data`, attack)
	b.Is(`$$(".row .snippet")[0].textContent`, `a <b> &amp; "q' hit `+attack+`<mark onclick=window.hacked=8>x<a href="javascript:window.hacked=9">y</a> 🐦 &#0; &#99999999; &unknown;`)
	b.Is(`$$(".snippet mark").map((e) => e.textContent + e.attributes.length).join()`, "hit0")
	b.Is(`$$("a.row").map((e) => e.href).join()`, "https://good.example.com/a?b=1&c=%22%27%3C%3E#x")
	b.Is(`$$(".row").filter((e) => e.localName !== "a" && e.localName !== "div").length`, "0")
	screenshot(b, "hostile-search")

	// Results without a URL have no link.
	b.Click(`$$("div.row:not(.ask)")[0]`)
	b.Is(`$("dialog").open && $$("div.row:not(.ask)")[0].classList.contains("whole")`, "true")

	b.Eval(`MagpieWidget.open({mode: "chat", query: "x"})`, nil)
	b.Until(`$(".sources li") && $(".next button")`)
	b.Is(`$$(".text a:not(.cite)").map((e) => e.href + " " + e.rel + " " + e.target).join()`,
		"https://good.example.com/x noopener noreferrer _blank,https://bare.example.com/y noopener noreferrer _blank")
	b.Is(`$$(".text a.cite").map((e) => e.href).join()`, "https://good.example.com/")
	b.Is(`$$(".text .cite").length + " " + /\[99\]/.test($(".text").textContent)`, "2 true")
	b.Is(`text(".text pre code")`, attack)
	b.Is(`$$(".sources a").map((e) => e.href).join()`, "https://good.example.com/")
	b.Is(`text(".next button")`, attack)
	screenshot(b, "hostile-chat")

	// No element or attribute can run a script, no script ran, and there was no request to another host.
	b.Is(`$$("script, img, iframe, object, embed, style, link, form[action], svg [onload], mark[onclick]").length`, "0")
	b.Is(`$$("*").flatMap((e) => [...e.attributes]).filter((a) => /^on|^style$|^srcdoc$/i.test(a.name) || /javascript:/i.test(a.value)).length`, "0")
	b.Is(`window.hacked`, "undefined")
	b.Is(`[...new Set(performance.getEntriesByType("resource").map((e) => new URL(e.name).origin))].join()`, d.url)
	b.Clean()
}

func TestTheWidgetWorksWithAStrictPolicy(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	d.answers(searchResults(map[string]any{"id": "1", "title": "Keys", "url": "https://docs.example.com/keys", "snippet": "the <mark>key</mark>"}), chatAnswer("Once a year [1].", map[string]any{"id": "1", "title": "Keys"}))
	s := newSite(t)
	for path, source := range map[string]string{"/host": d.url, "/nonce": "'nonce-abc'"} {
		policy := "default-src 'none'; script-src " + source + "; connect-src " + d.url + "; img-src data:; style-src 'none'; base-uri 'none'; form-action 'none'; " +
			"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
		worksUnderPolicy(visit(t, s.put(home, path, page{attributes: attributes(d.url, "svc_pk_x", "data-accent", "#0a7d5a", "nonce", "abc"), policy: policy})))
	}
}

func worksUnderPolicy(b *tab) {
	b.Until("window.MagpieWidget")
	b.Click(`$(".launch")`)
	b.Until(`$("dialog").open`)
	b.Type("key")
	b.Until(`$(".row mark") && text(".ask .title") === "Ask about “key”"`)
	// The style sheet and the accent colour are applied.
	b.Is(`getComputedStyle($(".frame")).display + " " + getComputedStyle($(".root")).getPropertyValue("--accent")`, "flex rgb(10 125 90)")
	b.Press(kb.ArrowUp)
	b.Press(kb.Enter)
	b.Until(`$(".sources li") && text(".text").startsWith("Once a year 1.")`)
	b.Clean()
}

func TestErrorsHaveMessagesForVisitors(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	b := visit(t, newSite(t).put(home, "/", page{attributes: attributes(d.url, "svc_pk_x", "data-min-score", "0.2")}))
	b.Until("window.MagpieWidget")
	for i, c := range []struct {
		answer http.HandlerFunc
		want   string
	}{
		{refused(403, "forbidden", "Host not allowed"), `An administrator has to add docs.example.com to the allowed hosts`},
		{refused(403, "forbidden", "Collection access denied"), `may not read its collection`},
		{refused(401, "invalid_key", "Invalid API key"), `is not valid`},
		{refused(401, "key_expired", "API key has expired"), `has expired`},
		{refused(402, "quota_exceeded", "Quota"), `quota`},
		{refused(429, "rate_limited", "Rate limit exceeded", "Retry-After", "42"), `Try again in 42 seconds`},
		{refused(429, "rate_limited", "Rate limit exceeded"), `Try again in 60 seconds`},
		{refused(503, "unavailable", "Database away"), `not available right now.*request-7`},
		{refused(500, "internal", "secret"), `Something went wrong.*request-7`},
		{func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, `could not be reached`},
		{func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, `Something went wrong`},
	} {
		d.answers(c.answer, c.answer)
		b.Eval(fmt.Sprintf(`MagpieWidget.open({mode: "search", query: "q%d"})`, i), nil)
		b.Until(`/` + c.want + `/.test(text("#panel-search .message"))`)
		b.Is(`/secret|Database away/.test(root().textContent)`, "false")
		b.Eval(fmt.Sprintf(`MagpieWidget.open({mode: "chat", query: "q%d"})`, i), nil)
		b.Until(fmt.Sprintf(`$$(".answer").length === %d && /%s/.test($$(".answer").at(-1).textContent)`, i+1, c.want))
	}
	// A retry replaces the failed turn.
	d.answers(searchResults(map[string]any{"id": "1", "title": "Keys", "snippet": "s"}), chatAnswer("Fine."))
	turns := b.Text(`$$(".turn").length`)
	b.Click(`$$(".retry button").at(-1)`)
	b.Until(`text(".turn:last-child .text") === "Fine."`)
	b.Is(`$$(".turn").length`, turns)
	b.Eval(`MagpieWidget.open({mode: "search"})`, nil)
	b.Click(`$("#panel-search .message button")`)
	b.Until(`$$(".row").length === 2 && text("#panel-search .message") === ""`)
	if last := d.requests()[len(d.requests())-1]; !strings.Contains(last, `"min_score":0.2`) {
		t.Errorf("%s", last)
	}
}
