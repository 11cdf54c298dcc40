package chat_test

import (
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/search"
)

func citable() []search.Hit {
	return []search.Hit{
		passage("Alpha", "One", "", 0.9), passage("Alpha", "Two", "", 0.8),
		passage("Beta", "One", "", 0.7), passage("Gamma", "One", "", 0.6),
	}
}

func TestCitationsAreRenumberedBySource(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want, sources string }{
		{"No citation.", "No citation.", ""},
		{"One [1].", "One [1].", "Alpha"},
		{"Last [4] first [1].", "Last [1] first [2].", "Gamma Alpha"},
		{"Same document [1][2].", "Same document [1].", "Alpha"},
		{"Same document [1] [2], again [2].", "Same document [1], again [1].", "Alpha"},
		{"Several [3, 1].", "Several [1][2].", "Beta Alpha"},
		{"Several [3; 4].", "Several [1][2].", "Beta Gamma"},
		{"A range [2-4], [2–4].", "A range [1][2][3], [1][2][3].", "Alpha Beta Gamma"},
		{"A note [^3].", "A note [1].", "Beta"},
		{"Blanks [ 3 , 4 ].", "Blanks [1][2].", "Beta Gamma"},
		{"Not given [5].", "Not given [5].", ""},
		{"The array is [10, 20] and port [42], [5-7], [^9].", "The array is [10, 20] and port [42], [5-7], [^9].", ""},
		{"Cited [1] [42], [42][1] and [1][42].", "Cited [1] [42], [42][1] and [1][42].", "Alpha"},
		{"Half invalid [5, 3].", "Half invalid [1].", "Beta"},
		{"Invalid then valid [9][3].", "Invalid then valid [9][1].", "Beta"},
		{"[7] begins", "[7] begins", ""},
		{"A year [2024], an index [0], [01], a box [ ] and [x], a range [4-2], words [one].", "A year [2024], an index [0], [01], a box [ ] and [x], a range [4-2], words [one].", ""},
		{"Open [1", "Open [1", ""},
		{"Open [", "Open [", ""},
		{"Trailing blanks [3]  ", "Trailing blanks [1]  ", "Beta"},
		{"Code `a[1]` and [3].", "Code `a[1]` and [1].", "Beta"},
		{"Code ``a`[1]`` and [3].", "Code ``a`[1]`` and [1].", "Beta"},
		{"A lone ` tick.\n\nNext [3].", "A lone ` tick.\n\nNext [1].", "Beta"},
		{"```go\nx := a[1] // `\n```\nThen [3].", "```go\nx := a[1] // `\n```\nThen [1].", "Beta"},
		{"~~~\na[1]\n```\na[2]\n~~~\n[3]", "~~~\na[1]\n```\na[2]\n~~~\n[1]", "Beta"},
		{"```\nnever closed a[1]", "```\nnever closed a[1]", ""},
		{"About ~5 [3] ~~gone~~ [4]", "About ~5 [1] ~~gone~~ [2]", "Beta Gamma"},
		{"- item [3]\n- item [3]\n", "- item [1]\n- item [1]\n", "Beta"},
		{"Größe 10 µm [3] – 値[4]。", "Größe 10 µm [1] – 値[2]。", "Beta Gamma"},
		{"The first is args[1], a[0][2] a cell, os.Args[9] none [3].", "The first is args[1], a[0][2] a cell, os.Args[9] none [1].", "Beta"},
		{"x_[1], größe[1], v2[1], индекс[1], a[4, 3], a[1-2].", "x_[1], größe[1], v2[1], индекс[1], a[4, 3], a[1-2].", ""},
		{"A [name][1], a [box] [4].", "A [name][1], a [box] [1].", "Gamma"},
		{"[1](https://example.com) and [2] (see there), ![3](x.png).", "[1](https://example.com) and [1] (see there), ![3](x.png).", "Alpha"},
		{"[1][2](https://example.com)", "[1][2](https://example.com)", "Alpha"},
		{`Escaped \[1\], \[1].`, `Escaped \[1\], \[1].`, ""},
		{"`args`[3], **bold**[4], (aside)[1], \"quoted\"[1].", "`args`[1], **bold**[2], (aside)[3], \"quoted\"[3].", "Beta Gamma Alpha"},
		{"Sentence.[3] Next![4]", "Sentence.[1] Next![2]", "Beta Gamma"},
		{"an index a[1] [9][3]", "an index a[1] [9][1]", "Beta"},
		{"- ```py\n  a [1]\n\n  b = [2]\n  ```\n  Then [3].", "- ```py\n  a [1]\n\n  b = [2]\n  ```\n  Then [1].", "Beta"},
		{"1. ~~~\n   a [1]\n   ~~~\n2) * ```\n     a [2]\n     ```\n[3]", "1. ~~~\n   a [1]\n   ~~~\n2) * ```\n     a [2]\n     ```\n[1]", "Beta"},
		{"> ```\n> a [1]\n>\n> b [2]\n> ```\n> Then [3].", "> ```\n> a [1]\n>\n> b [2]\n> ```\n> Then [1].", "Beta"},
		{"> ```\n> a [1]\n\nThen [3].", "> ```\n> a [1]\n\nThen [1].", "Beta"},
		{"```\n> ```\na [1]\n```\n[3]", "```\n> ```\na [1]\n```\n[1]", "Beta"},
		{"A - ``` b [3]", "A - ``` b [3]", ""},
		{"Run:\n\n    x = [1] `\n\n    y = [2]\n\tz [1]\nThen [3].", "Run:\n\n    x = [1] `\n\n    y = [2]\n\tz [1]\nThen [1].", "Beta"},
		{"Run:\n\n\tx = [1]\n\nThen [3].", "Run:\n\n\tx = [1]\n\nThen [1].", "Beta"},
		{"Goes on\n    here [3].", "Goes on\n    here [1].", "Beta"},
		{"- item\n\n    more [3]\n\nText.\n\n    x [1]", "- item\n\n    more [1]\n\nText.\n\n    x [1]", "Beta"},
		{"foo(x)[3], f(a, (b))[2], g_(h(1))[1], but (aside)[3], see (f(x))[4].", "foo(x)[3], f(a, (b))[2], g_(h(1))[1], but (aside)[1], see (f(x))[2].", "Beta Gamma"},
		{"Open f(\nx)[3], 値(x)[4] and foo(x) [3].", "Open f(\nx)[1], 値(x)[2] and foo(x) [1].", "Beta Gamma"},
	} {
		whole, sources := chat.RewriteCitations(citable(), test.in)
		titles := []string{}
		for _, s := range sources {
			titles = append(titles, s.Title)
		}
		if whole != test.want || strings.Join(titles, " ") != test.sources {
			t.Errorf("%q = %q %v, want %q %q", test.in, whole, titles, test.want, test.sources)
		}
		for size := 1; size < 6; size++ {
			if got, _ := chat.RewriteCitations(citable(), pieces(test.in, size)...); got != whole {
				t.Errorf("%q in pieces of %d = %q", test.in, size, got)
			}
		}
	}
}

