package cfb_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb/cfbtest"
)

func open(t testing.TB, content []byte) *cfb.File {
	t.Helper()
	f, err := cfb.Open(content, "file", document.NewBudget(document.Limits{}))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// fill makes n bytes that differ from sector to sector.
func fill(n int, seed byte) []byte {
	content := make([]byte, n)
	for i := range content {
		content[i] = byte(i>>6) ^ byte(i) ^ seed
	}
	return content
}

func TestStreamsOfAllSizesAreRead(t *testing.T) {
	t.Parallel()
	for _, long := range []bool{false, true} {
		var streams []cfbtest.Stream
		for i, size := range []int{0, 1, 63, 64, 65, 4095, 4096, 4097, 100_000} {
			streams = append(streams, cfbtest.Stream{Path: fmt.Sprintf("Storage %d/Übung", i%3) + strings.Repeat("x", i), Content: fill(size, byte(i))})
		}
		f := open(t, cfbtest.Build(long, streams...))
		if len(f.Names()) != len(streams) {
			t.Errorf("%q", f.Names())
		}
		for _, s := range streams {
			content, found := f.Stream(s.Path)
			if !found || !bytes.Equal(content, s.Content) || f.Size(s.Path) != int64(len(content)) {
				t.Errorf("%s: %d bytes of %d, %v", s.Path, len(content), len(s.Content), found)
			}
			if !slices.Contains(f.Names(), strings.ToLower(s.Path)) || !f.Has(strings.ToUpper(s.Path)) {
				t.Errorf("%s is not named", s.Path)
			}
		}
		if _, err := f.Read("absent"); !errors.Is(err, fs.ErrNotExist) || f.Has("absent") || f.Size("absent") != 0 {
			t.Errorf("absent: %v", err)
		}
	}
}

func TestAFileWhoseTableIsListedOutsideTheHeaderIsRead(t *testing.T) {
	t.Parallel()
	want := fill(9<<20, 3)
	f := open(t, cfbtest.Build(false, cfbtest.Stream{Path: "Big", Content: want}, cfbtest.Stream{Path: "Small", Content: []byte("x")}))
	for path, want := range map[string][]byte{"big": want, "small": []byte("x")} {
		if got, found := f.Stream(path); !found || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes", path, len(got))
		}
	}
}

// scattered makes a file in whose one stream two sectors have changed places.
func scattered(want []byte) []byte {
	content := cfbtest.Build(false, cfbtest.Stream{Path: "Stream", Content: want})
	le := binary.LittleEndian
	sector := func(n uint32) []byte { return content[512*(n+1) : 512*(n+2)] }
	table := sector(le.Uint32(content[76:]))
	second := bytes.Clone(sector(2))
	copy(sector(2), sector(3))
	copy(sector(3), second)
	le.PutUint32(table[4:], 3)
	le.PutUint32(table[12:], 2)
	le.PutUint32(table[8:], 4)
	return content
}

func TestScatteredSectorsAreJoined(t *testing.T) {
	t.Parallel()
	want := fill(5000, 0)
	f := open(t, scattered(want))
	if got, _ := f.Stream("Stream"); !bytes.Equal(got, want) {
		t.Error("sectors were joined in the wrong order")
	}
}

func TestTheBudgetIsSpentOnceWhenAStreamIsRead(t *testing.T) {
	t.Parallel()
	content := cfbtest.Build(false, cfbtest.Stream{Path: "a", Content: fill(600<<10, 1)}, cfbtest.Stream{Path: "b", Content: fill(600<<10, 1)})
	f, err := cfb.Open(content, "file", document.NewBudget(document.Limits{MaxExpanded: 1 << 20}))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := f.Read("a"); err != nil {
			t.Error(err)
		}
	}
	var limit *document.LimitError
	if _, err := f.Read("b"); !errors.As(err, &limit) {
		t.Errorf("beyond the budget: %v", err)
	}
	if _, found := f.Stream("b"); found {
		t.Error("beyond the budget a stream was read")
	}
}

func TestACutOffFileGivesWhatIsThere(t *testing.T) {
	t.Parallel()
	want := fill(20_000, 1)
	content := cfbtest.Build(false, cfbtest.Stream{Path: "Last", Content: want})
	// The directory moves to the front, as most programs have it, and the allocation table is lost with the end.
	le := binary.LittleEndian
	sector := le.Uint32(content[48:])
	whole := append([]byte(nil), content[:512]...)
	whole = append(whole, content[512*(sector+1):512*(sector+2)]...)
	whole = append(whole, want...)
	le.PutUint32(whole[48:], 0)
	le.PutUint32(whole[76:], 1000)
	le.PutUint32(whole[512+128+116:], 1)
	f := open(t, whole[:len(whole)-4100])
	if got, found := f.Stream("last"); !found || !bytes.Equal(got, want[:len(want)-4100]) || f.Size("last") != 20_000 {
		t.Errorf("%d bytes of %d", len(got), len(want))
	}
}

