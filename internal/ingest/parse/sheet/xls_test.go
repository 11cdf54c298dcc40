package sheet_test

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb/cfbtest"
	"github.com/magpie-search/magpie/internal/ingest/parse/sheet"
)

// record makes a record of numbers (two bytes each), strings and bytes.
func record(kind uint16, fields ...any) []byte {
	var data []byte
	for _, field := range fields {
		switch field := field.(type) {
		case int:
			data = binary.LittleEndian.AppendUint16(data, uint16(field))
		case uint32:
			data = binary.LittleEndian.AppendUint32(data, field)
		case float64:
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(field))
		case byte:
			data = append(data, field)
		case string:
			data = append(data, field...)
		case []byte:
			data = append(data, field...)
		}
	}
	out := binary.LittleEndian.AppendUint16(nil, kind)
	return append(binary.LittleEndian.AppendUint16(out, uint16(len(data))), data...)
}

func wide(text string) []byte {
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		out = binary.LittleEndian.AppendUint16(out, unit)
	}
	return out
}

func join(parts ...[]byte) []byte {
	var out []byte
	for _, part := range parts {
		out = append(out, part...)
	}
	return out
}

const (
	bof, eof, goOn = 0x809, 0x0A, 0x3C
)

// book8 makes a workbook of BIFF8 whose sheets are given, bodies only.
func book8(globals []byte, sheets ...[]byte) []byte { return book(0x600, globals, sheets...) }

func book(version int, globals []byte, sheets ...[]byte) []byte {
	names := []string{"First", "Zweites Blätt"}
	head := record(bof, version, 5, 0, 0, 0, 0)
	bound := func(name string, offset int) []byte {
		if version == 0x500 {
			return record(0x85, uint32(offset), byte(0), byte(0), byte(len(name)), name)
		}
		text := wide(name)
		return record(0x85, uint32(offset), byte(2), byte(0), byte(len(text)/2), byte(1), text)
	}
	size := len(head) + len(globals) + len(record(eof))
	for i := range sheets {
		size += len(bound(names[i], 0))
	}
	var bounds, bodies []byte
	for i, body := range sheets {
		bounds = append(bounds, bound(names[i], size+len(bodies))...)
		bodies = append(bodies, join(record(bof, version, 16, 0, 0, 0, 0), body, record(eof))...)
	}
	return join(head, globals, bounds, record(eof), bodies)
}

func inContainer(name string, stream []byte) []byte {
	return cfbtest.Build(false, cfbtest.Stream{Path: name, Content: stream}, cfbtest.Stream{
		Path: "\x05SummaryInformation",
		Content: cfbtest.Properties("\xE0\x85\x9F\xF2\xF9\x4F\x68\x10\xAB\x91\x08\x00\x2B\x27\xB3\xD9",
			cfbtest.Property{ID: 2, Type: 30, Value: cfbtest.Text("The title")}),
	})
}

func globals8() []byte {
	return join(
		record(0x22, 0),
		record(0x41E, 164, 9, byte(0), "0.00\" kg\""),
		record(0xE0, 0, 0, 0, 0), record(0xE0, 0, 14, 0, 0), record(0xE0, 0, 164, 0, 0),
		// Texts that go on in the next record: in their middle, where the kind of characters changes; with a run of formats
		// and an extension behind them; right at a border.
		record(0xFC, uint32(9), uint32(5), 5, byte(0), "plain", 12, byte(0), "half "), record(goOn, byte(1), wide("日本"), wide("é|"), wide("\nx")), record(goOn, byte(0), "z"),
		record(goOn, 4, byte(0x0D), 2, uint32(6), wide("größ"), uint32(1)), record(goOn, uint32(2), "exten"), record(goOn, "s", 2, byte(1), wide("😀")[:2]), record(goOn, byte(1), wide("😀")[2:]),
		record(goOn, 3, byte(0), "end"),
	)
}

