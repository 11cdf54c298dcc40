package markdown_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/parsetest"
)

func TestMarkdownBlocks(t *testing.T) {
	t.Parallel()
	heading := func(level int, text, anchor string) document.Block {
		return document.Block{Kind: document.Heading, Level: level, Text: text, Anchor: anchor}
	}
	paragraph := func(text string) document.Block { return document.Block{Kind: document.Paragraph, Text: text} }
	for name, c := range map[string]struct {
		file, source string
		want         []document.Block
	}{
		"headings": {"a.md", "# A `b` **c** {#own}\n\nSetext\n===\n\n## Größe & mehr!\n## Größe & mehr!\n### x_y *z* [l](u)\n", []document.Block{
			heading(1, "A b c", "own"), heading(1, "Setext", "setext"), heading(2, "Größe & mehr!", "größe--mehr"),
			heading(2, "Größe & mehr!", "größe--mehr-1"), heading(3, "x_y z l", "x_y-z-l"),
		}},
		"table": {"a.md", "| A | B |\n|---|:-:|\n| `x|y` \\| z | <br>2<br/>3 |\n| only |\n", []document.Block{
			{Kind: document.Table, Header: []string{"A", "B"}, Rows: [][]string{{"`x", "y` \\| z"}, {"only", ""}}},
		}},
		"code": {"a.md", "```go title=\"x.go\"\nfunc f() {}\n\n# not a heading\n```\n\n    indented\n\n~~~\n```\n~~~\n", []document.Block{
			{Kind: document.Code, Language: "go", Text: "func f() {}\n\n# not a heading"}, {Kind: document.Code, Text: "indented"}, {Kind: document.Code, Text: "```"},
		}},
		"list with code": {"a.md", "1. One\n   more\n   - inner\n\n   ```sh\n   run\n   ```\n\n   After.\n1. Two\n", []document.Block{
			{Kind: document.List, Text: "1. One\n   more\n   - inner"}, {Kind: document.Code, Language: "sh", Text: "run"}, {Kind: document.List, Text: "   After.\n2. Two"},
		}},
		"quote": {"a.md", "> [!NOTE]\n> Said\n> so.\n>\n> - item\n", []document.Block{{Kind: document.Quote, Text: "**Note:** Said\nso.\n\n- item"}}},
		"inline HTML": {"a.md", "A <b>bold</b>&nbsp;&lt;x&gt; <a href=\"/u?a=1&amp;b\">link</a> <a name=\"z\"></a>`<b>&amp;` <your-name> a<br>b\n", []document.Block{
			paragraph("A bold <x> [link](/u?a=1&b) `<b>&amp;` <your-name> a b"),
		}},
		"a comment without an end": {"a.md", "Before.\n\n<!--\n\n## Below\n\n<!-- To do: more.\n\nAfter.\n", []document.Block{
			{Kind: document.Paragraph, Text: "Before."},
			{Kind: document.Heading, Level: 2, Text: "Below", Anchor: "below"},
			{Kind: document.Paragraph, Text: "To do: more."},
			{Kind: document.Paragraph, Text: "After."},
		}},
		"an instruction without an end": {"a.md", "<?php echo 1;\n\nAfter.\n\n<![CDATA[ x\n\nMore.\n\n<!ELEMENT\n\nLast.\n\n    <!--\n", []document.Block{
			{Kind: document.Paragraph, Text: `\<?php echo 1;`},
			{Kind: document.Paragraph, Text: "After."},
			{Kind: document.Paragraph, Text: `\<![CDATA[ x`},
			{Kind: document.Paragraph, Text: "More."},
			{Kind: document.Paragraph, Text: `\<!ELEMENT`},
			{Kind: document.Paragraph, Text: "Last."},
			{Kind: document.Code, Text: "<!--"},
		}},
		"HTML blocks": {"a.md", "<div class=\"x\">\n\n**Markdown** inside\n\n</div>\n<!-- gone -->\n<table>\n<tr><th>A</th></tr>\n\n<tr><td>1</td></tr>\n</table>\n<p>Plain</p>\n", []document.Block{
			paragraph("**Markdown** inside"), {Kind: document.Table, Header: []string{"A"}, Rows: [][]string{{"1"}}}, paragraph("Plain"),
		}},
		"links by name": {"a.md", "See [the page][p], [p] and [none][q].\n\n[p]: https://x.org/a 'T'\n", []document.Block{
			paragraph("See [the page](https://x.org/a), [p](https://x.org/a) and [none][q]."),
		}},
		"Liquid": {"a.md", "[a]({% link {{ page.version.version }}/b.md %}#c) {{ site.name }}ok\n{% include x.html %}\n{% comment %}no\nno{% endcomment %}\n`{{ page.x }}` {{ .Values.y }}\n\n```\n{% raw %}{{ page.x }}\n```\n", []document.Block{
			paragraph("[a](b.md#c) ok\n`{{ page.x }}` {{ .Values.y }}"), {Kind: document.Code, Text: "{% raw %}{{ page.x }}"},
		}},
		"Hugo": {"a.md", "{{% alert color=\"x\" %}}\nMind **this**.\n{{% /alert %}}\n\n[r]({{< relref \"b.md\" >}}){: .note }\n", []document.Block{
			paragraph("Mind **this**."), paragraph("[r](b.md)"),
		}},
		"admonition": {"a.md", ":::warning Take care\nText.\n:::\n\n:::tip\nTip.\n:::\n", []document.Block{paragraph("**Take care**\nText."), paragraph("Tip.")}},
		"MDX": {"a.mdx", "import X from '../x';\nexport const a = 1;\n\n# T\n\n<Tabs items={[\"a>b\", `c`]}>\n<Tab label=\"A\">\n\nInner <Icon name=\"x\" /> text {\"shown\"}{variable}\n\n</Tab>\n</Tabs>\n\n{/* gone */}\n\n```jsx\n<Tabs>\n```\n\nimport is a word\n", []document.Block{
			heading(1, "T", "t"), paragraph("**A**"), paragraph("Inner  text shown"), {Kind: document.Code, Language: "jsx", Text: "<Tabs>"}, paragraph("import is a word"),
		}},
		"angle brackets that are text": {"a.mdx", "a < b and x <- y\n", []document.Block{paragraph("a < b and x <- y")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, parsetest.Read(t, c.file, c.source).Blocks); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMarkdownRendersToTheSameBlocksAgain(t *testing.T) {
	t.Parallel()
	source := "# T\n\nText with `code` and [link](u).\n\n- a\n  - b\n\n> q\n\n```go\nx := 1\n```\n\n| A | B |\n| --- | --- |\n| 1 | 2 |\n\n## S\n\nEnd.\n"
	doc := parsetest.Read(t, "a.md", source)
	again := parsetest.Read(t, "a.md", doc.Markdown())
	if diff := cmp.Diff(doc.Blocks, again.Blocks); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
	text, spans := doc.Render()
	for i := range doc.Blocks {
		if got := text[spans[i].Start:spans[i].End]; got != doc.Blocks[i].Markdown() {
			t.Errorf("span %d is %q", i, got)
		}
	}
	if strings.TrimSpace(source) != text {
		t.Errorf("rendered %q", text)
	}
}

func FuzzMarkdown(f *testing.F) {
	parsetest.Fuzz(f, "a.md", "---\ntitle: T\ntags: [a]\n---\n# H {#x}\n\ntext [a][b] `c`\n\n- l\n\n  ```go\n  x\n  ```\n\n|a|b|\n|-|-|\n|1|2|\n\n> q\n\n[b]: u\n",
		"+++\na = 1\n+++\n{% link x %} {{< ref \"a\" >}} <div>\n<table><tr><td>x</table>\n", "***\n* * *\n\n\tcode\n", "# \n#\n```\n")
}

func FuzzMDX(f *testing.F) {
	parsetest.Fuzz(f, "a.mdx", "import A from 'a'\n\n<A b={{c: 'd'}}>x</A>\n{/* y */}\n:::note T\nz\n:::\n", "export const x = 1\n<></>{\"a\"}")
}

func FuzzMarkdownFiles(f *testing.F) { parsetest.Fuzz(f, "a.md", parsetest.Seeds(f, "markdown")...) }

func BenchmarkMarkdown(b *testing.B) {
	parsetest.Benchmark(b, "a.md", "---\ntitle: Handbook\n---\n\n", `## Keeping copies

A copy is taken *every night*, and kept for [thirty days](https://example.org/retention); run `+"`copy --now`"+` to
take one at once, see [the settings].

- Stop the writer.
- Take the copy:
  - of the **data**,
  - of the settings.

`+"```sh\ncopy --now --to /srv/copies\ncopy --list\n```"+`

> Copies are encrypted.

| Kind | Kept |
| --- | --- |
| daily | 30 days |
| monthly | 1 year |

`, "[the settings]: settings.md\n")
}
