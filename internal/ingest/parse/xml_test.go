package parse_test

import (
	"strings"
	"testing"

	"magpie/internal/ingest/document"
)

func TestXMLIsProseOrData(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, source, want string }{
		"data":      {"a.xml", `<a b="c"><d>text</d></a>`, "```xml\n<a b=\"c\"><d>text</d></a>\n```"},
		"broken":    {"a.xml", `<article><title>T</title><para>text`, "```xml\n<article><title>T</title><para>text\n```"},
		"sections":  {"a.xml", `<topic id="t"><title>One</title><shortdesc>Short words about a thing that is long enough.</shortdesc><section id="s"><title>Two</title><p>Text of <b>it</b>.</p></section></topic>`, "# One\n\nShort words about a thing that is long enough.\n\n## Two\n\nText of it."},
		"entities":  {"a.xml", `<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><article><para>Before &x; after, with enough words to be prose.</para></article>`, "Before &x; after, with enough words to be prose."},
		"addresses": {"sitemap.xml", `<urlset><url><loc>https://x.example/a</loc></url><url><loc>https://x.example/b</loc></url></urlset>`, "https://x.example/a\n\nhttps://x.example/b"},
		"outline":   {"a.opml", `<opml><head><title>Reading</title></head><body><outline text="One"><outline text="Two"/></outline></body></opml>`, "# Reading\n\nOne\n\nTwo"},
		"atom":      {"a.atom", `<feed><title>News</title><entry><title>First</title><link href="https://x.example/1"/><updated>2026-01-02T03:04:05Z</updated><content type="html">&lt;p&gt;Body.&lt;/p&gt;</content></entry></feed>`, "## First\n\n2026-01-02T03:04:05Z · https://x.example/1\n\nBody."},
	} {
		if got := mustParse(t, c.file, c.source).Markdown(); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	deep := mustParse(t, "a.xml", "<article><para>"+strings.Repeat("<x>", 5000)+"the bottom of a very deep document with a good many words"+strings.Repeat("</x>", 5000)+"</para></article>")
	if deep.Blocks[0].Kind != document.Paragraph {
		t.Errorf("%+v", deep.Blocks[0].Kind)
	}
}

func FuzzXML(f *testing.F) {
	fuzzFormat(f, "a.xml", `<article><title>T</title><para>a <link href="https://x">b</link></para><itemizedlist><listitem><para>c</para></listitem></itemizedlist><table><row><entry>d</entry></row></table></article>`,
		`<rss><channel><item><title>a</title><description>&lt;p&gt;b</description></item></channel></rss>`, `<a><b/></a>`)
}
