package main

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// readHTML returns the headings and paragraphs of HTML, and of XML help pages with the same element names.
func readHTML(content []byte) []block {
	tokens := html.NewTokenizer(bytes.NewReader(content))
	var blocks []block
	var text strings.Builder
	level, hidden := 0, 0
	flush := func() {
		if found := squeeze(text.String()); found != "" {
			blocks = append(blocks, block{level: level, text: strings.TrimSuffix(found, "¶")})
		}
		text.Reset()
	}
	for {
		switch kind := tokens.Next(); kind {
		case html.ErrorToken:
			flush()
			return blocks
		case html.TextToken:
			if hidden == 0 {
				text.Write(tokens.Text())
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name, _ := tokens.TagName()
			tag := atom.Lookup(name)
			if isHidden(tag) && kind != html.SelfClosingTagToken {
				if kind == html.StartTagToken {
					hidden++
				} else if hidden > 0 {
					hidden--
				}
			}
			if isInline(tag) && !isDocBookBlock(string(name)) {
				continue
			}
			flush()
			level = 0
			if kind == html.StartTagToken {
				level = headingLevel(tag)
			}
		default:
		}
	}
}

func isHidden(tag atom.Atom) bool {
	switch tag {
	case atom.Script, atom.Style, atom.Pre, atom.Nav, atom.Svg, atom.Math:
		return true
	default:
		return false
	}
}

func isInline(tag atom.Atom) bool {
	switch tag {
	case atom.A, atom.B, atom.I, atom.Em, atom.Strong, atom.Code, atom.Tt, atom.Span, atom.Kbd, atom.Var, atom.Samp, atom.Q,
		atom.Cite, atom.Abbr, atom.Acronym, atom.Dfn, atom.U, atom.S, atom.Small, atom.Big, atom.Sub, atom.Sup, atom.Font, atom.Img,
		atom.Wbr, atom.Bdi, atom.Bdo, atom.Mark, atom.Time, atom.Label, 0:
		return true
	default:
		return false
	}
}

func headingLevel(tag atom.Atom) int {
	switch tag {
	case atom.H1, atom.Title:
		return 1
	case atom.H2:
		return 2
	case atom.H3:
		return 3
	case atom.H4, atom.Dt:
		return 4
	case atom.H5:
		return 5
	case atom.H6:
		return 6
	default:
		return 0
	}
}
