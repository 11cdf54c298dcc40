package htmldoc

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/safetext"
)

// pageSurvey holds the facts about a page that one walk over it collects.
type pageSurvey struct {
	body *html.Node
	base *url.URL // base of links, nil if the page declares none
	// mains, articles and bodies are the elements that HTML and schema.org define for the main part of a page.
	// namedParts are those with names that site generators use for it.
	mains, articles, bodies, namedParts []*html.Node
	topHeading                          *html.Node // the h1, if there is exactly one
	firstHeadings                       []string   // texts of the h1 elements
	targets                             map[string]bool
	fallback                            []*html.Node // fallbacks for browsers without frames or scripts
	title, language                     string
	meta                                map[string]string // by lower-case name or property
	data                                structuredData
	isChapter                           bool // whether the file is a chapter of a book
}

// maxMarkedElements is how many elements of each kind are kept.
const maxMarkedElements = 100

func surveyPage(root *html.Node) *pageSurvey {
	p := &pageSurvey{body: root, meta: make(map[string]string), targets: make(map[string]bool)}
	for node := range root.Descendants() {
		if node.Type != html.ElementNode {
			continue
		}
		switch node.DataAtom {
		case atom.Html:
			p.rootElement(node)
		case atom.Body:
			p.body = node
		case atom.Title:
			if p.title == "" && !hasAncestor(node, atom.Svg) {
				p.title = strings.Join(strings.Fields(rawText(node)), " ")
			}
		case atom.Meta:
			p.metaElement(node)
		case atom.Base:
			p.baseElement(node)
		case atom.Script:
			if strings.EqualFold(attributeOf(node, "type"), "application/ld+json") {
				p.data.read(rawText(node))
			}
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			p.headingElement(node)
		case atom.Time:
			if value := attributeOf(node, "datetime"); value != "" && p.meta["time"] == "" {
				p.meta["time"] = value
			}
		case atom.Link:
			if strings.EqualFold(attributeOf(node, "rel"), "canonical") {
				p.meta["canonical"] = attributeOf(node, "href")
			}
		case atom.Frame, atom.Noframes, atom.Noscript:
			if len(p.fallback) < maxMarkedElements {
				p.fallback = append(p.fallback, node)
			}
		case atom.Main, atom.Article, atom.Div, atom.Section, atom.Td, atom.Table:
			p.markedElement(node)
		}
	}
	return p
}

func (p *pageSurvey) rootElement(node *html.Node) {
	p.language = attributeOf(node, "lang")
	if p.language == "" {
		p.language = attributeOf(node, "xml:lang")
	}
	for i := range node.Attr {
		p.isChapter = p.isChapter || strings.HasPrefix(node.Attr[i].Key, "xmlns:epub")
	}
}

func (p *pageSurvey) baseElement(node *html.Node) {
	if p.base != nil {
		return
	}
	if base, err := url.Parse(attributeOf(node, "href")); err == nil && base.Host != "" && (base.Scheme == "http" || base.Scheme == "https") {
		p.base = base
	}
}

// headingElement keeps a heading, and the ids by which links reach it.
func (p *pageSurvey) headingElement(node *html.Node) {
	if node.DataAtom == atom.H1 {
		p.topHeading = node
		if p.firstHeadings = append(p.firstHeadings, strings.Join(strings.Fields(rawText(node)), " ")); len(p.firstHeadings) > 1 {
			p.topHeading = nil
		}
	}
	p.targets[ownID(node)] = true
	p.targets[firstID(node)] = true
	for parent, n := node.Parent, 0; parent != nil && n < 3; parent, n = parent.Parent, n+1 {
		if parent.DataAtom == atom.Section || parent.DataAtom == atom.Div || parent.DataAtom == atom.A {
			p.targets[ownID(parent)] = true
		}
	}
	if before := previousElement(node); before != nil && (before.DataAtom == atom.A || before.DataAtom == atom.Span || before.DataAtom == atom.P) {
		p.targets[ownID(before)] = true
		p.targets[firstID(before)] = true
	}
}

func previousElement(node *html.Node) *html.Node {
	for n := node.PrevSibling; n != nil; n = n.PrevSibling {
		if n.Type == html.ElementNode {
			return n
		}
	}
	return nil
}

