package analysis_test

import (
	"html"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/analysis"
)

func TestPhrasesAreMarkedWordByWord(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ text, query, language, want string }{
		"stop words inside only": {"The art of the state is state of the art.", `"state of the art"`, "en",
			"The [art] of the [state] is [state] [of] [the] [art]."},
		"stop words alone":    {"to be, or to do so", `"to be"`, "en", "[to] [be], or [to] do so"},
		"inflections":         {"He restores the backups. The backup.", `"restore the backup"`, "en", "He [restores] [the] [backups]. The [backup]."},
		"parts of a compound": {"set kv.rangefeed.enabled", `"kv.rangefeed"`, "en", "set [kv].[rangefeed].enabled"},
		"the whole compound":  {"set kv.rangefeed.enabled", `"kv.rangefeed.enabled"`, "en", "set [kv.rangefeed.enabled]"},
		"camel case":          {"GitHub Actions & GitHub", `"of GitHub Actions" github`, "en", "[GitHub] [Actions] &amp; [GitHub]"},
		"Chinese":             {"备份数据库表和数据", `"数据库"`, "zh", "备份[数据库]表和[数据]"},
		"overlapping":         {"a b a b a", `"a b a"`, "en", "[a] [b] [a] [b] [a]"},
		"word with its sign":  {"modern C++ book", `"modern C++"`, "en", "[modern] [C++] book"},
		"escape inside":       {"cats & <dogs>", `"cats dogs"`, "en", "[cats] &amp; &lt;[dogs]&gt;"},
		"no space between":    {"point\u00adin time", `"pointin time"`, "en", "[point\u00adin] [time]"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := analysis.New()
			q := a.Parse(c.query, "")
			if got := a.HighlightMarks(c.text, q.Marks(), c.language, "[", "]"); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestMarksNeverChangeTheText(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 5))
	pieces := []string{
		"backup", "restore", " ", " ", ", ", "\n", "the", "of", "kv.range_feed", "GitHub", "C++", "<b>", "&amp;", `"`, "'", "’s", "数据库", "ที่นี่", "ﾊﾞｯｸ",
		"e\u0301", "\u0301", "👨‍👩‍👧", "1️⃣", "\u200b", "\u200f", "\u00ad", "\u202e", "🇩🇪", "ﬁ", "Ｈ", "한국어", "हिन्दी", "v1.2.3", "-x", "\r\n", "\t", "İ", "\u2060",
	}
	join := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		return b.String()
	}
	a := analysis.New()
	for range 3000 {
		text := join(1 + random.IntN(40))
		query := join(1+random.IntN(6)) + ` "` + join(1+random.IntN(4)) + `"`
		q := a.Parse(query, "")
		language := []string{"", "en", "de", "zh", "th"}[random.IntN(5)]
		marked := a.HighlightMarks(text, q.Marks(), language, "\x01", "\x02")
		if plain := html.UnescapeString(strings.NewReplacer("\x01", "", "\x02", "").Replace(marked)); plain != text {
			t.Fatalf("marks of %q changed %q to %q", query, text, plain)
		}
		open := false
		for _, r := range marked {
			switch r {
			case '\x01':
				if open {
					t.Fatalf("a mark in a mark: %q", marked)
				}
				open = true
			case '\x02':
				open = false
			}
		}
	}
}

func TestAnExcerptIsTheSnippetWithMarks(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 1))
	words := []string{"backup", "restores", "the", "of", "kv.range_feed", "GitHub", "<b>", "&", "数据库", "e\u0301t\u00e9", "long" + strings.Repeat("er", 40), ".", "\n", "\u3000"}
	a := analysis.New()
	q := a.Parse(`backup "restore the" 数据 été range`, "")
	for range 2000 {
		var b strings.Builder
		for range random.IntN(120) {
			b.WriteString(words[random.IntN(len(words))])
			b.WriteString([]string{" ", " ", "", "\n"}[random.IntN(4)])
		}
		text, most := b.String(), random.IntN(200)-2
		snippet := a.SnippetMarks(text, q.Marks(), "en", most)
		if got := html.UnescapeString(a.Excerpter(q.Marks(), most, "", "").Excerpt(text, "en")); got != snippet {
			t.Fatalf("%d runes of %q: excerpt %q, snippet %q", most, text, got, snippet)
		}
		marked := a.Excerpter(q.Marks(), most, "\x01", "\x02").Excerpt(text, "en")
		if got := html.UnescapeString(strings.NewReplacer("\x01", "", "\x02", "").Replace(marked)); got != snippet {
			t.Fatalf("marks changed %q to %q", snippet, got)
		}
		if slices.Contains(strings.Fields(snippet), "backup") && !strings.Contains(marked, "\x01") {
			t.Fatalf("nothing is marked in %q", marked)
		}
	}
}

