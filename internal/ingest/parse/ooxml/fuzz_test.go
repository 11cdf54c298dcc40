package ooxml_test

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/ooxml"
)

// sampleParts returns the parts of the files of a format, in the order of a list of names; a name that ends with a slash
// is the first part in that folder.
func sampleParts(f *testing.F, format string, names ...string) [][]string {
	f.Helper()
	files, err := filepath.Glob(filepath.Join(formatsFolder, format, "*."+format))
	if err != nil || len(files) == 0 {
		f.Fatalf("no samples: %v", err)
	}
	var samples [][]string
	for _, file := range files {
		archive, err := zip.OpenReader(file)
		if err != nil {
			continue // made to be broken
		}
		sample := make([]string, len(names))
		for _, member := range archive.File {
			for i, name := range names {
				if sample[i] != "" || member.Name != name && (!strings.HasSuffix(name, "/") || filepath.Dir(member.Name)+"/" != name) {
					continue
				}
				r, err := member.Open()
				if err != nil {
					f.Fatal(err)
				}
				content, err := io.ReadAll(r)
				if err != nil {
					f.Fatal(err)
				}
				if len(content) < 10<<10 { // larger ones are slow to vary
					sample[i] = string(content)
				}
			}
		}
		if err := archive.Close(); err != nil {
			f.Fatal(err)
		}
		samples = append(samples, sample)
	}
	return samples
}

// checkDraft checks what holds for every file: a reader gives clean text, the same each time, or a known error.
func checkDraft(t *testing.T, read readFunc, content []byte) {
	t.Helper()
	limits := document.Limits{MaxText: 1 << 20, MaxExpanded: 8 << 20, MaxPages: 200}
	draft, err := read(context.Background(), source(content, limits))
	again, againErr := read(context.Background(), source(content, limits))
	if (err == nil) != (againErr == nil) || err != nil && err.Error() != againErr.Error() {
		t.Fatalf("%v, then %v", err, againErr)
	}
	if err != nil {
		if draft != nil {
			t.Fatal("an error and a draft")
		}
		return
	}
	if !reflect.DeepEqual(draft, again) {
		t.Fatalf("not the same again: %s", cmp.Diff(draft, again))
	}
	for _, block := range draft.Blocks {
		if block.Kind == document.Heading && (block.Level < 1 || block.Level > 6 || block.Anchor == "" || strings.Contains(block.Text, "\n")) {
			t.Fatalf("heading %+v", block)
		}
		for _, row := range block.Rows {
			if len(row) != len(block.Header) {
				t.Fatalf("a row of %d cells in a table of %d", len(row), len(block.Header))
			}
		}
	}
	text := markdown(draft)
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }) {
		t.Fatalf("no clean text: %q", text)
	}
}

func FuzzReadWord(f *testing.F) {
	for _, sample := range sampleParts(f, "docx", "word/document.xml", "word/styles.xml", "word/numbering.xml", "word/footnotes.xml", "word/comments.xml") {
		f.Add(sample[0], sample[1], sample[2], sample[3], sample[4])
	}
	f.Fuzz(func(t *testing.T, text, styles, numbering, notes, comments string) {
		parts := wordParts("")
		parts["word/document.xml"], parts["word/styles.xml"], parts["word/numbering.xml"] = text, styles, numbering
		parts["word/footnotes.xml"], parts["word/comments.xml"], parts["word/header1.xml"] = notes, comments, notes
		checkDraft(t, ooxml.ReadWord, pack(t, parts))
	})
}

func FuzzReadSlides(f *testing.F) {
	for _, sample := range sampleParts(f, "pptx", "ppt/slides/", "ppt/slideLayouts/", "ppt/slideMasters/", "ppt/charts/", "ppt/diagrams/", "ppt/comments/") {
		f.Add(sample[0], sample[1], sample[2], sample[3], sample[4], sample[5])
	}
	f.Fuzz(func(t *testing.T, slide, layout, master, chart, diagram, comments string) {
		parts := slideParts("")
		parts["ppt/slides/slide1.xml"], parts["ppt/notes/n.xml"], parts["ppt/slideLayouts/l.xml"] = slide, slide, layout
		parts["ppt/slideMasters/m.xml"], parts["ppt/charts/c.xml"], parts["ppt/diagrams/d.xml"] = master, chart, diagram
		parts["ppt/comments/c.xml"] = comments
		checkDraft(t, ooxml.ReadSlides, pack(t, parts))
	})
}

// FuzzOpen reads files as they are.
func FuzzOpen(f *testing.F) {
	for _, format := range []string{"docx", "pptx"} {
		files, err := filepath.Glob(filepath.Join(formatsFolder, format, "*."+format))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			if len(content) < 12<<10 {
				f.Add(bytes.Clone(content))
			}
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, read := range readers() {
			checkDraft(t, read, content)
		}
	})
}
