package parse

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"magpie/internal/ingest/document"
)

// declarationRunes is about how much code one block holds: short declarations share a block.
const declarationRunes = 1000

// readCode reads source code and configuration: blocks of whole declarations, cut where an empty line is followed by a
// line at the left margin.
func readCode(ctx context.Context, r request) (*document.Draft, error) {
	found := &document.Draft{Extra: make(map[string]any), DocType: r.format.docType}
	if r.format.language != "" {
		found.Extra["code_language"] = r.format.language
	}
	var b strings.Builder
	runes := 0
	flush := func() {
		if text := strings.Trim(b.String(), "\n"); strings.TrimSpace(text) != "" {
			found.Blocks = append(found.Blocks, document.Block{Kind: document.Code, Language: r.format.language, Text: text})
		}
		b.Reset()
		runes = 0
	}
	for i, part := range declarations(r.text) {
		if i%256 == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("parse code: %w", ctx.Err())
		}
		size := utf8.RuneCountInString(part)
		if runes > 0 && runes+size > declarationRunes {
			flush()
		}
		b.WriteString(part)
		runes += size
	}
	flush()
	return found, nil
}

// declarations cuts code after empty lines that are followed by a line at the left margin which opens something new. The
// parts together are the text.
func declarations(text string) []string {
	var parts []string
	start, at := 0, 0
	blank := false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimRight(line, " \t\n")
		if blank && trimmed != "" && !isContinued(trimmed) {
			parts = append(parts, text[start:at])
			start = at
		}
		blank = trimmed == ""
		at += len(line)
	}
	return append(parts, text[start:])
}

// isContinued reports lines that go on with what stands before an empty line: indented ones and closing brackets.
func isContinued(line string) bool {
	return strings.ContainsRune(" \t})]", rune(line[0])) || line == "end" || strings.HasPrefix(line, "else")
}
