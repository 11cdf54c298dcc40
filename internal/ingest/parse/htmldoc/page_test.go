package htmldoc_test

import (
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/ingest/parse/parsetest"
)

// prose is enough text of content that the edges of a page can be told from it.
const prose = "<p>The lamp of the lighthouse is lit at sunset and burns until the sun is up again, whatever the weather and whoever is ill.</p>" +
	"<p>Oil is carried up in the morning, when the keeper is fresh, and the lens is cleaned with spirit and a soft cloth before noon.</p>" +
	"<p>What was seen at night is written down in the log, with the time, the wind and the names of the ships that could be made out.</p>"

func TestPageWithoutItsFrame(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ source, without string }{
		"navigation elements":      {"<nav>Gone</nav>" + prose, "Gone"},
		"roles":                    {"<div role=navigation>Gone</div>" + prose + "<div role=contentinfo>Gone</div>", "Gone"},
		"links before the content": {"<div><a href=1>Gone one</a> <a href=2>Gone two</a></div><div>" + prose + "</div>", "Gone"},
		"links after the content":  {"<div>" + prose + "</div><div><a href=1>Gone</a> | <a href=2>Gone</a> Copyright</div>", "Gone"},
		"a menu with its label":    {"<div>Gone</div><ul><li><a href=1>Gone a</a><li><a href=2>Gone b</a></ul><div>" + prose + "</div>", "Gone"},
		"outside of main":          {"<p>Gone before.</p><main>" + prose + "</main><p>Gone after.</p>", "Gone"},
		"names":                    {"<div class=cookie-consent>Gone cookies</div><div class='SideBar left'><h3>Gone</h3><ul><li><a href=x>Gone</a></ul></div><div>" + prose + "</div><div id=share>Gone: share</div>", "Gone"},
		"a form for comments":      {prose + "<form><label>Gone</label><textarea></textarea></form>", "Gone"},
		"a skip link":              {"<a href=#x>Skip to content</a>" + prose, "Skip"},
		"furniture":                {"<main>" + prose + "<p>Edit this page</p><p>Was this page helpful?</p></main>", "page"},
		"hidden text":              {prose + "<p style='display: none'>Gone</p><span class=visually-hidden>Gone</span><p aria-hidden=true>Gone</p><p hidden>Gone</p>", "Gone"},
		"own table of contents": {"<main><h1>T</h1><div>Gone<ul><li><a href=#a>Gone one</a><li><a href=#b>Gone two</a><li><a href=#c>Gone three</a></ul></div>" +
			"<h2 id=a>A</h2>" + prose + "<h2 id=b>B</h2>x<h2 id=c>C</h2>y</main>", "Gone"},
	} {
		got := parsetest.Read(t, "a.html", c.source).Markdown()
		if strings.Contains(got, c.without) || !strings.Contains(got, "lit at sunset") || !strings.Contains(got, "written down in the log") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestPageKeepsWhatMayBeContent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ source, with string }{
		"an index of links": {"<h1>Pages</h1><ul><li><a href=1>Kept one</a><li><a href=2>Kept two</a></ul>", "- [Kept one](1)"},
		"the slogan of a portal": {"<header><div class=slogan_home>Kept: we bring the mail to every island.</div><nav><a href=1>a</a></nav></header>" +
			"<div id=content>" + strings.Repeat("<h3>News</h3><ul><li><a href=x>One of the news</a> today</ul>", 8) + "</div>", "Kept: we bring"},
		"the slogan in a banner": {"<div class=banner><div class=slogan_home>Kept for those who sail.</div></div>" +
			"<div>" + strings.Repeat("<p><a href=x>One of the ports</a></p>", 15) + "</div>", "Kept for those"},
		"the slogan among links": {"<div class=slogan_home>Kept for all who sail the islands <a href=x>by night</a></div>" +
			"<table><tr>" + strings.Repeat("<td><h3>Name</h3>Port of call number one for ships</td>", 10) + "</tr></table>", "Kept for all"},
		"navigation alone":               {"<nav><a href=1>Kept</a></nav>", "Kept"},
		"hidden text alone":              {"<body style='visibility:hidden'><p style='display:none'>Kept", "Kept"},
		"further reading":                {"<div>" + prose + "</div><h2>See also</h2><ul><li><a href=1>Kept</a></ul>", "Kept"},
		"short text beside content":      {"<div>" + prose + "</div><p>Kept as a short remark here.</p>", "Kept"},
		"text beside a small main":       {"<main>Hi</main>" + prose, "lit at sunset"},
		"a sidebar with text of its own": {prose + "<div class=sidebar><p>" + strings.Repeat("Kept text that runs on. ", 30) + "</p></div>", "Kept"},
		"tabs":                           {prose + "<div role=tabpanel hidden>Kept</div><div class=tab-pane style='display:none'>Kept</div>", "Kept\n\nKept"},
		"answers that unfold":            {prose + "<div class=collapse aria-hidden=true>Kept</div>", "Kept"},
		"the title above":                {"<header><h1>Kept</h1></header><div>" + prose + "</div>", "# Kept"},
		"the title outside of main":      {"<div><h1>Kept</h1></div><main>" + prose + "</main>", "# Kept"},
		"a whole page in a form":         {"<form action=x><input type=hidden name=y><div>" + prose + "</div></form>", "lit at sunset"},
		"a labelled link list":           {"<div>" + prose + "</div><div>Kept files:<ul><li><a href=1>one</a></ul></div>", "Kept files"},
		"text without scripts":           {"<noscript><p>Kept</p></noscript><script>x</script>", "Kept"},
		"a card that is a link":          {"<main>" + prose + "<a href=x><h2>Kept</h2><p>Text</p></a></main>", "## Kept\n\nText"},
		"a button with a question":       {"<main>" + prose + "<h3><button>Kept?</button></h3></main>", "### Kept?"},
		"an element of its own kind":     {prose + "<p>one <x-term>Kept</x-term> two</p>", "one Kept two"},
	} {
		if got := parsetest.Read(t, "a.html", c.source).Markdown(); !strings.Contains(got, c.with) {
			t.Errorf("%s: %q is not in %q", name, c.with, got)
		}
	}
}

