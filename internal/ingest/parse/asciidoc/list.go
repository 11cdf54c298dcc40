package asciidoc

import (
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
)

// listItem is the parsed first line of a list item.
type listItem struct {
	marker string // the kind of list: "*", "..", "1.", "a.", "<1>", "::"
	number int    // explicit number, 0 for none
	term   string // of a description list
	text   string
}

// parseItem parses a line that begins a list item.
func parseItem(line string) (listItem, bool) {
	trimmed := strings.TrimLeft(line, " \t")
	if trimmed == "" {
		return listItem{}, false
	}
	word, text, _ := strings.Cut(trimmed, " ")
	text = strings.TrimSpace(text)
	if text != "" {
		switch c := word[0]; {
		case (c == '*' || c == '.') && strings.Trim(word, word[:1]) == "" && len(word) <= compose.MaxNesting, word == "-", word == "•":
			return listItem{marker: word, text: text}, true
		case c == '<' && word[len(word)-1] == '>' && len(word) < 8 && strings.Trim(word[1:len(word)-1], "0123456789.") == "" && len(word) > 2:
			number, _ := strconv.Atoi(word[1 : len(word)-1])
			return listItem{marker: "<1>", number: number, text: text}, true
		case len(word) < 10 && (strings.HasSuffix(word, ".") || strings.HasSuffix(word, ")")):
			if marker := orderedMarker(word); marker != "" {
				number, _ := strconv.Atoi(word[:len(word)-1])
				return listItem{marker: marker, number: number, text: text}, true
			}
		}
	}
	return parseTerm(trimmed)
}

// orderedMarker returns the marker of an explicit number (1. a. A. i) I)), or "".
func orderedMarker(word string) string {
	number, end := word[:len(word)-1], word[len(word)-1:]
	switch {
	case number == "":
	case strings.Trim(number, "0123456789") == "" && end == ".":
		return "1."
	case end == ")" && strings.Trim(number, "ivxlcdm") == "":
		return "i)"
	case end == ")" && strings.Trim(number, "IVXLCDM") == "":
		return "I)"
	case len(number) == 1 && end == "." && 'a' <= number[0] && number[0] <= 'z':
		return "a."
	case len(number) == 1 && end == "." && 'A' <= number[0] && number[0] <= 'Z':
		return "A."
	}
	return ""
}

// parseTerm parses "term:: text", with two to four colons or two semicolons.
func parseTerm(line string) (listItem, bool) {
	if isLineComment(line) {
		return listItem{}, false
	}
	for at := 1; at+1 < len(line); at++ {
		if c := line[at]; c != line[at+1] || c != ':' && c != ';' {
			continue
		}
		end := at
		for end < len(line) && line[end] == line[at] {
			end++
		}
		if end-at <= 4 && (line[at] == ':' || end-at == 2) && (end == len(line) || line[end] == ' ' || line[end] == '\t') && line[at-1] != ' ' {
			return listItem{marker: line[at:end], term: strings.TrimSpace(line[:at]), text: strings.TrimSpace(line[end:])}, true
		}
		at = end
	}
	return listItem{}, false
}

func isListItem(line string) bool {
	_, is := parseItem(line)
	return is
}

// list reads a list with the lists inside it, up to an item of an enclosing list. It returns the blocks and the number
// of lines.
func (b *body) list(lines []string, enclosing []string, depth int) ([]document.Block, int) {
	first, _ := parseItem(lines[0])
	var blocks []document.Block
	items := compose.List{Emit: func(block document.Block) { blocks = append(blocks, block) }}
	number := 0
	i, end := 0, 1
	for i < len(lines) && b.p.ok() {
		item, is := parseItem(lines[i])
		if !is || item.marker != first.marker {
			break
		}
		var terms []string
		for is && item.term != "" && item.marker == first.marker { // several terms may share a description
			terms = append(terms, b.p.inline(item.term))
			next := i + 1
			for next < len(lines) && strings.TrimSpace(lines[next]) == "" {
				next++
			}
			if item.text != "" || next >= len(lines) {
				break
			}
			following, isItem := parseItem(lines[next])
			if !isItem || following.term == "" || following.marker != first.marker {
				break
			}
			item, i = following, next
		}
		inner, n := b.item(lines[i:], item, append(slices.Clone(enclosing), first.marker), depth+1)
		number++
		if item.number > 0 {
			number = item.number
		}
		items.Item(markdownMarker(first.marker, number), 0, withTerms(terms, inner))
		i += n
		for end = i; i < len(lines) && strings.TrimSpace(lines[i]) == ""; {
			i++
		}
	}
	items.Flush()
	return blocks, end
}

