package confluence

import (
	"cmp"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// userNames are the names of users by account id or user key.
type userNames map[string]string

// A writer converts the storage format of one page to HTML.
type writer struct {
	b strings.Builder
	// base is the URL of the site, for links inside of it. space is the key of
	// the page's space.
	base, space string
	userNames   userNames
	depth       int // of macros whose body is storage format
}

// isPlainElement reports whether an element is kept, without its attributes.
func isPlainElement(name string) bool {
	switch name {
	case "p", "ul", "ol", "li", "blockquote", "pre", "code", "strong", "b", "em", "i", "u", "s", "del", "strike", "sub", "sup", "small", "dl", "dt", "dd",
		"table", "thead", "tbody", "tfoot", "tr", "caption", "div", "section", "figure", "figcaption", "kbd", "samp", "var", "cite", "q", "ins", "mark", "abbr":
		return true
	}
	return false
}

// isIgnoredElement reports whether an element is removed with its content.
func isIgnoredElement(name string) bool {
	switch name {
	case "script", "style", "iframe", "object", "embed", "head", "title", "meta", "link", "noscript", "form", "button", "select", "textarea", "input",
		"ac:parameter", "ac:default-parameter", "ac:placeholder", "ac:adf-attribute", "ac:task-id", "ac:task-uuid", "ac:task-status", "colgroup", "col",
		"ri:page", "ri:attachment", "ri:url", "ri:space", "ri:shortcut", "ri:blog-post", "ri:content-entity":
		return true
	}
	return false
}

func (w *writer) text(s string) {
	w.b.WriteString(html.EscapeString(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' {
			return -1
		}
		return r
	}, s)))
}

func (w *writer) openTag(tag string)  { w.b.WriteString("<" + tag + ">") }
func (w *writer) closeTag(tag string) { w.b.WriteString("</" + tag + ">") }

func (w *writer) children(n *node) {
	for _, c := range n.children {
		w.node(c)
	}
}

func (w *writer) node(n *node) {
	switch name := n.name; {
	case name == "":
		w.text(n.text)
	case isIgnoredElement(name):
	case isPlainElement(name):
		w.element(name, n)
	case len(name) == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6':
		// The page's title is the only heading of level 1.
		w.element("h"+string(min(name[1]+1, '6')), n)
	case name == "br" || name == "hr":
		w.openTag(name)
	case name == "td" || name == "th":
		w.cell(n)
	case name == "a":
		w.anchor(n.attr["href"], func() { w.children(n) })
	case name == "img":
		w.image(n.attr["alt"], n.attr["src"])
	case name == "time":
		w.text(n.attr["datetime"])
	case name == "ac:structured-macro" || name == "ac:macro":
		w.macro(n)
	case name == "ac:link":
		w.link(n)
	case name == "ac:image":
		w.acImage(n)
	case name == "ac:emoticon":
		w.text(emoticon(n))
	case name == "ac:task-list":
		w.element("ul", n)
	case name == "ac:task":
		w.task(n)
	case name == "ri:user":
		w.text(w.userName(n))
	case name == "ac:layout-section" || name == "ac:layout-cell":
		w.element("div", n)
	case name == "ac:adf-extension":
		// The content is there twice: for the new editor, and as a fallback.
		if fallback := n.find("ac:adf-fallback"); fallback != nil {
			w.children(fallback)
		} else {
			w.children(n)
		}
	default:
		w.children(n)
	}
}

func (w *writer) element(tag string, n *node) {
	w.openTag(tag)
	w.children(n)
	w.closeTag(tag)
}

func (w *writer) cell(n *node) {
	w.b.WriteString("<" + n.name)
	for _, name := range []string{"colspan", "rowspan"} {
		if value := n.attr[name]; value != "" && value != "1" && len(value) < 4 && strings.Trim(value, "0123456789") == "" {
			w.b.WriteString(" " + name + `="` + value + `"`)
		}
	}
	w.b.WriteString(">")
	w.children(n)
	w.closeTag(n.name)
}

// anchor writes a link if its URL is absolute or on the site, and only its text
// otherwise.
func (w *writer) anchor(href string, text func()) {
	address, err := url.Parse(strings.TrimSpace(href))
	if err == nil && href != "" && address.Scheme == "" && address.Host == "" {
		switch base, baseErr := url.Parse(w.base); {
		case baseErr != nil || address.Path == "":
			err = url.InvalidHostError("none")
		case strings.HasPrefix(address.Path, "/"):
			address = base.ResolveReference(address)
		default:
			err = url.InvalidHostError("relative")
		}
	}
	follows := err == nil && (address.Scheme == "https" || address.Scheme == "http" || address.Scheme == "mailto")
	if follows {
		w.b.WriteString(`<a href="` + html.EscapeString(address.String()) + `">`)
	}
	text()
	if follows {
		w.closeTag("a")
	}
}

