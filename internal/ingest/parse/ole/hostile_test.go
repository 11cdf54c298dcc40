package ole_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb/cfbtest"
	"github.com/magpie-search/magpie/internal/ingest/parse/ole"
)

func TestTheSameBytesAreNotTextWithoutEnd(t *testing.T) {
	t.Parallel()
	const pieces, length = 20_000, 50_000
	file := wordFile{version: 193, paras: []para{{text: strings.Repeat("x", length-1) + "\r"}}}
	var places, entries []byte
	for i := range pieces + 1 {
		places = append(places, words32(i*length)...)
	}
	for range pieces {
		entries = append(entries, join(words16(0), words32(textStart*2|1<<30), words16(0))...)
	}
	file.clx = join([]byte{2}, words32(len(places)+len(entries)), places, entries)
	file.stories[0] = pieces * length
	text, draft := word(t, file.build())
	if len(text) > 10*length || draft.Extra["damaged"] == nil {
		t.Errorf("%d bytes of text, %v", len(text), draft.Extra)
	}
}

func TestNotesThatOverlapAreReadOnce(t *testing.T) {
	t.Parallel()
	const notes = 5000
	note := strings.Repeat("y", 5000) + "\r"
	file := wordFile{version: 193, paras: []para{{text: strings.Repeat("\x02", notes) + "\r"}, {text: note}}}
	file.stories[0], file.stories[1] = notes+1, len(note)
	var refs, texts []byte
	for i := range notes + 1 {
		refs = append(refs, words32(i)...)
		texts = append(texts, words32(0, len(note))...)
	}
	file.places = map[int][]byte{2: append(refs, make([]byte, 2*notes)...), 3: texts}
	text, _ := word(t, file.build())
	if n := strings.Count(text, "yyyy"); n != 1250 || !strings.HasPrefix(text, "[1]\n") {
		t.Errorf("%d bytes: %.40s", len(text), text)
	}
}

func TestDeepAndCyclicStructuresEnd(t *testing.T) {
	t.Parallel()
	depth := join(sprm(0x2416, 1), sprm(0x6649, 0xFF, 0xFF, 0xFF, 0x7F))
	huge := join(sprm(0x6646, 0, 0, 0, 0), sprm(0x6646, 0, 0, 0, 0))
	file := wordFile{version: 193, paras: []para{
		{text: strings.Repeat("\x13 A \x14", 5000) + "deep fields\r"}, {text: "deep table\r", props: depth}, {text: "in itself\r", props: huge},
	}}
	content := file.build()
	// Each style becomes based on the next one, the last on the first.
	for i := range 5 {
		content = bytes.Replace(content, words16(i, 1, 2, 0, 0), words16(i, 1|(i+1)%5<<4, 2, 0, 0), 1)
	}
	text, _ := word(t, content)
	has(t, text, "deep fields", "deep table", "in itself")
}

// damage writes over single bytes of a file, three bytes of the edits for each.
func damage(content, edits []byte) {
	for len(edits) >= 3 && len(content) > 0 {
		content[(int(edits[0])|int(edits[1])<<8)%len(content)] = edits[2]
		edits = edits[3:]
	}
}

// streamsOf returns the streams of a compound file.
func streamsOf(t testing.TB, content []byte) []cfbtest.Stream {
	t.Helper()
	file, err := cfb.Open(content, "file", document.NewBudget(document.Limits{}))
	if err != nil {
		t.Fatal(err)
	}
	var streams []cfbtest.Stream
	for _, name := range file.Names() {
		if stream, found := file.Stream(name); found && len(stream) < 1<<16 {
			streams = append(streams, cfbtest.Stream{Path: name, Content: stream})
		}
	}
	return streams
}

// seeds are the files that damage is done to, as their streams.
func seeds(t testing.TB, format string, made ...[]byte) [][]cfbtest.Stream {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(formatsFolder, format, "[a-z]*."+format))
	if err != nil {
		t.Fatal(err)
	}
	var found [][]cfbtest.Stream
	for _, content := range made {
		found = append(found, streamsOf(t, content))
	}
	for _, name := range names {
		if !strings.Contains(name, "broken") && !strings.Contains(name, "encrypted") {
			found = append(found, streamsOf(t, read(t, name)))
		}
	}
	return found
}

// damaged rebuilds a file of which one stream is damaged, so that most damage is met by the reader of the format.
func damaged(seeds [][]cfbtest.Stream, file, stream byte, edits []byte) []byte {
	streams := append([]cfbtest.Stream(nil), seeds[int(file)%len(seeds)]...)
	at := &streams[int(stream)%len(streams)]
	at.Content = bytes.Clone(at.Content)
	damage(at.Content, edits)
	return cfbtest.Build(false, streams...)
}

func limited(content []byte) document.Source {
	limits := document.Limits{MaxText: 4 << 20, MaxExpanded: 16 << 20, MaxPages: 500}.WithDefaults()
	return document.Source{Content: content, Limits: limits, Budget: document.NewBudget(limits)}
}

func FuzzReadWord(f *testing.F) {
	old := word6(104, 0x411, "\x93\x94", "text", [4]string{"a", "b", "c", "d"}).build()
	files := seeds(f, "doc", old)
	f.Add(byte(0), byte(0), []byte{10, 0, 1})
	f.Add(byte(1), byte(1), []byte{0xA2, 1, 0xFF, 0xA3, 1, 0xFF})
	f.Add(byte(2), byte(0), []byte{0x4C, 0, 0xFF, 0x4F, 0, 0x7F})
	f.Fuzz(func(t *testing.T, file, stream byte, edits []byte) {
		draft, err := ole.ReadWord(t.Context(), limited(damaged(files, file, stream, edits)))
		if err == nil && strings.ContainsAny(markdown(draft), "\x00\x07\x13\x14\x15\r") {
			t.Fatal("control characters in the text")
		}
	})
}

func FuzzReadSlides(f *testing.F) {
	files := seeds(f, "ppt", course().build())
	f.Add(byte(0), byte(0), []byte{10, 0, 1})
	f.Add(byte(0), byte(1), []byte{16, 0, 0xFF})
	f.Add(byte(1), byte(0), []byte{4, 0, 0xFF, 0x84, 1, 0xFF})
	f.Fuzz(func(t *testing.T, file, stream byte, edits []byte) {
		draft, err := ole.ReadSlides(t.Context(), limited(damaged(files, file, stream, edits)))
		if err == nil && strings.ContainsAny(markdown(draft), "\x00\x07\x0b\r") {
			t.Fatal("control characters in the text")
		}
	})
}

func BenchmarkReadWord(b *testing.B) {
	file := wordFile{version: 193, wide: true}
	for i := range 4000 {
		file.paras = append(file.paras, para{text: "A heading\r", style: 1 + i%3}, para{text: strings.Repeat("Some words of text. ", 20) + "\r"})
	}
	content := file.build()
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ole.ReadWord(b.Context(), source(content)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadSlides(b *testing.B) {
	d := deck{}
	for range 200 {
		d.slides = append(d.slides, slideOf(0, drawingOf(shapeOf(13, textKind(0), wideText("A title")), shapeOf(14, textKind(1), wideText(strings.Repeat("Some words of text.\r", 20))))))
	}
	content := d.build()
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ole.ReadSlides(b.Context(), source(content)); err != nil {
			b.Fatal(err)
		}
	}
}
