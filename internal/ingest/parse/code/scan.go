package code

import (
	"context"
	"fmt"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/ascii"
)

// sourceLine is a line of code in the context of the lines before.
type sourceLine struct {
	start, end int // in the text, without the line end
	// depth is the number of open brackets at the beginning of the line, after that at its end.
	depth, after int
	// indent is the number of blanks at the beginning. A tab counts as four.
	indent int
	// inLiteral is set if the line begins within a string or a comment.
	inLiteral bool
	// inCommentOrHeredoc is set if this is a comment or a here document, whose ends are more certain than those of
	// strings.
	inCommentOrHeredoc bool
	// isComment is set if the line has only comments, isDirective if it is one of the preprocessor.
	isComment, isDirective bool
	// last is the last character outside comments, 0 if there is none.
	last byte
}

// scanner scans the lines of a text with a grammar.
type scanner struct {
	grammar *grammar
	text    string
	at      int
	depth   int
	lines   []sourceLine
	special [256]bool
	// open is the end of the current string or comment, "" in code.
	open            string
	escapes         bool // whether a backslash may escape the end of the current string
	nesting         int  // nesting depth of comments
	heredocMarks    []string
	conditionDepths []int // bracket depths at the open preprocessor conditions
	// isBalanced is set while brackets and quotes match.
	isBalanced bool
}

// scan returns the lines of a text. If brackets do not match or a string does not end, the grammar does not fit the
// text: byIndent is then set, and only the indentation of the lines counts.
func scan(ctx context.Context, text string, g *grammar) (lines []sourceLine, byIndent bool, err error) {
	s := scanner{grammar: g, text: text, isBalanced: true, lines: make([]sourceLine, 0, strings.Count(text, "\n")+1)}
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
	if g.hasHeredocs {
		s.special['<'] = true
	}
	if g.hasRegexps {
		s.special['/'] = true
	}
	if g.hasDollarQuotes {
		s.special['$'] = true
	}
	for s.at < len(text) {
		if len(s.lines)%4096 == 0 && ctx.Err() != nil {
			return nil, false, fmt.Errorf("parse code: %w", ctx.Err())
		}
		s.line()
	}
	if s.nesting > 0 && s.open[0] == '\n' {
		s.open = "" // a comment of whole lines may extend to the end
	}
	if s.open != "" || s.depth != 0 {
		s.isBalanced = false
	}
	if !s.isBalanced {
		for i := range s.lines {
			line := &s.lines[i]
			line.depth, line.after, line.inLiteral = 0, 0, line.inCommentOrHeredoc && s.open == ""
		}
	}
	return s.lines, g.isIndented || !s.isBalanced, nil
}

// continuedDirective is the open state after a directive that ends with a backslash.
const continuedDirective = "\x00"

// line scans one line.
func (s *scanner) line() {
	line := sourceLine{start: s.at, depth: s.depth, inLiteral: s.open != ""}
	line.inCommentOrHeredoc = s.nesting > 0 || line.inLiteral && s.open[0] == '\n'
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t') {
		line.indent++
		if s.text[s.at] == '\t' {
			line.indent += 3
		}
		s.at++
	}
	hasComment := s.open != "" && s.nesting > 0
	if s.open == "" && s.grammar.hasPreprocessor && s.at < len(s.text) && s.text[s.at] == '#' {
		line.isDirective = true
		s.directive()
	}
	if s.open == "" && s.blockMarker(&line) {
		hasComment = true
	}
	for s.at < len(s.text) && s.text[s.at] != '\n' {
		if s.open != "" {
			if s.nesting > 0 {
				hasComment = true
			} else {
				line.last = '"'
			}
			s.skipOpen()
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
			hasComment = true
			continue
		}
		previous := line.last
		line.last = c
		s.code(c, previous)
	}
	line.end = s.at
	if s.open == continuedDirective && (s.at == 0 || s.text[s.at-1] != '\\') {
		s.open = ""
	}
	s.at++
	line.isComment = hasComment && line.last == 0 || line.inLiteral && line.last == 0 && hasComment
	line.after = s.depth
	s.lines = append(s.lines, line)
	if len(s.heredocMarks) > 0 && s.open == "" {
		s.open, s.heredocMarks, s.escapes = "\n"+s.heredocMarks[0], s.heredocMarks[1:], false
	}
}

