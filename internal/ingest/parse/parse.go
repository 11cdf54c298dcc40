package parse

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/charset"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Input is a file as a source delivers it.
type Input struct {
	// Name is the path in the source, separated by slashes, or a file name.
	Name string
	// MediaType, URL, Title and Language are hints of the source, "" if it gives none. Facts from the file itself take
	// precedence.
	MediaType, URL, Title, Language string
	// Content is the whole file. Parse neither changes nor keeps it.
	Content []byte
	// Limits bounds the work. The zero value stands for the defaults.
	Limits document.Limits
}

// maxBlocks is how many blocks a document may have: in memory, a tiny block takes a hundred times its text.
const maxBlocks = 1 << 20

// Parse reads one file. The error is a *document.UnsupportedError for a format that is not read, a *document.LimitError for a
// file that is too large, a *PanicError for a fault in Magpie, and wraps the error of the context once it has ended. Any other
// error describes what is wrong with the file, in words that its owners may see. Parse returns soon after the context ends,
// even if a reader does not.
func (p *Parser) Parse(ctx context.Context, in Input) (*document.Document, error) {
	in.Limits = in.Limits.WithDefaults()
	if len(in.Content) > in.Limits.MaxBytes {
		return nil, &document.LimitError{Detail: fmt.Sprintf("content has %d bytes, the limit is %d", len(in.Content), in.Limits.MaxBytes)}
	}
	return p.guard(ctx, func(ctx context.Context) (*document.Document, error) {
		r := &reading{parser: p, limits: in.Limits, budget: document.NewBudget(in.Limits)}
		out, err := r.read(ctx, in.Name, in.MediaType, in.Content)
		if err != nil {
			return nil, err
		}
		return describe(in, out)
	})
}

// reading is the work on one file, including the files inside it.
type reading struct {
	parser *Parser
	limits document.Limits
	budget *document.Budget
	depth  int // how many files enclose the current one
}

// outcome is what reading a file gives.
type outcome struct {
	format  format
	charset string // of a text format
	draft   *document.Draft
}

// read identifies the format of a file and reads it.
func (r *reading) read(ctx context.Context, name, mediaType string, content []byte) (outcome, error) {
	if err := ctx.Err(); err != nil {
		return outcome{}, fmt.Errorf("parse: %w", err)
	}
	if len(bytes.TrimSpace(content)) == 0 {
		return outcome{}, &document.UnsupportedError{Reason: "empty"}
	}
	form, err := r.parser.identify(name, mediaType, content)
	if err != nil {
		return outcome{}, err
	}
	if form.read != nil {
		draft, err := form.read(ctx, document.Source{
			Name: document.BaseName(name), MediaType: mediaType, Content: content, Limits: r.limits, Budget: r.budget, Nested: r.nested,
		})
		return outcome{format: form, draft: draft}, err
	}
	text, encoding, err := charset.Decode(content, mediaType, charset.Options{HTML: form.name == "html", Pages: form.name == "text"})
	if err != nil {
		return outcome{}, err
	}
	if strings.TrimSpace(text) == "" {
		return outcome{}, &document.UnsupportedError{Reason: "empty"}
	}
	if err := form.checkSize(text); err != nil {
		return outcome{}, err
	}
	draft, err := form.readText(ctx, document.Text{
		Name: document.BaseName(name), MediaType: mediaType, Format: form.name, Language: form.language, DocType: form.docType, Text: text, Limits: r.limits,
	})
	return outcome{format: form, charset: encoding, draft: draft}, err
}

// checkSize returns a *document.LimitError if a text has more lines or tags than the format allows.
func (f *format) checkSize(text string) error {
	if f.maxTags > 0 {
		if n := strings.Count(text, "<"); n > f.maxTags {
			return &document.LimitError{Detail: fmt.Sprintf("page has %d tags, the limit is %d", n, f.maxTags)}
		}
	}
	limit := f.maxLines
	switch limit {
	case unlimited:
		return nil
	case 0:
		limit = compose.MaxLines
	}
	if n := strings.Count(text, "\n"); n > limit {
		return &document.LimitError{Detail: fmt.Sprintf("text has %d lines, the limit is %d", n, limit)}
	}
	return nil
}

// nested reads a file inside the current one.
func (r *reading) nested(ctx context.Context, name, mediaType string, content []byte) (*document.Draft, error) {
	if r.depth >= r.limits.MaxNesting {
		return nil, &document.LimitError{Detail: fmt.Sprintf("files stand more than %d deep in files", r.limits.MaxNesting)}
	}
	inner := *r
	inner.depth++
	out, err := inner.read(ctx, name, mediaType, content)
	return out.draft, err
}

// describe turns the draft of a file into a document: it drops empty blocks, applies the limits, and adds the facts.
func describe(in Input, out outcome) (*document.Document, error) {
	draft := out.draft
	size := 0
	blocks := draft.Blocks[:0]
	for _, block := range draft.Blocks {
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
	draft.Blocks = blocks
	if out.format.name == "html" {
		addTitleHeading(draft)
	}
	d := &document.Document{Format: out.format.name, Metadata: make(map[string]any), Pages: draft.Pages}
	applyFacts(d, draft)
	if len(draft.Blocks) == 0 {
		description, _ := d.Metadata["description"].(string)
		if description == "" {
			return nil, &document.UnsupportedError{Reason: "no text"}
		}
		draft.Blocks = []document.Block{{Kind: document.Paragraph, Text: description}}
	}
	d.Blocks = draft.Blocks
	derive(d, in, out.format, draft)
	if out.charset != "" && out.charset != "utf-8" {
		d.Metadata["charset"] = out.charset
	}
	return d, nil
}

// addTitleHeading puts the title of a page without headings at its top, as a heading.
func addTitleHeading(draft *document.Draft) {
	title := safetext.TruncateBytes(strings.Join(strings.Fields(draft.Title), " "), compose.MaxHeading)
	isHeading := func(block document.Block) bool { return block.Kind == document.Heading }
	if title == "" || len(draft.Blocks) == 0 || slices.ContainsFunc(draft.Blocks, isHeading) {
		return
	}
	heading := document.Block{Kind: document.Heading, Level: 1, Text: title, Anchor: make(document.Anchors).Take("", title)}
	draft.Blocks = slices.Insert(draft.Blocks, 0, heading)
}
