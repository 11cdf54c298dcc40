package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// unit is the smallest piece of a passage that can be quoted: a sentence, a list item, or a block that means something only
// as a whole, such as code, a table, or a list with the sentence that introduces it.
type unit struct {
	text  string // verbatim, but for line breaks inside sentences, which become blanks
	whole bool   // several lines that belong together
	block int    // the block of the passage it stands in; sentences of one paragraph share theirs
}

// maxLedList is the longest list, in bytes, that is quoted together with the sentence before it.
const maxLedList = 1200

// units cuts a passage, given as Markdown, into what can be quoted. Headings are left out.
func units(markdown string) []unit {
	s := splitter{lines: strings.Split(strings.ReplaceAll(markdown, "\r\n", "\n"), "\n")}
	for s.at < len(s.lines) {
		s.next()
	}
	return s.glued()
}

// part is a block of Markdown.
type part struct {
	kind      partKind
	text      string   // as it stands, for code, tables and lists
	sentences []string // of a paragraph or a list
}

type partKind uint8

const (
	paragraph partKind = iota
	list
	solid // code or a table
	heading
)

type splitter struct {
	lines []string
	at    int
	parts []part
}

func (s *splitter) line() string { return strings.TrimSpace(s.lines[s.at]) }

// next takes the block that begins at the present line.
func (s *splitter) next() {
	line := s.line()
	switch {
	case line == "" || isRule(line):
		s.at++
	case isFence(line):
		s.take(solid, s.fenced())
	case strings.HasPrefix(line, "|"):
		s.table(s.while(func(l string) bool { return strings.HasPrefix(l, "|") }))
	case isHeading(line):
		s.parts = append(s.parts, part{kind: heading})
		s.at++
	case listMarker(line) > 0:
		s.list()
	default:
		s.paragraph()
	}
}

func (s *splitter) take(kind partKind, lines []string) {
	s.parts = append(s.parts, part{kind: kind, text: strings.TrimRight(strings.Join(lines, "\n"), "\n")})
}

// wholeTable is the number of rows up to which a table is quoted in one piece.
const wholeTable = 3

// table takes a small table whole, and a larger one row by row, each under the
// table's header: the row that answers says more than the table it stands in.
func (s *splitter) table(lines []string) {
	const header = 2 // the names of the columns and the line below them
	if len(lines) <= header+wholeTable || !strings.Contains(lines[1], "---") {
		s.take(solid, lines)
		return
	}
	for _, row := range lines[header:] {
		s.take(solid, []string{lines[0], lines[1], row})
	}
}

// while takes lines as long as they are of a kind.
func (s *splitter) while(same func(line string) bool) []string {
	from := s.at
	for s.at < len(s.lines) && same(s.line()) {
		s.at++
	}
	return s.lines[from:s.at]
}

// fenced takes code up to its closing fence, or to the end where the fence is missing.
func (s *splitter) fenced() []string {
	from, open := s.at, s.line()
	mark := open[:len(open)-len(strings.TrimLeft(open, open[:1]))]
	for s.at++; s.at < len(s.lines); s.at++ {
		if line := s.line(); strings.HasPrefix(line, mark) && strings.Trim(line, mark[:1]) == "" {
			s.at++
			break
		}
	}
	return s.lines[from:s.at]
}

func (s *splitter) list() {
	from := s.at
	var items []string
	for s.at < len(s.lines) {
		line := s.line()
		n := listMarker(line)
		indented := strings.HasPrefix(s.lines[s.at], "  ") || strings.HasPrefix(s.lines[s.at], "\t")
		switch {
		case n > 0:
			items = append(items, strings.TrimSpace(line[n:]))
		case line == "" || isFence(line) || strings.HasPrefix(line, "|") || isHeading(line) || isRule(line):
			if line != "" || !s.listGoesOn() {
				s.ended(from, items)
				return
			}
		case indented || s.lines[s.at-1] != "":
			items[len(items)-1] += " " + line
		default:
			s.ended(from, items)
			return
		}
		s.at++
	}
	s.ended(from, items)
}

