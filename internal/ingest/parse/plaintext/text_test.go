package plaintext_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/ingest/parse/parsetest"
)

func TestPlainText(t *testing.T) {
	t.Parallel()
	got := parsetest.Read(t, "a.txt", "Title\n=====\n\nOne\ntwo.\n\n- a\n- b\n\nTitle\n-----\nx\n").Blocks
	want := []document.Block{
		{Kind: document.Heading, Level: 1, Text: "Title", Anchor: "title"}, {Kind: document.Paragraph, Text: "One\ntwo."},
		{Kind: document.List, Text: "- a\n- b"}, {Kind: document.Heading, Level: 2, Text: "Title", Anchor: "title-1"}, {Kind: document.Paragraph, Text: "x"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLayoutOfPlainText(t *testing.T) {
	t.Parallel()
	broken := "The old harbour crane still turns when the wind comes from the north, and\nnobody has told the new librarian that the third shelf was only painted\non the wall.\n"
	joined := "The old harbour crane still turns when the wind comes from the north, and nobody has told the new librarian that the third shelf was only painted on the wall."
	for name, c := range map[string]struct{ text, want string }{
		"broken lines":          {broken + "\n" + broken, joined + "\n\n" + joined},
		"a poem":                {broken + "\nThe wind\nit blows\nwherever it goes\n", joined + "\n\nThe wind\nit blows\nwherever it goes"},
		"Japanese":              {strings.Repeat("北の風が吹くと古い港のクレーンが今でも", 3) + "\nゆっくりと回ります。\n\n" + strings.Repeat("北の風が吹くと古い港のクレーンが今でも", 3) + "\n回ります。\n", strings.Repeat("北の風が吹くと古い港のクレーンが今でも", 3) + "ゆっくりと回ります。\n\n" + strings.Repeat("北の風が吹くと古い港のクレーンが今でも", 3) + "回ります。"},
		"numbered":              {"Rules\n\n1. Scope\n\nAll ships.\n\n1.1 Small ships\n\nThese too.\n\n2. Fees\n\nNone.\n", "Rules\n\n## 1. Scope\n\nAll ships.\n\n### 1.1 Small ships\n\nThese too.\n\n## 2. Fees\n\nNone."},
		"a numbered list":       {"Do this:\n\n1. Open the door\n\n2. Walk in\n\n3. Close it\n", "Do this:\n\n1. Open the door\n2. Walk in\n3. Close it"},
		"capitals":              {"HARBOUR RULES\n\nKeep right.\n\nFEES AND FINES\n\nNone, but see ANNEX.\n", "## HARBOUR RULES\n\nKeep right.\n\n## FEES AND FINES\n\nNone, but see ANNEX."},
		"shouting":              {"STOP!\n\nKEEP RIGHT.\n", "STOP!\n\nKEEP RIGHT."},
		"chapters":              {"Chapter 1\n\nIt was dark.\n\nChapter II. The crane\n\nIt turned.\n", "## Chapter 1\n\nIt was dark.\n\n## Chapter II. The crane\n\nIt turned."},
		"chapters in Chinese":   {"第一章 港口\n\n天黑了。\n\n第2章\n\n它转动了。\n", "## 第一章 港口\n\n天黑了。\n\n## 第2章\n\n它转动了。"},
		"marked":                {"# Rules\n\nKeep right.\n\n## Fees\n\nNone.\n", "# Rules\n\nKeep right.\n\n## Fees\n\nNone."},
		"comments":              {"# a comment\n# and more\n\nvalue\n", "# a comment\n# and more\n\nvalue"},
		"rules above and below": {"===========\n= Harbour =\n===========\n\nPart\n~~~~\n\nText.\n\nOther\n^^^^^\n\nText.\n", "# Harbour\n\n# Part\n\nText.\n\n## Other\n\nText."},
		"lists":                 {"Bring:\n- ropes that are\n  long\n    * and strong\n- flags\n\n• one\n• two\n\n(1) first\n(2) second\n", "Bring:\n\n- ropes that are long\n  * and strong\n- flags\n\n- one\n- two\n\n- (1) first\n- (2) second"},
		"no list":               {"The result is 5\n- 3, as\nexpected\n", "The result is 5\n- 3, as\nexpected"},
		"quotations":            {"You wrote:\n> Keep right,\n> please.\n>\n> > Always?\nYes.\n", "You wrote:\n\n> Keep right,\n> please.\n\n> Always?\n\nYes."},
		"code":                  {"Run this:\n\n    make clean\n    make test\n\nand wait.\n", "Run this:\n\n```\nmake clean\nmake test\n```\n\nand wait."},
		"fenced code":           {"Run\n```sh\nmake\n\ntest\n```\nnow\n", "Run\n\n```sh\nmake\n\ntest\n```\n\nnow"},
		"a table":               {"Prices\n\nOak      5.00   tall\nElm     12.50   taller\nAsh      1.00   short\n", "Prices\n\n```\nOak      5.00   tall\nElm     12.50   taller\nAsh      1.00   short\n```"},
		"a drawing":             {"+-----+    +-----+\n| one |--->| two |\n+-----+    +-----+\n", "```\n+-----+    +-----+\n| one |--->| two |\n+-----+    +-----+\n```"},
		"definitions":           {"-a, --all\n      do not leave anything out\n", "-a, --all\ndo not leave anything out"},
		"a line drawn":          {"One.\n\n----------\n\nTwo.\n", "One.\n\nTwo."},
		"struck over":           {"N\bNA\bAM\bME\bE\n\n_\bx is bold\n", "## NAME\n\nx is bold"},
		"colours":               {"\x1b[31mred\x1b[0m and \x1b[1;32mgreen\x1b[m\n", "red and green"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, parsetest.Read(t, "a.txt", c.text).Markdown()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPagesOfPlainText(t *testing.T) {
	t.Parallel()
	page := func(number int, text string) string {
		return fmt.Sprintf("Harbour rules                  May 2024\n\n%s\n\n\nWriter                         [Page %d]\n\f", text, number)
	}
	doc := parsetest.Read(t, "a.txt", page(1, "Keep right.")+page(2, "Keep calm.")+page(3, "Keep going."))
	var got []string
	for _, block := range doc.Blocks {
		got = append(got, fmt.Sprint(block.Page, " ", block.Text))
	}
	want := []string{"1 Harbour rules                  May 2024", "1 Keep right.", "1 Writer                         [Page 1]", "2 Keep calm.", "3 Keep going."}
	if diff := cmp.Diff(want, got); diff != "" || doc.Pages != 3 {
		t.Errorf("%d pages (-want +got):\n%s", doc.Pages, diff)
	}
}

func TestManualPages(t *testing.T) {
	t.Parallel()
	doc := parsetest.Read(t, "crane.txt", "CRANE(1)            User Commands            CRANE(1)\n\nNAME\n       crane - turn the crane\n\nSYNOPSIS\n       crane [OPTION]...\n\nDESCRIPTION\n       Turns it.\n\n   Options\n       -n     to the north,\n              slowly\n\nSEE ALSO\n       HARBOUR\n              a place\n")
	want := []string{"## NAME #name", "## SYNOPSIS #synopsis", "## DESCRIPTION #description", "### Options #options", "## SEE ALSO #see-also"}
	if diff := cmp.Diff(want, parsetest.Headings(doc)); diff != "" || doc.Title != "crane - turn the crane" {
		t.Errorf("title %q (-want +got):\n%s", doc.Title, diff)
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "2024-05-01T10:%02d:00Z INFO crane turned by %d degrees\n", i, i)
		if i%10 == 3 {
			b.WriteString("Traceback:\n  at crane.go:12\n")
		}
	}
	doc := parsetest.Read(t, "harbour.log", b.String())
	var text []string
	for _, block := range doc.Blocks {
		if block.Kind != document.Code || block.Language != "log" || !strings.HasPrefix(block.Text, "2024-") {
			t.Errorf("unexpected block %+v", block)
		}
		text = append(text, block.Text)
	}
	if len(doc.Blocks) < 2 || strings.Join(text, "\n")+"\n" != b.String() || doc.Metadata["entries"] != 40 {
		t.Errorf("%d blocks, %v", len(doc.Blocks), doc.Metadata)
	}
	access := strings.Repeat("10.0.0.1 - - [01/May/2024:10:00:00 +0000] \"GET / HTTP/1.1\" 200 12\n", 5)
	if doc := parsetest.Read(t, "access", access); doc.Blocks[0].Language != "log" {
		t.Errorf("an access log is %+v", doc.Blocks[0])
	}
	if doc := parsetest.Read(t, "a.txt", "We met at 10:00:00 sharp.\n\nAll were there.\n\nIt was fine.\n"); doc.Blocks[0].Kind != document.Paragraph {
		t.Errorf("prose with a time is %+v", doc.Blocks[0])
	}
}

func TestTextOfTooManyParts(t *testing.T) {
	t.Parallel()
	var limit *document.LimitError
	if _, err := parse.New(parse.Options{}).Parse(t.Context(), parse.Input{Name: "a.txt", Content: []byte(strings.Repeat("x\n\n", 1<<20))}); !errors.As(err, &limit) {
		t.Errorf("got %v", err)
	}
}

func FuzzPlainText(f *testing.F) {
	parsetest.Fuzz(f, "a.txt", "T\n==\n\n1. A\n\n1.1 B\n\nNAME\n    x - y\n\f> q\n\n- a\n  b\n```\nc\n", "WEBVTT\n\n00:00.000 --> 00:01.000\n<v A>b\n", "10:00:00 a\n10:00:01 b\n10:00:02 c\n",
		"a\bb\x1b[1m\n\n   |  a   |\n   +------+\n", "第一章\n\n・a\n・b\n")
}

func BenchmarkPlainText(b *testing.B) {
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "%d. Section\n\nThe old harbour crane still turns when the wind comes from the north, and\nnobody has told the new librarian that the third shelf was only painted\non the wall.\n\n- one\n- two\n\n", i+1)
	}
	content := []byte(text.String())
	parser := parse.New(parse.Options{})
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parser.Parse(b.Context(), parse.Input{Name: "a.txt", Content: content}); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzText(f *testing.F) {
	parsetest.Fuzz(f, "a.txt", "Title\n===\n\n- a\n- b\n", "\xff\xfea\x00b\x00", "caf\xe9", "\xfe\xff\x00a")
}
