package ocr_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/gif"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// formats are the folders with files of the formats.
const formats = "../../../../testdata/formats"

// pngHead returns a picture in PNG that says it is large.
func pngHead(t testing.TB, width, height uint32) []byte {
	t.Helper()
	content := white(t, 1, 1)
	binary.BigEndian.PutUint32(content[16:], width)
	binary.BigEndian.PutUint32(content[20:], height)
	binary.BigEndian.PutUint32(content[29:], checksum(content[12:29]))
	return content
}

// checksum is that of a chunk of PNG.
func checksum(content []byte) uint32 {
	sum := ^uint32(0)
	for _, b := range content {
		sum ^= uint32(b)
		for range 8 {
			sum = sum>>1 ^ 0xedb88320*(sum&1)
		}
	}
	return ^sum
}

// tiff returns the directories of a TIFF file without pixels. Each is followed by the one that next says.
func tiff(order binary.ByteOrder, width, height uint32, pages int, cyclic bool) []byte {
	var b bytes.Buffer
	if order == binary.ByteOrder(binary.LittleEndian) {
		b.WriteString("II*\x00")
	} else {
		b.WriteString("MM\x00*")
	}
	word := func(n uint32) {
		var raw [4]byte
		order.PutUint32(raw[:], n)
		b.Write(raw[:])
	}
	half := func(n uint16) {
		var raw [2]byte
		order.PutUint16(raw[:], n)
		b.Write(raw[:])
	}
	word(8)
	for page := range pages {
		half(2)
		for tag, value := range map[uint16]uint32{256: width, 257: height} {
			half(tag)
			half(4)
			word(1)
			word(value)
		}
		next := uint32(b.Len() + 4)
		if page == pages-1 {
			next = 0
			if cyclic {
				next = 8
			}
		}
		word(next)
	}
	return b.Bytes()
}

func TestPixelsAreCountedBeforeTheProgramRuns(t *testing.T) {
	t.Parallel()
	webp := append([]byte("RIFF\x20\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00"), 0xff, 0xff, 0x7f, 0xff, 0xff, 0x7f, 0, 0, 0, 0)
	bmp := make([]byte, 60)
	copy(bmp, "BM")
	binary.LittleEndian.PutUint32(bmp[14:], 40)
	binary.LittleEndian.PutUint32(bmp[18:], 50_000)
	binary.LittleEndian.PutUint32(bmp[22:], ^uint32(50_000-1)) // upside down
	for name, content := range map[string][]byte{
		"PNG":  pngHead(t, 60_000, 60_000),
		"TIFF": tiff(binary.LittleEndian, 70_000, 70_000, 1, false),
		"WebP": webp,
		"BMP":  bmp,
	} {
		_, err := find(t, "fail").Read(t.Context(), document.Source{Content: content})
		var limit *document.LimitError
		if !errors.As(err, &limit) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestFormatsAreRecognisedByTheirHeads(t *testing.T) {
	t.Parallel()
	picture := image.NewGray(image.Rect(0, 0, 40, 40))
	var asJPEG, asGIF bytes.Buffer
	if err := jpeg.Encode(&asJPEG, picture, nil); err != nil {
		t.Fatal(err)
	}
	if err := gif.Encode(&asGIF, picture, nil); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		content []byte
		pages   int
	}{
		"JPEG":            {asJPEG.Bytes(), 1},
		"GIF":             {asGIF.Bytes(), 1},
		"TIFF":            {tiff(binary.LittleEndian, 40, 40, 3, false), 3},
		"TIFF, other way": {tiff(binary.BigEndian, 40, 40, 2, false), 2},
	} {
		draft, err := find(t, "echo").Read(t.Context(), document.Source{Content: c.content})
		if err != nil || draft.Pages != c.pages || len(draft.Blocks) == 0 {
			t.Errorf("%s: got %+v, %v", name, draft, err)
		}
	}
}

func TestBrokenPicturesAreDamaged(t *testing.T) {
	t.Parallel()
	whole := white(t, 40, 40)
	for name, content := range map[string][]byte{
		"cut off":        whole[:len(whole)-20],
		"no picture":     []byte("this is text"),
		"empty":          nil,
		"only the mark":  []byte("\x89PNG\r\n\x1a\n"),
		"JPEG mark":      []byte("\xff\xd8\xff\xe0"),
		"short BMP":      []byte("BM123"),
		"short WebP":     []byte("RIFF\x00\x00\x00\x00WEBPVP8 "),
		"TIFF to beyond": []byte("II*\x00\xff\xff\xff\x7f"),
		"no size":        tiff(binary.BigEndian, 0, 40, 1, false),
	} {
		_, err := find(t, "blank").Read(t.Context(), document.Source{Content: content})
		var damaged *document.DamagedError
		if !errors.As(err, &damaged) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestDirectoriesThatLeadBackEnd(t *testing.T) {
	t.Parallel()
	draft, err := find(t, "echo").Read(t.Context(), document.Source{Content: tiff(binary.LittleEndian, 40, 40, 2, true)})
	if err != nil || draft.Pages != 2 || draft.Extra["damaged"] == nil {
		t.Errorf("got %+v, %v", draft, err)
	}
}

func TestTooManyPagesAreRefused(t *testing.T) {
	t.Parallel()
	_, err := find(t, "fail").Read(t.Context(), document.Source{
		Content: tiff(binary.LittleEndian, 40, 40, 9, false), Limits: document.Limits{MaxPages: 8},
	})
	var limit *document.LimitError
	if !errors.As(err, &limit) {
		t.Errorf("got %v", err)
	}
}

// FuzzMeasure reads any bytes as the head of a picture.
func FuzzMeasure(f *testing.F) {
	files, err := filepath.Glob(formats + "/image/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Add(white(f, 3, 3))
	f.Add(tiff(binary.LittleEndian, 40, 40, 2, true))
	f.Fuzz(func(t *testing.T, content []byte) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // the program is not to run
		_, err := find(t, "blank").Read(ctx, document.Source{Content: content})
		var damaged *document.DamagedError
		var limit *document.LimitError
		if err != nil && !errors.As(err, &damaged) && !errors.As(err, &limit) && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	})
}