// numbers8 gives a cell of each kind.
func numbers8() []byte {
	return join(
		record(0x200, "dimensions"),
		record(0xFD, 0, 0, 0, uint32(0)), record(0xFD, 0, 1, 0, uint32(1)), record(0xFD, 0, 2, 0, uint32(2)), record(0xFD, 0, 3, 0, uint32(3)),
		record(0x203, 1, 0, 1, 45352.0), record(0x27E, 1, 1, 2, uint32(250<<2|3)), record(0xBD, 1, 2, 0, uint32(5<<2|2), 2, uint32(math.Float64bits(1.5)>>32), 3),
		record(0x06, 2, 0, 2, 0.1, 0, uint32(0), "tokens"), record(0x06, 2, 1, 0, "\x00\x00\x00\x00\x00\x00\xFF\xFF", 0, uint32(0)), record(0x4BC, "shared"), record(0x207, 6, byte(0), "for"), record(goOn, byte(1), wide("mül")),
		record(0x06, 2, 2, 0, "\x01\x00\x01\x00\x00\x00\xFF\xFF", 0, uint32(0)), record(0x205, 2, 3, 0, byte(0x2A), byte(1)),
		record(0x201, 3, 0, 0), record(0x204, 3, 1, 0, 5, byte(0), "label"), record(0x27E, 3, 2, 0, uint32(0xFFFFFFFE)), record(0x205, 3, 3, 0, byte(0), byte(0)),
		// A chart in the sheet, whose numbers are no cells; a cell that comes late.
		record(bof, 0x600, 32, 0, 0, 0, 0), record(0x203, 9, 9, 0, 99.0), record(eof),
		record(0x204, 3, 0, 0, 4, byte(0), "late"),
	)
}

func TestOldWorkbooksAreRead(t *testing.T) {
	t.Parallel()
	second := join(
		record(0x204, 0, 0, 0, 4, byte(0), "Name"), record(0x204, 0, 1, 0, 3, byte(0), "Web"),
		record(0x204, 1, 0, 0, 1, byte(0), "a"), record(0x204, 1, 1, 0, 4, byte(0), "site"),
		record(0x204, 2, 0, 0, 1, byte(0), "b"), record(0x204, 2, 1, 0, 4, byte(0), "file"),
		hyperlink(1, 1, 0x1B, "display", urlMoniker, "https://example.org/x", "loc"), hyperlink(2, 1, 0x103, "", "", `C:\file`, ""),
		// A comment, its text in the record behind, and a text box.
		record(0x5D, 0x15, 18, 0x19, 7, 0, uint32(0), uint32(0), uint32(0)), record(0xEC, "drawing"),
		record(0x1B6, 0, 0, 0, 0, 0, 9, 16, uint32(0)), record(goOn, byte(0), "look\nhere"), record(goOn, "formats of runs."),
		record(0x5D, 0x15, 18, 6, 8, 0, uint32(0), uint32(0), uint32(0)),
		record(0x1B6, 0, 0, 0, 0, 0, 5, 16, uint32(0)), record(goOn, byte(1), wide("b")), record(goOn, byte(0), "\xF6xes"), record(goOn, "formats of runs."),
		record(0x1C, 1, 0, 0, 7, 4, byte(0), "Anna", byte(0)),
	)
	want := `## First

| plain | half 日本é\| xz | größ | 😀 |
| --- | --- | --- | --- |
| 2024-03-01 | 2.50 kg | 5 | 1.50 kg |
| 0.10 kg | formül | TRUE | #N/A |
| late | label | -1 | FALSE |

## Zweites Blätt

| Name | Web |
| --- | --- |
| a | [site](https://example.org/x#loc) |
| b | file |

> A2 (Anna): look
> here

böxes`
	stream := book8(globals8(), numbers8(), second)
	for name, content := range map[string][]byte{"in a container": inContainer("Workbook", stream), "bare": stream} {
		draft, err := sheet.ReadXLS(t.Context(), source(content))
		if err != nil {
			t.Fatal(err)
		}
		d := document.Document{Blocks: draft.Blocks}
		if got := d.Markdown(); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
		if draft.Pages != 2 || draft.Extra != nil || name == "in a container" && draft.Meta["title"] != "The title" {
			t.Errorf("%s: %v, %v", name, draft.Meta, draft.Extra)
		}
	}
}

const urlMoniker = "\xE0\xC9\xEA\x79\xF9\xBA\xCE\x11\x8C\x82\x00\xAA\x00\x4B\xA9\x0B"

func hyperlink(row, column int, flags uint32, display, class, target, location string) []byte {
	counted := func(text string) []byte {
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text)+1)), wide(text+"\x00")...)
	}
	fields := []any{row, row, column, column, strings.Repeat("g", 16), uint32(2), flags}
	if display != "" {
		fields = append(fields, counted(display))
	}
	if class != "" {
		fields = append(fields, class, uint32(2*len(target)+2), wide(target+"\x00"))
	} else {
		fields = append(fields, counted(target))
	}
	if location != "" {
		fields = append(fields, counted(location))
	}
	return record(0x1B8, fields...)
}

