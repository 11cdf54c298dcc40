package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

const (
	// maxSkipped bounds how many members are named that were not read.
	maxSkipped = 50
	// maxBlocks bounds what all members have together: a block takes several times the memory of a short text.
	maxBlocks = 500_000
)

// Read makes one document of an archive: each member that is read under a heading with its path, its own headings below
// that. A compressed single file is that file. Members that are not read are named in Extra "members_skipped"; an archive
// with none that is, is a *document.UnsupportedError, or the error of its first member where that one is broken.
func Read(ctx context.Context, in document.Source) (*document.Draft, error) {
	found := &document.Draft{Extra: make(map[string]any)}
	anchors := make(document.Anchors)
	var skipped []string
	var first error
	var last *document.Draft
	members, read, size := 0, 0, 0
	err := Walk(ctx, in, func(m Member) error {
		members++
		inner, err := draft(ctx, in, m)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("read archive: %w", ctx.Err())
		case err != nil && in.Budget.Spend(0) != nil:
			return err // nothing more is read; what is too large in one member alone leaves the others
		case err != nil:
			if unsupported := (*document.UnsupportedError)(nil); first == nil && !errors.As(err, &unsupported) {
				first = fmt.Errorf("%s: %w", m.Path, err)
			}
			if len(skipped) < maxSkipped {
				skipped = append(skipped, m.Path+": "+err.Error())
			}
			return nil
		}
		read++
		last = inner
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
			block.Page = 0 // of the member, not of the archive
			found.Blocks = append(found.Blocks, block)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case read == 0 && first != nil:
		return nil, first
	case read == 0 && members == 0:
		return nil, &document.UnsupportedError{Reason: "empty"}
	case read == 0:
		return nil, &document.UnsupportedError{Reason: "archive without a file that is read"}
	case members == 1 && isCompressed(in.Content):
		return last, nil
	}
	found.Extra["members"] = members
	if len(skipped) > 0 {
		found.Extra["members_skipped"] = skipped
	}
	return found, nil
}

// isCompressed tells compressed single files from archives, as far as their beginning tells.
func isCompressed(content []byte) bool {
	return len(content) > 1 && content[0] != 'P' && !isTar(content)
}

func draft(ctx context.Context, in document.Source, m Member) (*document.Draft, error) {
	if m.Err != nil {
		return nil, m.Err
	}
	return in.Nested(ctx, m.Path, "", m.Content)
}
