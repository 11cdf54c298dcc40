package code

import (
	"context"
	"fmt"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/ascii"
)

// codeLine is a line of code, with what the lines before make of it.
type codeLine struct {
	start, end int // in the text, without the line end
	// depth is how many brackets are open where the line begins, and after it how many are where it ends.
	depth, after int
	// indent is how many blanks the line begins with, a tab counting as four.
	indent int
	// inside tells that the line begins within a string or a comment.
	inside bool
	// within tells that what it begins in is a comment or a here document, whose ends are easier to find than those of strings.
	within bool
	// comment tells that the line has comments only, directive that it is one of the preprocessor.
	comment, directive bool
	// last is the last character that is no comment, 0 when there is none.
	last byte
}

// codeScanner reads the lines of a text by the words of a grammar.
type codeScanner struct {
	grammar *grammar
	text    string
	at      int
	depth   int
	lines   []codeLine
	special [256]bool
	// open is what the scanner is in the middle of: "" for code, else what ends it.
	open    string
	escapes bool // whether a backslash makes the end of a string a part of it
	nesting int  // of comments
	ends    []string
	branch  []int // the depths where the preprocessor's conditions began
	// tame tells that brackets and quotes were closed as they should.
	tame bool
}

// scanCode reads the lines of a text. Where brackets do not match, or a string does not end, the grammar was not enough:
// then lines are read by their indentation alone.
func scanCode(ctx context.Context, text string, g *grammar) (lines []codeLine, byIndent bool, err error) {
	s := codeScanner{grammar: g, text: text, tame: true, lines: make([]codeLine, 0, strings.Count(text, "\n")+1)}
	for _, c := range []byte("\n\\" + g.quotes + g.brackets) {
		s.special[c] = true
	}
	for _, start := range g.lineComments {
		s.special[start[0]] = true
	}
	for _, pair := range g.blockComments {
		s.special[pair[0][0]] = true
	}
	for _, quote := range g.longQuotes {
		s.special[quote[0]] = true
	}
	if g.heredocs {
		s.special['<'] = true
	}
	if g.regexps {
		s.special['/'] = true
	}
	if g.dollars {
		s.special['$'] = true
	}
	for s.at < len(text) {
		if len(s.lines)%4096 == 0 && ctx.Err() != nil {
			return nil, false, fmt.Errorf("parse code: %w", ctx.Err())
		}
		s.line()
	}
	if s.nesting > 0 && s.open[0] == '\n' {
		s.open = "" // a comment of whole lines may go on to the end
	}
	if s.open != "" || s.depth != 0 {
		s.tame = false
	}
	if !s.tame {
		for i := range s.lines {
			line := &s.lines[i]
			line.depth, line.after, line.inside = 0, 0, line.within && s.open == ""
		}
	}
	return s.lines, g.layout || !s.tame, nil
}

// continued is what a line of the preprocessor is in that ends with a backslash.
const continued = "\x00"

// line reads one line.
func (s *codeScanner) line() {
	line := codeLine{start: s.at, depth: s.depth, inside: s.open != ""}
	line.within = s.nesting > 0 || line.inside && s.open[0] == '\n'
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t') {
		line.indent++
		if s.text[s.at] == '\t' {
			line.indent += 3
		}
		s.at++
	}
	commented := s.open != "" && s.nesting > 0
	if s.open == "" && s.grammar.preprocessor && s.at < len(s.text) && s.text[s.at] == '#' {
		line.directive = true
		s.directive()
	}
	if s.open == "" && s.marker(&line) {
		commented = true
	}
	for s.at < len(s.text) && s.text[s.at] != '\n' {
		if s.open != "" {
			if s.nesting > 0 {
				commented = true
			} else {
				line.last = '"'
			}
			s.rest()
			continue
		}
		c := s.text[s.at]
		if !s.special[c] {
			if c != ' ' && c != '\t' {
				line.last = c
			}
			s.at++
			continue
		}
		if s.comment() {
			commented = true
			continue
		}
		before := line.last
		line.last = c
		s.code(c, before)
	}
	line.end = s.at
	if s.open == continued && (s.at == 0 || s.text[s.at-1] != '\\') {
		s.open = ""
	}
	s.at++
	line.comment = commented && line.last == 0 || line.inside && line.last == 0 && commented
	line.after = s.depth
	s.lines = append(s.lines, line)
	if len(s.ends) > 0 && s.open == "" {
		s.open, s.ends, s.escapes = "\n"+s.ends[0], s.ends[1:], false
	}
}

