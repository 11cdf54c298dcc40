package markdown

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
)

// cleanInline replaces inline markup that only programs understand: images by their alternative text, wiki links by
// their labels, and footnote references by labels in brackets. Code spans stay.
func (w *walker) cleanInline(raw string) string {
	if !strings.Contains(raw, "[") {
		return raw
	}
	var b strings.Builder
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '`':
			n := inline.SpanLength(raw[i:])
			b.WriteString(raw[i : i+n])
			i += n
			continue
		case c == '\\' && i+1 < len(raw):
			b.WriteString(raw[i : i+2])
			i += 2
			continue
		case c == '!' && strings.HasPrefix(raw[i:], "![["):
			if end := strings.Index(raw[i:min(len(raw), i+inline.MaxLinkBytes)], "]]"); end > 0 {
				i += end + 2 // an embedded file
				continue
			}
		case c == '!' && strings.HasPrefix(raw[i:], "!["):
			if label, n := inline.LinkLabel(raw[i+1:]); n > 0 {
				b.WriteString(strings.TrimSpace(label))
				i += 1 + n
				continue
			}
		case c == '[':
			if text, n := w.bracketText(raw[i:]); n > 0 {
				b.WriteString(text)
				i += n
				continue
			}
		}
		b.WriteByte(raw[i])
		i++
	}
	return b.String()
}

// bracketText returns the text for the [^note], [[page|label]] or linked image that raw starts with, and its length.
// The length is 0 if there is none.
func (w *walker) bracketText(raw string) (string, int) {
	switch {
	case strings.HasPrefix(raw, "[^"):
		end := strings.IndexByte(raw[:min(len(raw), 200)], ']')
		if end > 2 && w.footnotes.known[raw[2:end]] {
			return "[" + raw[2:end] + "]", end + 1
		}
	case strings.HasPrefix(raw, "[["):
		end := strings.Index(raw[:min(len(raw), 500)], "]]")
		if end <= 2 || strings.ContainsAny(raw[2:end], "[]\n`") || end+2 < len(raw) && raw[end+2] == '(' {
			return "", 0
		}
		page, label, found := strings.Cut(raw[2:end], "|")
		if !found {
			page, label, _ = strings.Cut(page, "#")
			if label = strings.TrimSpace(label); page != "" && label != "" {
				page += " > " + label
			} else if page == "" {
				page = label
			}
			label = page
		}
		if strings.ContainsAny(page, "${}=;") || strings.TrimSpace(label) == "" {
			return "", 0 // the condition of a shell script, not the name of a page
		}
		return strings.TrimSpace(label), end + 2
	case strings.HasPrefix(raw, "[!["):
		// An image that is a link, such as a badge.
		if label, n := inline.LinkLabel(raw[2:]); n > 0 && 2+n < len(raw) && raw[2+n] == ']' {
			if strings.TrimSpace(label) == "" {
				if _, whole := inline.LinkLabel(raw); whole > 0 {
					return "", whole
				}
			}
		}
	}
	return "", 0
}

// footnotes holds the footnotes of a file.
type footnotes struct {
	known map[string]bool
	texts []string
}

// collectLabels finds the labels of the footnotes that a text defines.
func (n *footnotes) collectLabels(body string) {
	n.known = make(map[string]bool)
	if !strings.Contains(body, "[^") {
		return
	}
	for line := range strings.Lines(body) {
		line = strings.TrimLeft(line, " >")
		if !strings.HasPrefix(line, "[^") || len(n.known) > compose.MaxNames {
			continue
		}
		if end := strings.Index(line[:min(len(line), 200)], "]:"); end > 2 {
			n.known[line[2:end]] = true
		}
	}
}

// isTableOfContents reports whether a paragraph stands for a generated table of contents.
func isTableOfContents(text string) bool {
	switch strings.ToLower(text) {
	case "[toc]", "[[toc]]", "[[_toc_]]", "${toc}", "{:toc}", "\\tableofcontents":
		return true
	}
	return false
}