func TestSnippetsShowThePhrase(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("Nothing of interest stands here. ", 20)
	text := filler + "A state, an art, the art of states. " + filler + "This is the state of the art. " + filler
	a := analysis.New()
	q := a.Parse(`"state of the art"`, "")
	if got := a.SnippetMarks(text, q.Marks(), "en", 80); !strings.Contains(got, "the state of the art") {
		t.Errorf("the phrase is not shown: %q", got)
	}
}

func TestCompletionsKnowThatWordsAreStoredStemmed(t *testing.T) {
	t.Parallel()
	a := analysis.New()
	cases := []struct{ prefix, language, want string }{
		{"restori", "en", "restor"}, {"restorin", "", "restor"}, {"configurati", "", "configur"}, {"configurat", "en", "configur"},
		{"availabl", "en", "avail"}, {"dependenc", "en", "depend"}, {"abhangigke", "de", "abhang"}, {"abhangigkei", "", "abhang"},
		{"wiederherstellu", "de", "wiederherstell"}, {"replicatio", "en", "replic"},
	}
	for _, c := range cases {
		got := a.Completions(c.prefix, c.language)
		if !slices.Contains(got, c.want) {
			t.Errorf("%q in %q: %q lacks %q", c.prefix, c.language, got, c.want)
		}
		for _, term := range got {
			if strings.HasPrefix(term, c.prefix) || len(term) < 3 {
				t.Errorf("%q in %q: %q is no news", c.prefix, c.language, term)
			}
		}
	}
	for _, prefix := range []string{"", "re", "rest", "10.0", "数据", "kv.range", "the"} {
		if got := a.Completions(prefix, ""); len(got) > 0 {
			t.Errorf("%q: %q", prefix, got)
		}
	}
}

func TestSnippetsBeginAndEndWithSentences(t *testing.T) {
	t.Parallel()
	fill := func(sentence string, n int) string { return strings.Repeat(sentence, n) }
	a := analysis.New()
	for name, c := range map[string]struct{ language, text, query, want string }{
		"English": {
			"en", fill("Nothing is said of it here. ", 9) + "It was measured by Dr. A. Smith, e.g. in the harbour. The tide was high. " + fill("Nothing is said of it here. ", 9),
			"harbour tide", "It was measured by Dr. A. Smith, e.g. in the harbour. The tide was high. Nothing is said of it here.",
		},
		"German": {
			"de", fill("Davon steht hier nichts. ", 9) + "Er kam am 3. Oktober in den Hafen. Die Flut war hoch. " + fill("Davon steht hier nichts. ", 9),
			"Hafen", "Er kam am 3. Oktober in den Hafen. Die Flut war hoch. Davon steht hier nichts. Davon steht hier nichts.",
		},
		"Chinese": {
			"zh", fill("这里什么也没有说。", 12) + "海港的潮水很高。" + fill("这里什么也没有说。", 14), "潮水",
			"海港的潮水很高。" + fill("这里什么也没有说。", 11),
		},
		"a list": {
			"en", fill("Nothing is said of it here.\n", 7) + "\n- the harbour, which\n  is deep\n- the tide\n- the wind, and the sea\n\n" + fill("Nothing is said of it here. ", 9), "tide",
			"- the tide\n- the wind, and the sea\n\nNothing is said of it here. Nothing is said of it here.",
		},
		"a table": {
			"en", "Port · Depth\n" + fill("north · 12 fathoms\n", 9) + "harbour · 5 fathoms\n" + fill("south · 7 fathoms\n", 9), "harbour",
			"harbour · 5 fathoms\nsouth · 7 fathoms\nsouth · 7 fathoms\nsouth · 7 fathoms\nsouth · 7 fathoms",
		},
		"code": {
			"en", fill("run --nothing here\n", 9) + "run --harbour now\n" + fill("run --nothing here\n", 9), "harbour",
			"run --harbour now\nrun --nothing here\nrun --nothing here\nrun --nothing here\nrun --nothing here",
		},
		"the end": {"en", fill("Nothing is said of it here. ", 9) + "The harbour is deep.", "harbour", "Nothing is said of it here. Nothing is said of it here. Nothing is said of it here. The harbour is deep."},
		"a long sentence": {
			"en", fill("nothing is said of it here and ", 9) + "the harbour is deep and " + fill("nothing is said of it here and ", 9), "harbour",
			"…is said of it here and the harbour is deep and nothing is said of it here and nothing is said of it…",
		},
	} {
		q := a.Parse(c.query, c.language)
		if got := a.SnippetMarks(c.text, q.Marks(), c.language, 110); got != c.want {
			t.Errorf("%s: got\n%q, want\n%q", name, got, c.want)
		}
	}
}
