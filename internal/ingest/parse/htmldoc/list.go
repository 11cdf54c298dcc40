package htmldoc

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
)

// list emits the text of a list, interrupted by the code, tables and headings in it.
func (w *walker) list(node *html.Node, depth int) {
	w.flush()
	l := listWriter{walker: w, text: compose.List{Emit: w.emit}}
	l.list(node, depth, 0)
	l.text.Flush()
}

type listWriter struct {
	walker *walker
	text   compose.List
}

func (l *listWriter) list(node *html.Node, depth, indent int) {
	number := 1
	if start, err := strconv.Atoi(attributeOf(node, "start")); err == nil {
		number = start
	}
	for child := node.FirstChild; child != nil && l.walker.ok(); child = child.NextSibling {
		marker := "- "
		if node.DataAtom == atom.Ol && child.DataAtom == atom.Li {
			if value, err := strconv.Atoi(attributeOf(child, "value")); err == nil {
				number = value
			}
			marker = strconv.Itoa(number) + ". "
			number++
		}
		switch {
		case l.walker.dropped[child]:
		case child.DataAtom == atom.Ul || child.DataAtom == atom.Ol:
			l.list(child, depth+1, min(indent+2, 2*compose.MaxNesting))
		case child.Type == html.ElementNode && !l.walker.isLeftOut(child):
			l.text.Item(marker, indent, l.walker.read(child, depth))
		case child.Type == html.TextNode:
			l.text.Lines(strings.Repeat(" ", indent)+marker, indent+len(marker), inline.FoldBreaks(child.Data))
		}
	}
}

// definitions emits a list of "term: meaning". If a meaning has several paragraphs, terms become paragraphs, or
// headings if they are signatures of a reference, and the meanings follow.
func (w *walker) definitions(node *html.Node, depth int) {
	w.flush()
	parts := definitionParts(node)
	simple := true
	for _, part := range parts {
		simple = simple && (part.DataAtom == atom.Dt && !containsHeading(part) && !isSignature(part) || part.DataAtom == atom.Dd && isSimple(part))
	}
	if simple {
		w.simpleDefinitions(parts)
		return
	}
	level := w.level
	for _, part := range parts {
		w.flush()
		switch {
		case w.isLeftOut(part):
		case isSignature(part):
			w.heading(part, min(level+1, 6))
		default:
			w.children(part, depth+1)
			w.flush()
		}
	}
	w.level = level
}

// definitionParts returns the terms and meanings of a list, which may be grouped.
func definitionParts(list *html.Node) []*html.Node {
	var parts []*html.Node
	for child := list.FirstChild; child != nil; child = child.NextSibling {
		switch {
		case child.Type != html.ElementNode:
		case child.DataAtom == atom.Div:
			for inner := child.FirstChild; inner != nil; inner = inner.NextSibling {
				if inner.Type == html.ElementNode {
					parts = append(parts, inner)
				}
			}
		default:
			parts = append(parts, child)
		}
	}
	return parts
}

func (w *walker) simpleDefinitions(parts []*html.Node) {
	items := compose.List{Emit: w.emit}
	term, meaning := "", ""
	alone := !slices.ContainsFunc(parts, func(part *html.Node) bool { return part.DataAtom == atom.Dd })
	flush := func() {
		switch {
		case term != "" && meaning != "":
			items.Lines("- ", 2, term+": "+meaning)
		case term+meaning != "":
			items.Lines("- ", 2, term+meaning)
		}
		term, meaning = "", ""
	}
	for _, part := range parts {
		if w.isLeftOut(part) || !w.ok() {
			continue
		}
		text := inline.FoldBreaks(w.inline(part))
		switch {
		case part.DataAtom == atom.Dt && meaning == "" && term != "" && !alone:
			term += ", " + text
		case part.DataAtom == atom.Dt:
			flush()
			term = strings.TrimRight(text, ": ")
		case meaning != "":
			meaning += "\n" + text
		default:
			meaning = text
		}
	}
	flush()
	items.Flush()
}

// isSimple reports whether an element contains only inline text, or one paragraph.
func isSimple(node *html.Node) bool {
	for n := range node.Descendants() {
		if n.Type != html.ElementNode || n.DataAtom == 0 || n.Namespace != "" || isInlineElement(n.DataAtom) || isSkipped(n) {
			continue
		}
		if n.DataAtom != atom.P || n.Parent != node || !isOnlyChild(n) {
			return false
		}
	}
	return true
}

func containsHeading(node *html.Node) bool {
	for n := range node.Descendants() {
		switch n.DataAtom {
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			return true
		}
	}
	return false
}

// isSignature reports whether a term is the signature of a function, a class or an option in a generated reference.
func isSignature(node *html.Node) bool {
	if node.DataAtom != atom.Dt || attributeOf(node, "id") == "" {
		return false
	}
	for class := range strings.FieldsSeq(attributeOf(node, "class")) {
		if class == "sig" {
			return true
		}
	}
	return node.Parent != nil && strings.HasSuffix(attributeOf(node.Parent, "class"), "function")
}