func (w *writer) image(alt, src string) {
	if alt == "" && src == "" {
		return
	}
	w.b.WriteString(`<img alt="` + html.EscapeString(alt) + `" src="` + html.EscapeString(src) + `">`)
}

func (w *writer) acImage(n *node) {
	name := ""
	if file := n.child("ri:attachment"); file != nil {
		name = file.attr["ri:filename"]
	} else if address := n.child("ri:url"); address != nil {
		name = address.attr["ri:value"]
	}
	alt := cmp.Or(n.attr["ac:alt"], n.attr["ac:title"])
	if alt == "" && !strings.Contains(name, "://") {
		alt = name
	}
	w.image(alt, name)
	if caption := n.child("ac:caption"); caption != nil {
		w.element("div", caption)
	}
}

func (w *writer) task(n *node) {
	w.b.WriteString(`<li><input type="checkbox"`)
	if status := n.child("ac:task-status"); status != nil && strings.TrimSpace(status.plainText()) == "complete" {
		w.b.WriteString(" checked")
	}
	w.b.WriteString("> ")
	if body := n.child("ac:task-body"); body != nil {
		w.children(body)
	}
	w.closeTag("li")
}

func (w *writer) userName(n *node) string {
	id := userID(n)
	if name := w.userNames[id]; name != "" {
		return "@" + name
	}
	return "@user"
}

// userID returns the id of a mentioned user: an account id, a user key or, in
// old pages, a name.
func userID(n *node) string {
	return cmp.Or(n.attr["ri:account-id"], n.attr["ri:userkey"], n.attr["ri:username"])
}

// collectUsers adds the users that a page mentions.
func (n *node) collectUsers(ids map[string]bool) {
	if n.name == "ri:user" {
		if id := userID(n); id != "" {
			ids[id] = true
		}
	}
	for _, c := range n.children {
		c.collectUsers(ids)
	}
}

// link writes a link of Confluence. Its text is the link's own, or the name of
// its target.
func (w *writer) link(n *node) {
	name, href := "", ""
	for _, c := range n.children {
		switch c.name {
		case "ri:page", "ri:blog-post":
			name = c.attr["ri:content-title"]
			href = w.pageURL(c)
		case "ri:attachment":
			name = c.attr["ri:filename"]
		case "ri:user":
			name = w.userName(c)
		case "ri:space":
			name = c.attr["ri:space-key"]
			href = w.base + "/display/" + url.PathEscape(name)
		case "ri:url":
			name, href = c.attr["ri:value"], c.attr["ri:value"]
		case "ri:shortcut":
			name = c.attr["ri:parameter"]
		}
	}
	if name == "" {
		name = n.attr["ac:anchor"]
	}
	w.anchor(href, func() {
		body := n.child("ac:link-body", "ac:plain-text-link-body")
		if body == nil || strings.TrimSpace(body.plainText()) == "" && body.find("ac:image") == nil {
			w.text(name)
			return
		}
		w.children(body)
	})
}

func (w *writer) pageURL(n *node) string {
	title, space := n.attr["ri:content-title"], n.attr["ri:space-key"]
	if title == "" || n.name != "ri:page" {
		return ""
	}
	if space == "" {
		space = w.space
	}
	return w.base + "/display/" + url.PathEscape(space) + "/" + url.QueryEscape(title)
}

func emoticon(n *node) string {
	if sign := n.attr["ac:emoji-fallback"]; sign != "" {
		return sign
	}
	switch name := n.attr["ac:name"]; name {
	case "smile":
		return "🙂"
	case "sad":
		return "🙁"
	case "cheeky":
		return "😛"
	case "laugh":
		return "😀"
	case "wink":
		return "😉"
	case "thumbs-up":
		return "👍"
	case "thumbs-down":
		return "👎"
	case "information":
		return "ℹ️"
	case "tick":
		return "✅"
	case "cross":
		return "❌"
	case "warning":
		return "⚠️"
	case "plus":
		return "➕"
	case "minus":
		return "➖"
	case "question":
		return "❓"
	case "light-on":
		return "💡"
	case "light-off":
		return "🌑"
	case "yellow-star", "red-star", "green-star", "blue-star":
		return "⭐"
	case "heart":
		return "❤️"
	case "broken-heart":
		return "💔"
	case "":
		return n.attr["ac:emoji-shortname"]
	default:
		return ":" + name + ":"
	}
}
