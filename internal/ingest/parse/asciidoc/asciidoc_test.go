package asciidoc_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/parsetest"
)

func TestASCIIDocElements(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ source, want string }{
		"titles of both kinds":         {"== A ==\n\nB\n-\n\nBcd\n~~~\n\n[discrete]\n=== E\n\n# F\n", "## A\n\nB\n-\n\n### Bcd\n\n### E\n\n# F"},
		"marks at words and anywhere":  {"*a* _b_ `c` #d# **e**f __g__h ``i``j ^k^ ~l~ a*b*c 2 * 3 * 4 [.r]#m# [#n]*o*\n", "**a** *b* `c` d **e**f *g*h `i`j k l a*b*c 2 * 3 * 4 m **o**"},
		"marks in marks":               {"*a _b_ `c`* _*d*_\n", "**a *b* `c`** ***d***"},
		"text without marks":           {"`+a*b*+` +c*d*+ ++e++ +++<u>f</u>+++ pass:[g] \\*h* \\{i} C:\\dir\n", "`a*b*` c*d* e f g *h* {i} C:\\dir"},
		"quotation marks":              {"\"`a`\" '`b`' it`'s c\n", "“a” ‘b’ it`'s c"},
		"links":                        {"https://a.example[b] https://c.example. link:d.html[e,window=_blank] link:++f g++[] mailto:h@i.example[j] <https://k.example>\n", "[b](https://a.example) https://c.example. [e](d.html) [f g](f%20g) [j](mailto:h@i.example) <https://k.example>"},
		"references":                   {"[[a]]\n== B\n\n<<a>> <<a,c>> <<B>> xref:a[] xref:d.adoc#e[f] <<nowhere>>\n", "## B\n\nB c B B [f](d.adoc#e) nowhere"},
		"notes":                        {"a{empty}footnote:[b _c_] d footnote:e[f] g footnote:e[]\n", "a[1] d [2] g [2]\n\n[1] b *c*\n\n[2] f"},
		"macros":                       {"kbd:[Ctrl+C] btn:[A] menu:B[C > D] image:e.png[F] icon:g[] stem:[h] ((i)) (((j,k)))l (C)(TM)\n", "`Ctrl+C` A B > C > D F  $h$ i l ©™"},
		"attributes":                   {":a: b\n:c: {a}d\n:e!:\n\n{a} {c} {x} \\{a} {sp}| {counter:n}{counter:n}\n", "b bd {x} {a}  | 12"},
		"conditions and includes":      {"ifdef::a[]\nb\nendif::[]\nifndef::a[c]\ninclude::d.adoc[]\n\n----\n\\include::e[]\n----\n", "b\nc\n\n```\ninclude::e[]\n```"},
		"code of every kind":           {"[source,go]\n----\na\n----\n\n[source%linenums,sh]\nb\n\n```py\nc\n```\n\n....\nd\n....\n\n e\n\n[,rb]\n----\nf\n----\n\n[listing]\ng\n", "```go\na\n```\n\n```sh\nb\n```\n\n```py\nc\n```\n\n```\nd\n```\n\n```\ne\n```\n\n```rb\nf\n```\n\n```\ng\n```"},
		"attributes in code":           {":v: 1\n\n[source,sh,subs=\"attributes+\"]\n----\nget {v}\n----\n\n----\n{v}\n----\n", "```sh\nget 1\n```\n\n```\n{v}\n```"},
		"lists of every kind":          {"* a\n** b\n*** c\n* d\n\n. e\n.. f\n. g\n\n- h\n\n1. i\n2. j\n\na:: b\nc::\n  d\n", "- a\n  - b\n    - c\n- d\n  1. e\n     1. f\n  2. g\n     - h\n       1. i\n       2. j\n          - a: b\n          - c: d"},
		"lists that are parted":        {"* a\n\n//-\n\n. b\n", "- a\n\n1. b"},
		"attached blocks":              {"* a\n+\nb\n+\n----\nc\n----\n* d\n\n  literal\n* e\n", "- a\n  b\n\n```\nc\n```\n\n- d\n\n```\nliteral\n```\n\n- e"},
		"a block attached further out": {"* a\n** b\n\n+\nc\n\n* d\n", "- a\n  - b\n  c\n- d"},
		"callouts":                     {"----\na <1>\n----\n<1> b\n<.> c\n", "```\na <1>\n```\n\n1. b\n2. c"},
		"blocks that are set apart":    {"NOTE: a\n\n[TIP]\n.T\n====\nb\n====\n\n.S\n****\nc\n****\n\n[quote,A,B]\nd\n\n____\ne\n____\n\n[verse]\nf\n g\n", "> **Note:** a\n\n> **Tip: T:** b\n\n> **S:** c\n\n> d\n> \n> -- A, B\n\n> e\n\n> f\n>  g"},
		"open and example blocks":      {"--\na\n--\n\n.E\n====\nb\n\n* c\n====\n\n[NOTE]\n--\nd\n--\n", "a\n\n**E**\n\nb\n\n- c\n\n> **Note:** d"},
		"comments":                     {"a\n// b\nc\n\n////\nd\n////\n\n[comment]\ne\n", "a\nc"},
		"pictures":                     {".T\nimage::a.png[B,100]\n\nimage::c.png[]\n\nimage::d.png[link=https://e.example,alt=F]\n", "B\n\nT\n\n[F](https://e.example)"},
		"line breaks":                  {"a +\nb\n", "a\nb"},
		"a table with spans":           {"[%header,cols=3*]\n|===\n|a |b |c\n.2+|d 2+|e\n|f |g\n|===\n", "| a | b | c |\n| --- | --- | --- |\n| d | e |  |\n| d | f | g |"},
		"a table of many lines":        {"|===\n|a\n|b\n|===\n", "| a |\n| --- |\n| b |"},
		"values parted by commas":      {"[%header,format=csv]\n|===\na,b\n1,\"2,3\"\n|===\n", "| a | b |\n| --- | --- |\n| 1 | 2,3 |"},
		"a block without an end":       {"a\n\n----\nb\n", "a\n\n```\nb\n```"},
		"HTML that is passed on":       {"++++\n<p>a</p>\n++++\n\n[stem]\n++++\nb\n++++\n", "a\n\n$$\nb\n$$"},
	} {
		if got := parsetest.Read(t, "a.adoc", c.source).Markdown(); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

func TestASCIIDocFactsAndAnchors(t *testing.T) {
	t.Parallel()
	doc := parsetest.Read(t, "a.adoc", "= The {p}\nAda B. Example <a@b.example>; Bo Example\nv1.2, 2024-05-17: remark\n:p: Thing\n:keywords: x, y\n:description: d\n\n[[own]]\n== A\n\n[#other]\n== B\n\n== C [[third]]\n\n== A & b\n\nx\n")
	if doc.Title != "The Thing" || doc.Author != "Ada B. Example, Bo Example" || doc.Version != "1.2" || doc.UpdatedAt.Day() != 17 || len(doc.Tags) != 2 || doc.Metadata["description"] != "d" {
		t.Errorf("%+v", doc)
	}
	anchors := func(doc *document.Document) string {
		var list []string
		for _, block := range doc.Blocks {
			if block.Kind == document.Heading {
				list = append(list, block.Anchor)
			}
		}
		return strings.Join(list, " ")
	}
	if got := anchors(doc); got != "the-thing own other third a--b" {
		t.Errorf("anchors %q", got)
	}
	if got := anchors(parsetest.Read(t, "a.adoc", ":idprefix: x_\n:idseparator: _\n\n== One, two\n\nx\n")); got != "x_one_two" {
		t.Errorf("anchors %q", got)
	}
}

func TestASCIIDoc(t *testing.T) {
	t.Parallel()
	doc := parsetest.Read(t, "a.adoc", "= Guide\n:keywords: a, b\n// comment\n\nText.\n\n== Part\n\n[source,sh]\n----\nmake\n----\n")
	want := []document.Block{
		{Kind: document.Heading, Level: 1, Text: "Guide", Anchor: "guide"}, {Kind: document.Paragraph, Text: "Text."},
		{Kind: document.Heading, Level: 2, Text: "Part", Anchor: "part"}, {Kind: document.Code, Language: "sh", Text: "make"},
	}
	if diff := cmp.Diff(want, doc.Blocks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(doc.Tags) != 2 {
		t.Errorf("tags are %q", doc.Tags)
	}
}

func FuzzASCIIDoc(f *testing.F) {
	parsetest.Fuzz(f, "a.adoc", "= T\n:lang: de\n\n[source,go]\n----\nx\n----\n== S\n")
}

func FuzzASCIIDocFiles(f *testing.F) { parsetest.Fuzz(f, "a.adoc", parsetest.Seeds(f, "asciidoc")...) }

func BenchmarkASCIIDoc(b *testing.B) {
	parsetest.Benchmark(b, "a.adoc", "= Handbook\nAda Example <ada@example.org>\n:product: Copier\n\n", `== Keeping copies

A copy is taken _every night_ by {product}, and kept for https://example.org/retention[thirty days]; run `+"`copy --now`"+` to
take one at once, see <<settings,the settings>>.

* Stop the writer.
* Take the copy:
** of the *data*,
** of the settings.

[source,sh]
----
copy --now --to /srv/copies
copy --list
----

NOTE: Copies are encrypted.

|===
|Kind |Kept

|daily |30 days
|monthly |1 year
|===

`, "")
}
