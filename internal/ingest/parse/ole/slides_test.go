package ole_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb/cfbtest"
	"github.com/magpie-search/magpie/internal/ingest/parse/ole"
)

// atom and box make records, of values and of other records.
func atom(kind, instance int, parts ...[]byte) []byte {
	content := join(parts...)
	return join(words16(instance<<4, kind), words32(len(content)), content)
}

func box(kind, instance int, parts ...[]byte) []byte {
	content := join(parts...)
	return join(words16(instance<<4|15, kind), words32(len(content)), content)
}

func wideText(text string) []byte { return atom(0x0FA0, 0, utf16Bytes(text)) }

func textKind(kind int) []byte { return atom(0x0F9F, 0, words32(kind)) }

// shapeOf makes a shape for a placeholder (0 for none) with what stands in its text box.
func shapeOf(holder int, parts ...[]byte) []byte {
	data := atom(0xF00A, 0, make([]byte, 8))
	if holder > 0 {
		data = join(data, box(0xF011, 0, atom(0x0BC3, 0, words32(0), []byte{byte(holder), 0, 0, 0})))
	}
	return box(0xF004, 0, data, box(0xF00D, 0, parts...))
}

func drawingOf(shapes ...[]byte) []byte {
	return box(0x040C, 0, box(0xF002, 0, box(0xF003, 0, shapes...)))
}

// deck makes presentations.
type deck struct {
	lists  [][]byte // the texts of each slide in the list of slides
	slides [][]byte // objects of the slides
	notes  [][]byte // objects of the notes; slide i has notes i
	more   []byte   // further records of the document
	token  uint32
	older  map[int][]byte // objects of an earlier edit, by their ids
}

// build makes the file: ids 1 for the document, 10 and on for slides, 50 and on for notes.
func (d *deck) build() []byte {
	var stream []byte
	ids, offsets := []int{}, []int{}
	put := func(id int, content []byte) {
		ids, offsets = append(ids, id), append(offsets, len(stream))
		stream = append(stream, content...)
	}
	directory := func() []byte {
		var entries []byte
		for i, id := range ids {
			entries = append(entries, words32(id|1<<20, offsets[i])...)
		}
		ids, offsets = nil, nil
		return atom(0x1772, 0, entries)
	}
	before := 0
	if d.older != nil {
		for id, content := range d.older {
			put(id, content)
		}
		at := len(stream)
		stream = append(stream, directory()...)
		before = len(stream)
		stream = append(stream, atom(0x0FF5, 0, words32(0, 0, 0, at, 1, 0, 0))...)
	}
	var list, notes []byte
	for i := range d.slides {
		list = append(list, atom(0x03F3, 0, words32(10+i, 0, 0, 256+i, 0))...)
		if i < len(d.lists) {
			list = append(list, d.lists[i]...)
		}
		put(10+i, d.slides[i])
	}
	for i := range d.notes {
		notes = append(notes, atom(0x03F3, 0, words32(50+i, 0, 0, 900+i, 0))...)
		put(50+i, d.notes[i])
	}
	put(1, box(0x03E8, 0, atom(0x03E9, 0, make([]byte, 40)), d.more, box(0x0FF0, 0, list), box(0x0FF0, 2, notes)))
	at := len(stream)
	stream = append(stream, directory()...)
	edit := len(stream)
	stream = append(stream, atom(0x0FF5, 0, words32(0, 0, before, at, 1, 0, 0))...)
	token := d.token
	if token == 0 {
		token = 0xE391C05F
	}
	user := atom(0x0FF6, 0, words32(20, int(token), edit), words16(0, 1012), []byte{3, 0, 0, 0})
	return cfbtest.Build(false, cfbtest.Stream{Path: "PowerPoint Document", Content: stream}, cfbtest.Stream{Path: "Current User", Content: user})
}

func slideOf(notes int, parts ...[]byte) []byte {
	return box(0x03EE, 0, atom(0x03EF, 0, words32(0, 0, 0, 0, notes, 0)), join(parts...))
}

func presentation(t *testing.T, content []byte) (string, *document.Draft) {
	t.Helper()
	draft, err := ole.ReadSlides(t.Context(), source(content))
	if err != nil {
		t.Fatal(err)
	}
	return markdown(draft), draft
}

