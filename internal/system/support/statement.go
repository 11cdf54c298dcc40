package support

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// identifiers are the names in a statement.
	identifiers = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	// plainName is a name that programs choose.
	plainName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)
	// dollarTag begins and ends a text between dollars.
	dollarTag = regexp.MustCompile(`^\$(?:[A-Za-z_\x{80}-\x{10ffff}][A-Za-z0-9_\x{80}-\x{10ffff}]*)?\$`)
)

// namesTable reports whether a statement without constants names one of the tables.
func namesTable(statement string, tables []string) bool {
	return slices.ContainsFunc(identifiers.FindAllString(statement, -1), func(word string) bool { return slices.Contains(tables, word) })
}

// withoutConstants returns a statement without the texts and comments in it, and without names
// in quotation marks that are no plain ones. The extension that counts statements replaces
// constants, but not those of all statements. A text without an end goes to the end.
func withoutConstants(statement string) string {
	var out strings.Builder
	for i := 0; i < len(statement); {
		rest := statement[i:]
		n, shown := 1, rest[:1]
		switch before := byte(' '); {
		case rest[0] == '\'':
			if i > 0 {
				before = statement[i-1]
			}
			// Only E'' has backslashes as escapes.
			escapes := (before == 'e' || before == 'E') && (i < 2 || !isNameByte(statement[i-2]))
			n, shown = quoted(rest, '\'', escapes), "'…'"
		case rest[0] == '"':
			n = quoted(rest, '"', false)
			if shown = rest[:n]; !plainName.MatchString(strings.Trim(shown, `"`)) {
				shown = `"…"`
			}
		case strings.HasPrefix(rest, "--"):
			n, shown = end(rest, 2, "\n"), " "
		case strings.HasPrefix(rest, "/*"):
			n, shown = comment(rest), " "
		case rest[0] == '$' && (i == 0 || !isNameByte(statement[i-1])):
			if tag := dollarTag.FindString(rest); tag != "" {
				n, shown = end(rest, len(tag), tag), "'…'"
			}
		}
		out.WriteString(shown)
		i += n
	}
	return out.String()
}

// isNameByte reports whether b may stand inside a name.
func isNameByte(b byte) bool {
	return b == '_' || b == '$' || b >= 0x80 || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// quoted returns the length of the text at the beginning of s; a doubled mark is part of it.
func quoted(s string, mark byte, escapes bool) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && escapes:
			i++
		case s[i] == mark && i+1 < len(s) && s[i+1] == mark:
			i++
		case s[i] == mark:
			return i + 1
		}
	}
	return len(s)
}

// end returns the length of s up to the end of the first mark behind its first bytes.
func end(s string, first int, mark string) int {
	if at := strings.Index(s[first:], mark); at >= 0 {
		return first + at + len(mark)
	}
	return len(s)
}

// comment returns the length of the comment at the beginning of s, which may contain others.
func comment(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(s)
}
