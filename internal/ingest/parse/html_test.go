package parse_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/ingest/document"
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
	doc := mustParse(t, "a.html", page)
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
		if got := mustParse(t, "a.html", c.source).Markdown(); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q is not in %q", name, c.want, got)
		}
	}
}