func TestBrokenTreesLoseNoStreams(t *testing.T) {
	t.Parallel()
	build := func() ([]byte, []byte) {
		content := cfbtest.Build(false, cfbtest.Stream{Path: "a", Content: []byte("1")}, cfbtest.Stream{Path: "b", Content: []byte("2")}, cfbtest.Stream{Path: "c", Content: []byte("3")})
		at := 512 * (binary.LittleEndian.Uint32(content[48:]) + 1)
		return content, content[at : at+512]
	}
	for name, damage := range map[string]func(directory []byte){
		"an entry that is not there": func(d []byte) { binary.LittleEndian.PutUint32(d[128+72:], 77) },
		"an entry that is its own": func(d []byte) {
			binary.LittleEndian.PutUint32(d[2*128+72:], 2)
			binary.LittleEndian.PutUint32(d[128+68:], 1)
		},
		"a root without its kind": func(d []byte) { d[66] = 0; binary.LittleEndian.PutUint32(d[76:], 0xFFFFFFFF) },
	} {
		content, directory := build()
		damage(directory)
		if f := open(t, content); len(f.Names()) != 3 {
			t.Errorf("%s: %q", name, f.Names())
		}
	}
}

func TestCyclesEnd(t *testing.T) {
	t.Parallel()
	content := cfbtest.Build(false, cfbtest.Stream{Path: "a", Content: fill(50_000, 1)}, cfbtest.Stream{Path: "mini", Content: fill(4000, 2)})
	le := binary.LittleEndian
	table := content[512*(le.Uint32(content[76:])+1):]
	for i := range 128 {
		le.PutUint32(table[4*i:], uint32(i)) // each sector follows itself
	}
	for i := 76; i < 512; i += 4 {
		le.PutUint32(content[i:], le.Uint32(content[76:]))
	}
	directory := le.Uint32(content[48:])
	le.PutUint32(content[68:], directory) // a list of tables that lists itself
	f, err := cfb.Open(content, "file", document.NewBudget(document.Limits{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range f.Names() {
		if stream, _ := f.Stream(name); len(stream) > 512 {
			t.Errorf("%s: %d bytes", name, len(stream))
		}
	}
}

// Storages that stand in each other would else have paths as long as the square of the file.
func TestStoragesInStoragesAreBounded(t *testing.T) {
	t.Parallel()
	path := strings.Repeat(strings.Repeat("s", 31)+"/", 3000) + "stream"
	f := open(t, cfbtest.Build(false, cfbtest.Stream{Path: path, Content: []byte("x")}, cfbtest.Stream{Path: "top", Content: []byte("y")}))
	if !slices.Equal(f.Names(), []string{"top"}) {
		t.Errorf("%d streams", len(f.Names()))
	}
}

func TestWhatIsNoCompoundFileIsAnError(t *testing.T) {
	t.Parallel()
	whole := cfbtest.Build(false, cfbtest.Stream{Path: "a", Content: []byte("x")})
	oddSectors := bytes.Clone(whole)
	oddSectors[30] = 40
	lost := bytes.Clone(whole)
	binary.LittleEndian.PutUint32(lost[48:], 0xFFFFFFF0)
	for name, content := range map[string][]byte{
		"empty": nil, "the mark alone": []byte(cfb.Magic), "the header alone": whole[:512], "another mark": append([]byte("PK"), whole[2:]...),
		"odd sectors": oddSectors, "no directory": lost,
	} {
		var damaged *document.DamagedError
		if _, err := cfb.Open(content, "Word document", document.NewBudget(document.Limits{})); !errors.As(err, &damaged) || damaged.Format != "Word document" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

const (
	summary         = "\xE0\x85\x9F\xF2\xF9\x4F\x68\x10\xAB\x91\x08\x00\x2B\x27\xB3\xD9"
	documentSummary = "\x02\xD5\xCD\xD5\x9C\x2E\x1B\x10\x93\x97\x08\x00\x2B\x2C\xF9\xAE"
)

func TestProperties(t *testing.T) {
	t.Parallel()
	wide := []byte{4, 0, 0, 0, 'J', 0, 0xE9, 0, 'a', 0, 0, 0}
	f := open(t, cfbtest.Build(false,
		cfbtest.Stream{Path: "\x05SummaryInformation", Content: cfbtest.Properties(summary,
			cfbtest.Property{ID: 1, Type: 2, Value: []byte{0xE3, 0x04}},
			cfbtest.Property{ID: 2, Type: 30, Value: cfbtest.Text("\xCF\xEB\xE0\xED \x07")},
			cfbtest.Property{ID: 3, Type: 30, Value: cfbtest.Text("  ")},
			cfbtest.Property{ID: 4, Type: 31, Value: wide},
			cfbtest.Property{ID: 6, Type: 30, Value: []byte{0xFF, 0xFF, 0xFF, 0x7F, 'e', 'n', 'd'}},
			cfbtest.Property{ID: 12, Type: 64, Value: binary.LittleEndian.AppendUint64(nil, 131_000_000_000_000_000)},
			cfbtest.Property{ID: 13, Type: 64, Value: make([]byte, 8)},
		)},
		cfbtest.Stream{Path: "\x05DocumentSummaryInformation", Content: cfbtest.Properties(documentSummary, cfbtest.Property{ID: 15, Type: 30, Value: cfbtest.Text("Elm & Söhne")})},
	))
	meta := f.Properties()
	created, _ := meta["created"].(time.Time)
	if meta["title"] != "План" || meta["author"] != "Jéa" || meta["description"] != "end" || created.Format(time.DateOnly) != "2016-02-15" {
		t.Errorf("%v", meta)
	}
	if _, found := meta["modified"]; found || meta["subject"] != nil || meta["company"] == nil {
		t.Errorf("%v", meta)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		codePage int
		text     string
		want     string
	}{
		{1252, "caf\xe9 \x80", "café €"}, {932, "\x93\xfa\x96\x7b", "日本"}, {936, "\xd6\xd0", "中"}, {950, "\xa4\xa4", "中"}, {949, "\xc7\xd1", "한"},
		{1251, "\xcc\xe8\xf0", "Мир"}, {65001, "é\xff", "é\uFFFD"}, {1200, "\x3d\xd8\x00\xde!\x00\x3d\xd8", "😀!\uFFFD"}, {99999, "\xe9", "é"}, {10000, "\x8e", "é"},
	} {
		if got := cfb.Decode(c.codePage, []byte(c.text)); got != c.want {
			t.Errorf("%d: %q, want %q", c.codePage, got, c.want)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(cfbtest.Build(false, cfbtest.Stream{Path: "a/b", Content: fill(5000, 1)}, cfbtest.Stream{Path: "c", Content: []byte("x")},
		cfbtest.Stream{Path: "\x05SummaryInformation", Content: cfbtest.Properties(summary, cfbtest.Property{ID: 2, Type: 30, Value: cfbtest.Text("t")})}))
	f.Add(cfbtest.Build(true, cfbtest.Stream{Path: "a/b", Content: fill(5000, 1)}, cfbtest.Stream{Path: "c", Content: []byte("x")}))
	f.Add(scattered(fill(5000, 0)))
	for _, pattern := range []string{"doc", "ppt"} {
		files, err := filepath.Glob("../../../../testdata/formats/" + pattern + "/*." + pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range files {
			content, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(content)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) { readAll(t, content) })
}

// readAll reads everything that a file has.
func readAll(t *testing.T, content []byte) {
	file, err := cfb.Open(content, "file", document.NewBudget(document.Limits{MaxExpanded: 8 << 20}))
	if err != nil {
		return
	}
	for _, name := range file.Names() {
		if stream, found := file.Stream(name); found && len(stream) > len(content) {
			t.Fatal("a stream is longer than the file")
		}
	}
	file.Properties()
}

// FuzzDamage writes over single bytes of a whole file, three input bytes for each, so that most inputs get past the header.
func FuzzDamage(f *testing.F) {
	whole := cfbtest.Build(false, cfbtest.Stream{Path: "a/b", Content: fill(5000, 1)}, cfbtest.Stream{Path: "c", Content: []byte("x")},
		cfbtest.Stream{Path: "\x05SummaryInformation", Content: cfbtest.Properties(summary, cfbtest.Property{ID: 2, Type: 30, Value: cfbtest.Text("t")})})
	f.Add([]byte{1, 2, 3, 0x20, 0, 9})
	f.Fuzz(func(t *testing.T, edits []byte) {
		content := bytes.Clone(whole)
		for len(edits) >= 3 {
			content[int(binary.LittleEndian.Uint16(edits))%len(content)] = edits[2]
			edits = edits[3:]
		}
		readAll(t, content)
	})
}

func BenchmarkRead(b *testing.B) {
	content := cfbtest.Build(false, cfbtest.Stream{Path: "a", Content: fill(4<<20, 1)}, cfbtest.Stream{Path: "b", Content: fill(4000, 1)})
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		f := open(b, content)
		for _, name := range f.Names() {
			if _, found := f.Stream(name); !found {
				b.Fatal(name)
			}
		}
	}
}
