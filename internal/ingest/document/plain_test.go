package document_test

import (
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

func TestPlainTextHasNoMarkup(t *testing.T) {
	t.Parallel()
	for markdown, want := range map[string]string{
		"Text as it is.": "Text as it is.",
		"":               "",
		"## Install it\n\nRun **this** and `that`.":                     "Install it\n\nRun this and that.",
		"See [the guide](../guide.md \"Guide\") and ![a map](map.png).": "See the guide and a map.",
		"> quoted\n> > twice":                                           "quoted\ntwice",
		"| Name | Value |\n| --- | --- |\n| a | 1 |\n| b\\|c |  |":      "Name · Value\na · 1\nb|c",
		"Before\n\n```sh\n# a comment\nls | wc -l\n```\n\nAfter":        "Before\n\n# a comment\nls | wc -l\n\nAfter",
		"````\n```\ncode\n```\n````":                                    "```\ncode\n```",
		"#hashtag, a*b*c, x ** y ** z, __init__ and a | b":              "#hashtag, a*b*c, x ** y ** z, __init__ and a | b",
		"*levels* of _trust_ in snake_case_names":                       "levels of trust in snake_case_names",
		"The [Kubernetes\npolicy](https://k.example/a_(b) 'T') says so": "The Kubernetes\npolicy says so",
		"[![badge](b.svg)](x) [**Latency**: `p[99](x)`](#l)":            "badge Latency: p[99](x)",
		"One<br>two <https://a.example/b> and <b>bold</b>, not <name>":  "One two https://a.example/b and bold, not <name>",
		"- item\n\n  ```\n  *code*\n  ```\n- \\*star\\*":                "- item\n\n  *code*\n- *star*",
		"*** and ** and a ** b, 2 * 3 * 4":                              "*** and ** and a ** b, 2 * 3 * 4",
		"a lone ` and [brackets] (aside) stay":                          "a lone ` and [brackets] (aside) stay",
		"~~~\ncut off in the middle of **code**":                        "cut off in the middle of **code**",
	} {
		if got := document.PlainText(markdown); got != want {
			t.Errorf("PlainText(%q) = %q, want %q", markdown, got, want)
		}
	}
}

func FuzzPlainText(f *testing.F) {
	f.Add("## a\n\n| b |\n| --- |\n```\nc\n```\n[d](e) **f** `g`")
	f.Fuzz(func(t *testing.T, markdown string) {
		if got := document.PlainText(markdown); len(got) > 2*len(markdown) || strings.Count(got, "\n") > strings.Count(markdown, "\n") {
			t.Errorf("PlainText(%q) = %q is longer", markdown, got)
		}
	})
}

// FuzzPlainTextOfWords writes words with all markup that passages have. None of it may be left.
func FuzzPlainTextOfWords(f *testing.F) {
	f.Add("the harbour of the north, deep and cold")
	f.Add("数据 库 é 3.14 – a_b")
	f.Fuzz(func(t *testing.T, text string) {
		const marks = "#`|*[]<>~_\\!()&"
		var words []string
		for word := range strings.FieldsSeq(strings.ToValidUTF8(text, "")) {
			if word = strings.Trim(strings.Map(func(r rune) rune {
				if strings.ContainsRune(marks, r) || r < ' ' {
					return -1
				}
				return r
			}, word), "-+=.0123456789"); word != "" && len(word) < 100 {
				words = append(words, word)
			}
		}
		if len(words) == 0 {
			return
		}
		first, all := words[0], strings.Join(words[:min(len(words), 8)], " ")
		doc := document.Document{Blocks: []document.Block{
			{Kind: document.Heading, Level: 3, Text: all},
			{Kind: document.Paragraph, Text: "**" + first + "** [" + all + "](https://a.example/b_(c)) *" + first + "* `" + all + "` ![" + first + "](x.png)<br>" + all},
			{Kind: document.List, Text: "- " + all + "\n- [`" + first + "`](y#z)\n  _" + all + "_"},
			{Kind: document.Table, Header: []string{first, all}, Rows: [][]string{{"`" + first + "`", "**" + all + "**"}, {"", "[" + first + "](x)"}}},
			{Kind: document.Code, Language: "sh", Text: all},
			{Kind: document.Quote, Text: all + "\n" + first},
		}}
		got := document.PlainText(doc.Markdown())
		if i := strings.IndexAny(got, marks); i >= 0 {
			t.Fatalf("%q is left in %q", got[i:i+1], got)
		}
		if strings.Count(got, all) < 8 {
			t.Fatalf("%q is missing in %q", all, got)
		}
	})
}
