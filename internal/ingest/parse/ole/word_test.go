package ole_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb/cfbtest"
	"github.com/magpie-search/magpie/internal/ingest/parse/ole"
)

const formatsFolder = "../../../../testdata/formats"

func read(t testing.TB, parts ...string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func word(t *testing.T, content []byte) (string, *document.Draft) {
	t.Helper()
	draft, err := ole.ReadWord(t.Context(), source(content))
	if err != nil {
		t.Fatal(err)
	}
	return markdown(draft), draft
}

func TestADocumentKeepsItsStructure(t *testing.T) {
	t.Parallel()
	text, draft := word(t, read(t, formatsFolder, "doc", "ferry.doc"))
	has(t, text,
		"# Ferry timetable committee\n", "# 1 Decisions\n", "The ferry leaves[1] at nine[i] and returns at noon.\n",
		"> Pilot Anders: Noon is too early.\n", "- [1] Except on stormy days.\n- [i] Nine in the morning, local time.\n",
		"## 1.1 Winter service\n", "- Check the hull\n  - below the water line\n    - paint and rivets\n  - above it\n- Warm the engine\n",
		"1. Sound the bell\n2. Cast off\n   - a) bow line first\n   - b) stern line second\n3. Go slow astern\n",
		"| Route | Adult | Child |\n", "| North island | 4 € | 2 € |\n| North island | 6 € (return) | 3 € (return) |\n",
		"| South quay | free of charge |  |\n| Groups | ten, 30 € | ask |\n", "Lost property is kept", "See [the ferry page](https://example.org/ferry) and above.",
		"> Slow is smooth", "```\nferry --route north \\\n    --at 09:00\n```\n", "außer sonntags", "フェリーは毎朝", "Ferry committee minutes",
	)
	for _, absent := range []string{"obsolete", "Contents", "Page"} {
		if strings.Contains(text, absent) {
			t.Errorf("%q is in the text", absent)
		}
	}
	if draft.Meta["author"] != "Clerk Bo" || draft.Meta["title"] != "Ferry minutes" || draft.Title != "Ferry timetable committee" || len(draft.Extra) > 0 {
		t.Errorf("%v %v %q", draft.Meta, draft.Extra, draft.Title)
	}
}

func TestHeadingsLinksAndTablesOfALongerDocument(t *testing.T) {
	t.Parallel()
	text, _ := word(t, read(t, formatsFolder, "doc", "keeper.doc"))
	has(t, text, "# Lighthouse keeper manual\n", "**Never** leave it *unattended*.", "[the lamp catalogue](https://example.org/lamps?type=3&size=2)",
		"[the office](mailto:office@example.org)", "- Clean the lens\n  - with soft cloth\n", "### When fog comes\n\n1. Start the horn\n2. Count to sixty",
		"| Lamp | Power | Range |", `| Ersatzlampe für Nebel | 5 W | 1 \| 2 km |`, "A line that\ngoes on below.", "Visible\n", "# Second page")
	if strings.Contains(text, "secret") {
		t.Error("hidden text is read")
	}
}

func TestCharactersAreReadAsTheyAreShown(t *testing.T) {
	t.Parallel()
	fonts := join(words16(2, 0), fontEntry("Times"), fontEntry("Wingdings"))
	file := wordFile{version: 193, wide: true, fonts: fonts, paras: []para{
		{text: "soft\u00adhyphen non\x1ebreaking tab\there 😀\ufeff\r"},
		{text: "(", chars: sprm(0x6A09, 1, 0, 0xFC, 0xF0)}, {text: " done \uf061\r"},
		{text: "gone", chars: sprm(0x0800, 1)}, {text: "stays "}, {text: "hid", chars: sprm(0x4A30, 5, 0)}, {text: "seen "},
		{text: "bold", chars: sprm(0x0835, 1)}, {text: " and"}, {text: "not", chars: sprm(0x0835, 1)}, {text: "here\r"},
		{text: "for i := range n {\r", style: 4}, {text: "\tprint(i)\r", style: 4}, {text: "}\r", style: 4},
		{text: "\x13 IF \x13 PAGE \x14 3 \x15 = 3 \"a\" \x14one \x13 HYPERLINK \"https://example.org/a b\" \\o \"hint\" \x14link\x15\x15 two\r"},
		{text: "\x13 SYMBOL 97 \\f \"Symbol\" \x15 \x13 open code without an end\r"}, {text: "not lost\r"}, {text: "\x13 MACROBUTTON Run \x1aClick\x06 here \x15\r"},
		{text: "joined ", chars: nil}, {text: "\r", chars: sprm(0x0800, 1)}, {text: "lines\r"},
	}}
	text, draft := word(t, file.build())
	want := strings.Join([]string{
		"softhyphen non-breaking tab here 😀", "✓ done α", "stays seen **bold** andnothere", "```\nfor i := range n {\n\tprint(i)\n}\n```",
		"one [link](https://example.org/a%20b) two", "α", "not lost", "Click here", "joined lines",
	}, "\n\n")
	if text != want || len(draft.Extra) > 0 {
		t.Errorf("got\n%s\nwant\n%s\n%v", text, want, draft.Extra)
	}
}

func fontEntry(name string) []byte {
	entry := append(make([]byte, 39), utf16Bytes(name+"\x00")...)
	return append([]byte{byte(len(entry))}, entry...)
}

func TestPiecesOfBothWidthsAreJoined(t *testing.T) {
	t.Parallel()
	file := wordFile{version: 193, paras: []para{{text: "caf\xe9 \x80\r"}, {text: "W\x00i\x00d\x00e\x00\r\x00"}}}
	file.clx = join([]byte{1}, words16(3), sprm(0x083C, 1), []byte{2}, words32(3*12+4), words32(0, 7, 9, 12),
		words16(0), words32((textStart)*2|1<<30), words16(0),
		words16(0), words32((textStart+1)*2|1<<30), words16(1), // hidden by its own properties
		words16(0), words32(textStart+7), words16(0))
	text, _ := word(t, file.build())
	if text != "café €\n\nWid" {
		t.Errorf("%q", text)
	}
}

func TestNestedTablesStayInTheirCells(t *testing.T) {
	t.Parallel()
	depth := func(n byte, more ...[]byte) []byte {
		return join(sprm(0x2416, 1), sprm(0x6649, n, 0, 0, 0), join(more...))
	}
	end := sprm(0x2417, 1)
	file := wordFile{version: 193, paras: []para{
		{text: "Name\a", props: depth(1)}, {text: "Parts\a", props: depth(1)}, {text: "\a", props: depth(1, end)},
		{text: "Box\a", props: depth(1)},
		{text: "lid\r", props: depth(2, sprm(0x244B, 1))}, {text: "oak\r", props: depth(2, sprm(0x244B, 1))}, {text: "\r", props: depth(2, sprm(0x244C, 1))},
		{text: "and a key\a", props: depth(1)}, {text: "\a", props: depth(1, end)},
		{text: "after\r"},
	}}
	text, _ := word(t, file.build())
	if want := "| Name | Parts |\n| --- | --- |\n| Box | lid, oak and a key |\n\nafter"; text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestListsAreCounted(t *testing.T) {
	t.Parallel()
	level := func(start, format int, template ...int) []byte {
		return join(words32(start), []byte{byte(format), 0}, make([]byte, 22), words16(len(template)), words16(template...))
	}
	rest := join(level(4, 0, 0, '.'), level(1, 2, '(', 1, ')'), level(1, 0, 0, '.', 2))
	for range 6 {
		rest = append(rest, level(1, 23, 0xF0B7)...)
	}
	lists := join(words16(1), words32(77), make([]byte, 24))
	uses := join(words32(1), words32(77), make([]byte, 12), words32(0xFFFFFFFF))
	item := func(level byte) []byte { return join(sprm(0x460B, 1, 0), sprm(0x260A, level)) }
	file := wordFile{version: 193, places: map[int][]byte{73: lists, 74: uses}, after: rest, paras: []para{
		{text: "four\r", props: item(0)}, {text: "sub\r", props: item(1)}, {text: "sub\r", props: item(1)}, {text: "deep\r", props: item(2)},
		{text: "five\r", props: item(0)}, {text: "sub again\r", props: item(1)}, {text: "dot\r", props: item(3)},
		{text: "no list\r", props: join(item(0), sprm(0x460B, 0, 0))}, {text: "Six\r", style: 2, props: item(0)},
	}}
	text, _ := word(t, file.build())
	want := "4. four\n   - (i) sub\n   - (ii) sub\n     - 4.1 deep\n5. five\n   - (i) sub again\n     - dot\n\nno list\n\n## 6. Six"
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestWhatIsBrokenIsNamedAndTheTextIsKept(t *testing.T) {
	t.Parallel()
	paras := []para{{text: "A heading\r", style: 1}, {text: "one\atwo\a\athree\afour\a\a"}, {text: "last\r"}}
	broken := map[string]func(*wordFile){
		"a part of the text; formatting": func(f *wordFile) {
			f.clx = []byte{9, 9, 9}
			f.places = map[int][]byte{13: nil}
		},
		"styles; formatting": func(f *wordFile) { f.places = map[int][]byte{1: nil, 12: nil, 13: {1, 2, 3}} },
	}
	for damage, change := range broken {
		file := wordFile{version: 193, paras: paras}
		change(&file)
		text, draft := word(t, file.build())
		has(t, text, "A heading", "one | two", "three | four", "last")
		if draft.Extra["damaged"] != damage {
			t.Errorf("%v, want %q", draft.Extra, damage)
		}
	}
	whole := read(t, formatsFolder, "doc", "ferry.doc")
	complete, _ := word(t, whole)
	for _, at := range []int{len(whole) - 600, len(whole) * 3 / 4, len(whole) / 2, len(whole) / 3, 2000, 600} {
		draft, err := ole.ReadWord(t.Context(), source(whole[:at]))
		var damaged *document.DamagedError
		if err == nil && markdown(draft) != complete && (len(draft.Blocks) == 0 || draft.Extra["damaged"] == nil) || err != nil && !errors.As(err, &damaged) {
			t.Errorf("%d bytes: %v", at, err)
		}
	}
}

func TestADocumentWhoseEndIsLostGivesItsText(t *testing.T) {
	t.Parallel()
	file := wordFile{version: 193, paras: []para{{text: strings.Repeat("narrow text ", 128) + "\r"}}}
	wide := wordFile{version: 193, wide: true, paras: []para{{text: strings.Repeat("Weite Wörter 言葉 ", 100) + "\r"}}}
	for word97, want := range map[*wordFile]string{&file: "narrow text narrow", &wide: "Weite Wörter 言葉 Weite"} {
		content := word97.build()
		text, draft := word(t, content[:512+textStart+1024])
		has(t, text, want)
		if draft.Extra["damaged"] == nil {
			t.Error("nothing is said to be missing")
		}
	}
}

func TestRefusedDocuments(t *testing.T) {
	t.Parallel()
	var encrypted *document.EncryptedError
	if _, err := ole.ReadWord(t.Context(), source(read(t, formatsFolder, "doc", "encrypted.doc"))); !errors.As(err, &encrypted) {
		t.Errorf("encrypted: %v", err)
	}
	early := (&wordFile{version: 193, paras: []para{{text: "x\r"}}}).build()
	early = bytes.Replace(early, []byte{0xEC, 0xA5, 193, 0}, []byte{0xEC, 0xA5, 45, 0}, 1)
	for name, content := range map[string][]byte{
		"empty": nil, "text": []byte("just text"), "no streams": cfbtest.Build(false), "an early version": early,
		"no header": cfbtest.Build(false, cfbtest.Stream{Path: "WordDocument", Content: make([]byte, 5000)}),
	} {
		var damaged *document.DamagedError
		if _, err := ole.ReadWord(t.Context(), source(content)); !errors.As(err, &damaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if draft, err := ole.ReadWord(t.Context(), source((&wordFile{version: 193, paras: []para{{text: "\r"}}}).build())); err != nil || len(draft.Blocks) > 0 {
		t.Errorf("a document without text: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	long := &wordFile{version: 193, paras: []para{{text: strings.Repeat("word ", 1000) + "\r"}}}
	if _, err := ole.ReadWord(canceled, source(long.build())); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	in := source(long.build())
	in.Limits.MaxText = 100
	var limit *document.LimitError
	if _, err := ole.ReadWord(t.Context(), in); !errors.As(err, &limit) {
		t.Errorf("limit: %v", err)
	}
}

// Real documents by Microsoft's programs, where they are at hand.
func TestTheDocumentOfTheCorpus(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../../../../shared/corpora/office/files/testWORD.doc")
	if err != nil {
		t.Skip("../shared/corpora/office is not here: a document by Word itself is not tried")
	}
	text, draft := word(t, content)
	has(t, text, "# Sample Word Document Title", "# Heading Level 1\n\n## Heading Level 2\n\n### Heading Level 3", "**BOLD** and *ITALIC*",
		"| This is a table |", "Nested table; More of our nested table", "[Tika](http://tika.apache.org/)", "This is the header for our document")
	if draft.Meta["author"] != "Keith Bennett" || len(draft.Extra) > 0 {
		t.Errorf("%v %v", draft.Meta, draft.Extra)
	}
}
