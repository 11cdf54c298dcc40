package separated

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/ascii"
	"github.com/magpie-search/magpie/internal/safetext"
)

// detectSeparator returns the separator of a table, and the text without a line that names the separator.
func detectSeparator(name, text string) (rest string, comma byte) {
	line, rest, _ := strings.Cut(text, "\n")
	line = strings.Trim(line, "\" ")
	if len(line) == len("sep=;") && strings.EqualFold(line[:4], "sep=") {
		return rest, line[4]
	}
	switch document.Extension(name) {
	case "tsv", "tab":
		return text, '\t'
	}
	head := safetext.TruncateBytes(text, 64<<10)
	if end := strings.LastIndexByte(head, '\n'); end > 0 && len(head) < len(text) {
		head = head[:end]
	}
	best, most := byte(','), 0.0
	for _, comma := range []byte(",;\t|") {
		if score := scoreSeparator(head, comma); score > most {
			best, most = comma, score
		}
	}
	return text, best
}

// scoreSeparator returns how well a text fits a separator: most rows have the same number of cells, and the cells
// contain no other separator. More cells count slightly.
func scoreSeparator(head string, comma byte) float64 {
	const most = 60
	reader := reader{text: head, comma: comma}
	widths := make(map[int]int)
	rows, cells, clean := 0, 0, 0
	for rows < most && reader.at < len(reader.text) {
		row := reader.row()
		if len(row) == 1 && strings.TrimSpace(row[0]) == "" {
			continue
		}
		rows++
		widths[len(row)]++
		for _, cell := range row {
			cells++
			if hasNoOtherSeparator(cell, comma) {
				clean++
			}
		}
	}
	width, agreeing := 1, 0
	for w, count := range widths {
		if w > 1 && (count > agreeing || count == agreeing && w > width) {
			width, agreeing = w, count
		}
	}
	if agreeing == 0 || cells == 0 {
		return 0
	}
	share := float64(agreeing) / float64(rows)
	return share * share * float64(clean) / float64(cells) * (1 + 0.02*float64(min(width, 20)))
}

// hasNoOtherSeparator reports whether a cell contains no other separator. A comma in a number or before a blank is
// none.
func hasNoOtherSeparator(cell string, comma byte) bool {
	for i := range len(cell) {
		switch c := cell[i]; {
		case c == comma:
		case c == ';' || c == '\t' || c == '|':
			return false
		case c == ',' && i > 0 && i+1 < len(cell) && cell[i+1] != ' ' && !ascii.IsDigit(cell[i-1]) && !ascii.IsDigit(cell[i+1]):
			return false
		}
	}
	return true
}
