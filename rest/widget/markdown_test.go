package widget_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// streamAnswers answers a question, which is an index of answers, in small chunks.
func streamAnswers(answers []string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Message string }
		err := json.NewDecoder(r.Body).Decode(&asked)
		n, numberErr := strconv.Atoi(asked.Message)
		if err != nil || numberErr != nil || n >= len(answers) {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		text := []rune(answers[n])
		for len(text) > 0 {
			piece := text[:min(len(text), max(3, len(answers[n])/50))]
			text = text[len(piece):]
			data, err := json.Marshal(map[string]string{"delta": string(piece)})
			if err != nil {
				return
			}
			_, _ = fmt.Fprintf(w, "event: content\ndata: %s\n\n", data)
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = fmt.Fprint(w, "event: sources\ndata: {\"sources\":[{\"id\":\"1\",\"title\":\"A\",\"url\":\"https://a.example.com/\"},{\"id\":\"2\",\"title\":\"B\"}]}\n\n"+
			"event: follow_up\ndata: {\"questions\":[]}\n\nevent: done\ndata: {\"usage\":{}}\n\n")
	}
}

// outline is an expression for the elements of an answer: links with their URL, others
// without attributes.
const outline = `((e) => { const walk = (n) => n.nodeType === 3 ? n.data : n.className.includes("cite") ? "{" + n.localName + n.textContent + "}" :
  "<" + n.localName + (n.href ? " " + n.href : "") + (n.start > 1 ? " " + n.start : "") + ">" + [...n.childNodes].map(walk).join("") + "</" + n.localName + ">";
  return [...e.childNodes].map(walk).join(""); })`

