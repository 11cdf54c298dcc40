package parse_test

import (
	"os"
	"path/filepath"
	"testing"
)

// seedsOf returns the test files of a format, and further seeds.
func seedsOf(f *testing.F, format string, seeds ...string) []string {
	f.Helper()
	names, err := filepath.Glob(filepath.Join(formatsFolder, format, "*"))
	if err != nil || len(names) == 0 {
		f.Fatalf("no files of %s: %v", format, err)
	}
	for _, name := range names {
		if extension := filepath.Ext(name); extension == ".jsonl" || extension == ".golden" {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, string(content))
	}
	return seeds
}

func FuzzXML(f *testing.F) {
	fuzzFormat(f, "a.xml", seedsOf(f, "xml",
		`<article><title>T</title><para>a <link href="https://x">b</link></para><itemizedlist><listitem><para>c</para></listitem></itemizedlist><table><row><entry>d</entry></row></table></article>`,
		`<rss><channel><item><title>a</title><description>&lt;p&gt;b</description></item></channel></rss>`, `<a><b/></a>`,
		`<feed><entry><title>a</title><content type="xhtml"><div><h1>b</h1></div></content></entry></feed>`, `<opml><body><outline text="a"/></body></opml>`,
		`<urlset><url><loc>a</loc></url></urlset>`, `<svg><text>one two three</text></svg>`, `<map><topicref navtitle="a" href="b"/></map>`)...)
}

func FuzzPage(f *testing.F) { fuzzFormat(f, "a.html", seedsOf(f, "html")...) }

func FuzzXHTML(f *testing.F) {
	fuzzFormat(f, "a.xhtml", seedsOf(f, "html", `<?xml version="1.0"?><html xmlns:epub="x"><title/><p><![CDATA[<a>]]></p></html>`)...)
}

func FuzzRestructuredFiles(f *testing.F) { fuzzFormat(f, "a.rst", seedsOf(f, "rst")...) }

func FuzzASCIIDocFiles(f *testing.F) { fuzzFormat(f, "a.adoc", seedsOf(f, "asciidoc")...) }

func FuzzMarkdownFiles(f *testing.F) { fuzzFormat(f, "a.md", seedsOf(f, "markdown")...) }
