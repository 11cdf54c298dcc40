package ole_test

import (
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/parse/ole"
)

// word6 is a document of Word 6: a heading, text, a table of two rows.
func word6(version, language int, heading, text string, cells [4]string) *wordFile {
	cell := []byte{24, 1}
	row := join(cell, []byte{25, 1}, []byte{190}, words16(6+2*2+20), []byte{2}, words16(0, 2000, 4000), make([]byte, 20))
	return &wordFile{version: version, language: language, paras: []para{
		{text: heading + "\r", style: 1}, {text: text + "\r"}, {text: "kept\x0bhidden\r", chars: nil},
		{text: "secret", chars: []byte{92, 1}}, {text: "\r"},
		{text: cells[0] + "\a", props: cell}, {text: cells[1] + "\a", props: cell}, {text: "\a", props: row},
		{text: cells[2] + "\a", props: cell}, {text: cells[3] + "\a", props: cell}, {text: "\a", props: row},
		{text: "The end.\r"},
	}}
}

func TestWord6IsRead(t *testing.T) {
	t.Parallel()
	content := word6(101, 0x409, "A heading", "Caf\xe9 \x93open\x94", [4]string{"Lamp", "Watt", "Argand", "12"}).build()
	draft, err := ole.ReadWord(t.Context(), source(content))
	if err != nil {
		t.Fatal(err)
	}
	want := "# A heading\n\nCafé “open”\n\nkept\nhidden\n\n| Lamp | Watt |\n| --- | --- |\n| Argand | 12 |\n\nThe end."
	if got := markdown(draft); got != want || len(draft.Extra) > 0 {
		t.Errorf("%s\n%v", got, draft.Extra)
	}
}

func TestWord95IsReadInTheCodePageOfItsLanguage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		language         int
		heading, written string
	}{
		{0x419, "\xcf\xf0\xe8\xe2\xe5\xf2", "# Привет"}, {0x411, "\x93\x94\x91\xe4", "# 灯台"}, {0x405, "P\xf8\xedstav", "# Přístav"}, {0x804, "\xb8\xdb\xbf\xda", "# 港口"},
	} {
		draft, err := ole.ReadWord(t.Context(), source(word6(104, c.language, c.heading, "text", [4]string{"a", "b", "c", "d"}).build()))
		if err != nil {
			t.Fatal(err)
		}
		has(t, markdown(draft), c.written, "text", "| a | b |")
	}
}
