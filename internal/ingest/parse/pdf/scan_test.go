package pdf_test

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/ocr"
	"github.com/magpie-search/magpie/internal/ingest/parse/pdf"
)

// reciter is a recogniser that says how large the pictures are which it gets.
type reciter struct {
	mu        sync.Mutex
	languages [][]string
	err       error
	text      string
}

func (r *reciter) Text(_ context.Context, image []byte, languages []string) (string, error) {
	if r.err != nil {
		return "", r.err
	}
	picture, err := png.DecodeConfig(bytes.NewReader(image))
	if err != nil {
		return "", err
	}
	if picture.Width < 1000 || picture.Height < 800 {
		return "", errors.New("the picture is too small")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.languages = append(r.languages, languages)
	return r.text, nil
}

// readWith reads with a recogniser.
func readWith(t *testing.T, recogniser pdf.Recognizer, content []byte) (*document.Draft, error) {
	t.Helper()
	reader := pdf.New(pdf.Options{CacheDir: cacheDir, OCR: recogniser})
	t.Cleanup(func() {
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	})
	return reader.Read(t.Context(), document.Source{Content: content})
}

func TestPicturesWithoutRecogniserAreNotRead(t *testing.T) {
	t.Parallel()
	_, err := shared.Read(t.Context(), document.Source{Content: sample(t, "scanned.pdf")})
	var unsupported *document.UnsupportedError
	if !errors.As(err, &unsupported) || unsupported.Reason != "no text: the pages are images, and text recognition (tesseract) is not installed" {
		t.Errorf("got %v", err)
	}
}

func TestPicturesAreRecognised(t *testing.T) {
	t.Parallel()
	recogniser := &reciter{text: "First paragraph.\n\n# second\x00 one"}
	draft, err := readWith(t, recogniser, sample(t, "scanned.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	expect(t, draft, "1: First paragraph.", `1: \# second one`, "2: First paragraph.", `2: \# second one`)
	if draft.Extra["pages_recognised"] != 2 || draft.Extra["pages_without_text"] != nil {
		t.Errorf("extra is %v", draft.Extra)
	}
}

func TestPicturesInWhichNothingIsFound(t *testing.T) {
	t.Parallel()
	_, err := readWith(t, &reciter{}, sample(t, "scanned.pdf"))
	var unsupported *document.UnsupportedError
	if !errors.As(err, &unsupported) || !strings.Contains(unsupported.Reason, "no text was recognised") {
		t.Errorf("got %v", err)
	}
}

func TestFailureOfTheRecogniserIsReported(t *testing.T) {
	t.Parallel()
	broken := errors.New("no more paper")
	if _, err := readWith(t, &reciter{err: broken}, sample(t, "scanned.pdf")); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// mixed has a page of text, one that is drawn and one that is empty.
func mixed() []byte {
	w := &writer{}
	w.page().prose(72, 700, "Some text.")
	w.page().line(10, 10, 300, 300)
	w.page()
	w.language = "de-AT"
	return w.bytes()
}

func TestPagesWithoutTextAreCounted(t *testing.T) {
	t.Parallel()
	draft := read(t, mixed())
	expect(t, draft, "1: Some text.")
	if draft.Extra["pages_without_text"] != 1 {
		t.Errorf("extra is %v", draft.Extra)
	}
}

func TestOnlyPagesWithoutTextAreRecognised(t *testing.T) {
	t.Parallel()
	recogniser := &reciter{text: "A drawing."}
	draft, err := readWith(t, recogniser, mixed())
	if err != nil {
		t.Fatal(err)
	}
	expect(t, draft, "1: Some text.", "2: A drawing.")
	if len(recogniser.languages) != 1 || !slices.Equal(recogniser.languages[0], []string{"de"}) {
		t.Errorf("languages are %v", recogniser.languages)
	}
}

func TestScannedFilesWithTheProgram(t *testing.T) {
	t.Parallel()
	tesseract, err := ocr.Find("")
	if err != nil {
		t.Skipf("tesseract is not installed here, so that nothing is recognised: %v", err)
	}
	draft, err := readWith(t, tesseract, sample(t, "scanned.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	text := markdown(draft)
	for _, phrase := range []string{"Receipt by the chandler", "Two coils of rope, nine millimetres", "Paid in full at the counter."} {
		if !strings.Contains(text, phrase) {
			t.Errorf("%q is not in %q", phrase, text)
		}
	}
}
