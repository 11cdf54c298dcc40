package parse_test

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/parse"
)

// Each of these costs a naive reader the square of its length, its stack or its memory. The bound is far above what they take.
func TestHostileMarkupTakesLittleTime(t *testing.T) {
	t.Parallel()
	const n = 60_000
	doubled := func(name func(string, string) string) string {
		var b strings.Builder
		for c := 'a'; c < 'z'; c++ {
			b.WriteString(name(string(c), string(c+1)))
		}
		return b.String()
	}
	for name, c := range map[string]struct{ file, content string }{
		"stars in rst":              {"a.rst", strings.Repeat("*a ", 10*n)},
		"backquotes in rst":         {"a.rst", strings.Repeat("`a ``b ", 5*n)},
		"references in rst":         {"a.rst", strings.Repeat("a_ ", 10*n) + "\n\n.. _a: https://x.example\n"},
		"bars in rst":               {"a.rst", strings.Repeat("|a ", 10*n)},
		"replacements in rst":       {"a.rst", doubled(func(a, b string) string { return ".. |" + a + "| replace:: |" + b + "| |" + b + "|\n" }) + "\n" + strings.Repeat("|a| ", n)},
		"targets in rst":            {"a.rst", doubled(func(a, b string) string { return ".. _" + a + ": " + b + "_\n" }) + ".. _z: a_\n\n" + strings.Repeat("a_ ", n)},
		"open tables in rst":        {"a.rst", strings.Repeat("=== ===\na\n\n", n)},
		"open grids in rst":         {"a.rst", strings.Repeat("+---+\n| a |\n", n)},
		"wide grid in rst":          {"a.rst", strings.Repeat("+"+strings.Repeat("-+", 1900)+"\n|"+strings.Repeat("a|", 1900)+"\n", 500) + "+" + strings.Repeat("-+", 1900) + "\n"},
		"stairs in rst":             {"a.rst", stairs(1500)},
		"deep lists in rst":         {"a.rst", strings.Repeat("- ", n) + "x"},
		"deep directives in rst":    {"a.rst", nestedLines(1500, ".. note::\n\n")},
		"substitutions in rst":      {"a.rst", strings.Repeat(" .. |x| replace:: y\n", 5*n)},
		"terms in rst":              {"a.rst", strings.Repeat("a\n b\n", 2*n)},
		"footnotes in rst":          {"a.rst", strings.Repeat(".. [#] a [#]_\n", n)},
		"csv in rst":                {"a.rst", ".. csv-table::\n\n" + strings.Repeat("   \"a,b\n", 2*n)},
		"titles in rst":             {"a.rst", strings.Repeat("a\n==\n", 2*n)},
		"stars in adoc":             {"a.adoc", strings.Repeat("*a _b ", 5*n)},
		"doubled stars in adoc":     {"a.adoc", strings.Repeat("**a __b ``c ", 3*n)},
		"plus signs in adoc":        {"a.adoc", strings.Repeat("+++a ++b +c ", 3*n)},
		"quotes in adoc":            {"a.adoc", strings.Repeat("\"`a '`b ", 5*n)},
		"macros in adoc":            {"a.adoc", strings.Repeat("link:a[ xref:b[ footnote:[ https://c[ ", 2*n)},
		"nested footnotes in adoc":  {"a.adoc", strings.Repeat("footnote:[a ", 2000) + strings.Repeat("]", 2000)},
		"references in adoc":        {"a.adoc", "[[a]]\n== <<b>> T\n\n[[b]]\n== <<a>> U\n\n" + strings.Repeat("<<a>> <<b ", 2*n)},
		"attributes in adoc":        {"a.adoc", doubled(func(a, b string) string { return ":" + b + ": {" + a + "}{" + a + "}x\n" }) + "\n" + strings.Repeat("{z} {y} {x} ", n)},
		"long attributes in adoc":   {"a.adoc", ":a: " + strings.Repeat("x", 8000) + "\n\n" + strings.Repeat("{a}", 10*n)},
		"open blocks in adoc":       {"a.adoc", strings.Repeat("====\n====\n====\n", n)},
		"blocks in blocks in adoc":  {"a.adoc", strings.Repeat("====\n=====\n======\n=======\n", 200)},
		"lists in adoc":             {"a.adoc", strings.Repeat("* a\n** b\n*** c\n. d\n.. e\n- f\ng:: h\n+\ni\n\n", n/10)},
		"growing markers in adoc":   {"a.adoc", growing(2000)},
		"terms in adoc":             {"a.adoc", strings.Repeat("a::\n", 2*n)},
		"colons in adoc":            {"a.adoc", strings.Repeat("a::b", 5*n)},
		"spans in adoc":             {"a.adoc", "|===\n" + strings.Repeat("256*|a 200.200+|b ", n/10) + "\n|==="},
		"continuations in adoc":     {"a.adoc", "* a\n" + strings.Repeat("+\n", 5*n)},
		"brackets in adoc":          {"a.adoc", strings.Repeat("[.a]#b [[c (((d ", 3*n)},
		"spans in html":             {"a.html", "<table>" + strings.Repeat("<tr><td rowspan=9999 colspan=9999>a", n/10)},
		"deep spans in html":        {"a.html", strings.Repeat(strings.Repeat("<x-y>", 400)+"a"+strings.Repeat("</x-y>", 400), 300)},
		"items of a word processor": {"a.html", strings.Repeat("<p class=MsoListParagraph style='mso-list:l0 level1'>a", n)},
		"links in html":             {"a.html", strings.Repeat("<ul><li><a href=#a>a</a></ul><h2 id=a>a</h2>", n/4)},
		"deep blocks in html":       {"a.html", strings.Repeat("<div class=sidebar>", 450) + strings.Repeat("<p><a href=x>a</a>", 2*n)},
		"empty elements in xhtml":   {"a.xhtml", "<?xml version='1.0'?>" + strings.Repeat("<a b='/>", 5*n) + strings.Repeat("<a/>", 2*n)},
		"data of a page":            {"a.html", "<script type='application/ld+json'>" + strings.Repeat(`{"@graph":[`, n) + "</script><p>x"},
		"deep xml":                  {"a.xml", "<p>" + strings.Repeat("<a>", 9000) + "x" + strings.Repeat("</a>", 9000) + "</p>"},
		"sections in xml":           {"a.xml", "<book>" + strings.Repeat("<section><title>a</title>", 9000) + strings.Repeat("</section>", 9000) + "</book>"},
		"records in xml":            {"a.xml", "<article><para>x</para>" + strings.Repeat("<r><s>", 4000) + "y" + strings.Repeat("</s></r>", 4000) + "</article>"},
		"spans in xml":              {"a.xml", "<article><para>x</para><table>" + strings.Repeat("<row><entry morerows='9999' cols='9999'>a</entry></row>", n/10) + "</table></article>"},
		"footnotes in xml":          {"a.xml", "<article><para>" + strings.Repeat("x<footnote><para>y", 400) + strings.Repeat("</para></footnote>", 400) + "</para></article>"},
		"outline":                   {"a.opml", "<opml><body>" + strings.Repeat("<outline text='a'>", 5000) + strings.Repeat("</outline>", 5000) + "</body></opml>"},
		"numbers in markdown":       {"a.md", strings.Repeat("1. ", n) + "x"},
		"long targets in markdown":  {"a.md", "[a]: http://x/" + strings.Repeat("y", 5000) + "\n\n" + strings.Repeat("[a] ", n)},
		"link names in markdown":    {"a.md", strings.Repeat("[a]: http://x/\n", 2*n) + "\n[a]\n"},
		"rules in markdown":         {"a.md", strings.Repeat("a\n=\n", 2*n)},
		"notes in markdown":         {"a.md", strings.Repeat("[^a]: b [^a]\n\n", n)},
		"deep notes in markdown":    {"a.md", strings.Repeat("[^a]: ", n) + "x"},
		"asides in markdown":        {"a.md", nestedLines(800, "!!! note\n\n")},
		"formulas in markdown":      {"a.md", strings.Repeat("$$ a\n\n", n)},
		"wiki links in markdown":    {"a.md", strings.Repeat("[[a ![[b ![c", 3*n)},
		"definitions in markdown":   {"a.md", strings.Repeat("a\n: b\n", n)},
		"directives in markdown":    {"a.md", fences(300)},
		"attributes in markdown":    {"a.md", strings.Repeat("# a\n{: #b}\n", n)},
		"header of markdown":        {"a.md", "Title: a\n" + strings.Repeat("b: c\n", n) + "\nx"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			started := time.Now()
			doc, err := parse.New(parse.Options{}).Parse(ctx, parse.Input{Name: c.file, Content: []byte(c.content)})
			if err == nil && !utf8.ValidString(doc.Markdown()) {
				t.Error("the text is no UTF-8")
			}
			if took := time.Since(started); took > time.Minute {
				t.Errorf("took %s (error %v)", took, err)
			} else if testing.Verbose() {
				t.Logf("%s, %v", took, err)
			}
		})
	}
}

// nestedLines indents each line by four more than the one before.
func nestedLines(n int, line string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", 4*i) + line)
	}
	return b.String()
}

// growing has a list with longer markers each time.
func growing(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("*", i+1) + " a\n")
	}
	return b.String()
}

// fences nests directives by longer fences.
func fences(n int) string {
	var b strings.Builder
	for i := n; i > 0; i-- {
		b.WriteString(strings.Repeat("`", i+2) + "{note}\n")
	}
	return b.String() + "x\n"
}
