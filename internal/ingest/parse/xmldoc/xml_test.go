package xmldoc_test

import (
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/parsetest"
)

func TestXMLIsProseOrData(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, source, want string }{
		"data":      {"a.xml", `<a b="c"><d>text</d></a>`, "```xml\n<a b=\"c\"><d>text</d></a>\n```"},
		"broken":    {"a.xml", `<article><title>T</title><para>text`, "```xml\n<article><title>T</title><para>text\n```"},
		"sections":  {"a.dita", `<topic id="t"><title>One</title><shortdesc>Short words.</shortdesc><section id="s"><title>Two</title><p>Text of <b>it</b>.</p></section></topic>`, "# One\n\nShort words.\n\n## Two\n\nText of **it**."},
		"entities":  {"a.xml", `<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><article><para>Before &x; and &mdash; after &amp;amp;.</para></article>`, "Before &x; and — after &amp;."},
		"addresses": {"sitemap.xml", `<urlset><url><loc>https://x.example/a</loc><lastmod>2024-05-17</lastmod></url><url><loc>https://x.example/b</loc></url></urlset>`, "- https://x.example/a (2024-05-17)\n- https://x.example/b"},
		"outline":   {"a.opml", `<opml><head><title>Reading</title></head><body><outline text="One"><outline text="Two" xmlUrl="https://x.example/f"/></outline></body></opml>`, "# Reading\n\n- One\n  - [Two](https://x.example/f)"},
		"atom": {"a.atom", `<feed><title>News</title><entry><title type="html">A &lt;b&gt;first&lt;/b&gt;</title><link rel="self" href="https://x.example/s"/><link href="https://x.example/1"/><author><name>Ada</name></author><updated>2026-01-02T03:04:05Z</updated>` +
			`<content type="html">&lt;p&gt;Body.&lt;/p&gt;</content></entry><entry><content type="xhtml"><div><p>Two <em>words</em></p></div></content></entry></feed>`,
			"# News\n\n## A first\n\n2026-01-02T03:04:05Z · Ada · https://x.example/1\n\nBody.\n\n## Entry\n\nTwo *words*"},
		"mixed text without known names": {"a.xml", `<letter><p>Dear all,</p><body>We <x>met</x> and <y>spoke</y>.</body></letter>`, "Dear all,\n\nWe met and spoke."},
		"web page":                       {"a.xml", `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body><p>Text<a id="x"/> after.</p></body></html>`, "Text after."},
		"declared encoding":              {"a.xml", "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><article><para>na\xefve caf\xe9</para></article>", "naïve café"},
	} {
		if got := parsetest.Read(t, c.file, c.source).Markdown(); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	deep := parsetest.Read(t, "a.xml", "<article><para>"+strings.Repeat("<x>", 5000)+"the bottom of a very deep document"+strings.Repeat("</x>", 5000)+"</para></article>")
	if deep.Blocks[0].Kind != document.Paragraph || deep.Blocks[0].Text != "the bottom of a very deep document" {
		t.Errorf("%+v", deep.Blocks[0])
	}
	if broken := parsetest.Read(t, "a.xml", "<a><b></a>"); broken.Metadata["structure_error"] == nil || broken.Title != "a.xml" {
		t.Errorf("%q, %v", broken.Title, broken.Metadata)
	}
}

