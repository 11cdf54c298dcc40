package parse

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"magpie/internal/ingest/document"
)

// pageSurvey is what one walk over a page finds out about it.
type pageSurvey struct {
	root, body    *html.Node
	mains         []*html.Node
	articles      []*html.Node
	firstHeadings []string // texts of the h1 elements
	title, lang   string
	meta          map[string]string // by lower-case name or property
}

func surveyPage(root *html.Node) *pageSurvey {
	p := &pageSurvey{root: root, body: root, meta: make(map[string]string)}
	for node := range root.Descendants() {
		if node.Type != html.ElementNode {
			continue
		}
		switch node.DataAtom {
		case atom.Html:
			p.lang = attributeOf(node, "lang")
			if p.lang == "" {
				p.lang = attributeOf(node, "xml:lang")
			}
		case atom.Body:
			p.body = node
		case atom.Title:
			if p.title == "" && !inside(node, atom.Svg) {
				p.title = strings.Join(strings.Fields(rawText(node)), " ")
			}
		case atom.Meta:
			p.metaElement(node)
		case atom.Main:
			p.mains = append(p.mains, node)
		case atom.Article:
			if !inside(node, atom.Article) {
				p.articles = append(p.articles, node)
			}
		case atom.H1:
			p.firstHeadings = append(p.firstHeadings, strings.Join(strings.Fields(rawText(node)), " "))
		case atom.Time:
			if value := attributeOf(node, "datetime"); value != "" && p.meta["time"] == "" {
				p.meta["time"] = value
			}
		case atom.Link:
			if strings.EqualFold(attributeOf(node, "rel"), "canonical") {
				p.meta["canonical"] = attributeOf(node, "href")
			}
		default:
			if strings.EqualFold(attributeOf(node, "role"), "main") {
				p.mains = append(p.mains, node)
			}
		}
	}
	return p
}

func inside(node *html.Node, kind atom.Atom) bool {
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

// content returns the node whose text is the page's own: the one main element or article, unless most of the text stands
// outside it.
func (p *pageSurvey) content() *html.Node {
	candidate := p.body
	switch {
	case len(p.mains) == 1:
		candidate = p.mains[0]
	case len(p.mains) == 0 && len(p.articles) == 1:
		candidate = p.articles[0]
	}
	if candidate == p.body || visibleLength(candidate)*4 < visibleLength(p.body) {
		return p.body
	}
	return candidate
}

// visibleLength counts the letters that a walk over a node would find.
func visibleLength(node *html.Node) int {
	length := 0
	for child := node.FirstChild; child != nil; child = child.NextSibling {
		switch {
		case child.Type == html.TextNode:
			length += len(strings.TrimSpace(child.Data))
		case child.Type == html.ElementNode && !isHidden(child) && !isFrame(child):
			length += visibleLength(child)
		}
	}
	return length
}

// describe fills in what the head of the page says.
func (p *pageSurvey) describe(found *document.Draft) {
	found.Title = p.pageTitle()
	found.Language = p.lang
	if found.Language == "" {
		found.Language = p.first("content-language", "og:locale", "language")
	}
	set := func(key string, names ...string) {
		if value := p.first(names...); value != "" {
			found.Meta[key] = document.Truncate(value, 2000)
		}
	}
	set("description", "description", "og:description", "twitter:description")
	set("author", "author", "article:author", "dc.creator", "citation_author")
	set("created", "article:published_time", "datepublished", "dc.date", "date", "pubdate", "time")
	set("updated", "article:modified_time", "datemodified", "last-modified", "og:updated_time", "revised")
	set("keywords", "keywords", "article:tag")
	set("url", "canonical", "og:url")
	set("section", "article:section")
	set("version", "docsearch:version", "docusaurus_version")
}

func (p *pageSurvey) first(names ...string) string {
	for _, name := range names {
		if value := p.meta[name]; value != "" {
			return value
		}
	}
	return ""
}

// pageTitle prefers the one top heading where the title is that and the name of the site.
func (p *pageSurvey) pageTitle() string {
	title := p.title
	if title == "" {
		title = p.first("og:title", "twitter:title", "dc.title")
	}
	if len(p.firstHeadings) == 1 {
		heading := strings.TrimRight(p.firstHeadings[0], "¶# ")
		rest, found := strings.CutPrefix(title, heading)
		if found && heading != "" && strings.IndexAny(strings.TrimSpace(rest), "|-–—·:») ") == 0 {
			return heading
		}
	}
	return title
}
