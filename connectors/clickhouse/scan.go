package clickhouse

import (
	"strings"

	"github.com/magpie-search/magpie/connectors/sqldb"
)

// withoutComments returns a statement without comments. It refuses what
// ClickHouse's lexers and the parser could read differently, so that all of them
// find the same tokens: names with escapes, texts between dollar signs,
// typographic quotes, and other characters that are no ASCII outside of quotes.
func withoutComments(text string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(text); {
		rest := text[i:]
		switch c := rest[0]; {
		case c == '\'':
			end := endOfText(rest)
			if end < 0 {
				return "", sqldb.Refuse("A text is not closed: a ' is missing.")
			}
			out.WriteString(rest[:end])
			i += end
		case c == '"' || c == '`':
			end, err := endOfName(rest)
			if err != nil {
				return "", err
			}
			out.WriteString(rest[:end])
			i += end
		case strings.HasPrefix(rest, "--"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				return out.String(), nil
			}
			i += end // the line break stays
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return "", sqldb.Refuse("A comment is not closed: */ is missing.")
			}
			out.WriteByte(' ')
			i += 2 + end + 2
		case c == '#' || c == '$' || c == '\\' || c > '~' || c < ' ' && !strings.ContainsRune("\t\n\r", rune(c)):
			return "", sqldb.Refuse("The character %s is only allowed in texts and quoted names.", sqldb.QuoteName(firstRune(rest)))
		default:
			out.WriteByte(c)
			i++
		}
	}
	return out.String(), nil
}

func firstRune(text string) string {
	for _, r := range text {
		return string(r)
	}
	return ""
}

// endOfText returns the length of a text in single quotes, with its quotes, or -1.
// A backslash escapes any character.
func endOfText(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '\'':
			return i + 1 // a doubled quote begins another text, which follows directly
		}
	}
	return -1
}

// endOfName returns the length of a quoted name, with its quotes.
func endOfName(text string) (int, error) {
	end := strings.IndexByte(text[1:], text[0]) + 1
	switch {
	case end == 0:
		return 0, sqldb.Refuse("A name is not closed: a %c is missing.", text[0])
	case end == 1:
		return 0, sqldb.Refuse("A name is empty.")
	case strings.ContainsAny(text[:end], "\\\x00"), end+1 < len(text) && text[end+1] == text[0]:
		return 0, sqldb.Refuse("Names with quotes or backslashes are not allowed.")
	}
	return end + 1, nil
}
