package mssql

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/magpie-search/magpie/connectors/sqldb"
)

type tokenKind int

const (
	word    tokenKind = iota // a keyword or a name without quotes
	name                     // a name in brackets or quotation marks
	literal                  // a text in single quotes
	number                   // digits, and what may follow them
	symbol                   // one character
)

// A token is a part of a statement. Its value is in upper case for words, and
// without quotes for names.
type token struct {
	kind  tokenKind
	value string
	raw   string
}

// is reports whether the token is a word or symbol.
func (t token) is(values ...string) bool {
	if t.kind != word && t.kind != symbol {
		return false
	}
	for _, value := range values {
		if t.value == value {
			return true
		}
	}
	return false
}

// text returns a name as it was written, without quotes.
func (t token) text() string {
	if t.kind == word {
		return t.raw
	}
	return t.value
}

// isName reports whether the token can be a name.
func (t token) isName() bool { return t.kind == name || t.kind == word }

// scan splits a statement into tokens, and returns it without comments. It refuses characters
// that have other meanings: variables, temporary tables, labels, escapes of ODBC,
// and outside of texts and quoted names what is no ASCII.
func scan(statement string) (tokens []token, clean string, err error) {
	var out strings.Builder
	for i := 0; i < len(statement); {
		rest := statement[i:]
		length, isComment := 1, false
		switch c := rest[0]; {
		case strings.ContainsRune(" \t\r\n", rune(c)):
		case strings.HasPrefix(rest, "--"):
			if isComment, length = true, strings.IndexByte(rest, '\n'); length < 0 {
				length = len(rest)
			}
		case strings.HasPrefix(rest, "/*"):
			if isComment, length = true, commentLength(rest); length < 0 {
				return nil, "", sqldb.Refuse("A comment is not closed: */ is missing.")
			}
		case c == '\'', c == '"', c == '[', (c == 'N' || c == 'n') && strings.HasPrefix(rest[1:], "'"):
			t, err := quoted(rest)
			if err != nil {
				return nil, "", err
			}
			tokens, length = append(tokens, t), len(t.raw)
		case isDigit(c), c == '.' && len(rest) > 1 && isDigit(rest[1]) && !follows(tokens):
			length = len(numbers.FindString(rest))
			if length < len(rest) && isLetter(rest[length]) {
				return nil, "", sqldb.Refuse("A space is missing behind the number %s.", rest[:length])
			}
			tokens = append(tokens, token{number, rest[:length], rest[:length]})
		case isLetter(c):
			for length < len(rest) && (isLetter(rest[length]) || isDigit(rest[length])) {
				length++
			}
			tokens = append(tokens, token{word, strings.ToUpper(rest[:length]), rest[:length]})
		case strings.ContainsRune("()+-*/%=<>!,.&|^~;", rune(c)):
			tokens = append(tokens, token{symbol, rest[:1], rest[:1]})
		default:
			return nil, "", sqldb.Refuse("The character %s is only allowed in texts and names in brackets.", sqldb.QuoteName(firstRune(rest)))
		}
		if isComment {
			out.WriteByte(' ')
		} else {
			out.WriteString(rest[:length])
		}
		i += length
	}
	return tokens, strings.TrimSpace(out.String()), nil
}

func firstRune(text string) string {
	for _, r := range text {
		return string(r)
	}
	return ""
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c == '_' || c < unicode.MaxASCII && unicode.IsLetter(rune(c)) }

// follows reports whether a period continues a name.
func follows(tokens []token) bool { return len(tokens) > 0 && tokens[len(tokens)-1].isName() }

// numbers matches a number.
var numbers = regexp.MustCompile(`^(0[xX][0-9a-fA-F]*|[0-9]*\.?[0-9]*([eE][-+]?[0-9]*)?)`)

// commentLength returns the length of a comment, in which others can be nested, or
// -1.
func commentLength(rest string) int {
	depth := 0
	for i := 0; i+1 < len(rest); i++ {
		switch rest[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			if depth--; depth == 0 {
				return i + 2
			}
			i++
		}
	}
	return -1
}

// quoted returns the text or name at the beginning. A doubled quote stands for one.
func quoted(rest string) (token, error) {
	start := strings.IndexAny(rest, `'"[`)
	closing := rest[start]
	if closing == '[' {
		closing = ']'
	}
	for i := start + 1; i < len(rest); i++ {
		if rest[i] != closing {
			continue
		}
		if i+1 < len(rest) && rest[i+1] == closing {
			i++
			continue
		}
		value := strings.ReplaceAll(rest[start+1:i], strings.Repeat(string(closing), 2), string(closing))
		if closing == '\'' {
			return token{literal, value, rest[:i+1]}, nil
		}
		return token{name, value, rest[:i+1]}, nil
	}
	return token{}, sqldb.Refuse("A text or name is not closed: a %c is missing.", closing)
}
