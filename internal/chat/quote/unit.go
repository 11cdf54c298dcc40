package quote

import (
	"strings"

	"github.com/magpie-search/magpie/internal/analysis/sentence"
)

// unit is the smallest part of a passage that can be quoted: a sentence, a list
// item, or a block that must not be cut, such as code, a table, or a list with
// the sentence that introduces it.
type unit struct {
	text       string // verbatim, except that line breaks in sentences are blanks
	isBlock    bool   // has lines of its own
	blockIndex int    // of its block in the passage; sentences of a paragraph share one
}

// maxIntroducedList is the maximum length, in bytes, of a list that is quoted
// together with the sentence before it.
const maxIntroducedList = 1200

// splitUnits splits a Markdown passage in a language into units. It leaves out headings.
func splitUnits(markdown, language string) []unit {
	s := splitter{language: language, lines: strings.Split(strings.ReplaceAll(markdown, "\r\n", "\n"), "\n")}
	for s.position < len(s.lines) {
		s.readBlock()
	}
	return s.units()
}

// block is a block of Markdown.
type block struct {
	kind      blockKind
	text      string   // verbatim, of code, tables and lists
	sentences []string // of a paragraph or a list
}

type blockKind uint8

const (
	paragraph blockKind = iota
	list
	verbatim // code or a table
	heading
)

type splitter struct {
	language string
	lines    []string
	position int
	blocks   []block
}

func (s *splitter) line() string { return strings.TrimSpace(s.lines[s.position]) }

// readBlock reads the block at the current line.
func (s *splitter) readBlock() {
	line := s.line()
	switch {
	case line == "" || isRule(line):
		s.position++
	case isFence(line):
		s.addBlock(verbatim, s.readFence())
	case strings.HasPrefix(line, "|"):
		s.readTable(s.readWhile(func(l string) bool { return strings.HasPrefix(l, "|") }))
	case isHeading(line):
		s.blocks = append(s.blocks, block{kind: heading})
		s.position++
	case listMarker(line) > 0:
		s.readList()
	default:
		s.readParagraph()
	}
}

func (s *splitter) addBlock(kind blockKind, lines []string) {
	s.blocks = append(s.blocks, block{kind: kind, text: strings.TrimRight(strings.Join(lines, "\n"), "\n")})
}

// maxWholeTable is the maximum number of rows of a table that is quoted as a
// whole.
const maxWholeTable = 3

// readTable adds a small table as a whole, and a larger one row by row, each
// with the header, because the row that answers is clearer than the table
// around it.
func (s *splitter) readTable(lines []string) {
	const header = 2 // column names and the separator line
	if len(lines) <= header+maxWholeTable || !strings.Contains(lines[1], "---") {
		s.addBlock(verbatim, lines)
		return
	}
	for _, row := range lines[header:] {
		s.addBlock(verbatim, []string{lines[0], lines[1], row})
	}
}

// readWhile reads lines while a condition holds.
func (s *splitter) readWhile(holds func(line string) bool) []string {
	from := s.position
	for s.position < len(s.lines) && holds(s.line()) {
		s.position++
	}
	return s.lines[from:s.position]
}

// readFence reads code up to its closing fence, or to the end if there is none.
func (s *splitter) readFence() []string {
	from, open := s.position, s.line()
	mark := open[:len(open)-len(strings.TrimLeft(open, open[:1]))]
	for s.position++; s.position < len(s.lines); s.position++ {
		if line := s.line(); strings.HasPrefix(line, mark) && strings.Trim(line, mark[:1]) == "" {
			s.position++
			break
		}
	}
	return s.lines[from:s.position]
}

func (s *splitter) readList() {
	from := s.position
	var items []string
	for s.position < len(s.lines) {
		line := s.line()
		n := listMarker(line)
		indented := strings.HasPrefix(s.lines[s.position], "  ") || strings.HasPrefix(s.lines[s.position], "\t")
		switch {
		case n > 0:
			items = append(items, strings.TrimSpace(line[n:]))
		case line == "" || isFence(line) || strings.HasPrefix(line, "|") || isHeading(line) || isRule(line):
			if line != "" || !s.listContinues() {
				s.addList(from, items)
				return
			}
		case indented || s.lines[s.position-1] != "":
			items[len(items)-1] += " " + line
		default:
			s.addList(from, items)
			return
		}
		s.position++
	}
	s.addList(from, items)
}

// listContinues reports whether another item follows an empty line.
func (s *splitter) listContinues() bool {
	return s.position+1 < len(s.lines) && listMarker(strings.TrimSpace(s.lines[s.position+1])) > 0
}

func (s *splitter) addList(from int, items []string) {
	text := strings.TrimRight(strings.Join(s.lines[from:s.position], "\n"), "\n ")
	s.blocks = append(s.blocks, block{kind: list, text: text, sentences: items})
}

func (s *splitter) readParagraph() {
	lines := s.readWhile(func(line string) bool {
		return line != "" && !isRule(line) && !isFence(line) && !strings.HasPrefix(line, "|") && !isHeading(line) && listMarker(line) == 0
	})
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), ">")))
	}
	if found := sentence.Split(b.String(), s.language); len(found) > 0 {
		s.blocks = append(s.blocks, block{kind: paragraph, sentences: found})
	}
}

// units returns the units of the blocks. A sentence that ends with a colon is
// joined with the block it introduces, or dropped if there is none.
func (s *splitter) units() []unit {
	var all []unit
	lead := ""
	for i, p := range s.blocks {
		if p.kind == heading {
			lead = ""
			continue
		}
		if lead != "" && (p.kind == verbatim || p.kind == list && len(p.text) <= maxIntroducedList) {
			all = append(all, unit{text: lead + "\n\n" + p.text, isBlock: true, blockIndex: i})
			lead = ""
			continue
		}
		lead = ""
		if p.kind == verbatim {
			all = append(all, unit{text: p.text, isBlock: true, blockIndex: i})
			continue
		}
		for j, sentence := range p.sentences {
			if strings.HasSuffix(sentence, ":") || strings.HasSuffix(sentence, "：") {
				if j == len(p.sentences)-1 {
					lead = sentence
				}
				continue
			}
			all = append(all, unit{text: sentence, blockIndex: i})
		}
	}
	return all
}

func isFence(line string) bool {
	return strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
}

func isHeading(line string) bool {
	text := strings.TrimLeft(line, "#")
	return len(text) < len(line) && len(line)-len(text) <= 6 && (text == "" || text[0] == ' ')
}

// isRule reports whether a line is a thematic break or the underline of a
// heading.
func isRule(line string) bool {
	return len(line) >= 3 && (strings.Trim(line, "- ") == "" || strings.Trim(line, "* ") == "" || strings.Trim(line, "_ ") == "" || strings.Trim(line, "=") == "")
}

// listMarker returns the length of a list item's marker with the blank after
// it, or 0.
func listMarker(line string) int {
	n := 0
	for n < len(line) && n < 9 && line[n] >= '0' && line[n] <= '9' {
		n++
	}
	switch {
	case n == 0 && line != "" && strings.IndexByte("-*+", line[0]) >= 0, n > 0 && n < len(line) && (line[n] == '.' || line[n] == ')'):
		n++
	default:
		return 0
	}
	if n < len(line) && (line[n] == ' ' || line[n] == '\t') {
		return n + 1
	}
	return 0
}