// course is a presentation as PowerPoint writes it: the texts of placeholders stand in the list of slides.
func course() *deck {
	styles := atom(0x0FA1, 0,
		words32(6), words16(0), words32(0), // the first paragraph, of which nothing is said
		words32(7), words16(1), words32(0x0080|0x20|0x100000), words16(0x2022), words32(0xFF), words16(1), words32(9),
		words32(5), words16(0), words32(1), words16(0), // without a bullet
		words32(99), words32(0))
	outline := func(at int) []byte { return atom(0x0F9E, 0, words32(at)) }
	link := func(id, from, to int) []byte {
		return join(box(0x0FF2, 0, atom(0x0FF3, 0, words32(0, id), make([]byte, 8))), atom(0x0FDF, 0, words32(from, to)))
	}
	footers := box(0x0FD9, 3, atom(0x0FDA, 0, words16(0, 0x28)), atom(0x0FBA, 1, utf16Bytes("not shown")), atom(0x0FBA, 2, utf16Bytes("Harbour school")))
	externals := box(0x0409, 0, box(0x0FD7, 0, atom(0x0FD3, 0, words32(7)), atom(0x0FBA, 0, utf16Bytes("name")), atom(0x0FBA, 1, utf16Bytes("https://example.org/tide"))))
	comment := box(0x1388, 0, box(0x138A, 0, atom(0x0FBA, 0, utf16Bytes("___PPT10")), atom(0x138B, 0,
		box(0x2EE0, 0, atom(0x0FBA, 0, utf16Bytes("Ida")), atom(0x0FBA, 1, utf16Bytes("Show the model")), atom(0x0FBA, 2, utf16Bytes("I"))))))
	cell := func(left, top int, text string) []byte {
		return box(0xF004, 0, atom(0xF00A, 2, make([]byte, 8)), atom(0xF00F, 0, words32(left, top, left+9, top+9)), box(0xF00D, 0, textKind(4), wideText(text)))
	}
	tableShape := box(0xF004, 0, atom(0xF009, 0, make([]byte, 16)), atom(0xF122, 1, words16(0x039F), words32(1)))
	picture := box(0xF004, 0, atom(0xF00B, 1, words16(0xC381), words32(22), utf16Bytes("Moon chart\x00")))
	return &deck{
		more: join(externals, footers),
		lists: [][]byte{
			join(textKind(6), wideText("The moon\x0band the sea"), textKind(1), wideText("first\rsecond\rthird"), styles),
			join(textKind(0), atom(0x0FA8, 0, []byte("Caf\xe9 tides")), textKind(1), wideText("High\rat spring tide"), link(7, 8, 19)),
		},
		slides: [][]byte{
			slideOf(900, drawingOf(shapeOf(14, outline(1)), shapeOf(15, outline(0)), shapeOf(8, textKind(4), wideText("*"), atom(0x0FD8, 0, words32(0)))), comment),
			slideOf(0, drawingOf(shapeOf(13, outline(0)), box(0xF003, 0, tableShape, cell(0, 0, "Harbour"), cell(10, 0, "Height"), cell(0, 10, "North | quay"), cell(10, 10, "3 m")), picture)),
			slideOf(0, drawingOf(shapeOf(0, textKind(4), wideText("潮の満ち引き")), shapeOf(9, textKind(4), wideText("Harbour School")))),
		},
		notes: [][]byte{box(0x03F0, 0, drawingOf(shapeOf(11), shapeOf(12, textKind(2), wideText("Bring the globe.\rThen ask.")), shapeOf(8, textKind(4), wideText("1"))))},
	}
}

func TestSlidesKeepTheirStructure(t *testing.T) {
	t.Parallel()
	text, draft := presentation(t, course().build())
	want := `## The moon and the sea

- first
  - second

third

Notes: Bring the globe.
Then ask.

> Ida: Show the model

## Café tides

| Harbour | Height |
| --- | --- |
| North \| quay | 3 m |

Moon chart

- High
- at [spring tide](https://example.org/tide)

## Slide 3

潮の満ち引き

Harbour school`
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if draft.Pages != 3 || draft.Title != "The moon and the sea" || len(draft.Extra) > 0 || draft.Blocks[1].Page != 1 || draft.Blocks[0].Anchor != "the-moon-and-the-sea" {
		t.Errorf("%d pages, %q, %v", draft.Pages, draft.Title, draft.Extra)
	}
}

func TestTheLastEditCounts(t *testing.T) {
	t.Parallel()
	d := deck{
		slides: [][]byte{slideOf(0, drawingOf(shapeOf(0, wideText("new text"))))},
		older:  map[int][]byte{10: slideOf(0, drawingOf(shapeOf(0, wideText("old text"))))},
	}
	if text, _ := presentation(t, d.build()); text != "## Slide 1\n\nnew text" {
		t.Errorf("%s", text)
	}
}