func TestWorkbooksOfExcel95AreReadInTheirCodePage(t *testing.T) {
	t.Parallel()
	globals := join(record(0x42, 1251), record(0x22, 1), record(0x41E, 164, byte(4), "0.0%"), record(0xE0, 0, 0, 0), record(0xE0, 0, 164, 0), record(0xE0, 0, 14, 0))
	body := join(
		record(0x204, 0, 0, 0, 6, "\xCF\xF0\xE8\xE2\xE5\xF2"), record(0xD6, 0, 1, 0, 4, "rich", byte(1), byte(0), byte(0)),
		record(0x203, 1, 0, 1, 0.5), record(0x06, 1, 1, 2, 43890.0, 0, uint32(0)),
		record(0x06, 2, 1, 0, "\x00\x00\x00\x00\x00\x00\xFF\xFF", 0, uint32(0)), record(0x207, 2, "\xEB\xEE"),
		record(0x1C, 1, 0, 10, "first part"), record(0x1C, 0xFFFF, 0, 5, " more"),
	)
	draft, err := sheet.ReadXLS(t.Context(), source(inContainer("Book", book(0x500, globals, body))))
	if err != nil {
		t.Fatal(err)
	}
	d := document.Document{Blocks: draft.Blocks}
	if got := d.Markdown(); got != "## First\n\n| Привет | rich |\n| --- | --- |\n| 50.0% | 2024-03-01 |\n|  | ло |\n\n> A2: first part more" {
		t.Error(got)
	}
	alone := join(record(bof, 0x500, 16, 0, 0), record(0x204, 0, 0, 0, 5, "alone"), record(eof))
	if draft, err = sheet.ReadXLS(t.Context(), source(alone)); err != nil || render(draft.Blocks) != "alone" {
		t.Errorf("%v, %v", draft, err)
	}
}

func TestWhatCannotBeReadOfOldWorkbooksIsSaid(t *testing.T) {
	t.Parallel()
	stream := book8(globals8(), numbers8())
	var encrypted *document.EncryptedError
	for name, content := range map[string][]byte{
		"old":         inContainer("Workbook", book8(record(0x2F, "how"), numbers8())),
		"new":         cfbtest.Build(false, cfbtest.Stream{Path: "EncryptedPackage", Content: []byte("x")}, cfbtest.Stream{Path: "EncryptionInfo", Content: []byte("x")}),
		"and damaged": book8(record(0x2F, "how"), numbers8())[:60],
	} {
		if _, err := sheet.ReadXLS(t.Context(), source(content)); !errors.As(err, &encrypted) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var unsupported *document.UnsupportedError
	for _, content := range [][]byte{record(9, 2, 16), record(0x209, 0, 16), record(0x409, 0, 16), record(bof, 0x700, 5)} {
		if _, err := sheet.ReadXLS(t.Context(), source(content)); !errors.As(err, &unsupported) {
			t.Errorf("% X: %v", content, err)
		}
	}
	var damaged *document.DamagedError
	for name, content := range map[string][]byte{
		"nothing": nil, "text": []byte("Name;Count"), "no workbook": cfbtest.Build(false, cfbtest.Stream{Path: "Other", Content: []byte("x")}),
		"no sheet": book8(globals8(), numbers8())[:len(book8(globals8(), nil))-20], "an empty stream": inContainer("Workbook", nil),
	} {
		if draft, err := sheet.ReadXLS(t.Context(), source(content)); !errors.As(err, &damaged) {
			t.Errorf("%s: %v, %v", name, draft, err)
		}
	}
	draft, err := sheet.ReadXLS(t.Context(), source(stream[:len(stream)-120]))
	if err != nil || draft.Extra["damaged"] != "a part of sheet 1 is missing" || !strings.Contains(render(draft.Blocks), "2.50 kg") {
		t.Errorf("%v, %v", draft, err)
	}
	if draft, err = sheet.ReadXLS(t.Context(), source(book8(nil, numbers8()))); err != nil || draft.Extra["damaged"] != "a part of its texts is missing" {
		t.Errorf("%v, %v", draft, err)
	}
}
