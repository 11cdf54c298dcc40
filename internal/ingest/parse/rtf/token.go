package rtf

import "bytes"

// tokenKind says what a token is.
type tokenKind uint8

const (
	tokenEnd    tokenKind = iota
	tokenOpen             // {
	tokenClose            // }
	tokenWord             // \name or \name123
	tokenSymbol           // \ and a character that is no letter
	tokenByte             // \'hh
	tokenText             // bytes up to the next of the others, without line ends
	tokenBinary           // the bytes after \bin, which are skipped
)

// token is one piece of a file. Its text is a part of the file.
type token struct {
	kind tokenKind
	// text is the name of a word, or bytes in some code page.
	text []byte
	// value is the number after a word, given tells that there is one.
	value int
	given bool
	// char is the character of a symbol, or a byte in some code page.
	char byte
}

// on tells whether a property that a word without a number, or with one that is not 0, sets is set.
func (t *token) on() bool { return !t.given || t.value != 0 }

// Bounds of words.
const (
	maxWord  = 64
	maxValue = 1 << 30
)

// scanner cuts a file into tokens.
type scanner struct {
	content []byte
	at      int
}

func (s *scanner) next() token {
	for s.at < len(s.content) && (s.content[s.at] == '\n' || s.content[s.at] == '\r') {
		s.at++
	}
	if s.at >= len(s.content) {
		return token{kind: tokenEnd}
	}
	switch s.content[s.at] {
	case '{':
		s.at++
		return token{kind: tokenOpen}
	case '}':
		s.at++
		return token{kind: tokenClose}
	case '\\':
		s.at++
		return s.control()
	}
	start := s.at
	for s.at < len(s.content) && !isMark(s.content[s.at]) {
		s.at++
	}
	return token{kind: tokenText, text: s.content[start:s.at]}
}

func isMark(c byte) bool { return c == '\\' || c == '{' || c == '}' || c == '\n' || c == '\r' }

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// control reads what follows a backslash.
func (s *scanner) control() token {
	if s.at >= len(s.content) {
		return token{kind: tokenEnd}
	}
	c := s.content[s.at]
	if !isLetter(c) {
		s.at++
		if c != '\'' {
			return token{kind: tokenSymbol, char: c}
		}
		if s.at+1 < len(s.content) {
			high, low := hexDigit(s.content[s.at]), hexDigit(s.content[s.at+1])
			if high >= 0 && low >= 0 {
				s.at += 2
				return token{kind: tokenByte, char: byte(high<<4 | low)} //nolint:gosec // two hexadecimal digits
			}
		}
		return token{kind: tokenSymbol, char: '\''}
	}
	start := s.at
	for s.at < len(s.content) && isLetter(s.content[s.at]) && s.at-start < maxWord {
		s.at++
	}
	t := token{kind: tokenWord, text: s.content[start:s.at]}
	t.value, t.given = s.number()
	if s.at < len(s.content) && s.content[s.at] == ' ' {
		s.at++
	}
	if t.given && string(t.text) == "bin" {
		// A length that goes beyond the end is not believed: what follows is read as if it were not there.
		if t.value > 0 && t.value <= len(s.content)-s.at {
			s.at += t.value
		}
		t.kind = tokenBinary
	}
	return t
}

// number reads the number after a word.
func (s *scanner) number() (value int, given bool) {
	at := s.at
	negative := at < len(s.content) && s.content[at] == '-'
	if negative {
		at++
	}
	if at >= len(s.content) || !isDigit(s.content[at]) {
		return 0, false
	}
	for at < len(s.content) && isDigit(s.content[at]) {
		value = min(value*10+int(s.content[at]-'0'), maxValue)
		at++
	}
	s.at = at
	if negative {
		value = -value
	}
	return value, true
}

func hexDigit(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// skipGroup goes to the brace that closes the group which the scanner stands in, and stays before it.
func (s *scanner) skipGroup() {
	depth := 0
	for s.at < len(s.content) {
		next := bytes.IndexAny(s.content[s.at:], `{}\`)
		if next < 0 {
			s.at = len(s.content)
			return
		}
		s.at += next
		switch s.content[s.at] {
		case '{':
			depth++
			s.at++
		case '}':
			if depth == 0 {
				return
			}
			depth--
			s.at++
		default:
			s.at++
			s.control()
		}
	}
}