// markdownMarker returns the Markdown marker of an item.
func markdownMarker(marker string, number int) string {
	if c := marker[0]; c == '.' || c == '<' || marker == "1." || marker == "a." || marker == "A." || marker == "i)" || marker == "I)" {
		return strconv.Itoa(number) + ". "
	}
	return "- "
}

func withTerms(terms []string, blocks []document.Block) []document.Block {
	if len(terms) == 0 {
		return blocks
	}
	return compose.Labelled(strings.Join(terms, ", ")+": ", blocks)
}

// item reads the text of an item, its attached blocks and the lists inside it. It returns the blocks and the number of
// lines.
func (b *body) item(lines []string, item listItem, enclosing []string, depth int) ([]document.Block, int) {
	inner := body{p: b.p, depth: min(depth, compose.MaxNesting), isItem: true}
	text := []string{checkbox(item.text)}
	i := 1
	if item.text == "" && item.term != "" {
		for i < len(lines) && strings.TrimSpace(lines[i]) == "" {
			i++
		}
	}
	for i < len(lines) && continuesItem(lines[i]) {
		if !isLineComment(lines[i]) {
			text = append(text, strings.TrimSpace(lines[i]))
		}
		i++
	}
	inner.paragraph(b.p.inline(strings.TrimSpace(strings.Join(text, "\n"))))
	for i < len(lines) && b.p.ok() {
		next := i
		for next < len(lines) && strings.TrimSpace(lines[next]) == "" {
			next++
		}
		if next == len(lines) {
			break
		}
		n := b.attachedBlock(&inner, lines[next:], next > i, enclosing, depth)
		if n == 0 {
			break
		}
		i = next + n
	}
	return inner.blocks, i
}

// continuesItem reports whether a line continues the text of an item.
func continuesItem(line string) bool {
	line = strings.TrimRight(line, " \t")
	return line != "" && line != "+" && delimiterOf(line) == 0 && !isAttributeLine(line) && !isListItem(line)
}

// attachedBlock reads one block that belongs to an item. It returns the number of lines, or 0 if the item ends. A
// nested list and an indented text may follow blank lines.
func (b *body) attachedBlock(inner *body, lines []string, afterBlank bool, enclosing []string, depth int) int {
	line := strings.TrimRight(lines[0], " \t")
	if line == "+" {
		if afterBlank && len(enclosing) > 1 {
			return 0 // it belongs to the enclosing item
		}
		i := 1
		for i < len(lines) && b.p.ok() {
			before := inner.next
			if strings.TrimSpace(lines[i]) == "" {
				return i
			}
			n := max(inner.element(lines[i:]), 1)
			i += n
			if !hasMetadataChanged(before, inner.next) {
				break
			}
		}
		return i
	}
	if item, is := parseItem(lines[0]); is {
		if slices.Contains(enclosing, item.marker) || depth > compose.MaxNesting {
			return 0
		}
		blocks, n := inner.list(lines, enclosing, depth)
		inner.emitAll(blocks)
		return n
	}
	switch {
	case !afterBlank && isAttributeLine(line):
		inner.next.add(line[1 : len(line)-1])
		return 1
	case afterBlank && (line[0] == ' ' || line[0] == '\t') && delimiterOf(strings.TrimSpace(line)) == 0:
		return inner.textBlock(lines)
	}
	return 0
}

// hasMetadataChanged reports whether an element was a line about the next block.
func hasMetadataChanged(before, after attributeList) bool {
	return after.style != before.style || after.title != before.title || after.id != before.id || len(after.positional) != len(before.positional) ||
		len(after.named) != len(before.named)
}

// checkbox returns the text of an item with its checkbox as in Markdown.
func checkbox(text string) string {
	if rest, found := strings.CutPrefix(text, "[*] "); found {
		return "[x] " + rest
	}
	return text
}
