package ocr_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/ocr"
)

// installed returns the program itself.
func installed(t *testing.T) *ocr.Tesseract {
	t.Helper()
	found, err := ocr.Find("")
	if err != nil {
		t.Skipf("tesseract is not installed here, so that nothing is recognised: %v", err)
	}
	return found
}

func textOf(draft *document.Draft) string {
	var b strings.Builder
	for i := range draft.Blocks {
		b.WriteString(draft.Blocks[i].Text + "\n")
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func TestFilesOfTheProject(t *testing.T) {
	t.Parallel()
	tesseract := installed(t)
	languages, err := tesseract.Languages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(formats + "/image/manifest.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for row := range strings.Lines(string(manifest)) {
		var file struct {
			Path, Expect, Reason string
			Phrases              []string
			PhrasesIn            map[string][]string `json:"phrases_in"` // a language that is needed to read them
			Pages                int
		}
		if err := json.Unmarshal([]byte(row), &file); err != nil {
			t.Fatal(err)
		}
		count++
		t.Run(file.Path, func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(filepath.Join(formats, "image", file.Path))
			if err != nil {
				t.Fatal(err)
			}
			draft, err := tesseract.Read(t.Context(), document.Source{Name: file.Path, Content: content})
			var damaged *document.DamagedError
			switch {
			case file.Expect == "refuse":
				if !errors.As(err, &damaged) || !strings.Contains(err.Error(), file.Reason) {
					t.Errorf("got %v", err)
				}
				return
			case err != nil:
				t.Fatal(err)
			case file.Expect == "skip" && len(draft.Blocks) > 0:
				t.Errorf("found %q", textOf(draft))
			case file.Pages > 0 && draft.Pages != file.Pages:
				t.Errorf("%d pages", draft.Pages)
			}
			for _, language := range languages {
				file.Phrases = append(file.Phrases, file.PhrasesIn[language]...)
			}
			for _, phrase := range file.Phrases {
				if !strings.Contains(textOf(draft), phrase) {
					t.Errorf("%q is not in %q", phrase, textOf(draft))
				}
			}
		})
	}
	if count == 0 {
		t.Fatal("the manifest is empty")
	}
}

func TestPictureOfTheCorpus(t *testing.T) {
	t.Parallel()
	const file = "../../../../../shared/corpora/office/files/testOCR.jpg"
	content, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("the shared corpora are not beside this checkout: %v", err)
	}
	draft, err := installed(t).Read(t.Context(), document.Source{Name: "testOCR.jpg", Content: content})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(textOf(draft), "OCR Testing") {
		t.Errorf("got %q", textOf(draft))
	}
}

// TestNoiseIsNoText looks at pictures without text: grains, stripes, shadows.
func TestNoiseIsNoText(t *testing.T) {
	t.Parallel()
	tesseract := installed(t)
	random := rand.New(rand.NewPCG(1, 2))
	shades := map[string]func(x, y int) byte{
		"grains":  func(_, _ int) byte { return byte(random.IntN(256)) },
		"stripes": func(x, y int) byte { return byte((x/7 + y/3) % 2 * 200) },
		"clouds":  func(x, y int) byte { return byte(100 + (x*y/97)%90 + random.IntN(40)) },
		"strokes": func(x, y int) byte {
			if (x*31+y*17)%53 < 6 && y/20%2 == 0 {
				return 20
			}
			return 230
		},
	}
	for name, shade := range shades {
		picture := image.NewGray(image.Rect(0, 0, 400, 240))
		for y := range 240 {
			for x := range 400 {
				picture.Pix[y*picture.Stride+x] = shade(x, y)
			}
		}
		var content bytes.Buffer
		if err := png.Encode(&content, picture); err != nil {
			t.Fatal(err)
		}
		text, err := tesseract.Text(t.Context(), content.Bytes(), nil)
		if err != nil || len(text) > 10 {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// BenchmarkRead recognises a picture of eight lines.
func BenchmarkRead(b *testing.B) {
	tesseract, err := ocr.Find("")
	if err != nil {
		b.Skipf("tesseract is not installed here: %v", err)
	}
	content, err := os.ReadFile(formats + "/image/notice.png")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		if _, err := tesseract.Read(b.Context(), document.Source{Content: content}); err != nil {
			b.Fatal(err)
		}
	}
}
