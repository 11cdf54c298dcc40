package plaintext

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/ascii"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/safetext"
)

// isLog reports whether many lines of a text begin with a time of day.
func isLog(text string) bool {
	const most = 200
	lines, entries := 0, 0
	for line := range strings.Lines(safetext.TruncateBytes(text, 64<<10)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if isEntry(line) {
			entries++
		}
		if lines++; lines == most {
			break
		}
	}
	return entries >= 3 && entries*10 >= lines*4
}

// isEntry reports whether a line has a time of day near its beginning: 12:34:56.
func isEntry(line string) bool {
	if line == "" || line[0] == ' ' || line[0] == '\t' {
		return false
	}
	head := line[:min(len(line), 80)]
	for i := 2; i+6 <= len(head); i++ {
		if head[i] == ':' && head[i+3] == ':' && ascii.IsDigit(head[i-1]) && ascii.IsDigit(head[i-2]) && ascii.IsDigit(head[i+1]) && ascii.IsDigit(head[i+2]) && ascii.IsDigit(head[i+4]) &&
			ascii.IsDigit(head[i+5]) {
			return true
		}
	}
	return false
}

// readLog cuts a log between its entries into blocks of about equal length. Lines without a time belong to the entry
// above.
func readLog(ctx context.Context, in document.Text) (*document.Draft, error) {
	draft := &document.Draft{}
	var b strings.Builder
	runes, entries := 0, 0
	flush := func() {
		if text := strings.Trim(b.String(), "\n"); strings.TrimSpace(text) != "" {
			draft.Blocks = append(draft.Blocks, document.Block{Kind: document.Code, Language: "log", Text: text})
		}
		b.Reset()
		runes = 0
	}
	for line := range strings.Lines(strings.ReplaceAll(in.Text, "\f", "\n")) {
		size := utf8.RuneCountInString(line)
		if isEntry(line) {
			if entries++; entries%1024 == 0 && ctx.Err() != nil {
				return nil, fmt.Errorf("parse log: %w", ctx.Err())
			}
			if runes > 0 && runes+size > compose.BlockRunes {
				flush()
			}
		}
		if runes > 4*compose.BlockRunes {
			flush() // a very long entry
		}
		if size <= compose.LongLine {
			b.WriteString(line)
			runes += size
			continue
		}
		for piece := range compose.CutLine(line) {
			b.WriteString(piece)
			flush()
		}
	}
	flush()
	draft.Extra = map[string]any{"entries": entries}
	return draft, nil
}