func TestBodiesOfMailsAndChaptersAreWhole(t *testing.T) {
	t.Parallel()
	source := "<nav>N</nav><header>H</header><div class=share>S</div><p>T</p><footer>F</footer>"
	want := "N\n\nH\n\nS\n\nT\n\nF"
	parser := parse.New(parse.Options{})
	for name, input := range map[string]parse.Input{
		"mail":    {Name: "body.html"},
		"chapter": {Name: "c1.html", MediaType: "application/xhtml+xml"},
	} {
		input.Content = []byte(source)
		doc, err := parser.Parse(t.Context(), input)
		if err != nil || doc.Markdown() != want {
			t.Errorf("%s: %v, %v", name, doc, err)
		}
	}
}

func TestHTMLElements(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ source, want string }{
		"admonition":                {"<div class='admonition note'><p class=admonition-title>Note</p><p>Text</p><pre>x</pre></div>", "> **Note:** Text\n\n```\nx\n```"},
		"links within the page":     {"<a href=#x>a</a> <a href='javascript:y()'>b</a> <a href='mailto:c@d.example'>c</a>", "a b [c](mailto:c@d.example)"},
		"formula of KaTeX":          {"<p>x <span class=katex><span class=katex-mathml><math><semantics><mi>a</mi><annotation encoding='application/x-tex'>a^2</annotation></semantics></math></span><span aria-hidden=true>a2</span></span></p>", "x $a^2$"},
		"formula of MathJax":        {"<p>x <script type='math/tex; mode=display'>b_1</script></p>", "x $$b_1$$"},
		"formula in MathML":         {"<math><mfrac><mi>a</mi><mrow><mi>b</mi><mo>+</mo><mn>1</mn></mrow></mfrac></math>", "a/(b+1)"},
		"definitions of a page":     {"<dl><div><dt>a<dd>b</div><dt>c<dt>d<dd><p>e</p></dl>", "- a: b\n- c, d: e"},
		"long definitions":          {"<dl><dt>a<dd><p>b</p><p>c</p><pre>d</pre></dl>", "a\n\nb\n\nc\n\n```\nd\n```"},
		"members of a reference":    {"<h1>m</h1><dl class='py function'><dt class='sig sig-object py' id=m.f><code>f</code>(<em>x</em>)<a class=headerlink href=#m.f>¶</a></dt><dd><p>Does.</p></dd></dl>", "# m\n\n## f(x)\n\nDoes."},
		"lines of code as elements": {"<pre><code class='hljs language-js'><span class=line>a</span><span class=line>b</span></code></pre>", "```js\na\nb\n```"},
		"code with breaks":          {"<div class='highlight-source-go'><pre>a<br>b<div>c</div></pre></div>", "```go\na\nb\nc\n```"},
		"numbered lines":            {"<table class=highlight><tr><td class=blob-num data-line-number=1></td><td class=blob-code>a</td></tr><tr><td class=blob-num data-line-number=2></td><td class=blob-code>b</td></tr></table>", "```\na\nb\n```"},
		"keys beside each other":    {"<p><kbd>Ctrl</kbd><kbd>C</kbd> and <code>a`b</code></p>", "`Ctrl` `C` and ``a`b``"},
		"lists by number":           {"<ol reversed start=3><li>a<li value=7>b</ol>", "3. a\n7. b"},
		"spans in a table":          {"<table><tr><th>a<th>b<th>c<tr><td rowspan=3>1<td colspan=2>2<tr><td>3<td rowspan=2>4<tr><td>5</table>", "| a | b | c |\n| --- | --- | --- |\n| 1 | 2 |  |\n| 1 | 3 | 4 |\n| 1 | 5 | 4 |"},
		"table in a table":          {"<table><tr><th>a<th>b<tr><td>1<td><table><tr><td>x<td>y<tr><td>z<td>w</table></table>", "| a | b |\n| --- | --- |\n| 1 | x, y; z, w |"},
		"table of a mail":           {"<table role=presentation><tr><td><table><tr><td><p>One</p></td></tr><tr><td>Two</td></tr></table></td></tr></table>", "One\n\nTwo"},
		"table without names":       {"<table><tr><td>a<td>1<tr><td>b<td>2</table>", "| a | 1 |\n| --- | --- |\n| b | 2 |"},
		"raised text":               {"<p>10<sup>-3</sup> 1<sup>st</sup> H<sub>2</sub>O</p>", "10⁻³ 1st H2O"},
		"heading by role":           {"<div role=heading aria-level=3>T</div>x", "### T\n\nx"},
		"heading without its edit":  {"<h2>T<span class=mw-editsection>[<a href=e>edit</a>]</span></h2>x", "## T\n\nx"},
		"declaration of XHTML":      {"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><head><title/></head><body><p>a<span/>b <![CDATA[<c>]]></p><br/></body></html>", "ab <c>"},
		"an embedded page":          {"<p>a</p><iframe srcdoc='<p>gone</p>'>gone</iframe>", "a"},
		"choices of a form":         {"<p>Size <select><option>gone</select></p>", "Size"},
	} {
		if got := parsetest.Read(t, "a.html", c.source).Markdown(); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	doc := parsetest.Read(t, "a.html", "<a name=x></a><h2>A</h2><section id=y><h2>B</h2></section><h2><a id=z></a>C</h2><h2>D <a class=anchor href=#w>#</a></h2><div id=v></div><p>t</p><h2>E</h2>")
	var anchors []string
	for _, block := range doc.Blocks {
		if block.Kind == document.Heading {
			anchors = append(anchors, block.Anchor)
		}
	}
	if got := strings.Join(anchors, " "); got != "x y z w e" {
		t.Errorf("anchors %q", got)
	}
}

func TestEncodingNamedLateInAPage(t *testing.T) {
	t.Parallel()
	head := "<html><head><!-- " + strings.Repeat("x", 3000) + " -->"
	for name, meta := range map[string]string{"charset": "<meta charset=iso-8859-2>", "content": "<META http-equiv=Content-Type content='text/html; charset=ISO-8859-2'>"} {
		if got := parsetest.Read(t, "a.html", head+meta+"</head><p>\xb3\xf3d\xbc").Markdown(); got != "łódź" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
