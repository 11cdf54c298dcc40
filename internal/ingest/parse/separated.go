package parse

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"magpie/internal/ingest/document"
)

// maxField is the longest cell, in bytes, that is believed: a quote that is never closed makes the rest of the file one
// cell.
const maxField = 256 << 10

// readSeparated reads a table of separated values whose first row names the columns.
func readSeparated(ctx context.Context, r request) (*document.Draft, error) {
	comma := separator(r.name, r.text)
	rows, err := separatedRows(ctx, r.text, comma, true)
	if errors.Is(err, errQuotes) {
		rows, err = separatedRows(ctx, r.text, comma, false)
	}
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return &document.Draft{}, nil
	}
	return &document.Draft{Blocks: []document.Block{document.NewTable(rows[0], rows[1:])}, Extra: map[string]any{"rows": len(rows) - 1}}, nil
}

var errQuotes = errors.New("a quote is not closed")

func separatedRows(ctx context.Context, text string, comma rune, quoted bool) ([][]string, error) {
	var rows [][]string
	if !quoted {
		for line := range strings.Lines(text) {
			if len(rows)%1024 == 0 && ctx.Err() != nil {
				return nil, fmt.Errorf("parse separated values: %w", ctx.Err())
			}
			if strings.TrimSpace(line) != "" {
				rows = append(rows, strings.Split(strings.TrimRight(line, "\n"), string(comma)))
			}
		}
		return rows, nil
	}
	reader := csv.NewReader(strings.NewReader(text))
	reader.Comma = comma
	reader.LazyQuotes = true
	reader.FieldsPerRecord = -1
	reader.TrimLeadingSpace = comma != '\t'
	for {
		if len(rows)%1024 == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("parse separated values: %w", ctx.Err())
		}
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("invalid separated values: %w", err)
		}
		blank := true
		for _, cell := range row {
			if len(cell) > maxField {
				return nil, errQuotes
			}
			blank = blank && strings.TrimSpace(cell) == ""
		}
		if !blank {
			rows = append(rows, row)
		}
	}
}

// separator finds the separator: a tab for .tsv, else the one that parts the first lines into the same number of cells,
// the most cells winning.
func separator(name, text string) rune {
	switch extensionOf(name) {
	case "tsv", "tab":
		return '\t'
	}
	head := document.Truncate(text, 64<<10)
	if end := strings.LastIndexByte(head, '\n'); end > 0 && len(head) < len(text) {
		head = head[:end]
	}
	best, bestScore := ',', 0
	for _, comma := range []rune{',', ';', '\t', '|'} {
		if score := separatorScore(head, comma); score > bestScore {
			best, bestScore = comma, score
		}
	}
	return best
}

// separatorScore is the number of separators in the first row, times how many of the first rows agree with it.
func separatorScore(head string, comma rune) int {
	reader := csv.NewReader(strings.NewReader(head))
	reader.Comma = comma
	reader.LazyQuotes = true
	reader.FieldsPerRecord = -1
	width, agreeing := 0, 0
	for i := range 20 {
		row, err := reader.Read()
		if err != nil {
			break
		}
		if i == 0 {
			width = len(row)
		}
		if len(row) == width {
			agreeing++
		}
	}
	return (width - 1) * agreeing
}
