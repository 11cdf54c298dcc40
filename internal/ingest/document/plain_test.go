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
