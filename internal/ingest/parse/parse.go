package parse

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// Input is one file as a source gave it.
type Input struct {
	// Name is the path in the source, slash separated, or a file name.
	Name string
	// MediaType, URL, Title and Language are what the source says, "" when it says nothing. They are hints: what the
	// file itself says goes before them.
	MediaType, URL, Title, Language string
	// Content is the whole file. Parse neither changes nor keeps it.
	Content []byte
	// Limits bounds the work; the zero value is the default.
	Limits document.Limits
}

// What a reader builds in memory is bounded: a tree of millions of tiny blocks takes a hundred times their text.
const (
	// maxLines is how many lines a text may have whose reader builds a tree of it, maxLongLines any other.
	maxLines, maxLongLines = 500_000, 5_000_000
	// maxMarkup is how many tags a page may have, maxBlocks how many blocks a document.
	maxMarkup, maxBlocks = 2_000_000, 1 << 20
)

// request is what the reader of a text format gets.
type request struct {
	name      string // base name
	mediaType string // as the source said
	format    format
	text      string // decoded, line ends are \n, no control characters
	limits    document.Limits
}

// Parse reads one file. The error is *document.UnsupportedError for what is not read, *document.LimitError for what is too
// large, *PanicError for a fault in Magpie, and wraps the context's error when its time is up; any other says what is wrong
// with the file, in words that may be shown to the people who own it. Parse returns soon after the context ends even
// where a reader does not notice that.
func (p *Parser) Parse(ctx context.Context, in Input) (*document.Document, error) {
	in.Limits = in.Limits.WithDefaults()
	if len(in.Content) > in.Limits.MaxBytes {
		return nil, &document.LimitError{Detail: fmt.Sprintf("content has %d bytes, the limit is %d", len(in.Content), in.Limits.MaxBytes)}
	}
	return p.watched(ctx, func(ctx context.Context) (*document.Document, error) {
		reading := &reading{parser: p, limits: in.Limits, budget: document.NewBudget(in.Limits)}
		form, charset, found, err := reading.read(ctx, in.Name, in.MediaType, in.Content)
		if err != nil {
			return nil, err
		}
		return describe(in, form, charset, found)
	})
}

// reading is the work on one file and on the files inside it.
type reading struct {
	parser *Parser
	limits document.Limits
	budget *document.Budget
	depth  int // how deep the file that is read stands in others
}

// read tells what a file is and reads it.
func (r *reading) read(ctx context.Context, name, mediaType string, content []byte) (format, string, *document.Draft, error) {
	if err := ctx.Err(); err != nil {
		return format{}, "", nil, fmt.Errorf("parse: %w", err)
	}
	if len(bytes.TrimSpace(content)) == 0 {
		return format{}, "", nil, &document.UnsupportedError{Reason: "empty"}
	}
	form, err := r.parser.identify(name, mediaType, content)
	if err != nil {
		return format{}, "", nil, err
	}
	if form.open != nil {
		found, err := form.open(ctx, document.Source{
			Name: baseName(name), MediaType: mediaType, Content: content, Limits: r.limits, Budget: r.budget, Nested: r.nested,
		})
		return form, "", found, err
	}
	text, charset, err := decode(content, form, mediaType)
	if err != nil {
		return format{}, "", nil, err
	}
	if strings.TrimSpace(text) == "" {
		return format{}, "", nil, &document.UnsupportedError{Reason: "empty"}
	}
	if err := form.bounded(text); err != nil {
		return format{}, "", nil, err
	}
	found, err := form.read(ctx, request{name: baseName(name), mediaType: mediaType, format: form, text: text, limits: r.limits})
	return form, charset, found, err
}

// bounded says whether a text has too much of what its reader makes blocks of. The error is a *document.LimitError.
func (f format) bounded(text string) error {
	lines := maxLines
	switch {
	case f.name == "text":
		lines = maxLongLines
	case f.long:
		return nil
	case f.name == "html":
		if n := strings.Count(text, "<"); n > maxMarkup {
			return &document.LimitError{Detail: fmt.Sprintf("page has %d tags, the limit is %d", n, maxMarkup)}
		}
	}
	if n := strings.Count(text, "\n"); n > lines {
		return &document.LimitError{Detail: fmt.Sprintf("text has %d lines, the limit is %d", n, lines)}
	}
	return nil
}

// nested reads a file inside the one that is read.
func (r *reading) nested(ctx context.Context, name, mediaType string, content []byte) (*document.Draft, error) {
	if r.depth >= r.limits.MaxNesting {
		return nil, &document.LimitError{Detail: fmt.Sprintf("files stand more than %d deep in files", r.limits.MaxNesting)}
	}
	inner := *r
	inner.depth++
	_, _, found, err := inner.read(ctx, name, mediaType, content)
	return found, err
}

// describe turns what a reader found into a document.
func describe(in Input, form format, charset string, found *document.Draft) (*document.Document, error) {
	size := 0
	blocks := found.Blocks[:0]
	for _, block := range found.Blocks {
		if !block.Blank() {
			blocks = append(blocks, block)
			size += block.Size()
		}
	}
	if size > in.Limits.MaxText {
		return nil, &document.LimitError{Detail: fmt.Sprintf("text has %d bytes, the limit is %d", size, in.Limits.MaxText)}
	}
	if len(blocks) > maxBlocks {
		return nil, &document.LimitError{Detail: fmt.Sprintf("text has %d parts, the limit is %d", len(blocks), maxBlocks)}
	}
	found.Blocks = blocks
	if form.name == "html" {
		headed(found)
	}
	d := &document.Document{Format: form.name, Metadata: make(map[string]any), Pages: found.Pages}
	applyFacts(d, found)
	if len(found.Blocks) == 0 {
		description, _ := d.Metadata["description"].(string)
		if description == "" {
			return nil, &document.UnsupportedError{Reason: "no text"}
		}
		found.Blocks = []document.Block{{Kind: document.Paragraph, Text: description}}
	}
	d.Blocks = found.Blocks
	derive(d, in, form, found)
	if charset != "" && charset != "utf-8" {
		d.Metadata["charset"] = charset
	}
	return d, nil
}

// headed gives a page without any heading its title as one: readers of the page see it.
func headed(found *document.Draft) {
	title := document.Truncate(oneLine(found.Title), maxHeading)
	isHeading := func(block document.Block) bool { return block.Kind == document.Heading }
	if title == "" || len(found.Blocks) == 0 || slices.ContainsFunc(found.Blocks, isHeading) {
		return
	}
	heading := document.Block{Kind: document.Heading, Level: 1, Text: title, Anchor: make(document.Anchors).Take("", title)}
	found.Blocks = slices.Insert(found.Blocks, 0, heading)
}
