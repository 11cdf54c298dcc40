package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

const (
	// maxSkipped is how many skipped entries are named.
	maxSkipped = 50
	// maxBlocks is how many blocks all entries may have together. A block needs several times the memory of a short
	// text.
	maxBlocks = 500_000
)

// Read returns the entries of an archive as one document. Each entry is below a heading with its path. A compressed
// single file is read as that file. Extra["members_skipped"] names the entries that are not read. If none is read, the
// error is that of the first damaged entry, or an *document.UnsupportedError.
func Read(ctx context.Context, in document.Source) (*document.Draft, error) {
	found := &document.Draft{Extra: make(map[string]any)}
	anchors := make(document.Anchors)
	var skipped []string
	var first error
	var single *document.Draft
	count, readCount, size := 0, 0, 0
	err := Walk(ctx, in, func(m Entry) error {
		count++
		inner, err := draft(ctx, in, m)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("read archive: %w", ctx.Err())
		case err != nil && in.Budget.Spend(0) != nil:
			return err // the budget is spent; an entry that alone is too large is skipped
		case err != nil:
			if unsupported := (*document.UnsupportedError)(nil); first == nil && !errors.As(err, &unsupported) {
				first = fmt.Errorf("%s: %w", m.Path, err)
			}
			if len(skipped) < maxSkipped {
				skipped = append(skipped, m.Path+": "+err.Error())
			}
			return nil
		}
		readCount++
		single = inner
		for i := range inner.Blocks {
			size += inner.Blocks[i].Size()
		}
		if size > in.Limits.MaxText {
			return &document.LimitError{Detail: fmt.Sprintf("text has more than %d bytes", in.Limits.MaxText)}
		}
		if len(found.Blocks)+len(inner.Blocks) > maxBlocks {
			return &document.LimitError{Detail: fmt.Sprintf("text has more than %d paragraphs", maxBlocks)}
		}
		found.Prose = found.Prose || inner.Prose
		found.Blocks = append(found.Blocks, document.Block{Kind: document.Heading, Level: 1, Text: m.Path, Anchor: anchors.Take("", m.Path)})
		for _, block := range inner.Blocks {
			if block.Kind == document.Heading {
				block.Level = min(block.Level+1, 6)
				block.Anchor = anchors.Take("", block.Text)
			}
			block.Page = 0 // of the entry, not of the archive
			found.Blocks = append(found.Blocks, block)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case readCount == 0 && first != nil:
		return nil, first
	case readCount == 0 && count == 0:
		return nil, &document.UnsupportedError{Reason: "empty"}
	case readCount == 0:
		return nil, &document.UnsupportedError{Reason: "archive without a file that is read"}
	case count == 1 && isCompressed(in.Content):
		return single, nil
	}
	found.Extra["members"] = count
	if len(skipped) > 0 {
		found.Extra["members_skipped"] = skipped
	}
	return found, nil
}

// isCompressed reports whether a file begins like a compressed file, not like an archive.
func isCompressed(content []byte) bool {
	return len(content) > 1 && content[0] != 'P' && !isTar(content)
}

func draft(ctx context.Context, in document.Source, m Entry) (*document.Draft, error) {
	if m.Err != nil {
		return nil, m.Err
	}
	return in.Nested(ctx, m.Path, "", m.Content)
}
