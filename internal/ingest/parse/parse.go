package parse

import (
	"bytes"
	"context"
	"fmt"
	"strings"
)

// UnsupportedError says that a file is not read, and why. It is no fault of the file: it is skipped, not failed.
type UnsupportedError struct {
	// Reason is for visitors to read: "format not supported: application/pdf", "binary content", "empty", "no text".
	Reason string
}

// Error returns the reason.
func (e *UnsupportedError) Error() string { return e.Reason }

// LimitError says that a file goes beyond a limit.
type LimitError struct {
	// What exceeds the limit, and the limit: "content is 40 MiB, the limit is 32 MiB".
	Detail string
}

// Error says "too large" and what is.
func (e *LimitError) Error() string { return "too large: " + e.Detail }

// maxLines bounds what a reader builds in memory: a tree of millions of tiny blocks takes a hundred times their text.
const maxLines = 500_000

// request is what a format's reader gets.
type request struct {
	name   string // base name
	format format
	text   string // decoded, line ends are \n, no control characters
	limits Limits
}

// draft is what a reader finds. A reader gives blocks as they come; empty ones are dropped afterwards.
type draft struct {
	blocks []Block
	// meta is what the file says about itself, by lower-case key.
	meta map[string]any
	// title is the file's own title; language what the file says it is written in.
	title, language string
	// docType is set by a reader that knows better than the path.
	docType string
	// prose tells that the language of the text can be detected.
	prose bool
	// extra goes to Metadata as it is.
	extra map[string]any
}

// Parse reads one file. The error is *UnsupportedError for what is not read and *LimitError for what is too large; any
// other says what is wrong with the file, in words that may be shown to the people who own it. Parse stops when the
// context ends.
func Parse(ctx context.Context, in Input) (*Document, error) {
	limits := in.Limits.withDefaults()
	if len(in.Content) > limits.MaxBytes {
		return nil, &LimitError{Detail: fmt.Sprintf("content has %d bytes, the limit is %d", len(in.Content), limits.MaxBytes)}
	}
	if len(bytes.TrimSpace(in.Content)) == 0 {
		return nil, &UnsupportedError{Reason: "empty"}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	form, err := identify(in)
	if err != nil {
		return nil, err
	}
	text, charset, err := decode(in.Content, form, in.MediaType)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(text) == "" {
		return nil, &UnsupportedError{Reason: "empty"}
	}
	if lines := strings.Count(text, "\n"); lines > maxLines {
		return nil, &LimitError{Detail: fmt.Sprintf("text has %d lines, the limit is %d", lines, maxLines)}
	}
	found, err := form.read(ctx, request{name: baseName(in.Name), format: form, text: text, limits: limits})
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	return describe(in, form, charset, found, limits)
}

// describe turns what a reader found into a document.
func describe(in Input, form format, charset string, found *draft, limits Limits) (*Document, error) {
	size := 0
	blocks := found.blocks[:0]
	for _, block := range found.blocks {
		if !block.blank() {
			blocks = append(blocks, block)
			size += block.size()
		}
	}
	if size > limits.MaxText {
		return nil, &LimitError{Detail: fmt.Sprintf("text has %d bytes, the limit is %d", size, limits.MaxText)}
	}
	found.blocks = blocks
	d := &Document{Metadata: make(map[string]any)}
	d.applyFacts(found)
	if len(found.blocks) == 0 {
		description, _ := d.Metadata["description"].(string)
		if description == "" {
			return nil, &UnsupportedError{Reason: "no text"}
		}
		found.blocks = []Block{{Kind: Paragraph, Text: description}}
	}
	d.Blocks = found.blocks
	d.derive(in, form, found)
	if charset != "" && charset != "utf-8" {
		d.Metadata["charset"] = charset
	}
	return d, nil
}

func (k *Block) blank() bool {
	if k.Kind != Table {
		return strings.TrimSpace(k.Text) == ""
	}
	for _, cell := range k.Header {
		if cell != "" {
			return false
		}
	}
	for _, row := range k.Rows {
		for _, cell := range row {
			if cell != "" {
				return false
			}
		}
	}
	return true
}