// markedElement keeps an element that the page marks as its main part.
func (p *pageSurvey) markedElement(node *html.Node) {
	add := func(list *[]*html.Node) {
		if len(*list) < maxMarkedElements {
			*list = append(*list, node)
		}
	}
	switch {
	case node.DataAtom == atom.Main:
		add(&p.mains)
		return
	case node.DataAtom == atom.Article && !hasAncestor(node, atom.Article):
		add(&p.articles)
	}
	for i := range node.Attr {
		switch attr := &node.Attr[i]; attr.Key {
		case "role":
			if strings.EqualFold(attr.Val, "main") {
				add(&p.mains)
			}
		case "itemprop":
			if attr.Val == "articleBody" || attr.Val == "mainContentOfPage" {
				add(&p.bodies)
			}
		case "id", "class":
			if isContentName(attr.Val) {
				add(&p.namedParts)
			}
		}
	}
}

// isContentName reports whether one of the names is what site generators call the text of a page.
func isContentName(names string) bool {
	for name := range strings.FieldsSeq(names) {
		switch name {
		case "content", "main", "main-content", "maincontent", "mainContent", "main_content", "page-content", "pageContent", "content-body", "article-content",
			"bodyContent", "mw-content-text", "mw-parser-output", "markdown-body", "rst-content", "md-content", "theme-doc-markdown", "entry-content",
			"post-content", "post-body", "article-body", "articleBody", "article__body", "bodywrapper", "documentwrapper", "devsite-article-body",
			"docs-content", "doc-content", "wiki-content", "story-body", "story-content", "td-content", "vp-doc", "book-body", "page-inner",
			"contentContainer", "content-container", "gl-markdown", "nH", "document":
			return true
		}
	}
	return false
}

func hasAncestor(node *html.Node, kind atom.Atom) bool {
	for parent := node.Parent; parent != nil; parent = parent.Parent {
		if parent.DataAtom == kind {
			return true
		}
	}
	return false
}

func (p *pageSurvey) metaElement(node *html.Node) {
	name := attributeOf(node, "name")
	for _, other := range []string{"property", "itemprop", "http-equiv"} {
		if name == "" {
			name = attributeOf(node, other)
		}
	}
	content := attributeOf(node, "content")
	if name != "" && content != "" && len(p.meta) < 200 {
		if name = strings.ToLower(name); p.meta[name] == "" {
			p.meta[name] = content
		}
	}
}

// describe fills in the facts from the head of the page and its structured data.
func (p *pageSurvey) describe(draft *document.Draft) {
	draft.Title = p.pageTitle()
	draft.Language = p.language
	if draft.Language == "" {
		draft.Language = p.first("content-language", "og:locale", "language", "dc.language")
	}
	set := func(key, other string, names ...string) {
		value := p.first(names...)
		if value == "" {
			value = other
		}
		if value != "" {
			draft.Meta[key] = safetext.TruncateBytes(value, 2000)
		}
	}
	set("description", p.data.description, "description", "og:description", "twitter:description", "dc.description")
	set("author", p.data.author, "author", "article:author", "dc.creator", "citation_author")
	set("created", "", "article:published_time", "datepublished", "dc.date", "date", "pubdate")
	if _, known := draft.Meta["created"]; !known {
		set("created", p.meta["time"], "")
		if p.data.created != "" {
			draft.Meta["created"] = p.data.created
		}
	}
	set("updated", p.data.modified, "article:modified_time", "datemodified", "last-modified", "og:updated_time", "revised")
	set("keywords", p.data.keywords, "keywords", "article:tag")
	set("url", p.data.url, "canonical", "og:url")
	set("section", p.data.section, "article:section")
	set("version", p.data.version, "docsearch:version", "docusaurus_version")
}

func (p *pageSurvey) first(names ...string) string {
	for _, name := range names {
		if value := p.meta[name]; value != "" {
			return value
		}
	}
	return ""
}

// pageTitle returns the title of a page. If the title is the single top heading followed by the name of the site, it
// returns the heading.
func (p *pageSurvey) pageTitle() string {
	title := p.title
	for _, other := range []string{p.first("og:title", "twitter:title", "dc.title"), p.data.title} {
		if title == "" {
			title = other
		}
	}
	if len(p.firstHeadings) == 1 {
		heading := headingText(p.firstHeadings[0])
		rest, found := strings.CutPrefix(title, heading)
		if found && heading != "" && strings.IndexAny(strings.TrimSpace(rest), "|-–—·:») ") == 0 {
			return heading
		}
	}
	return title
}