// code reads one character that has a meaning, or what it begins. Before is the last character of the line before it that
// is no blank.
func (s *codeScanner) code(c, before byte) {
	g := s.grammar
	rest := s.text[s.at:]
	for _, quote := range g.longQuotes {
		if strings.HasPrefix(rest, quote) {
			s.at += len(quote)
			s.open, s.escapes = quote, len(quote) > 1 || g.escapes
			return
		}
	}
	switch {
	case c == '\\':
		s.at += 2
		if s.at > len(s.text) || s.text[s.at-1] == '\n' {
			s.at--
		}
	case strings.IndexByte(g.quotes, c) >= 0:
		s.quote(c)
	case c == '/' && g.regexps && s.beginsRegexp(before):
		s.regexp()
	case c == '<' && g.heredocs:
		s.heredoc(rest)
	case c == '$' && g.dollars:
		s.dollar(rest)
	case strings.IndexByte("([{", c) >= 0:
		s.depth++
		s.at++
	case strings.IndexByte(")]}", c) >= 0:
		if s.depth--; s.depth < 0 {
			s.depth, s.tame = 0, false
		}
		s.at++
	default:
		s.at++
	}
}

// quote reads a string in single or double quotes. One that is not closed in its line is none, but where strings may have
// several lines.
func (s *codeScanner) quote(c byte) {
	g := s.grammar
	if c == '\'' && g.characters && !isCharacter(s.text[s.at:]) {
		s.at++ // the lifetime of Rust, the type variable of ML, the digits of C++
		return
	}
	begin := s.at
	s.at++
	s.open, s.escapes = string(c), !g.doubled
	raw := g.raw && s.raw(begin)
	s.rest()
	if s.open != "" && !g.multiline && !raw {
		s.open, s.at = "", begin+1
	}
}

// raw recognises the strings without escapes of several languages by what stands before their quote: r#"…"# of Rust, #"…"#
// of Swift, R"x(…)x" of C++, @"…" of C#.
func (s *codeScanner) raw(quote int) bool {
	hashes := 0
	for quote-hashes > 0 && hashes < 16 && s.text[quote-hashes-1] == '#' {
		hashes++
	}
	before := byte(' ')
	if quote > hashes {
		before = s.text[quote-hashes-1]
	}
	switch {
	case before == 'r' && s.grammar.name == "rust", hashes > 0 && s.grammar.name == "swift":
		s.open, s.escapes = `"`+strings.Repeat("#", hashes), false
	case before == '@' || before == '$' && quote > 1 && s.text[quote-2] == '@':
		s.open, s.escapes = `"`, false
	case before == 'R' && s.grammar.preprocessor:
		mark, _, found := strings.Cut(s.text[quote+1:min(len(s.text), quote+20)], "(")
		if !found {
			return false
		}
		s.open, s.escapes = ")"+mark+`"`, false
	default:
		return false
	}
	return true
}

// beginsRegexp reports whether a slash after a character is the beginning of a regular expression and no division.
func (s *codeScanner) beginsRegexp(before byte) bool {
	if before == 0 || strings.IndexByte("(,=:[!&|?{};+-*%<>~^", before) >= 0 {
		return true
	}
	word := strings.TrimRight(s.text[max(0, s.at-12):s.at], " ")
	return strings.HasSuffix(word, "return") || strings.HasSuffix(word, "typeof") || strings.HasSuffix(word, "case") ||
		s.grammar.name == "ruby" && (strings.HasSuffix(word, " if") || strings.HasSuffix(word, "when") || strings.HasSuffix(word, "unless") || strings.HasSuffix(word, "and"))
}

// regexp reads a regular expression to its slash, which must be in the line.
func (s *codeScanner) regexp() {
	class := false
	for i := s.at + 1; i < len(s.text) && s.text[i] != '\n'; i++ {
		switch s.text[i] {
		case '\\':
			i++
		case '[':
			class = true
		case ']':
			class = false
		case '/':
			if !class {
				s.at = i + 1
				return
			}
		}
	}
	s.at++
}

// isCharacter reports 'x', '\n' and '\u{1F600}'.
func isCharacter(text string) bool {
	end := strings.IndexByte(text[1:min(len(text), 14)], '\'')
	switch {
	case end < 0:
		return false
	case end <= 1:
		return true
	}
	return text[1] == '\\' || text[1] >= 0x80 && end <= 4
}

// rest reads on in what is open, to its end or the end of the line.
func (s *codeScanner) rest() {
	for s.at < len(s.text) && s.text[s.at] != '\n' {
		rest := s.text[s.at:]
		switch {
		case s.open[0] == '\n':
			// A here document ends with a line that has its mark only.
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			begins := strings.TrimSpace(s.text[strings.LastIndexByte(s.text[:s.at], '\n')+1 : s.at+end])
			s.at += end
			if strings.TrimRight(begins, ";),") == s.open[1:] {
				s.open, s.nesting = "", 0
			}
			return
		case strings.HasPrefix(rest, s.open):
			s.at += len(s.open)
			if s.nesting > 1 {
				s.nesting--
				continue
			}
			s.nesting, s.open = 0, ""
			return
		case s.nesting > 0:
			if opening := s.openingOf(s.open); s.grammar.nested && strings.HasPrefix(rest, opening) {
				s.nesting++
				s.at += len(opening)
				continue
			}
			s.at++
		case s.escapes && rest[0] == '\\' && len(rest) > 1:
			s.at++
			if s.text[s.at] != '\n' {
				s.at++
			}
		default:
			s.at++
		}
	}
}

