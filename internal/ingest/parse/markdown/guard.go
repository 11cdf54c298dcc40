package markdown

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
)

// maxDefinitions is how many link reference definitions may follow each other. The parser moves the remaining ones
// after each.
const maxDefinitions = 200

// breakDefinitions inserts empty lines into long lists of link reference definitions. Their meaning does not change.
func breakDefinitions(body string) string {
	if strings.Count(body, "]:") <= maxDefinitions {
		return body
	}
	var b strings.Builder
	b.Grow(len(body) + len(body)/maxDefinitions)
	run := 0
	for line := range strings.Lines(body) {
		name, target, found := strings.Cut(strings.TrimLeft(line, " "), "]:")
		if !found || !strings.HasPrefix(name, "[") || strings.TrimSpace(target) == "" {
			run = 0
		} else if run++; run%maxDefinitions == 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
	return b.String()
}

// flattenNesting removes the markers of lines that open more quotations or lists than anyone writes. The parser spends
// time on each level for each line.
func flattenNesting(body string) string {
	isTooDeep := func(line string) bool {
		marks := 0
		for i := range len(line) {
			switch line[i] {
			case ' ', '\t':
			case '>', '-', '*', '+':
				if marks++; marks > compose.MaxNesting {
					return true
				}
			case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			case '.', ')':
				if i == 0 || line[i-1] < '0' || line[i-1] > '9' || i+1 < len(line) && line[i+1] != ' ' && line[i+1] != '\t' && line[i+1] != '\n' {
					return false
				}
				if marks++; marks > compose.MaxNesting {
					return true
				}
			default:
				return i > 40*compose.MaxNesting
			}
		}
		return false
	}
	isDeep := false
	for line := range strings.Lines(body) {
		if isTooDeep(line) {
			isDeep = true
			break
		}
	}
	if !isDeep {
		return body
	}
	var b strings.Builder
	b.Grow(len(body))
	for line := range strings.Lines(body) {
		if isTooDeep(line) && strings.Trim(line, "-* \t\n") != "" {
			line = strings.TrimLeft(line, " \t>-*+")
			if digits := len(line) - len(strings.TrimLeft(line, "0123456789")); digits > 0 {
				line = line[:digits] + "\\" + line[digits:] // escaped, since the number must not begin a list
			}
		}
		b.WriteString(line)
	}
	return b.String()
}

// breakWideTables removes the delimiter row of tables with more cells than anyone writes, which leaves their text. The
// parser allocates every cell of every row, even missing ones.
func breakWideTables(body string) string {
	const most = 1 << 19
	if strings.Count(body, "|") == 0 {
		return body
	}
	var out []byte
	copied, at := 0, 0
	columns, start, end, rows := 0, 0, 0, 0 // of the current table
	check := func() {
		if columns > 0 && (columns > document.MaxColumns || columns*rows > most) {
			out = append(append(out, body[copied:start]...), "\\\n"...)
			copied = end
		}
		columns = 0
	}
	for line := range strings.Lines(body) {
		bars := 0
		if strings.Contains(line, "-") && strings.Trim(line, "|-: \t\n>") == "" {
			bars = strings.Count(line, "|") + 1
		}
		switch {
		case columns > 0 && strings.TrimSpace(line) == "":
			check()
		case columns > 0:
			rows++
		case bars > 1:
			columns, start, end, rows = bars, at, at+len(line), 1
		}
		at += len(line)
	}
	check()
	if copied == 0 {
		return body
	}
	return string(append(out, body[copied:]...))
}
