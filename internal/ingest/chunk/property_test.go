package chunk_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"magpie/internal/ingest/chunk"
	"magpie/internal/ingest/parse"
)

func drawText(t *rapid.T, name string) string {
	word := rapid.StringMatching(`[a-zäß数。.\x{0301}👍]{1,12}[ \n]{0,3}`)
	text := strings.TrimSpace(strings.Join(rapid.SliceOfN(word, 1, 60).Draw(t, name), rapid.SampledFrom([]string{"", " ", "\n"}).Draw(t, name+" glue")))
	if text == "" {
		return "x"
	}
	return text
}

func drawBlock(t *rapid.T) parse.Block {
	switch kind := parse.BlockKind(rapid.IntRange(0, 5).Draw(t, "kind")); kind {
	case parse.Heading:
		return parse.Block{Kind: kind, Level: rapid.IntRange(1, 6).Draw(t, "level"), Text: strings.Join(strings.Fields(drawText(t, "heading")), " ")}
	case parse.Table:
		cell := rapid.StringMatching(`[a-z数 ]{0,30}`)
		table := parse.Block{Kind: kind}
		width := rapid.IntRange(1, 4).Draw(t, "width")
		table.Header = rapid.SliceOfN(cell, width, width).Draw(t, "header")
		for range rapid.IntRange(0, 12).Draw(t, "rows") {
			table.Rows = append(table.Rows, rapid.SliceOfN(cell, width, width).Draw(t, "row"))
		}
		return table
	default:
		return parse.Block{Kind: kind, Text: drawText(t, "text"), Language: rapid.SampledFrom([]string{"", "go"}).Draw(t, "language")}
	}
}

func TestPassagesCoverTheTextWithinTheLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		document := &parse.Document{Title: "T"}
		for range rapid.IntRange(1, 12).Draw(t, "blocks") {
			document.Blocks = append(document.Blocks, drawBlock(t))
		}
		opt := chunk.Options{Max: rapid.IntRange(20, 300).Draw(t, "max")}
		passages := chunk.Split(document, opt)
		if !reflect.DeepEqual(passages, chunk.Split(document, opt)) {
			t.Fatal("the same document was cut in two ways")
		}
		checkPassages(t, document, passages, opt.Max)
	})
}

func checkPassages(t interface{ Fatalf(string, ...any) }, document *parse.Document, passages []chunk.Passage, limit int) {
	text, spans := document.Render()
	covered := make([]bool, len(text))
	end := 0
	for i, passage := range passages {
		if passage.Ordinal != i || passage.Start < end || passage.End <= passage.Start || passage.End > len(text) {
			t.Fatalf("passage %d has ordinal %d and range %d to %d after %d", i, passage.Ordinal, passage.Start, passage.End, end)
		}
		end = passage.End
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
	for i := range document.Blocks {
		if document.Blocks[i].Kind == parse.Heading {
			continue
		}
		for at, r := range text[spans[i].Start:spans[i].End] {
			if !unicode.IsSpace(r) && !covered[spans[i].Start+at] {
				t.Fatalf("rune %q at %d of block %d (%d) is in no passage", r, at, i, document.Blocks[i].Kind)
			}
		}
	}
	checkBorders(t, document, spans, passages)
}

func checkBorders(t interface{ Fatalf(string, ...any) }, document *parse.Document, spans []parse.Span, passages []chunk.Passage) {
	others := false
	for i := range document.Blocks {
		others = others || document.Blocks[i].Kind != parse.Heading
	}
	if !others {
		return
	}
	for i := range document.Blocks {
		block := &document.Blocks[i]
		if block.Kind != parse.Heading || block.Level > 2 {
			continue
		}
		for _, passage := range passages {
			if passage.Start < spans[i].End && spans[i].Start < passage.End {
				t.Fatalf("passage %d reaches over the heading %q", passage.Ordinal, block.Text)
			}
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("# T\n\ntext\n\n## A\n\n- item\n  more\n\n```go\nx\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", 200)
	f.Add(strings.Repeat("word ", 400)+"\n\n### x\n\n> quote\n", 60)
	f.Fuzz(func(t *testing.T, source string, limit int) {
		document, err := parse.Parse(context.Background(), parse.Input{Name: "a.md", Content: []byte(source)})
		if err != nil {
			return
		}
		opt := chunk.Options{Max: 20 + max(limit, -limit)%2000}
		checkPassages(t, document, chunk.Split(document, opt), opt.Max)
	})
}