func TestAnswersAreRenderedAsMarkdown(t *testing.T) {
	t.Parallel()
	cases := []struct{ text, want string }{
		{"One\ntwo\n\nthree", "<p>One\ntwo</p><p>three</p>"},
		{"a **b** __c__ *d* _e_ ***f*** snake_case_name 2*3*4", "<p>a <strong>b</strong> <strong>c</strong> <em>d</em> <em>e</em> <strong><em>f</em></strong> snake_case_name 2*3*4</p>"},
		{"**open and `code` and ``a ` b`` \\*star\\*", "<p>**open and <code>code</code> and <code>a ` b</code> *star*</p>"},
		{"# One\n## Two ##\n### Three\ntext", "<h4>One</h4><h4>Two</h4><h5>Three</h5><p>text</p>"},
		{"- a\n- b **c**\n  - d\n  - e\n- f\n\nafter", "<ul><li>a</li><li>b <strong>c</strong><ul><li>d</li><li>e</li></ul></li><li>f</li></ul><p>after</p>"},
		{"3. c\n4. d\n\n   more\n5) e", "<ol 3><li>c</li><li><p>d</p><p>more</p></li><li>e</li></ol>"},
		{"Do:\n1. a\n2. b", "<p>Do:</p><ol><li>a</li><li>b</li></ol>"},
		{"```go\nx := 1 // **no** [1]\n\n# no\n```\nafter", "<pre><code>x := 1 // **no** [1]\n\n# no</code></pre><p>after</p>"},
		{"~~~\n```\n~~~", "<pre><code>```</code></pre>"},
		{"```\nnever closed", "<pre><code>never closed</code></pre>"},
		{"> a\n> b\n>\n> - c", "<blockquote><p>a\nb</p><ul><li>c</li></ul></blockquote>"},
		{"| a | b |\n|---|:-:|\n| 1 \\| 2 | `x` |", "<div><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1 | 2</td><td><code>x</code></td></tr></tbody></table></div>"},
		{"| only | a row |", "<div><table><tbody><tr><td>only</td><td>a row</td></tr></tbody></table></div>"},
		{"a\n\n---\n\n* * *", "<p>a</p><hr></hr><hr></hr>"},
		{"[x](https://e.example.com/a_(b)) [y](http://e.example.com \"t\") [z](mailto:a@b) <https://e.example.com/q?a=1>", "<p><a https://e.example.com/a_(b)>x</a> <a http://e.example.com/>y</a> z <a https://e.example.com/q?a=1>https://e.example.com/q?a=1</a></p>"},
		{"See https://e.example.com/x, (https://e.example.com/y). ![alt](https://e.example.com/p.png)", "<p>See <a https://e.example.com/x>https://e.example.com/x</a>, (<a https://e.example.com/y>https://e.example.com/y</a>). alt</p>"},
		{"It is [1] and [2][1], not [3], [0] or `[1]`.", "<p>It is {a1} and {button2}{a1}, not [3], [0] or <code>[1]</code>.</p>"},
		{"No args[1], größe[1], a[0][2], [x][1], \\[1\\], but .[1], `a`[1], 値[2] and (b)[1].", "<p>No args[1], größe[1], a[0][2], [x][1], [1], but .{a1}, <code>a</code>{a1}, 値{button2} and (b){a1}.</p>"},
		{"No f(x)[1], g(a, (b))[2], [01] or [9], but [9][1] and (see f(x))[2].", "<p>No f(x)[1], g(a, (b))[2], [01] or [9], but [9]{a1} and (see f(x)){button2}.</p>"},
		{"Run:\n\n    x = [1]\n\ty [2]\n\nThen\n    [1].", "<p>Run:</p><pre><code>x = [1]\ny [2]</code></pre><p>Then\n{a1}.</p>"},
		{"<b>no</b> &amp; &lt;", "<p><b>no</b> &amp; &lt;</p>"},
		{"سلام **دنیا**\n\n你好 **世界**。", "<p>سلام <strong>دنیا</strong></p><p>你好 <strong>世界</strong>。</p>"},
		{"a\r\nb\rc", "<p>a\nb\nc</p>"},
		{strings.Repeat("> ", 30) + "deep", "<blockquote><blockquote><blockquote><blockquote><blockquote><p>" + strings.Repeat("> ", 25) + "deep</p></blockquote></blockquote></blockquote></blockquote></blockquote>"},
	}
	// Texts that take long in naive parsers.
	hostile := []string{
		strings.Repeat("**a ", 4000), strings.Repeat("[", 9000), strings.Repeat("`", 9001) + "x", strings.Repeat("[a](", 4000), strings.Repeat("*_", 5000),
		strings.Repeat("- ", 5000), strings.Repeat(" ", 9000) + "x", "|" + strings.Repeat("-|", 5000) + "x", strings.Repeat("![", 5000), "<https://" + strings.Repeat(".", 9000),
		strings.Repeat("\\", 9001), strings.Repeat("(", 4000) + "[a](" + strings.Repeat("(", 4000), strings.Repeat("# ", 4500), strings.Repeat("x", 30000), strings.Repeat("a\n", 9000),
	}
	answers := make([]string, 0, len(cases)+len(hostile))
	for _, c := range cases {
		answers = append(answers, c.text)
	}
	d := newDouble(t)
	d.answers(nil, streamAnswers(append(answers, hostile...)))
	b := visit(t, newSite(t).put(home, "/", page{attributes: attributes(d.url, "svc_pk_x", "data-mode", "chat")}))
	b.Until("window.MagpieWidget")
	for i := range len(cases) + len(hostile) {
		b.Eval(fmt.Sprintf(`MagpieWidget.open({query: "%d"})`, i), nil)
		b.Until(fmt.Sprintf(`$$(".sources").length === %d && !$("#panel-chat").classList.contains("busy")`, i+1))
		if i < len(cases) {
			if got := b.Text(outline + `($$(".text")[` + strconv.Itoa(i) + `])`); got != cases[i].want {
				t.Errorf("%q:\n got %s\nwant %s", cases[i].text, got, cases[i].want)
			}
		}
	}
	b.Clean()
}

// Finished blocks keep their nodes while the answer grows, so that a selection stays.
func TestAGrowingAnswerKeepsItsNodes(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	more := make(chan struct{})
	d.answers(nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, "event: content\ndata: {\"delta\":\"First [1].\\n\\nSecond \"}\n\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
		_, _ = fmt.Fprint(w, "event: content\ndata: {\"delta\":\"half.\\n\\nThird.\"}\n\nevent: error\ndata: {\"error\":{\"code\":\"unavailable\",\"message\":\"away\"}}\n\n")
	})
	b := visit(t, newSite(t).put(home, "/", page{attributes: attributes(d.url, "svc_pk_x")}))
	b.Until("window.MagpieWidget")
	b.Eval(`MagpieWidget.open({mode: "chat", query: "x"})`, nil)
	b.Until(`$$(".text p").length === 2`)
	b.Eval(`(() => { window.first = $(".text p"); })()`, nil)
	b.Is(`$(".text .cite").localName`, "span") // the source is not known yet
	close(more)
	b.Until(`$(".retry")`)
	b.Is(`$(".text p") === window.first`, "true")
	b.Is(`$$(".text p").map((e) => e.textContent).join("|")`, "First 1.|Second half.|Third.")
	b.Until(`/not available/.test(text(".retry"))`)
	b.Clean()
}
