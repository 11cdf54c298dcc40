package pdf_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/pdf"
)

// read reads a file that is to be read without an error.
func read(t *testing.T, content []byte) *document.Draft {
	t.Helper()
	draft, err := shared.Read(t.Context(), document.Source{Name: "file.pdf", Content: content})
	if err != nil {
		t.Fatal(err)
	}
	return draft
}

// dump writes blocks one a line, to compare them.
func dump(draft *document.Draft) []string {
	var lines []string
	for i := range draft.Blocks {
		block := &draft.Blocks[i]
		lines = append(lines, fmt.Sprintf("%d: %s", block.Page, strings.ReplaceAll(block.Markdown(), "\n", "⏎")))
	}
	return lines
}

func expect(t *testing.T, draft *document.Draft, want ...string) {
	t.Helper()
	if got := dump(draft); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestEncryptedFileAsksForItsPassword(t *testing.T) {
	t.Parallel()
	_, err := shared.Read(t.Context(), document.Source{Content: sample(t, "encrypted.pdf")})
	var encrypted *document.EncryptedError
	if !errors.As(err, &encrypted) {
		t.Errorf("got %v", err)
	}
}

func TestEmptyUserPasswordOpens(t *testing.T) {
	t.Parallel()
	if draft := read(t, sample(t, "owner-password.pdf")); draft.Pages != 6 || len(draft.Blocks) == 0 {
		t.Errorf("got %+v", draft)
	}
}

// sample returns a file of the project.
func sample(t testing.TB, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(formats, "pdf", name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestWhatIsNoPDFIsDamaged(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"nothing":       "",
		"text":          "this is a text and no PDF",
		"only the mark": "%PDF-1.7\n",
		"garbage":       "%PDF-1.7\n" + strings.Repeat("\x01\x02garbage\xff", 500),
		"no pages":      "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [] /Count 0 >>\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF",
	} {
		_, err := shared.Read(t.Context(), document.Source{Content: []byte(content)})
		var damaged *document.DamagedError
		if !errors.As(err, &damaged) || damaged.Format != "PDF" || damaged.Detail == "" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestFileWithoutItsEndGivesThePagesItHas(t *testing.T) {
	t.Parallel()
	whole := manual(10)
	draft := read(t, whole[:len(whole)*6/10])
	if draft.Pages < 4 || draft.Extra["damaged"] == nil {
		t.Errorf("%d pages, extra %v", draft.Pages, draft.Extra)
	}
	if text := strings.Join(dump(draft), "\n"); !strings.Contains(text, "Station of the 3th kilometre") {
		t.Error("the third page is missing")
	}
}

// The file lacks the font in which each of its glyphs was placed. pdfium takes Helvetica, which is narrower.
func TestGlyphsOfAMissingFontAreJoinedByTheirDistance(t *testing.T) {
	t.Parallel()
	widths := map[rune]float64{
		'a': .67, 'b': .7, 'c': .59, 'd': .7, 'e': .66, 'f': .42, 'g': .7, 'h': .71, 'i': .34, 'k': .67, 'l': .34, 'm': 1.06, 'n': .71, 'o': .69,
		'p': .7, 'r': .5, 's': .59, 't': .46, 'u': .71, 'v': .65, 'w': .98, 'x': .67, 'y': .65, ' ': .34, 'C': .72, 'T': .68, '-': .48, '.': .36,
	}
	sentences := []string{
		"The toolkit - for Content and text - reads various documents.", "Content that the toolkit finds is text without markup.",
		"The text is read even when the end of the file is missing.",
	}
	w := &writer{}
	s := w.page()
	for i, sentence := range sentences {
		x := 72.0
		for _, r := range sentence {
			if r != ' ' {
				s.text("F9", 12, x, 700-60*float64(i), string(r))
			}
			x += 12 * widths[r]
		}
	}
	content := w.bytes()
	draft := read(t, content[:bytes.Index(content, []byte("xref"))])
	if got := strings.Join(dump(draft), " "); !strings.Contains(got, sentences[0]) || !strings.Contains(got, sentences[1]) || !strings.Contains(got, sentences[2]) {
		t.Errorf("got %q", got)
	}
}

func TestBrokenPageAmongGoodOnesIsNamed(t *testing.T) {
	t.Parallel()
	w := &writer{}
	for number := range 4 {
		w.page().text("F1", 12, 72, 700, fmt.Sprintf("The text of page %d is here.", number+1))
	}
	content := strings.Replace(string(w.bytes()), "/Kids [", "/Kids [99 0 R ", 1)
	content = strings.Replace(content, "/Count 4", "/Count 5", 1)
	draft := read(t, []byte(content))
	if draft.Extra["damaged"] != "page 1 cannot be read" {
		t.Errorf("extra is %v", draft.Extra)
	}
	expect(t, draft, "2: The text of page 1 is here.", "3: The text of page 2 is here.", "4: The text of page 3 is here.", "5: The text of page 4 is here.")
}

func TestLimitsOfPagesAndText(t *testing.T) {
	t.Parallel()
	content := manual(5)
	for name, limits := range map[string]document.Limits{"pages": {MaxPages: 4}, "text": {MaxText: 3000}} {
		_, err := shared.Read(t.Context(), document.Source{Content: content, Limits: limits})
		var limit *document.LimitError
		if !errors.As(err, &limit) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestEmptyPageIsNoError(t *testing.T) {
	t.Parallel()
	w := &writer{}
	w.page()
	if draft := read(t, w.bytes()); len(draft.Blocks) != 0 || draft.Pages != 1 || len(draft.Extra) != 0 {
		t.Errorf("got %+v", draft)
	}
}

// bomb is a file whose second page draws a form that draws ten others, each of which draws ten others, and so on.
func bomb() []byte {
	w := &writer{}
	w.page().text("F1", 12, 72, 700, "The first page is good.")
	w.page().raw = "/X0 Do"
	w.page().text("F1", 12, 72, 700, "So is the third.")
	const levels = 24
	for level := range levels {
		content := strings.Repeat(fmt.Sprintf("/X%d Do\n", level+1), 10)
		if level == levels-1 {
			content = "0 0 m 1 1 l S"
		}
		w.forms = append(w.forms, content)
	}
	return w.bytes()
}

func TestEndOfTheContextStopsACall(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	started := time.Now()
	_, err := shared.Read(ctx, document.Source{Content: bomb()})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(started); took > 15*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestPageThatTakesTooLongIsLeftOut(t *testing.T) {
	t.Parallel()
	reader := pdf.New(pdf.Options{CacheDir: cacheDir, Instances: 1, PageTime: 700 * time.Millisecond})
	t.Cleanup(func() {
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	})
	draft, err := reader.Read(t.Context(), document.Source{Content: bomb()})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, draft, "1: The first page is good.", "3: So is the third.")
	if draft.Extra["damaged"] != "page 2 cannot be read" {
		t.Errorf("extra is %v", draft.Extra)
	}
}

func TestDocumentThatTakesTooMuchMemoryIsRefused(t *testing.T) {
	t.Parallel()
	reader := pdf.New(pdf.Options{CacheDir: cacheDir, Instances: 1, MaxMemory: 32 << 20})
	t.Cleanup(func() {
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &writer{}
	w.page().raw = strings.Repeat("0 0 m 1 1 l S\n", 200_000)
	_, err := reader.Read(t.Context(), document.Source{Content: w.bytes()})
	var limit *document.LimitError
	if !errors.As(err, &limit) {
		t.Errorf("got %v", err)
	}
	if _, err := reader.Read(t.Context(), document.Source{Content: make([]byte, 40<<20)}); !errors.As(err, &limit) {
		t.Errorf("a file larger than the memory: got %v", err)
	}
	if draft, err := reader.Read(t.Context(), document.Source{Content: manual(1)}); err != nil || len(draft.Blocks) == 0 {
		t.Errorf("the next document: %v, %v", draft, err)
	}
}

func TestReadersShareOneStart(t *testing.T) {
	t.Parallel()
	reader := pdf.New(pdf.Options{CacheDir: cacheDir, Instances: 2})
	content := manual(3)
	want := dump(read(t, content))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			draft, err := reader.Read(t.Context(), document.Source{Content: content})
			if err != nil {
				t.Error(err)
				return
			}
			if !slices.Equal(dump(draft), want) {
				t.Error("documents read side by side differ")
			}
		})
	}
	group.Wait()
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Read(t.Context(), document.Source{Content: content}); err == nil {
		t.Error("a closed reader reads")
	}
}

func TestContextThatEndedReadsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := shared.Read(ctx, document.Source{Content: manual(1)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestReaderThatWasNeverUsedCloses(t *testing.T) {
	t.Parallel()
	if err := pdf.New(pdf.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedCacheIsMadeAnew(t *testing.T) {
	t.Parallel()
	read(t, manual(1)) // there is a cache now
	files, err := filepath.Glob(filepath.Join(cacheDir, "wazero-*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the cache has %q, %v", files, err)
	}
	dir := t.TempDir()
	damaged := make(map[string]bool)
	for _, file := range files { // of more than one version, maybe
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		content[len(content)/2] ^= 0xff
		damaged[string(content)] = true
		copied := filepath.Join(dir, filepath.Base(filepath.Dir(file)), filepath.Base(file))
		if err := os.MkdirAll(filepath.Dir(copied), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reader := pdf.New(pdf.Options{CacheDir: dir, Instances: 1})
	if _, err := reader.Read(t.Context(), document.Source{Content: manual(1)}); err != nil {
		t.Error(err)
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
	files, err = filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the cache has %q, %v", files, err)
	}
	if content, err := os.ReadFile(files[0]); err != nil || damaged[string(content)] {
		t.Errorf("the cache is as damaged as before, %v", err)
	}
}