// listGoesOn reports whether another item follows an empty line.
func (s *splitter) listGoesOn() bool {
	return s.at+1 < len(s.lines) && listMarker(strings.TrimSpace(s.lines[s.at+1])) > 0
}

func (s *splitter) ended(from int, items []string) {
	text := strings.TrimRight(strings.Join(s.lines[from:s.at], "\n"), "\n ")
	s.parts = append(s.parts, part{kind: list, text: text, sentences: items})
}

func (s *splitter) paragraph() {
	lines := s.while(func(line string) bool {
		return line != "" && !isRule(line) && !isFence(line) && !strings.HasPrefix(line, "|") && !isHeading(line) && listMarker(line) == 0
	})
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), ">")))
	}
	if found := sentences(strings.TrimSpace(b.String())); len(found) > 0 {
		s.parts = append(s.parts, part{kind: paragraph, sentences: found})
	}
}

// glued joins a sentence that ends with a colon to what it announces; a colon with nothing behind it is no quote.
func (s *splitter) glued() []unit {
	var all []unit
	lead := ""
	for i, p := range s.parts {
		if p.kind == heading {
			lead = ""
			continue
		}
		if lead != "" && (p.kind == solid || p.kind == list && len(p.text) <= maxLedList) {
			all = append(all, unit{text: lead + "\n\n" + p.text, whole: true, block: i})
			lead = ""
			continue
		}
		lead = ""
		if p.kind == solid {
			all = append(all, unit{text: p.text, whole: true, block: i})
			continue
		}
		for j, sentence := range p.sentences {
			if strings.HasSuffix(sentence, ":") || strings.HasSuffix(sentence, "：") {
				if j == len(p.sentences)-1 {
					lead = sentence
				}
				continue
			}
			all = append(all, unit{text: sentence, block: i})
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

// isRule reports thematic breaks and the underlines of headings.
func isRule(line string) bool {
	return len(line) >= 3 && (strings.Trim(line, "- ") == "" || strings.Trim(line, "* ") == "" || strings.Trim(line, "_ ") == "" || strings.Trim(line, "=") == "")
}

// listMarker returns the length of the marker that begins a list item, with the blank behind it; 0 when there is none.
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

// abbreviations end with a full stop that ends no sentence, in lower case and without it.
const abbreviations = " e.g i.e z.b d.h u.a z b d h bzw ca vgl etc usw nr no vs dr mr mrs ms prof st abs art bd ggf inkl evtl max min approx fig sec cf al resp p pp vol "

// sentences cuts a paragraph into its sentences. Code between backticks is never cut.
func sentences(text string) []string {
	var found []string
	from, inCode := 0, false
	add := func(to int) {
		if s := strings.TrimSpace(text[from:to]); strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
			found = append(found, s)
		}
		from = to
	}
	for i, r := range text {
		if r == '`' {
			inCode = !inCode && strings.IndexByte(text[i+1:], '`') >= 0
		}
		if inCode {
			continue
		}
		switch r {
		case '。', '！', '？', '．':
			add(i + utf8.RuneLen(r))
		case '.', '!', '?', '…':
			if end := i + utf8.RuneLen(r); endsSentence(text, i, &end) {
				add(end)
			}
		}
	}
	add(len(text))
	return found
}

// endsSentence decides about the end mark at text[i] and moves end behind closing quotes and brackets.
func endsSentence(text string, i int, end *int) bool {
	for *end < len(text) {
		r, size := utf8.DecodeRuneInString(text[*end:])
		if !strings.ContainsRune(`"'”’»)]*_`, r) {
			break
		}
		*end += size
	}
	if *end == len(text) {
		return true
	}
	if text[*end] != ' ' {
		return false
	}
	if text[i] != '.' {
		return true
	}
	word := strings.ToLower(text[strings.LastIndexAny(text[:i], " (\"")+1 : i])
	if strings.Contains(abbreviations, " "+word+" ") {
		return false
	}
	next, _ := utf8.DecodeRuneInString(strings.TrimLeft(text[*end:], " \"'“„«(*_"))
	if len(word) > 0 && strings.Trim(word, "0123456789") == "" && len(word) <= 2 {
		return false // an ordinal, as German dates and numbered things have it
	}
	return !unicode.IsLower(next)
}
