package asciidoc

import (
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
)

// asciidocItem is the first line of a list item with its parts told apart.
type asciidocItem struct {
	marker string // the same for all items of a list: "*", "..", "1.", "a.", "<1>", "::"
	number int    // that the item gives itself, 0 for none
	term   string // of a description
	text   string
}

// itemOfLine reads a line that begins an item of a list.
func itemOfLine(line string) (asciidocItem, bool) {
	trimmed := strings.TrimLeft(line, " \t")
	if trimmed == "" {
		return asciidocItem{}, false
	}
	word, text, _ := strings.Cut(trimmed, " ")
	text = strings.TrimSpace(text)
	if text != "" {
		switch c := word[0]; {
		case (c == '*' || c == '.') && strings.Trim(word, word[:1]) == "" && len(word) <= compose.MaxNesting, word == "-", word == "•":
			return asciidocItem{marker: word, text: text}, true
		case c == '<' && word[len(word)-1] == '>' && len(word) < 8 && strings.Trim(word[1:len(word)-1], "0123456789.") == "" && len(word) > 2:
			number, _ := strconv.Atoi(word[1 : len(word)-1])
			return asciidocItem{marker: "<1>", number: number, text: text}, true
		case len(word) < 10 && (strings.HasSuffix(word, ".") || strings.HasSuffix(word, ")")):
			if marker := orderedMarker(word); marker != "" {
				number, _ := strconv.Atoi(word[:len(word)-1])
				return asciidocItem{marker: marker, number: number, text: text}, true
			}
		}
	}
	return describedItem(trimmed)
}

// orderedMarker returns the kind of an explicit number: 1. a. A. i) I), "" for other words.
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

// describedItem reads "term:: text", with two to four colons or two semicolons.
func describedItem(line string) (asciidocItem, bool) {
	if isLineComment(line) {
		return asciidocItem{}, false
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
			return asciidocItem{marker: line[at:end], term: strings.TrimSpace(line[:at]), text: strings.TrimSpace(line[end:])}, true
		}
		at = end
	}
	return asciidocItem{}, false
}

func isListItem(line string) bool {
	_, is := itemOfLine(line)
	return is
}

// list reads a list and the lists inside it. The markers of the lists around it end it. It returns its blocks and how many
// lines it has.
func (b *asciidocBody) list(lines []string, around []string, depth int) ([]document.Block, int) {
	first, _ := itemOfLine(lines[0])
	var blocks []document.Block
	items := compose.List{Emit: func(block document.Block) { blocks = append(blocks, block) }}
	number := 0
	i, end := 0, 1
	for i < len(lines) && b.p.alive() {
		item, is := itemOfLine(lines[i])
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
			following, isItem := itemOfLine(lines[next])
			if !isItem || following.term == "" || following.marker != first.marker {
				break
			}
			item, i = following, next
		}
		inner, n := b.item(lines[i:], item, append(slices.Clone(around), first.marker), depth+1)
		number++
		if item.number > 0 {
			number = item.number
		}
		items.Item(markerOf(first.marker, number), 0, itemBlocks(terms, inner))
		i += n
		for end = i; i < len(lines) && strings.TrimSpace(lines[i]) == ""; {
			i++
		}
	}
	items.Flush()
	return blocks, end
}

// markerOf returns the Markdown marker of an item.
func markerOf(marker string, number int) string {
	if c := marker[0]; c == '.' || c == '<' || marker == "1." || marker == "a." || marker == "A." || marker == "i)" || marker == "I)" {
		return strconv.Itoa(number) + ". "
	}
	return "- "
}

func itemBlocks(terms []string, blocks []document.Block) []document.Block {
	if len(terms) == 0 {
		return blocks
	}
	return compose.Labelled(strings.Join(terms, ", ")+": ", blocks)
}

// item reads what belongs to one item: its text, what is attached to it and the lists inside it.
func (b *asciidocBody) item(lines []string, item asciidocItem, around []string, depth int) ([]document.Block, int) {
	inner := asciidocBody{p: b.p, depth: min(depth, compose.MaxNesting), inList: true}
	text := []string{checked(item.text)}
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
	for i < len(lines) && b.p.alive() {
		next := i
		for next < len(lines) && strings.TrimSpace(lines[next]) == "" {
			next++
		}
		if next == len(lines) {
			break
		}
		n := b.attached(&inner, lines[next:], next > i, around, depth)
		if n == 0 {
			break
		}
		i = next + n
	}
	return inner.blocks, i
}

// continuesItem reports a line that goes on with the text of an item.
func continuesItem(line string) bool {
	line = strings.TrimRight(line, " \t")
	return line != "" && line != "+" && delimiterOf(line) == 0 && !isAttributeLine(line) && !isListItem(line)
}

// attached reads one thing that belongs to an item and returns how many lines that took, 0 where the item ends. Blank lines
// may stand before a list inside it and before an indented text.
func (b *asciidocBody) attached(inner *asciidocBody, lines []string, parted bool, around []string, depth int) int {
	line := strings.TrimRight(lines[0], " \t")
	if line == "+" {
		if parted && len(around) > 1 {
			return 0 // it belongs to the item around this one
		}
		i := 1
		for i < len(lines) && b.p.alive() {
			before := inner.next
			if strings.TrimSpace(lines[i]) == "" {
				return i
			}
			n := max(inner.element(lines[i:]), 1)
			i += n
			if !announced(before, inner.next) {
				break
			}
		}
		return i
	}
	if item, is := itemOfLine(lines[0]); is {
		if slices.Contains(around, item.marker) || depth > compose.MaxNesting {
			return 0
		}
		blocks, n := inner.list(lines, around, depth)
		inner.emitAll(blocks)
		return n
	}
	switch {
	case !parted && isAttributeLine(line):
		inner.next.add(line[1 : len(line)-1])
		return 1
	case parted && (line[0] == ' ' || line[0] == '\t') && delimiterOf(strings.TrimSpace(line)) == 0:
		return inner.text(lines)
	}
	return 0
}

// announced reports that an element was a line about the one after it.
func announced(before, after asciidocAttributes) bool {
	return after.style != before.style || after.title != before.title || after.id != before.id || len(after.positional) != len(before.positional) ||
		len(after.named) != len(before.named)
}

// checked writes the box of an item that can be ticked as Markdown does.
func checked(text string) string {
	if rest, found := strings.CutPrefix(text, "[*] "); found {
		return "[x] " + rest
	}
	return text
}
