package passage_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/ingest/passage"
)

func drawText(t *rapid.T, name string) string {
	word := rapid.StringMatching(`[a-zäß数。.\x{0301}👍]{1,12}[ \n]{0,3}`)
	text := strings.TrimSpace(strings.Join(rapid.SliceOfN(word, 1, 60).Draw(t, name), rapid.SampledFrom([]string{"", " ", "\n"}).Draw(t, name+" glue")))
	if text == "" {
		return "x"
	}
	return text
}

func drawBlock(t *rapid.T) document.Block {
	switch kind := document.BlockKind(rapid.IntRange(0, 5).Draw(t, "kind")); kind {
	case document.Heading:
		return document.Block{Kind: kind, Level: rapid.IntRange(1, 6).Draw(t, "level"), Text: strings.Join(strings.Fields(drawText(t, "heading")), " ")}
	case document.Table:
		cell := rapid.StringMatching(`[a-z数 ]{0,30}`)
		table := document.Block{Kind: kind}
		width := rapid.IntRange(1, 4).Draw(t, "width")
		table.Header = rapid.SliceOfN(cell, width, width).Draw(t, "header")
		for range rapid.IntRange(0, 12).Draw(t, "rows") {
			table.Rows = append(table.Rows, rapid.SliceOfN(cell, width, width).Draw(t, "row"))
		}
		return table
	default:
		return document.Block{Kind: kind, Text: drawText(t, "text"), Language: rapid.SampledFrom([]string{"", "go"}).Draw(t, "language")}
	}
}

func TestPassagesCoverTheTextWithinTheLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := &document.Document{Title: "T"}
		for range rapid.IntRange(1, 12).Draw(t, "blocks") {
			doc.Blocks = append(doc.Blocks, drawBlock(t))
		}
		opt := passage.Options{Max: rapid.IntRange(20, 300).Draw(t, "max")}
		passages := passage.Split(doc, opt)
		if !reflect.DeepEqual(passages, passage.Split(doc, opt)) {
			t.Fatal("the same document was cut in two ways")
		}
		checkPassages(t, doc, passages, opt.Max)
	})
}

func checkPassages(t interface{ Fatalf(string, ...any) }, doc *document.Document, passages []passage.Passage, limit int) {
	text, spans := doc.Render()
	covered := make([]bool, len(text))
	end := 0
	for i, passage := range passages {
		if passage.Ordinal != i || passage.Start < end || passage.End <= passage.Start || passage.End > len(text) {
			t.Fatalf("passage %d has ordinal %d and range %d to %d after %d", i, passage.Ordinal, passage.Start, passage.End, end)
		}
		end = passage.End
		checkSections(t, &passage, limit*5/6/5)
		if strings.TrimSpace(passage.Text) == "" || !utf8.ValidString(passage.Text) || !strings.Contains(passage.Text, text[passage.Start:passage.End]) {
			t.Fatalf("passage %d has text %q for %q", i, passage.Text, text[passage.Start:passage.End])
		}
		for at := passage.Start; at < passage.End; at++ {
			covered[at] = true
		}
		if length := utf8.RuneCountInString(passage.Text); length > limit+limit/2 && !strings.Contains(passage.Text, "|") {
			t.Fatalf("passage %d has %d runes, the limit is %d: %q", i, length, limit, passage.Text)
		}
	}
	for i := range doc.Blocks {
		if doc.Blocks[i].Kind == document.Heading {
			continue
		}
		for at, r := range text[spans[i].Start:spans[i].End] {
			if !unicode.IsSpace(r) && !covered[spans[i].Start+at] {
				t.Fatalf("rune %q at %d of block %d (%d) is in no passage", r, at, i, doc.Blocks[i].Kind)
			}
		}
	}
	checkBorders(t, doc, spans, passages)
}

func checkBorders(t interface{ Fatalf(string, ...any) }, doc *document.Document, spans []document.Span, passages []passage.Passage) {
	others := false
	for i := range doc.Blocks {
		others = others || doc.Blocks[i].Kind != document.Heading
	}
	if !others {
		return
	}
	for i := range doc.Blocks {
		block := &doc.Blocks[i]
		if block.Kind != document.Heading || block.Level > 2 {
			continue
		}
		for _, passage := range passages {
			if passage.Start < spans[i].End && spans[i].Start < passage.End {
				t.Fatalf("passage %d reaches over the heading %q", passage.Ordinal, block.Text)
			}
		}
	}
}

// checkSections checks the headings that a passage contains.
func checkSections(t interface{ Fatalf(string, ...any) }, p *passage.Passage, tiny int) {
	at, text := 0, 0 // sections with text
	for i := 0; i <= len(p.Sections); i++ {
		end := len(p.Text)
		if i < len(p.Sections) {
			s := &p.Sections[i]
			if end = s.Start; end < at || !strings.HasPrefix(p.Text[end:], "#") || len(s.Headings) == 0 {
				t.Fatalf("section %d of passage %d is %+v in %q", i, p.Ordinal, s, p.Text)
			}
		}
		body := strings.TrimSpace(p.Text[at:end])
		if i > 0 {
			_, body, _ = strings.Cut(body, "\n")
		}
		if body != "" {
			text++
		}
		if runes := utf8.RuneCountInString(body); runes >= tiny && (text > 1 || i < len(p.Sections)) {
			t.Fatalf("section %d of passage %d has %d runes and shares it: %q", i, p.Ordinal, runes, p.Text)
		}
		at = end
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("# T\n\ntext\n\n## A\n\n- item\n  more\n\n```go\nx\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", 200)
	f.Add(strings.Repeat("word ", 400)+"\n\n### x\n\n> quote\n", 60)
	f.Fuzz(func(t *testing.T, source string, limit int) {
		doc, err := parse.New(parse.Options{}).Parse(context.Background(), parse.Input{Name: "a.md", Content: []byte(source)})
		if err != nil {
			return
		}
		opt := passage.Options{Max: 20 + max(limit, -limit)%2000}
		checkPassages(t, doc, passage.Split(doc, opt), opt.Max)
	})
}
