package sentence

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// A Span is a sentence of a text: text[Start:End], in bytes.
type Span struct{ Start, End int }

// Split returns the sentences of a text. It is Spans with the texts in place of their
// offsets.
func Split(text, language string) []string {
	spans := Spans(text, language)
	out := make([]string, len(spans))
	for i, s := range spans {
		out[i] = text[s.Start:s.End]
	}
	return out
}

// Spans returns the sentences of a text in order, without the white space around them.
// The language is a code such as "de" or "pt-BR"; "" means unknown. The text may be
// Markdown: a heading, a list item and a row of a table end at the end of theirs, and
// spans leave out the marks that such a line begins with. A line break inside a
// paragraph ends nothing, an empty line does. A sentence has a letter or a number.
func Spans(text, language string) []Span {
	s := splitter{text: text, rules: rulesOf(language)}
	eachBlock(text, s.block)
	return s.spans
}

// splitter collects the sentences of one text.
type splitter struct {
	text  string
	rules *rules
	spans []Span
}

// block adds the sentences of a block.
func (s *splitter) block(from, to int, whole bool) {
	if whole {
		s.add(from, to)
		return
	}
	// The segmenter ends a sentence at each line break.
	block := strings.NewReplacer("\n", " ", "\r", " ").Replace(s.text[from:to])
	code := codeSpans(block)
	start := 0
	segments := sentences.FromString(block)
	for segments.Next() {
		end := segments.End()
		if end < len(block) {
			if end = s.rules.sentenceEnd(block, start, end); end < 0 || inside(code, end) {
				continue
			}
		}
		if end > start {
			s.divide(block, from, start, end)
			start = end
		}
	}
	s.divide(block, from, start, len(block))
}

// divide adds block[start:end], which begins at from in the text. It ends sentences that
// the segmenter does not: before a number and a word in lower case, and after an ellipsis.
func (s *splitter) divide(block string, from, start, end int) {
	for i := start; i < end; {
		at := strings.IndexAny(block[i:end], ".…")
		if at < 0 {
			break
		}
		i += at
		mark, size := utf8.DecodeRuneInString(block[i:])
		rest, blank := strings.CutPrefix(block[i+size:end], " ")
		if blank {
			next, _ := utf8.DecodeRuneInString(strings.TrimLeft(rest, openers))
			if mark == '.' && unicode.IsDigit(next) && endsWord(block[start:i]) && !s.rules.continues(block[start:i], rest) ||
				mark != '.' && unicode.IsUpper(next) {
				s.clauses(from+start, from+i+size)
				start = i + size
			}
		}
		i += size
	}
	s.clauses(from+start, from+end)
}

// endsWord reports whether a text ends with three small letters. What is shorter may be
// an abbreviation that no list has.
func endsWord(text string) bool {
	for range 3 {
		r, size := utf8.DecodeLastRuneInString(text)
		if !unicode.IsLower(r) {
			return false
		}
		text = text[:len(text)-size]
	}
	return true
}

// add adds text[from:to] unless it has neither a letter nor a number.
func (s *splitter) add(from, to int) {
	piece := strings.TrimLeftFunc(s.text[from:to], unicode.IsSpace)
	from = to - len(piece)
	piece = strings.TrimRightFunc(piece, unicode.IsSpace)
	if strings.ContainsFunc(piece, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
		s.spans = append(s.spans, Span{from, from + len(piece)})
	}
}

// codeSpans returns the parts of a block between backticks.
func codeSpans(block string) []Span {
	var spans []Span
	for at := 0; ; {
		open := strings.IndexByte(block[at:], '`')
		if open < 0 {
			return spans
		}
		open += at
		length := strings.IndexByte(block[open+1:], '`')
		if length < 0 {
			return spans
		}
		at = open + 1 + length + 1
		spans = append(spans, Span{open, at})
	}
}

// inside reports whether an offset is within one of the spans.
func inside(spans []Span, at int) bool {
	for _, s := range spans {
		if s.Start < at && at < s.End {
			return true
		}
	}
	return false
}

// eachBlock calls do with the blocks of a text: paragraphs, items of lists, headings,
// rows of tables and lines of code. A whole block is not divided.
func eachBlock(text string, do func(from, to int, whole bool)) {
	from, to := 0, 0 // of the paragraph so far
	flush := func() {
		if from < to {
			do(from, to, false)
		}
	}
	fence, at := "", 0
	for line := range strings.Lines(text) {
		next := at + len(line)
		trimmed := strings.TrimSpace(line)
		start := at + len(line) - len(strings.TrimLeftFunc(line, unicode.IsSpace))
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			} else if trimmed != "" {
				do(start, next, true)
			}
			from, to = next, next
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			flush()
			fence = trimmed[:3]
			from, to = next, next
		case trimmed == "":
			flush()
			from, to = next, next
		case headingMarker(trimmed) > 0:
			flush()
			do(start+headingMarker(trimmed), next, true)
			from, to = next, next
		case trimmed[0] == '|':
			flush()
			do(start, next, true)
			from, to = next, next
		default:
			n := listMarker(trimmed)
			if n == 0 && from == to {
				n = len(trimmed) - len(strings.TrimLeft(trimmed, "> "))
			}
			if n > 0 || from == to {
				flush()
				from = start + n
			}
			to = next
		}
		at = next
	}
	flush()
}

// headingMarker returns the length of a heading's number signs, or 0.
func headingMarker(line string) int {
	n := len(line) - len(strings.TrimLeft(line, "#"))
	if n > 6 || n < len(line) && line[n] != ' ' {
		return 0
	}
	return n
}

// listMarker returns the length of a list item's marker with the blank after it, or 0.
func listMarker(line string) int {
	n := 0
	for n < len(line) && n < 9 && '0' <= line[n] && line[n] <= '9' {
		n++
	}
	switch {
	case n == 0 && strings.IndexByte("-*+", line[0]) >= 0, n > 0 && n < len(line) && (line[n] == '.' || line[n] == ')'):
		n++
	default:
		return 0
	}
	if n < len(line) && (line[n] == ' ' || line[n] == '\t') {
		return n + 1
	}
	return 0
}
