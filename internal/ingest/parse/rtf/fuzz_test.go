package rtf_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/rtf"
)

func FuzzRead(f *testing.F) {
	seeds, err := filepath.Glob("../../../../testdata/formats/rtf/*.rtf")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, seed := range seeds {
		content, err := os.ReadFile(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Add([]byte(head + `\trowd\cellx1\intbl a{\footnote b}\cell{\listtext 1.\tab}\nestcell{\*\nesttableprops\nestrow}\row{\field{\*\fldinst HYPERLINK "http://a"}{\fldrslt b}}\page\sect c}`))
	f.Add([]byte(`{\rtf1\ansi\fromhtml1{\*\htmltag <p>}\htmlrtf {\b\htmlrtf0 a\'e4\u8364?\par}}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		started := time.Now()
		html, ok := rtf.Encapsulated(content)
		found, err := rtf.Read(context.Background(), source(string(content)))
		if took := time.Since(started); took > 5*time.Second {
			t.Fatalf("%d bytes took %s", len(content), took)
		}
		if ok != (len(html) > 0) || !utf8.Valid(html) {
			t.Fatalf("%t with %q", ok, html)
		}
		if err != nil {
			_, damaged := errors.AsType[*document.DamagedError](err)
			if _, limit := errors.AsType[*document.LimitError](err); found != nil || !damaged && !limit {
				t.Fatalf("draft %v with error %v", found, err)
			}
			return
		}
		taken := make(map[string]bool)
		for i := range found.Blocks {
			block := &found.Blocks[i]
			text := block.Markdown()
			if block.Blank() || !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x01\r\x1b") {
				t.Fatalf("bad block %q", text)
			}
			for _, row := range block.Rows {
				if len(row) != len(block.Header) {
					t.Fatalf("a row of %d cells under a header of %d", len(row), len(block.Header))
				}
			}
			if block.Page < 0 || block.Page > found.Pages {
				t.Fatalf("page %d of %d", block.Page, found.Pages)
			}
			if block.Kind != document.Heading {
				continue
			}
			if block.Level < 1 || block.Level > 6 || block.Anchor == "" || taken[block.Anchor] {
				t.Fatalf("bad heading %+v", block)
			}
			taken[block.Anchor] = true
		}
	})
}