func (s *codeScanner) openingOf(closing string) string {
	for _, pair := range s.grammar.blockComments {
		if pair[1] == closing {
			return pair[0]
		}
	}
	return "\n"
}

// comment reads a comment, and reports whether there was one.
func (s *codeScanner) comment() bool {
	rest := s.text[s.at:]
	for _, pair := range s.grammar.blockComments {
		if strings.HasPrefix(rest, pair[0]) {
			s.at += len(pair[0])
			s.open, s.nesting = pair[1], 1
			s.rest()
			return true
		}
	}
	for _, start := range s.grammar.lineComments {
		if !strings.HasPrefix(rest, start) {
			continue
		}
		if start == "#" && len(rest) > 1 && rest[1] == '[' && s.grammar.attributes {
			continue
		}
		if start == "#" && s.grammar.hashAfterBlank && s.at > 0 && strings.IndexByte(" \t\n;(", s.text[s.at-1]) < 0 {
			continue // $# and ${#list} of the shell
		}
		if end := strings.IndexByte(rest, '\n'); end >= 0 {
			s.at += end
		} else {
			s.at = len(s.text)
		}
		return true
	}
	return false
}

// marker reads the comments that begin with a word at the start of a line (Ruby's =begin, Perl's =pod).
func (s *codeScanner) marker(line *codeLine) bool {
	if s.at != line.start || s.grammar.markers == [2]string{} || !strings.HasPrefix(s.text[s.at:], s.grammar.markers[0]) {
		return false
	}
	next := s.at + len(s.grammar.markers[0])
	letter := next < len(s.text) && 'a' <= s.text[next]|0x20 && s.text[next]|0x20 <= 'z'
	if letter != (s.grammar.markers[0] == "=") {
		return false // =begin is a word, Perl's marks are = with any word
	}
	s.open, s.nesting = "\n"+s.grammar.markers[1], 1
	end := strings.IndexByte(s.text[s.at:], '\n')
	if end < 0 {
		end = len(s.text) - s.at
	}
	s.at += end
	return true
}

// directive reads a line of the preprocessor with those it is continued on. The branches of a condition begin at the same
// depth, and the first says where it goes on.
func (s *codeScanner) directive() {
	word := strings.TrimLeft(s.text[s.at+1:min(len(s.text), s.at+40)], " \t")
	switch {
	case strings.HasPrefix(word, "if"):
		s.branch = append(s.branch, s.depth)
	case strings.HasPrefix(word, "el") && len(s.branch) > 0:
		s.depth = s.branch[len(s.branch)-1]
	case strings.HasPrefix(word, "endif") && len(s.branch) > 0:
		s.branch = s.branch[:len(s.branch)-1]
	}
	for s.at < len(s.text) && s.text[s.at] != '\n' {
		if strings.HasPrefix(s.text[s.at:], "/*") {
			s.comment()
			continue
		}
		if s.text[s.at] == '\\' && s.at+1 < len(s.text) && s.text[s.at+1] == '\n' {
			s.open, s.escapes = continued, false
			s.at++
			return
		}
		s.at++
	}
}

// heredoc notes the mark that ends the lines which begin below.
func (s *codeScanner) heredoc(rest string) {
	s.at++
	if !strings.HasPrefix(rest, "<<") || strings.HasPrefix(rest, "<<=") {
		return
	}
	mark := strings.TrimLeft(strings.TrimPrefix(rest[2:min(len(rest), 80)], "<"), "-~")
	spaced := s.grammar.name == "shell" || strings.HasPrefix(rest, "<<<") // elsewhere << and a blank is an operator
	if spaced {
		mark = strings.TrimLeft(mark, " ")
	}
	certain := spaced || rest[2:min(len(rest), 3)] == "~"
	quoted := mark != "" && strings.IndexByte("'\"`", mark[0]) >= 0
	if quoted {
		mark = mark[1:]
	}
	end := 0
	for end < len(mark) && (ascii.IsAlphanumeric(mark[end]) || mark[end] == '_') {
		end++
	}
	if mark = mark[:end]; mark == "" || ascii.IsDigit(mark[0]) || !quoted && !certain && (mark[0] >= 'a' || len(mark) < 2) {
		return
	}
	s.at++
	s.ends = append(s.ends, mark)
}

// dollar reads a string between marks as $body$ of PostgreSQL.
func (s *codeScanner) dollar(rest string) {
	end := strings.IndexByte(rest[1:min(len(rest), 66)], '$')
	s.at++
	if end < 0 || end > 0 && ascii.IsDigit(rest[1]) {
		return
	}
	for i := range end {
		if c := rest[1+i]; c != '_' && !ascii.IsAlphanumeric(c) {
			return
		}
	}
	s.at += end + 1
	s.open, s.escapes = rest[:end+2], false
}
