package confluence

import (
	"cmp"
	"strings"

	"golang.org/x/net/html"
)

// maxNestedMacros bounds macros whose plain body is storage format or HTML.
const maxNestedMacros = 3

// macro writes what a macro shows, as far as it is in the page.
func (w *writer) macro(n *node) {
	name := strings.ToLower(n.attr["ac:name"])
	rich, plain := n.child("ac:rich-text-body"), n.child("ac:plain-text-body")
	switch name {
	case "code", "noformat", "code-block", "paste-code-macro":
		w.code(n, plain)
	case "info", "note", "warning", "tip", "panel", "success", "error", "callout":
		w.panel(name, n, rich)
	case "expand", "ui-expand", "ui-tab":
		w.titledBlock(n.parameter("title"), rich)
	case "status":
		w.text(n.parameter("title"))
	case "jira", "jiraissues":
		w.jira(n)
	case "include", "excerpt-include":
		w.includedPage(n)
	case "profile", "profile-picture":
		if user := n.find("ri:user"); user != nil {
			w.text(w.userName(user))
		}
	case "view-file", "viewpdf", "viewdoc", "viewxls", "viewppt", "multimedia":
		if file := n.find("ri:attachment"); file != nil {
			w.text(file.attr["ri:filename"])
		} else {
			w.text(n.parameter("name"))
		}
	case "widget", "iframe", "html-include", "rss":
		if address := n.find("ri:url"); address != nil {
			w.anchor(address.attr["ri:value"], func() { w.text(address.attr["ri:value"]) })
		} else if address := n.parameter("url"); address != "" {
			w.anchor(address, func() { w.text(address) })
		}
	case "toc", "children", "pagetree", "pagetreesearch", "livesearch", "recently-updated", "contentbylabel", "attachments", "gallery", "anchor", "index",
		"blog-posts", "change-history", "contributors", "contributors-summary", "create-from-template", "create-space-button", "favpages", "global-reports",
		"im", "labels-list", "listlabels", "loremipsum", "navmap", "network", "popular-labels", "recently-used-labels", "related-labels", "search",
		"space-attachments", "space-details", "space-logo", "spaces", "tasks-report-macro", "userlister", "space-jump", "detailssummary":
		// They show content of other pages, or no text.
	case "html", "html-wrap":
		w.nested(plain)
	case "markdown", "markdown-from-url":
		w.plainParagraphs(plain)
	case "drawio", "drawio-sketch", "inc-drawio", "gliffy":
		if title := cmp.Or(n.parameter("diagramDisplayName"), n.parameter("diagramName"), n.parameter("name")); title != "" {
			w.openTag("p")
			w.text(title)
			w.closeTag("p")
		}
	default:
		switch {
		case rich != nil:
			w.titledBlock(n.parameter("title"), rich)
		case plain != nil:
			w.code(n, plain)
		default:
			// A macro that an app draws has no content.
		}
	}
}

func (w *writer) code(n, body *node) {
	if body == nil {
		return
	}
	if title := n.parameter("title"); title != "" {
		w.openTag("p")
		w.element("strong", &node{children: []*node{{text: title}}})
		w.closeTag("p")
	}
	w.b.WriteString("<pre><code")
	if language := strings.ToLower(cmp.Or(n.parameter("language"), n.parameter(""))); isLanguage(language) {
		w.b.WriteString(` class="language-` + html.EscapeString(language) + `"`)
	}
	w.b.WriteString(">")
	w.text(body.plainText())
	w.b.WriteString("</code></pre>")
}

func isLanguage(name string) bool {
	return name != "" && len(name) < 30 && name != "none" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789+-#._") == ""
}

// panel writes a panel with its title, or the name of its kind.
func (w *writer) panel(name string, n, body *node) {
	if body == nil {
		return
	}
	title := n.parameter("title")
	if title == "" && name != "panel" && name != "callout" {
		title = strings.ToUpper(name[:1]) + name[1:]
	}
	w.b.WriteString(`<div class="admonition">`)
	if title != "" {
		w.openTag("p")
		w.text(title)
		w.closeTag("p")
	}
	w.block(body)
	w.closeTag("div")
}

func (w *writer) titledBlock(title string, body *node) {
	if body == nil {
		return
	}
	w.openTag("div")
	if title != "" {
		w.openTag("p")
		w.element("strong", &node{children: []*node{{text: title}}})
		w.closeTag("p")
	}
	w.children(body)
	w.closeTag("div")
}

// block writes a body, which may be a text without a block element.
func (w *writer) block(body *node) {
	for _, c := range body.children {
		switch c.name {
		case "p", "div", "ul", "ol", "dl", "table", "pre", "blockquote", "hr", "h1", "h2", "h3", "h4", "h5", "h6",
			"ac:structured-macro", "ac:macro", "ac:task-list", "ac:layout", "ac:adf-extension", "ac:image":
			w.children(body)
			return
		}
	}
	w.element("p", body)
}

func (w *writer) jira(n *node) {
	key, query := n.parameter("key"), n.parameter("jqlQuery")
	switch {
	case key != "":
		w.text(key)
	case query != "":
		w.text("Jira: " + query)
	}
}

// includedPage writes the title of an included page. The content is a document
// of its own, with its own readers.
func (w *writer) includedPage(n *node) {
	page := n.find("ri:page")
	if page == nil {
		return
	}
	w.openTag("p")
	w.text("Includes: ")
	w.anchor(w.pageURL(page), func() { w.text(page.attr["ri:content-title"]) })
	w.closeTag("p")
}

func (w *writer) nested(body *node) {
	if body == nil || w.depth >= maxNestedMacros {
		return
	}
	w.depth++
	w.element("div", &node{children: readStorage(body.plainText()).children})
	w.depth--
}

func (w *writer) plainParagraphs(body *node) {
	if body == nil {
		return
	}
	for part := range strings.SplitSeq(strings.ReplaceAll(body.plainText(), "\r\n", "\n"), "\n\n") {
		if strings.TrimSpace(part) != "" {
			w.openTag("p")
			w.text(part)
			w.closeTag("p")
		}
	}
}
