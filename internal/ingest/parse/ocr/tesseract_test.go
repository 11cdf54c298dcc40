package ocr_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/ocr"
	"github.com/magpie-search/magpie/internal/ingest/parse/pdf"
)

var _ pdf.Recognizer = (*ocr.Tesseract)(nil)

// find returns a stand-in for the program.
func find(t *testing.T, name string) *ocr.Tesseract {
	t.Helper()
	found, err := ocr.Find(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// white returns an empty picture.
func white(t testing.TB, width, height int) []byte {
	t.Helper()
	picture := image.NewGray(image.Rect(0, 0, width, height))
	for i := range picture.Pix {
		picture.Pix[i] = 0xff
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestMissingProgramIsAnError(t *testing.T) {
	t.Parallel()
	if found, err := ocr.Find(filepath.Join(folder, "nowhere")); err == nil || found != nil {
		t.Fatalf("got %v, %v", found, err)
	}
}

func TestProgramGetsThePictureAndInstalledLanguagesOnly(t *testing.T) {
	t.Parallel()
	picture := white(t, 40, 40)
	text, err := find(t, "echo").Text(t.Context(), picture, []string{"de", "ja", "deu"})
	if err != nil {
		t.Fatal(err)
	}
	paragraphs := strings.Split(text, "\n\n")
	want := []string{
		"arguments: stdin stdout -l deu+eng -c tessedit_create_tsv=1 --psm 1",
		"bytes: " + strconv.Itoa(len(picture)) + " threads:1",
		"Kranführer",
		"second page",
	}
	if !slices.Equal(paragraphs, want) {
		t.Errorf("got %q, want %q", paragraphs, want)
	}
}

func TestALanguageThatIsNotInstalledIsReadAsEnglish(t *testing.T) {
	t.Parallel()
	program := find(t, "english")
	text, err := program.Text(t.Context(), white(t, 40, 40), []string{"de"})
	if want := "stdin stdout -l eng -c tessedit_create_tsv=1 --psm 1"; err != nil || text != want {
		t.Errorf("got %q, %v, want %q", text, err, want)
	}
	for name, want := range map[string][]string{"english": {"eng"}, "echo": {"deu", "eng"}} {
		if got, err := find(t, name).Languages(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s knows %q, %v", name, got, err)
		}
	}
}

func TestLanguagesAreAskedForOnce(t *testing.T) {
	t.Parallel()
	script := filepath.Join(folder, "echo")
	program := filepath.Join(t.TempDir(), "echo")
	if err := os.Symlink(script, program); err != nil {
		t.Fatal(err)
	}
	tesseract, err := ocr.Find(program)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			if _, err := tesseract.Text(t.Context(), white(t, 20, 20), nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	asked, err := os.ReadFile(program + ".asked")
	if err != nil {
		t.Fatal(err)
	}
	if count := strings.Count(string(asked), "asked"); count != 1 {
		t.Errorf("asked %d times", count)
	}
}

func TestContextEndsTheProgram(t *testing.T) {
	t.Parallel()
	tesseract := find(t, "hang")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	started := time.Now()
	_, err := tesseract.Text(ctx, white(t, 20, 20), nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(started); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestEndlessOutputIsCutOff(t *testing.T) {
	t.Parallel()
	_, err := find(t, "flood").Text(t.Context(), white(t, 20, 20), nil)
	var limit *document.LimitError
	if !errors.As(err, &limit) {
		t.Errorf("got %v", err)
	}
}

func TestFailureAtAPictureIsTheFaultOfThePicture(t *testing.T) {
	t.Parallel()
	_, err := find(t, "fail").Text(t.Context(), white(t, 20, 20), nil)
	var damaged *document.DamagedError
	if !errors.As(err, &damaged) || damaged.Format != "image" {
		t.Errorf("got %v", err)
	}
}

func TestProgramWithoutLanguagesIsAnError(t *testing.T) {
	t.Parallel()
	_, err := find(t, "mute").Text(t.Context(), white(t, 20, 20), nil)
	var damaged *document.DamagedError
	if err == nil || errors.As(err, &damaged) {
		t.Errorf("got %v", err)
	}
}

func TestPictureWithoutTextGivesNoBlocks(t *testing.T) {
	t.Parallel()
	draft, err := find(t, "blank").Read(t.Context(), document.Source{Content: white(t, 60, 60)})
	if err != nil {
		t.Fatal(err)
	}
	if len(draft.Blocks) != 0 || draft.Pages != 1 {
		t.Errorf("got %+v", draft)
	}
}

func TestTinyPictureNeverReachesTheProgram(t *testing.T) {
	t.Parallel()
	draft, err := find(t, "fail").Read(t.Context(), document.Source{Content: white(t, 8, 8)})
	if err != nil || len(draft.Blocks) != 0 {
		t.Errorf("got %+v, %v", draft, err)
	}
}

func TestReadGivesParagraphsWithTheirPages(t *testing.T) {
	t.Parallel()
	draft, err := find(t, "echo").Read(t.Context(), document.Source{Content: white(t, 60, 60)})
	if err != nil {
		t.Fatal(err)
	}
	if len(draft.Blocks) != 4 || draft.Blocks[3].Text != "second page" || draft.Blocks[3].Page != 2 || draft.Blocks[0].Page != 1 {
		t.Errorf("got %+v", draft.Blocks)
	}
	if draft.Extra["pages_recognised"] != 2 {
		t.Errorf("extra is %v", draft.Extra)
	}
}
