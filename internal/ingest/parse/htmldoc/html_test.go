package htmldoc_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/parsetest"
)

const page = `<!doctype html><html lang="de-DE"><head><title>Sicherung — Handbuch</title>
<meta name="description" content="Wie man sichert."><meta name="author" content="Ada"><meta name="keywords" content="a, b">
<meta property="article:published_time" content="2024-02-03T04:05:06Z"><style>x{}</style></head>
<body><nav>Menü <a href="/">Start</a></nav><header>Firma</header>
<main><header><h1 id="top">Sicherung<a class="headerlink" href="#top">¶</a></h1></header>
<p>Ein <b>Absatz</b> mit <a href="/x y">Verweis</a>,
 <code>code</code>.<br>Neue Zeile.</p>
<section id="wie"><h2>Wie</h2><ol start="3"><li>Erst<ul><li>innen</li></ul></li><li><p>Dann</p><pre><code class="language-sh">run &lt;x&gt;
  more</code></pre></li></ol></section>
<table><caption>Werte</caption><thead><tr><th>A</th><th>B|C</th></tr></thead><tbody><tr><td>1</td><td><a href="u">2</a></td></tr><tr><td colspan="2">3</td></tr></tbody></table>
<blockquote><p>Zitat</p></blockquote><dl><dt>Wort</dt><dd>Sinn</dd></dl><script>no()</script><p hidden>no</p>
</main><footer>Impressum</footer></body></html>`

func TestHTMLPage(t *testing.T) {
	t.Parallel()
	doc := parsetest.Read(t, "a.html", page)
	if doc.Title != "Sicherung" || doc.Language != "de" || doc.Author != "Ada" || doc.CreatedAt.IsZero() ||
		doc.Metadata["description"] != "Wie man sichert." || len(doc.Tags) != 2 {
		t.Errorf("facts: %+v", doc)
	}
	want := []document.Block{
		{Kind: document.Heading, Level: 1, Text: "Sicherung", Anchor: "top"},
		{Kind: document.Paragraph, Text: "Ein Absatz mit [Verweis](/x%20y), `code`.\nNeue Zeile."},
		{Kind: document.Heading, Level: 2, Text: "Wie", Anchor: "wie"},
		{Kind: document.List, Text: "3. Erst\n   - innen\n4. Dann"},
		{Kind: document.Code, Language: "sh", Text: "run <x>\n  more"},
		{Kind: document.Paragraph, Text: "Werte"},
		{Kind: document.Table, Header: []string{"A", "B\\|C"}, Rows: [][]string{{"1", "[2](u)"}, {"3", ""}}},
		{Kind: document.Quote, Text: "Zitat"},
		{Kind: document.List, Text: "- Wort: Sinn"},
	}
	if diff := cmp.Diff(want, doc.Blocks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHTMLTextIsNotLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ source, want string }{
		"main with little text":   {"<main>Hi</main><p>" + strings.Repeat("The text stands outside. ", 10) + "</p>", "stands outside"},
		"loose text":              {"loose <p>para</p> tail", "loose"},
		"two articles":            {"<article>one</article><article>two</article>", "one\n\ntwo"},
		"layout table":            {"<table><tr><td><h2>A</h2><p>x</p></td><td>y</td></tr></table>", "## A\n\nx\n\ny"},
		"deeper than a tree":      {strings.Repeat("<div>", 600) + "deep text" + strings.Repeat("</div>", 600), "deep text"},
		"unclosed":                {"<p>one<p>two <b>bold", "one\n\ntwo bold"},
		"list without items":      {"<ul>text<li>item</ul>", "- text\n- item"},
		"header with a heading":   {"<article><header><h1>T</h1></header>x</article>", "# T\n\nx"},
		"no structure, entities":  {"a &amp; b &lt;c&gt;", "a & b <c>"},
		"code without a language": {"<pre>a\n b</pre>", "```\na\n b\n```"},
	} {
		if got := parsetest.Read(t, "a.html", c.source).Markdown(); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q is not in %q", name, c.want, got)
		}
	}
}

func FuzzHTML(f *testing.F) {
	parsetest.Fuzz(f, "a.html", page, "<table><tr><td>a<td colspan=3>b</table><ul><li>x<ol><li>y", "<h1 id=a>x</h1><h1 id=a>y</h1><pre>z</pre>")
}

func FuzzPage(f *testing.F) { parsetest.Fuzz(f, "a.html", parsetest.Seeds(f, "html")...) }

func FuzzXHTML(f *testing.F) {
	parsetest.Fuzz(f, "a.xhtml", parsetest.Seeds(f, "html", `<?xml version="1.0"?><html xmlns:epub="x"><title/><p><![CDATA[<a>]]></p></html>`)...)
}

func BenchmarkHTML(b *testing.B) {
	parsetest.Benchmark(b, "a.html", `<!doctype html><html lang="en"><head><title>Keeping copies | Handbook</title></head><body class="docs">
<header><a href="/">Home</a></header><nav><ul><li><a href="/a">First page</a></li><li><a href="/b">Second page</a></li></ul></nav><main>`,
		`<section id="copies" class="chapter"><h2>Keeping copies<a class="headerlink" href="#copies">¶</a></h2>
<p>A copy is taken <em>every night</em>, and kept for <a href="/retention">thirty days</a>; run <code>copy --now</code> to take one at once.</p>
<ul class="steps"><li>Stop the writer.</li><li>Take the copy:<ul><li>of the <b>data</b>,</li><li>of the settings.</li></ul></li></ul>
<div class="highlight"><pre><code class="language-sh">copy --now --to /srv/copies
copy --list</code></pre></div>
<table class="data"><thead><tr><th>Kind</th><th>Kept</th></tr></thead><tbody><tr><td>daily</td><td>30 days</td></tr><tr><td>monthly</td><td>1 year</td></tr></tbody></table></section>
`, `</main><footer><a href="/imprint">Imprint</a></footer></body></html>`)
}