func TestXMLOfArticles(t *testing.T) {
	t.Parallel()
	source := `<article xml:lang="de"><front><article-meta><title-group><article-title>Über <italic>Feuer</italic></article-title></title-group>
<contrib-group><contrib contrib-type="author"><name><surname>Elm</surname><given-names>Berta</given-names></name></contrib></contrib-group>
<pub-date><day>7</day><month>5</month><year>2024</year></pub-date><kwd-group><kwd>Feuer</kwd><kwd>Rauch</kwd></kwd-group>
<abstract><p>Kurz gesagt.</p></abstract></article-meta></front>
<body><sec id="s1"><title>Anfang</title><p>Siehe <xref ref-type="bibr" rid="r1">[1]</xref>, <ext-link xlink:href="https://x.example/">hier</ext-link>,
10<sup>3</sup> und <inline-formula><tex-math>a^2</tex-math></inline-formula>.<fn><p>Eine Note.</p></fn></p>
<list list-type="order"><list-item><label>1.</label><p>Eins</p><list list-type="bullet"><list-item><p>innen</p></list-item></list></list-item></list>
<def-list><def-item><term>Glut</term><def><p>Was bleibt.</p></def></def-item></def-list>
<disp-quote><p>Ein Zitat.</p></disp-quote>
<table-wrap><label>Tabelle 1</label><caption><p>Werte</p></caption><table><thead><tr><th>A</th><th colspan="2">B</th></tr></thead><tbody><tr><td rowspan="2">x</td><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></tbody></table></table-wrap>
<preformat>  a
b</preformat></sec></body>
<back><ref-list><title>Literatur</title><ref id="r1"><label>1</label><mixed-citation><name><surname>Ulme</surname></name>: <source>Rauch</source>, 1999.</mixed-citation></ref></ref-list></back></article>`
	doc := parsetest.Read(t, "a.xml", source)
	want := "# Über Feuer\n\nKurz gesagt.\n\n## Anfang\n\nSiehe [1], [hier](https://x.example/), 10³ und $a^2$.[1]\n\n1. Eins\n   - innen\n\n- Glut: Was bleibt.\n\n" +
		"> Ein Zitat.\n\nTabelle 1 Werte\n\n| A | B | B |\n| --- | --- | --- |\n| x | 1 | 2 |\n| x | 3 | 4 |\n\n```\n  a\nb\n```\n\n## Literatur\n\n1 Ulme: Rauch, 1999.\n\n[1] Eine Note."
	if got := doc.Markdown(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if doc.Title != "Über Feuer" || doc.Author != "Berta Elm" || doc.CreatedAt.Year() != 2024 || len(doc.Tags) != 2 || doc.Language != "de" {
		t.Errorf("%+v", doc)
	}
}

func BenchmarkXML(b *testing.B) {
	parsetest.Benchmark(b, "a.xml", `<book xmlns="http://docbook.org/ns/docbook"><title>Handbook</title>`, `<chapter xml:id="copies"><title>Keeping copies</title>
<para>A copy is taken <emphasis>every night</emphasis>, and kept for <link xlink:href="https://example.org/retention">thirty days</link>; run <command>copy --now</command> to take one.</para>
<itemizedlist><listitem><para>Stop the writer.</para></listitem><listitem><para>Take the copy.</para></listitem></itemizedlist>
<programlisting language="sh">copy --now --to /srv/copies</programlisting>
<informaltable><tgroup cols="2"><thead><row><entry>Kind</entry><entry>Kept</entry></row></thead><tbody><row><entry>daily</entry><entry>30 days</entry></row></tbody></tgroup></informaltable>
</chapter>`, "</book>")
}

func FuzzXML(f *testing.F) {
	parsetest.Fuzz(f, "a.xml", parsetest.Seeds(f, "xml",
		`<article><title>T</title><para>a <link href="https://x">b</link></para><itemizedlist><listitem><para>c</para></listitem></itemizedlist><table><row><entry>d</entry></row></table></article>`,
		`<rss><channel><item><title>a</title><description>&lt;p&gt;b</description></item></channel></rss>`, `<a><b/></a>`,
		`<feed><entry><title>a</title><content type="xhtml"><div><h1>b</h1></div></content></entry></feed>`, `<opml><body><outline text="a"/></body></opml>`,
		`<urlset><url><loc>a</loc></url></urlset>`, `<svg><text>one two three</text></svg>`, `<map><topicref navtitle="a" href="b"/></map>`)...)
}