// code scans a special character and the token that it begins. The previous character is the last one on the line that
// is no blank.
func (s *scanner) code(c, previous byte) {
	g := s.grammar
	rest := s.text[s.at:]
	for _, quote := range g.longQuotes {
		if strings.HasPrefix(rest, quote) {
			s.at += len(quote)
			s.open, s.escapes = quote, len(quote) > 1 || g.hasEscapes
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
	case c == '/' && g.hasRegexps && s.startsRegexp(previous):
		s.regexp()
	case c == '<' && g.hasHeredocs:
		s.heredoc(rest)
	case c == '$' && g.hasDollarQuotes:
		s.dollarQuote(rest)
	case strings.IndexByte("([{", c) >= 0:
		s.depth++
		s.at++
	case strings.IndexByte(")]}", c) >= 0:
		if s.depth--; s.depth < 0 {
			s.depth, s.isBalanced = 0, false
		}
		s.at++
	default:
		s.at++
	}
}

// quote scans a string. A quote that is not closed on its line begins no string, unless strings may have several lines.
func (s *scanner) quote(c byte) {
	g := s.grammar
	if c == '\'' && g.hasCharacters && !isCharacter(s.text[s.at:]) {
		s.at++ // a lifetime in Rust, a type variable in ML, a digit separator in C++
		return
	}
	begin := s.at
	s.at++
	s.open, s.escapes = string(c), !g.doublesQuotes
	raw := g.hasRawStrings && s.rawString(begin)
	s.skipOpen()
	if s.open != "" && !g.isMultiline && !raw {
		s.open, s.at = "", begin+1
	}
}

// rawString opens a string without escapes if the characters before its quote say so: r#"…"# in Rust, #"…"# in Swift,
// R"x(…)x" in C++, @"…" in C#.
func (s *scanner) rawString(quote int) bool {
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
	case before == 'R' && s.grammar.hasPreprocessor:
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

// startsRegexp reports whether a slash begins a regular expression, not a division.
func (s *scanner) startsRegexp(previous byte) bool {
	if previous == 0 || strings.IndexByte("(,=:[!&|?{};+-*%<>~^", previous) >= 0 {
		return true
	}
	word := strings.TrimRight(s.text[max(0, s.at-12):s.at], " ")
	return strings.HasSuffix(word, "return") || strings.HasSuffix(word, "typeof") || strings.HasSuffix(word, "case") ||
		s.grammar.name == "ruby" && (strings.HasSuffix(word, " if") || strings.HasSuffix(word, "when") || strings.HasSuffix(word, "unless") || strings.HasSuffix(word, "and"))
}

// regexp scans a regular expression, which must end on its line.
func (s *scanner) regexp() {
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

// isCharacter reports whether a text begins with a character literal: 'x', '\n' or '\u{1F600}'.
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

// skipOpen scans the current string or comment up to its end, or to the end of the line.
func (s *scanner) skipOpen() {
	for s.at < len(s.text) && s.text[s.at] != '\n' {
		rest := s.text[s.at:]
		switch {
		case s.open[0] == '\n':
			// The end of a here document is alone on its line.
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
			if opening := s.openingOf(s.open); s.grammar.nestsComments && strings.HasPrefix(rest, opening) {
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

func (s *scanner) openingOf(closing string) string {
	for _, pair := range s.grammar.blockComments {
		if pair[1] == closing {
			return pair[0]
		}
	}
	return "\n"
}

// comment scans a comment and reports whether there was one.
func (s *scanner) comment() bool {
	rest := s.text[s.at:]
	for _, pair := range s.grammar.blockComments {
		if strings.HasPrefix(rest, pair[0]) {
			s.at += len(pair[0])
			s.open, s.nesting = pair[1], 1
			s.skipOpen()
			return true
		}
	}
	for _, start := range s.grammar.lineComments {
		if !strings.HasPrefix(rest, start) {
			continue
		}
		if start == "#" && len(rest) > 1 && rest[1] == '[' && s.grammar.hasHashAttributes {
			continue
		}
		if start == "#" && s.grammar.needsBlankBeforeHash && s.at > 0 && strings.IndexByte(" \t\n;(", s.text[s.at-1]) < 0 {
			continue // $# and ${#list} in shells
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

// blockMarker scans a comment that begins with a word at the start of a line (=begin in Ruby, =pod in Perl).
func (s *scanner) blockMarker(line *sourceLine) bool {
	if s.at != line.start || s.grammar.markers == [2]string{} || !strings.HasPrefix(s.text[s.at:], s.grammar.markers[0]) {
		return false
	}
	next := s.at + len(s.grammar.markers[0])
	letter := next < len(s.text) && 'a' <= s.text[next]|0x20 && s.text[next]|0x20 <= 'z'
	if letter != (s.grammar.markers[0] == "=") {
		return false // in Perl any word may follow the mark
	}
	s.open, s.nesting = "\n"+s.grammar.markers[1], 1
	end := strings.IndexByte(s.text[s.at:], '\n')
	if end < 0 {
		end = len(s.text) - s.at
	}
	s.at += end
	return true
}

// directive scans a line of the preprocessor with its continuation lines. All branches of a condition begin at the same
// bracket depth, and the first decides where the code after it continues.
func (s *scanner) directive() {
	word := strings.TrimLeft(s.text[s.at+1:min(len(s.text), s.at+40)], " \t")
	switch {
	case strings.HasPrefix(word, "if"):
		s.conditionDepths = append(s.conditionDepths, s.depth)
	case strings.HasPrefix(word, "el") && len(s.conditionDepths) > 0:
		s.depth = s.conditionDepths[len(s.conditionDepths)-1]
	case strings.HasPrefix(word, "endif") && len(s.conditionDepths) > 0:
		s.conditionDepths = s.conditionDepths[:len(s.conditionDepths)-1]
	}
	for s.at < len(s.text) && s.text[s.at] != '\n' {
		if strings.HasPrefix(s.text[s.at:], "/*") {
			s.comment()
			continue
		}
		if s.text[s.at] == '\\' && s.at+1 < len(s.text) && s.text[s.at+1] == '\n' {
			s.open, s.escapes = continuedDirective, false
			s.at++
			return
		}
		s.at++
	}
}

// heredoc keeps the mark that ends the here document on the lines below.
func (s *scanner) heredoc(rest string) {
	s.at++
	if !strings.HasPrefix(rest, "<<") || strings.HasPrefix(rest, "<<=") {
		return
	}
	mark := strings.TrimLeft(strings.TrimPrefix(rest[2:min(len(rest), 80)], "<"), "-~")
	allowsBlank := s.grammar.name == "shell" || strings.HasPrefix(rest, "<<<") // in other languages << before a blank is an operator
	if allowsBlank {
		mark = strings.TrimLeft(mark, " ")
	}
	isCertain := allowsBlank || rest[2:min(len(rest), 3)] == "~"
	isQuoted := mark != "" && strings.IndexByte("'\"`", mark[0]) >= 0
	if isQuoted {
		mark = mark[1:]
	}
	end := 0
	for end < len(mark) && (ascii.IsAlphanumeric(mark[end]) || mark[end] == '_') {
		end++
	}
	if mark = mark[:end]; mark == "" || ascii.IsDigit(mark[0]) || !isQuoted && !isCertain && (mark[0] >= 'a' || len(mark) < 2) {
		return
	}
	s.at++
	s.heredocMarks = append(s.heredocMarks, mark)
}

// dollarQuote scans a string between marks such as $body$ in PostgreSQL.
func (s *scanner) dollarQuote(rest string) {
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