func TestBracketsThatAreNotCitationsAreKept(t *testing.T) {
	t.Parallel()
	const answer = "Read `argv` as args[1], not a[0][2].\n\n```\nargs[1]\n```\n\nSee [1]."
	const want = "Read `argv` as args[1], not a[0][2].\n\n```\nargs[1]\n```\n\nSee."
	if got, sources := chat.RewriteCitations(nil, answer); got != answer || len(sources) > 0 {
		t.Errorf("got %q, %v", got, sources)
	}
	if got := chat.StripCitations(answer); got != want {
		t.Errorf("StripCitations = %q", got)
	}
	citations := chat.NewCitations()
	if got := citations.Write(answer) + citations.Flush(); got != answer {
		t.Errorf("Citations = %q", got)
	}
}

func TestNumbersInQuotesAreEscaped(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want string }{
		{"Keys rotate yearly.[1] See [2, 3] and [^4].", `Keys rotate yearly.\[1\] See \[2, 3\] and \[^4\].`},
		{"Both.[1][2]", `Both.\[1\]\[2\]`},
		{"args[1], `a [1]`, [1](https://example.com), [2024], [one]", "args[1], `a [1]`, [1](https://example.com), [2024], [one]"},
		{"```\n [1]\n```\n[1]", "```\n [1]\n```\n\\[1\\]"},
	} {
		got := chat.EscapeCitations(test.in)
		if got != test.want {
			t.Errorf("%q = %q, want %q", test.in, got, test.want)
		}
		if again, sources := chat.RewriteCitations(citable(), got); again != got || len(sources) > 0 {
			t.Errorf("%q has citations: %q, %v", got, again, sources)
		}
	}
}

// pieces cuts text into pieces of so many characters.
func pieces(text string, size int) []string {
	var list []string
	runes := []rune(text)
	for len(runes) > size {
		list = append(list, string(runes[:size]))
		runes = runes[size:]
	}
	return append(list, string(runes))
}

func FuzzCitations(f *testing.F) {
	f.Add("Same [1][2], a `code[1]` and\n```\nx[3]\n```\n [3, 9] [2–4", uint8(3))
	f.Add("[[[1]] [^2] [1-", uint8(1))
	f.Add("> - ```\n> a [1]\n\n    b [2] f(x)[3]\n1. ~~~", uint8(2))
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		whole, sources := chat.RewriteCitations(citable(), text)
		if cut, _ := chat.RewriteCitations(citable(), pieces(text, int(size%16)+1)...); strings.ToValidUTF8(cut, "\uFFFD") != strings.ToValidUTF8(whole, "\uFFFD") && strings.ToValidUTF8(text, "") == text {
			t.Fatalf("%q in pieces = %q, whole = %q", text, cut, whole)
		}
		if len(sources) > 3 {
			t.Fatalf("%d sources", len(sources))
		}
		if escaped := chat.EscapeCitations(text); strings.ToValidUTF8(text, "") == text {
			if again, sources := chat.RewriteCitations(citable(), escaped); again != escaped || len(sources) > 0 {
				t.Fatalf("%q escaped is %q and has %d sources", text, escaped, len(sources))
			}
		}
		if !strings.Contains(text, "[") && whole != text {
			t.Fatalf("%q became %q", text, whole)
		}
	})
}
