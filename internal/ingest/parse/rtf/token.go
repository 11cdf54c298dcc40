package rtf

import "bytes"

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	tokenEnd    tokenKind = iota
	tokenOpen             // {
	tokenClose            // }
	tokenWord             // \name or \name123
	tokenSymbol           // \ and a character that is no letter
	tokenByte             // \'hh
	tokenText             // bytes without line ends
	tokenBinary           // \bin and its data, which is skipped
)

// A token is a token of a file. Its text refers to the content of the file.
type token struct {
	kind tokenKind
	// text is the name of a word, or bytes in a code page.
	text []byte
	// value is the number after a word, if hasValue is set.
	value    int
	hasValue bool
	// char is the character of a symbol, or a byte in a code page.
	char byte
}

// isOn reports whether a word turns its property on, as it does without a number.
func (t *token) isOn() bool { return !t.hasValue || t.value != 0 }

// Limits of words.
const (
	maxWord  = 64
	maxValue = 1 << 30
)

// A scanner splits a file into tokens.
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

// control scans a control word or symbol after its backslash.
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
	t.value, t.hasValue = s.number()
	if s.at < len(s.content) && s.content[s.at] == ' ' {
		s.at++
	}
	if t.hasValue && string(t.text) == "bin" {
		// Data that exceeds the file is read as text.
		if t.value > 0 && t.value <= len(s.content)-s.at {
			s.at += t.value
		}
		t.kind = tokenBinary
	}
	return t
}

// number scans the number after a word.
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

// skipGroup moves the scanner to the brace that closes the open group.
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
