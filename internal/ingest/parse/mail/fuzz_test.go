package mail_test

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
	"github.com/magpie-search/magpie/internal/ingest/parse/mail"
)

// fuzz checks what holds for every file, with the files of testdata as seeds.
func fuzz(f *testing.F, folder string, read func(context.Context, document.Source) (*document.Draft, error)) {
	f.Helper()
	seeds, err := filepath.Glob(filepath.Join(formats, folder, "*."+folder))
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
	f.Fuzz(func(t *testing.T, content []byte) {
		started := time.Now()
		found, err := read(context.Background(), source("a."+folder, content))
		if took := time.Since(started); took > 5*time.Second {
			t.Fatalf("%d bytes took %s", len(content), took)
		}
		if err != nil {
			_, damaged := errors.AsType[*document.DamagedError](err)
			_, encrypted := errors.AsType[*document.EncryptedError](err)
			if _, limit := errors.AsType[*document.LimitError](err); found != nil || !damaged && !encrypted && !limit {
				t.Fatalf("draft %v with error %v", found, err)
			}
			return
		}
		taken := make(map[string]bool)
		for i := range found.Blocks {
			block := &found.Blocks[i]
			text := block.Markdown()
			if block.Blank() || !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\r\x1b") {
				t.Fatalf("bad block %q", text)
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

func FuzzEML(f *testing.F) { fuzz(f, "eml", mail.ReadEML) }

func FuzzMSG(f *testing.F) { fuzz(f, "msg", mail.ReadMSG) }

func FuzzMbox(f *testing.F) { fuzz(f, "mbox", mail.ReadMbox) }
