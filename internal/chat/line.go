package chat

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestLead is how many bytes of a line are looked at for its markers.
const longestLead = 64

var (
	leadMarkers = regexp.MustCompile(`^[ \t]*(?:(?:>|(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)[ \t]*)+$`)
	leadQuotes  = regexp.MustCompile(`^[ \t]*>[ \t>]*$`)
	leadItem    = regexp.MustCompile(`^[ \t>]*(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]|$)`)
)

// line is what is known of a line of Markdown that is read piece by piece, and of those before it.
type line struct {
	lead        string // its beginning
	last        rune   // its last character so far
	parentheses []bool // the open ones, and whether they are those of a call
	call        bool   // the parenthesis that was closed last was one
	code        bool   // it is code for its indentation
	fenceQuoted bool   // the last code fence opened in a quote

	afterBlank bool // the line before is blank
	afterCode  bool // the line before is code for its indentation
	list       bool // what comes before is a list item
}

// read takes what follows on the line, and the lines after it.
func (l *line) read(s string) {
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if r == '\n' {
			l.end()
			s = s[size:]
			continue
		}
		switch r {
		case '(':
			l.parentheses = append(l.parentheses, wordly(l.last))
		case ')':
			l.call = false
			if n := len(l.parentheses); n > 0 {
				l.call, l.parentheses = l.parentheses[n-1], l.parentheses[:n-1]
			}
		}
		if len(l.lead) < longestLead {
			l.lead += s[:size]
		}
		l.last = r
		s = s[size:]
	}
}

func (l *line) end() {
	blank := strings.Trim(l.lead, " \t\r") == ""
	switch {
	case blank:
	case leadItem.MatchString(l.lead) && !l.code:
		l.list = true
	case l.afterBlank && l.lead[0] != ' ' && l.lead[0] != '\t':
		l.list = false
	}
	*l = line{afterBlank: blank, afterCode: l.code, list: l.list, fenceQuoted: l.fenceQuoted, parentheses: l.parentheses[:0]}
}

// indents takes note of the blanks before a line's text and reports whether they make it code. Those of a list item's
// paragraphs do not.
func (l *line) indents(blanks string) bool {
	wide := len(blanks) >= 4 || strings.Contains(blanks, "\t")
	l.code = l.code || l.lead == "" && wide && (l.afterBlank || l.afterCode) && !l.list
	return l.code
}

// marks reports whether only the markers of quotes and list items stand on the line.
func (l *line) marks() bool { return len(l.lead) < longestLead && leadMarkers.MatchString(l.lead) }

// quotes reports whether only the markers of quotes stand on the line.
func (l *line) quotes() bool { return len(l.lead) < longestLead && leadQuotes.MatchString(l.lead) }

// quoted reports whether the line is one of a quote.
func (l *line) quoted() bool { return strings.HasPrefix(strings.TrimLeft(l.lead, " \t"), ">") }

// wordly reports whether r is one of a name, in scripts that have blanks between words.
func wordly(r rune) bool {
	return r == '_' || unicode.IsNumber(r) || unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic)
}
