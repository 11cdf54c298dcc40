package htmldoc

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// isSkipped reports whether an element holds no text of the page.
func isSkipped(node *html.Node) bool {
	switch node.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Head, atom.Iframe, atom.Object, atom.Embed, atom.Canvas, atom.Svg, atom.Video,
		atom.Audio, atom.Select, atom.Datalist, atom.Dialog, atom.Noframes, atom.Frame, atom.Map, atom.Textarea, atom.Progress, atom.Meter:
		return true
	case atom.Template:
		for i := range node.Attr {
			if strings.HasPrefix(node.Attr[i].Key, "shadowroot") {
				return false
			}
		}
		return true
	}
	return false
}

// isHidden reports whether a visitor does not see an element. Elements that a click reveals, such as tabs, accordions
// and answers, are not hidden.
func isHidden(node *html.Node) bool {
	hidden := false
	for i := range node.Attr {
		switch attr := &node.Attr[i]; attr.Key {
		case "hidden":
			hidden = hidden || !strings.EqualFold(attr.Val, "until-found")
		case "aria-hidden":
			hidden = hidden || strings.EqualFold(attr.Val, "true")
		case "style":
			hidden = hidden || hidesByStyle(attr.Val)
		case "class":
			hidden = hidden || hidesByClass(attr.Val)
		}
	}
	return hidden && !isRevealable(node)
}

func hidesByStyle(style string) bool {
	if !strings.Contains(style, "none") && !strings.Contains(style, "hid") {
		return false
	}
	style = strings.ToLower(strings.ReplaceAll(style, " ", ""))
	return strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden") || strings.Contains(style, "mso-hide:all")
}

// hidesByClass reports whether a class name is one for text that only screen readers read.
func hidesByClass(class string) bool {
	for name := range strings.FieldsSeq(class) {
		switch name {
		case "visually-hidden", "visuallyhidden", "sr-only", "screen-reader-text", "screenreader", "screen-reader-only", "assistive-text",
			"element-invisible", "element-hidden", "u-hidden", "is-hidden-visually", "visuallyHidden", "sr_only", "a11y-hidden":
			return true
		}
	}
	return false
}

// isRevealable reports whether an element is one of several that are shown one at a time, or a formula, whose text is
// hidden behind a picture.
func isRevealable(node *html.Node) bool {
	if strings.EqualFold(attributeOf(node, "role"), "tabpanel") {
		return true
	}
	found := false
	for i := range node.Attr {
		if key := node.Attr[i].Key; key == "class" || key == "id" {
			eachName(node.Attr[i].Val, func(name []byte) {
				switch string(name) {
				case "tab", "tabs", "tabpanel", "tabcontent", "tabbed", "pane", "panel", "accordion", "collapse", "collapsible", "collapsed",
					"expandable", "expand", "details", "toggle", "answer", "faq", "spoiler", "mwe", "mathml", "solution":
					found = true
				}
			})
		}
	}
	return found
}

// eachName calls f with the words of class names and ids, in lower case: navBar-left_2 gives nav, bar and left.
func eachName(value string, f func(name []byte)) {
	var buffer [32]byte
	n, lower := 0, false
	flush := func() {
		if n > 0 && n < len(buffer) {
			f(buffer[:n])
		}
		n, lower = 0, false
	}
	for i := range len(value) {
		c := value[i]
		switch {
		case 'A' <= c && c <= 'Z':
			if lower {
				flush()
			}
			c |= 0x20
		case 'a' <= c && c <= 'z':
			lower = true
		default:
			flush()
			continue
		}
		if n < len(buffer) {
			buffer[n] = c
			n++
		}
	}
	flush()
}

// isWidget reports whether an element serves the mouse, inside the text: permalinks beside headings, buttons to copy or
// edit.
func isWidget(node *html.Node) bool {
	switch node.DataAtom {
	case atom.A, atom.Span, atom.Button, atom.Sup, atom.Div, atom.Small, 0:
	default:
		return false
	}
	for i := range node.Attr {
		switch attr := &node.Attr[i]; attr.Key {
		case "class":
			for class := range strings.FieldsSeq(attr.Val) {
				switch class {
				case "headerlink", "hash-link", "header-anchor", "anchorjs-link", "heading-anchor", "heading-link", "permalink", "anchor-link",
					"anchorlink", "header-link", "heading-permalink", "linkanchor", "direct-link":
					if isPermalinkText(rawText(node)) {
						return true
					}
				case "mw-editsection", "copy-button", "copybtn", "btn-copy", "copy-btn", "btn-clipboard", "clipboard-copy", "edit-link":
					return true
				}
			}
		case "data-clipboard-text", "data-clipboard-target":
			return true
		}
	}
	return node.DataAtom == atom.Button && isWidgetLabel(strings.ToLower(strings.Join(strings.Fields(rawText(node)), " ")))
}

