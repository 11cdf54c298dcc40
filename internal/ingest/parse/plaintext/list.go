package plaintext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
)

// bulletOf returns the kind of bullet or number that a line begins with, such as "-" or "1.", or "".
func bulletOf(line string) string {
	line = strings.TrimLeft(line, " \t")
	mark, rest, found := strings.Cut(line, " ")
	if !found {
		mark, rest, found = strings.Cut(line, "\t")
	}
	if !found || strings.TrimSpace(rest) == "" {
		return ""
	}
	switch mark {
	case "-", "*", "+", "•", "–", "—", "·", "▪", "◦", "‣", "●", "○", "■", "□", "➢", "→", "・":
		return mark
	case "o":
		return mark
	}
	inner := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(mark, "("), ")"), ".")
	switch {
	case inner == mark, inner == "", len(inner) > 4:
		return ""
	case strings.Trim(inner, "0123456789") == "":
		return strings.Replace(mark, inner, "1", 1)
	case len(inner) == 1 && inner[0] >= 'a' && inner[0] <= 'z' && strings.HasSuffix(mark, ")"):
		return strings.Replace(mark, inner, "a", 1)
	case strings.Trim(inner, "ivx") == "":
		return strings.Replace(mark, inner, "i", 1)
	}
	return ""
}

func isItem(line string) bool { return bulletOf(line) != "" }

// list writes the list items at the beginning of the lines, and returns how many lines they take. A line belongs to the
// item above if it is indented or was wrapped.
func (w *writer) list(lines []string) int {
	if bulletOf(lines[0]) == "o" && lines[0][0] == 'o' && !w.hasMoreItems(lines) {
		w.emit(document.Block{Kind: document.Paragraph, Text: w.joinLines(lines)})
		return len(lines)
	}
	var items []string
	var indents []int // of the enclosing items
	var item []string
	level := 0
	flush := func() {
		if len(item) > 0 {
			items = append(items, strings.Repeat("  ", level)+markdownItem(item))
			item = item[:0]
		}
	}
	n := 0
	for ; n < len(lines); n++ {
		line := lines[n]
		indent := indentWidth(line)
		switch {
		case isItem(line) && (n == 0 || bulletOf(line) != "o" || bulletOf(lines[0]) == "o"):
			flush()
			for len(indents) > 0 && indent < indents[len(indents)-1] {
				indents = indents[:len(indents)-1]
			}
			if len(indents) == 0 || indent > indents[len(indents)-1]+1 {
				indents = append(indents, indent)
			}
			level = min(len(indents)-1, 6)
		case quotedLines(lines[n:]) > 0, indent <= indents[0] && n > 0 && !w.isWrapped(lines[n-1], line):
			flush()
			w.emitList(items, bulletOf(lines[0]))
			return n
		}
		item = append(item, strings.TrimSpace(line))
	}
	flush()
	w.emitList(items, bulletOf(lines[0]))
	return n
}

// hasMoreItems reports whether further lines begin with the same bullet.
func (w *writer) hasMoreItems(lines []string) bool {
	for _, line := range lines[1:] {
		if bulletOf(line) == bulletOf(lines[0]) {
			return true
		}
	}
	last := len(w.blocks) - 1
	return last >= 0 && w.blocks[last].Kind == document.List
}

// isWrapped reports whether a line was wrapped because the line above was full.
func (w *writer) isWrapped(above, line string) bool {
	first, _ := utf8.DecodeRuneInString(strings.TrimSpace(line))
	return w.layout.width > 0 && utf8.RuneCountInString(above)+1+firstWordLength(strings.TrimSpace(line)) >= w.layout.width-4 && !unicode.IsUpper(first)
}

// emitList writes items. They extend the previous list if it has the same bullets, since there may be empty lines
// between items.
func (w *writer) emitList(items []string, bullet string) {
	text := strings.Join(items, "\n")
	if last := len(w.blocks) - 1; last >= 0 && w.blocks[last].Kind == document.List && w.blocks[last].Page == w.page {
		if bullet == w.bullet && len(w.blocks[last].Text) < 8*compose.BlockRunes {
			w.blocks[last].Text += "\n" + text
			return
		}
	}
	w.bullet = bullet
	w.emit(document.Block{Kind: document.List, Text: text})
}

// markdownItem joins the lines of an item and gives it a bullet of Markdown.
func markdownItem(lines []string) string {
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteString(compose.LineGap(lines[i-1], line))
		}
		b.WriteString(line)
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	switch bullet := bulletOf(text); {
	case bullet == "-" || bullet == "*" || bullet == "+" || bullet == "1.":
		return text
	case utf8.RuneCountInString(bullet) == 1:
		return "- " + strings.TrimSpace(text[len(bullet):])
	}
	return "- " + text // (1), a), iv.
}