func TestABrokenDirectoryLosesNoText(t *testing.T) {
	t.Parallel()
	whole := course().build()
	broken := bytes.Replace(whole, []byte{0x72, 0x17}, []byte{0x73, 0x17}, 1)
	text, draft := presentation(t, broken)
	has(t, text, "Bring the globe.", "## The moon and the sea", "- first\n", "## Café tides")
	if draft.Extra["damaged"] != "the order of its slides" {
		t.Errorf("%v", draft.Extra)
	}
	noSlide := bytes.Replace(whole, []byte{0xEE, 0x03}, []byte{0xEF, 0x03}, 1)
	text, draft = presentation(t, noSlide)
	has(t, text, "## The moon and the sea", "- first\n", "## Café tides", "| Harbour |")
	if draft.Extra["damaged"] != "the shapes of slide 1" {
		t.Errorf("%v", draft.Extra)
	}
	text, draft = presentation(t, whole[:2048])
	has(t, text, "Bring the globe.")
	if draft.Extra["damaged"] == nil {
		t.Error("nothing is said to be missing")
	}
	for at := len(whole) - 100; at > 600; at -= 300 {
		draft, err := ole.ReadSlides(t.Context(), source(whole[:at]))
		var damaged *document.DamagedError
		if err == nil && len(draft.Blocks) == 0 || err != nil && !errors.As(err, &damaged) {
			t.Errorf("%d bytes: %v", at, err)
		}
	}
}

// Groups in groups and slides that all are the same must cost no more than the file is long.
func TestHostilePresentationsEnd(t *testing.T) {
	t.Parallel()
	deep := shapeOf(0, wideText("deep"))
	for range 3000 {
		deep = box(0xF003, 0, deep)
	}
	d := deck{slides: [][]byte{slideOf(0, drawingOf(shapeOf(0, wideText("seen")), deep))}}
	if text, _ := presentation(t, d.build()); text != "## Slide 1\n\nseen" {
		t.Errorf("%s", text)
	}
	many := deck{slides: [][]byte{slideOf(0, drawingOf(bytes.Repeat(shapeOf(0, wideText("text")), 400)))}}
	many.lists = [][]byte{bytes.Repeat(atom(0x03F3, 0, words32(10, 0, 0, 256, 0)), 4000)}
	text, _ := presentation(t, many.build())
	if n := strings.Count(text, "text"); n != 400 {
		t.Errorf("the slide was read %d times", n/400)
	}
	in := source(many.build())
	in.Limits.MaxPages = 1000
	var limit *document.LimitError
	if _, err := ole.ReadSlides(t.Context(), in); !errors.As(err, &limit) {
		t.Errorf("pages: %v", err)
	}
	in = source(many.build())
	in.Limits.MaxText = 1000
	if _, err := ole.ReadSlides(t.Context(), in); !errors.As(err, &limit) {
		t.Errorf("text: %v", err)
	}
}

func TestRefusedPresentations(t *testing.T) {
	t.Parallel()
	locked := course()
	locked.token = 0xF3D1C4DF
	var encrypted *document.EncryptedError
	if _, err := ole.ReadSlides(t.Context(), source(locked.build())); !errors.As(err, &encrypted) {
		t.Errorf("encrypted: %v", err)
	}
	var unsupported *document.UnsupportedError
	if _, err := ole.ReadSlides(t.Context(), source(cfbtest.Build(false, cfbtest.Stream{Path: "PP40", Content: []byte("x")}))); !errors.As(err, &unsupported) {
		t.Errorf("an early version: %v", err)
	}
	for name, content := range map[string][]byte{
		"empty": nil, "text": []byte("just text"), "no streams": cfbtest.Build(false),
		"noise": cfbtest.Build(false, cfbtest.Stream{Path: "PowerPoint Document", Content: bytes.Repeat([]byte("noise"), 2000)}),
	} {
		var damaged *document.DamagedError
		if _, err := ole.ReadSlides(t.Context(), source(content)); !errors.As(err, &damaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if draft, err := ole.ReadSlides(t.Context(), source((&deck{slides: [][]byte{slideOf(0)}}).build())); err != nil || len(draft.Blocks) > 0 || draft.Pages != 1 {
		t.Errorf("a presentation without text: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	long := deck{slides: [][]byte{slideOf(0, drawingOf(bytes.Repeat(shapeOf(0, wideText("text")), 400)))}}
	if _, err := ole.ReadSlides(canceled, source(long.build())); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// A real presentation by Microsoft's program, where it is at hand.
func TestThePresentationOfTheCorpus(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../../../../shared/corpora/office/files/testPPT.ppt")
	if err != nil {
		t.Skip("../shared/corpora/office is not here: a presentation by PowerPoint itself is not tried")
	}
	text, draft := presentation(t, content)
	if text != "## Sample Powerpoint Slide\n\nCreated with Microsoft\n\nPowerpoint X for Mac\n\nService Release 1" || draft.Meta["author"] != "Keith Bennett" {
		t.Errorf("%s\n%v", text, draft.Meta)
	}
}
