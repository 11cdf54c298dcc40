package pdf_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// FuzzRead reads any bytes as a PDF: it gives blocks that hold together, or an error of a known type.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob(formats + "/pdf/*.pdf")
	if err != nil || len(files) == 0 {
		f.Fatal("no files to begin with", err)
	}
	for _, file := range files {
		f.Add(sample(f, filepath.Base(file)))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		started := time.Now()
		draft, err := shared.Read(ctx, document.Source{Name: "file.pdf", Content: content})
		if took := time.Since(started); took > 20*time.Second {
			t.Fatalf("%d bytes took %s", len(content), took)
		}
		if err != nil {
			var damaged *document.DamagedError
			var encrypted *document.EncryptedError
			var limit *document.LimitError
			var unsupported *document.UnsupportedError
			if draft != nil || !errors.As(err, &damaged) && !errors.As(err, &encrypted) && !errors.As(err, &limit) &&
				!errors.As(err, &unsupported) && !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("%v, %v", draft, err)
			}
			return
		}
		anchors := make(map[string]bool)
		for i := range draft.Blocks {
			block := &draft.Blocks[i]
			if block.Page < 1 || block.Page > draft.Pages || !utf8.ValidString(block.Markdown()) {
				t.Fatalf("bad block %+v of %d pages", block, draft.Pages)
			}
			for _, row := range block.Rows {
				if len(row) != len(block.Header) {
					t.Fatalf("a row of %d cells under a header of %d", len(row), len(block.Header))
				}
			}
			if block.Kind == document.Heading {
				if block.Level < 1 || block.Level > 6 || anchors[block.Anchor] {
					t.Fatalf("bad heading %+v", block)
				}
				anchors[block.Anchor] = true
			}
		}
	})
}
