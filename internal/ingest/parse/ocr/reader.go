package ocr

import (
	"context"
	"fmt"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// Read reads an image file. A picture without recognized text has no blocks. The error is a *document.DamagedError if
// it is no picture, a *document.LimitError if it has too many pixels, pages or too much text, or that of the context.
func (t *Tesseract) Read(ctx context.Context, in document.Source) (*document.Draft, error) {
	in.Limits = in.Limits.WithDefaults()
	head, err := measure(in.Content)
	if err != nil {
		return nil, err
	}
	if head.pages > in.Limits.MaxPages {
		return nil, &document.LimitError{Detail: fmt.Sprintf("the image has %d pages, the limit is %d", head.pages, in.Limits.MaxPages)}
	}
	draft := &document.Draft{Prose: true, Pages: head.pages, Extra: make(map[string]any)}
	var found []paragraph
	if head.width >= minSide && head.height >= minSide {
		if found, err = t.recognize(ctx, in.Content, nil); err != nil {
			return nil, err
		}
	}
	size, pages := 0, make(map[int]bool)
	for _, p := range found {
		if size += len(p.text); size > in.Limits.MaxText {
			return nil, &document.LimitError{Detail: fmt.Sprintf("text has more than %d bytes", in.Limits.MaxText)}
		}
		pages[p.page] = true
		draft.Blocks = append(draft.Blocks, document.Block{Kind: document.Paragraph, Text: p.text, Page: p.page})
	}
	switch {
	case head.isTruncated && len(found) == 0:
		return nil, &document.DamagedError{Format: formatName, Detail: "the end of the file is missing"}
	case head.isTruncated:
		draft.Extra["damaged"] = "the end of the file is missing"
	}
	if len(pages) > 0 {
		draft.Extra["pages_recognised"] = len(pages)
	}
	return draft, nil
}
