package odf_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/odf"
)

// formats is where the test files of the formats of this package stand.
const formats = "../../../../testdata/formats"

// maxSeed is the largest file that is mutated: of larger ones too little comes about.
const maxSeed = 3000

// FuzzRead reads flat files, packages, and packages with the input as their content.
func FuzzRead(f *testing.F) {
	for _, pattern := range []string{"odt/*.*", "ods/*.*", "odp/*.*"} {
		names, err := filepath.Glob(filepath.Join(formats, pattern))
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range names {
			content, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			if len(content) < maxSeed {
				f.Add(content)
			}
		}
	}
	f.Add(flat("text", textStyles, `<text:list text:style-name="N"><text:list-item><text:h>a</text:h></text:list-item></text:list>`))
	f.Add(flat("spreadsheet", "", `<table:table><table:table-row table:number-rows-repeated="9"><table:table-cell table:number-columns-repeated="9"><text:p>a</text:p></table:table-cell></table:table-row></table:table>`))
	f.Add(flat("presentation", "", `<draw:page><draw:g>`+box(`svg:x="1e9cm" svg:y="-in"`, "a")+`</draw:g></draw:page>`))
	f.Add(flat("text", textStyles, `<text:h text:outline-level="2">a</text:h><text:p text:style-name="P2">b<text:s text:c="2"/><text:span text:style-name="B">c</text:span><text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>n</text:p></text:note-body></text:note></text:p>`+
		`<text:p><draw:frame><draw:text-box><text:p><text:a xlink:href="https://a.example">l</text:a></text:p></draw:text-box></draw:frame><draw:frame><draw:object xlink:href="./Object 1"/></draw:frame><office:annotation><text:p>q</text:p></office:annotation><text:soft-page-break/></text:p>`+
		`<table:table><table:table-row table:number-rows-repeated="2"><table:table-cell table:number-columns-repeated="3"><text:p>x</text:p></table:table-cell><table:covered-table-cell/></table:table-row></table:table>`+
		`<text:numbered-paragraph text:style-name="N" text:level="2"><text:p>np</text:p></text:numbered-paragraph>`))
	f.Fuzz(func(t *testing.T, content []byte) {
		inputs := [][]byte{content}
		if !strings.HasPrefix(string(content), "PK") {
			inputs = append(inputs, pack(t, map[string]string{"content.xml": string(content), "styles.xml": string(content), "Object 1/content.xml": string(content)}))
		}
		for _, input := range inputs {
			for _, read := range []readFunc{odf.ReadText, odf.ReadSpreadsheet, odf.ReadPresentation} {
				draft, err := read(t.Context(), source(input, document.Limits{MaxExpanded: 8 << 20, MaxText: 1 << 20}))
				if err != nil {
					continue
				}
				check(t, draft)
			}
		}
	})
}

func check(t *testing.T, draft *document.Draft) {
	t.Helper()
	text := markdown(draft)
	if !utf8.ValidString(text) {
		t.Fatal("the text is no UTF-8")
	}
	for _, r := range text {
		if r < ' ' && r != '\n' && r != '\t' {
			t.Fatalf("the text has the control character %U", r)
		}
	}
	anchors := make(map[string]bool)
	for _, block := range draft.Blocks {
		if block.Kind != document.Heading {
			continue
		}
		if anchors[block.Anchor] || block.Level < 1 || block.Level > 6 || strings.Contains(block.Text, "\n") {
			t.Fatalf("heading %+v", block)
		}
		anchors[block.Anchor] = true
	}
}
