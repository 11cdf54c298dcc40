package chat

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLead is how many bytes of a line are searched for markers.
const maxLead = 64

var (
	leadMarkers = regexp.MustCompile(`^[ \t]*(?:(?:>|(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)[ \t]*)+$`)
	leadQuotes  = regexp.MustCompile(`^[ \t]*>[ \t>]*$`)
	leadItem    = regexp.MustCompile(`^[ \t>]*(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]|$)`)
)

// lineState is the state of a Markdown line that arrives in pieces, and of the
// lines before.
type lineState struct {
	lead         string // the beginning of the line
	last         rune   // its last character so far
	parentheses  []bool // for each open parenthesis: whether it belongs to a call
	afterCall    bool   // the last closed parenthesis belongs to a call
	indentedCode bool   // the line is code by its indentation
	fenceInQuote bool   // the last code fence opened in a block quote

	afterBlank bool // the previous line is blank
	afterCode  bool // the previous line is code by its indentation
	inList     bool // the previous lines are a list item
}

// advance reads s, which may contain further lines.
func (l *lineState) advance(s string) {
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if r == '\n' {
			l.newline()
			s = s[size:]
			continue
		}
		switch r {
		case '(':
			l.parentheses = append(l.parentheses, isWordRune(l.last))
		case ')':
			l.afterCall = false
			if n := len(l.parentheses); n > 0 {
				l.afterCall, l.parentheses = l.parentheses[n-1], l.parentheses[:n-1]
			}
		}
		if len(l.lead) < maxLead {
			l.lead += s[:size]
		}
		l.last = r
		s = s[size:]
	}
}

func (l *lineState) newline() {
	blank := strings.Trim(l.lead, " \t\r") == ""
	switch {
	case blank:
	case leadItem.MatchString(l.lead) && !l.indentedCode:
		l.inList = true
	case l.afterBlank && l.lead[0] != ' ' && l.lead[0] != '\t':
		l.inList = false
	}
	*l = lineState{afterBlank: blank, afterCode: l.indentedCode, inList: l.inList, fenceInQuote: l.fenceInQuote, parentheses: l.parentheses[:0]}
}

// noteIndent takes the blanks before a line's text and reports whether they
// make the line code. In a list item they do not.
func (l *lineState) noteIndent(blanks string) bool {
	wide := len(blanks) >= 4 || strings.Contains(blanks, "\t")
	l.indentedCode = l.indentedCode || l.lead == "" && wide && (l.afterBlank || l.afterCode) && !l.inList
	return l.indentedCode
}

// hasOnlyMarkers reports whether the line has only markers of quotes and list
// items.
func (l *lineState) hasOnlyMarkers() bool {
	return len(l.lead) < maxLead && leadMarkers.MatchString(l.lead)
}

// hasOnlyQuoteMarkers reports whether the line has only markers of quotes.
func (l *lineState) hasOnlyQuoteMarkers() bool {
	return len(l.lead) < maxLead && leadQuotes.MatchString(l.lead)
}

// inBlockquote reports whether the line belongs to a block quote.
func (l *lineState) inBlockquote() bool {
	return strings.HasPrefix(strings.TrimLeft(l.lead, " \t"), ">")
}

// isWordRune reports whether r belongs to a name, in scripts with blanks
// between words.
func isWordRune(r rune) bool {
	return r == '_' || unicode.IsNumber(r) || unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic)
}
