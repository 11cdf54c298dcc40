package compose

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// ExpandTabs replaces tabs by blanks up to the next multiple of eight columns.
func ExpandTabs(text string) string {
	if !strings.Contains(text, "\t") {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	column := 0
	for _, r := range text {
		switch r {
		case '\n':
			column = 0
			b.WriteByte('\n')
		case '\t':
			n := 8 - column%8
			b.WriteString("        "[:n])
			column += n
		default:
			column++
			b.WriteRune(r)
		}
	}
	return b.String()
}

// IsBlank reports whether a line has only white space.
func IsBlank(line string) bool { return strings.TrimSpace(line) == "" }

// IndentedLines returns how many lines, from the first, are blank or indented by at least n, without blank lines at the
// end.
func IndentedLines(lines []string, n int) int {
	end := 0
	for i, line := range lines {
		switch {
		case IsBlank(line):
		case Indent(line) < n:
			return end
		default:
			end = i + 1
		}
	}
	return end
}

// Indent returns the number of blanks at the beginning of a line.
func Indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// DedentLines returns lines without their common indentation.
func DedentLines(lines []string) []string {
	least := -1
	for _, line := range lines {
		if !IsBlank(line) && (least < 0 || Indent(line) < least) {
			least = Indent(line)
		}
	}
	if least <= 0 {
		return lines
	}
	return CutColumns(lines, least)
}

// CutColumns returns lines without up to n blanks at the beginning of each.
func CutColumns(lines []string, n int) []string {
	cut := make([]string, len(lines))
	for i, line := range lines {
		cut[i] = line[min(n, Indent(line)):]
	}
	return cut
}

// TrimBlankLines returns lines without blank lines at both ends.
func TrimBlankLines(lines []string) []string {
	for len(lines) > 0 && IsBlank(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && IsBlank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// CodeBlock returns lines as a block of code, without their common indentation.
func CodeBlock(language string, lines []string) document.Block {
	return document.Block{Kind: document.Code, Language: language, Text: strings.Join(TrimBlankLines(DedentLines(lines)), "\n")}
}

// Outdent returns a text without the blanks and tabs that all its lines begin with.
func Outdent(text string) string {
	common := ""
	for i, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if i == 0 || common == "" {
			common = indent
		}
		for !strings.HasPrefix(indent, common) {
			common = common[:len(common)-1]
		}
		if common == "" {
			return text
		}
	}
	return strings.ReplaceAll(strings.TrimPrefix(text, common), "\n"+common, "\n")
}

// LineGap returns the text that joins two lines of a paragraph: a blank, or "" between characters of scripts without
// blanks and after a hyphen.
func LineGap(before, after string) string {
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(after)
	switch {
	case IsWide(last) && IsWide(first), last == '\u2010', last == '-' && unicode.IsLower(first) && !strings.HasSuffix(before, " -"):
		return ""
	}
	return " "
}

// IsWide reports whether a character belongs to a script without blanks between words.
func IsWide(r rune) bool {
	return 0x2E80 <= r && r <= 0x9FFF || 0xF900 <= r && r <= 0xFAFF || 0xFF00 <= r && r <= 0xFFEF
}