// isPermalinkText reports whether the text of a link beside a heading is one for the heading itself.
func isPermalinkText(text string) bool {
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) <= 2 {
		return true
	}
	switch strings.ToLower(text) {
	case "link", "permalink", "anchor", "direct link", "link to this heading", "copy link", "section", "edit":
		return true
	}
	return false
}

// isWidgetLabel reports whether the label of a button belongs to the page and not to its text.
func isWidgetLabel(label string) bool {
	if strings.HasPrefix(label, "copy ") && len(label) < 30 {
		return true
	}
	switch label {
	case "", "copy", "copied", "copied!", "share", "print", "close", "menu", "search", "edit",
		"subscribe", "sign in", "log in", "sign up", "toggle navigation", "expand all", "collapse all", "run", "try it", "yes", "no", "submit",
		"kopieren", "teilen", "drucken", "schließen", "copier", "partager", "imprimer", "fermer", "コピー":
		return true
	}
	return false
}

// isChrome reports whether an element is a part that repeats from page to page, by the elements and roles of HTML.
func isChrome(node *html.Node) bool {
	switch node.DataAtom {
	case atom.Nav:
		return true
	case atom.Header, atom.Footer:
		for parent := node.Parent; parent != nil; parent = parent.Parent {
			switch parent.DataAtom {
			case atom.Main, atom.Article, atom.Section, atom.Blockquote:
				return false
			}
		}
		return true
	}
	switch strings.ToLower(attributeOf(node, "role")) {
	case "navigation", "search", "banner", "contentinfo", "menubar", "menu", "toolbar", "alertdialog", "dialog":
		return true
	}
	return false
}

// Kinds of elements by the words in their class names and ids.
const (
	namedContent = 1 << iota // the text of the page
	namedWidget              // never part of a text: breadcrumbs, share buttons, cookie consent
	namedAside               // mostly beside the text: sidebars, menus, footers
)

// nameKinds returns the kinds that the class names and the id of an element say.
func nameKinds(node *html.Node) (kinds int) {
	for i := range node.Attr {
		if key := node.Attr[i].Key; key != "class" && key != "id" && key != "aria-label" {
			continue
		}
		eachName(node.Attr[i].Val, func(name []byte) {
			switch string(name) {
			case "content", "contents", "main", "article", "body", "post", "entry", "text", "story", "document", "markdown", "page", "prose",
				"note", "warning", "tip", "admonition", "callout", "alert", "block":
				kinds |= namedContent
			case "breadcrumb", "breadcrumbs", "cookie", "cookies", "gdpr", "consent", "share", "sharing", "sharethis", "addthis", "addtoany",
				"social", "skip", "skiplink", "skipnav", "editsection", "pagination", "paginator", "pager", "prevnext", "newsletter",
				"subscribe", "subscription", "signup", "login", "advert", "adverts", "advertisement", "adsense", "sponsor", "sponsored",
				"navheader", "navfooter", "navpath", "respond", "disqus", "feedback", "helpful", "rating", "searchbox", "searchform",
				"permalink", "backtotop", "totop", "clipboard", "jumpto":
				kinds |= namedWidget
			case "sidebar", "sidenav", "sidebars", "navbar", "navigation", "nav", "navi", "menu", "submenu", "footer", "footnav", "colophon",
				"masthead", "banner", "topbar", "toolbar", "related", "recommended", "recommendations", "promo", "widget", "widgets", "popup",
				"modal", "overlay", "copyright", "aside", "sphinxsidebar", "search",
				"ads", "ad", "teaser", "teasers", "trending", "popular":
				kinds |= namedAside
			}
		})
	}
	return kinds
}

// isPageLabel reports whether a short text is a label of the page, not of its content.
func isPageLabel(text string) bool {
	text = strings.ToLower(strings.Trim(strings.Join(strings.Fields(text), " "), " .:!?|»«›‹→←↑…-–—[]()"))
	for _, start := range []string{"skip to ", "jump to content", "jump to navigation", "zum inhalt springen", "zum hauptinhalt", "aller au contenu"} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	switch text {
	case "edit this page", "edit page", "edit this page on github", "edit on github", "edit me", "view page source", "view source", "show source",
		"report a bug", "report an issue", "report issue", "suggest edits", "back to top", "to top", "top", "was this page helpful",
		"was this article helpful", "is this page useful", "did this answer your question", "share this", "share this page",
		"share this article", "print this page", "print", "previous", "next", "prev", "previous page", "next page", "home", "search", "menu", "on this page",
		"in this article", "in this page", "nach oben", "seite drucken", "zurück", "weiter", "seite bearbeiten", "auf dieser seite",
		"haut de page", "précédent", "suivant", "sur cette page", "ページの先頭へ", "このページの内容":
		return true
	}
	return false
}
