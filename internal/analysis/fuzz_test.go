package analysis_test

import (
	"html"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/analysis"
)

func FuzzAnalyzer(f *testing.F) {
	for _, seed := range []string{
		"Restoring kv.rangefeed.enabled in v1.2.3 of C++", "数据库 ﾊﾞｯｸ ที่นี่ re\u0301sume\u0301", "a\xffb'\u200dc::_:x", "<a href=\"x\">&amp;</a>",
		"l’eau O'Neil's URLs HTTPServer __x__ 10.0.0.1:80", "👨‍👩‍👧 1️⃣ e\u0301.\u0308x",
	} {
		f.Add(seed, "en", "backup enabled 数据")
		f.Add(seed, "", seed)
		f.Add(seed, "hu", seed)
	}
	analyzer := analysis.New()
	f.Fuzz(func(t *testing.T, text, language, query string) {
		tokens := analyzer.Tokens(text, language)
		start, position := 0, 0
		for _, token := range tokens {
			if token.Start < start || token.End <= token.Start || token.End > len(text) {
				t.Fatalf("offsets %d..%d after start %d in %d bytes", token.Start, token.End, start, len(text))
			}
			if token.Position < position {
				t.Fatalf("position %d after %d", token.Position, position)
			}
			if token.Term == "" || !utf8.ValidString(token.Term) {
				t.Fatalf("bad term %q", token.Term)
			}
			start, position = token.Start, token.Position
		}
		uncached := new(analysis.Analyzer).Tokens(text, language)
		for i, token := range uncached {
			if token != tokens[i] {
				t.Fatalf("the cache changes a token: %v, %v", token, tokens[i])
			}
		}
		terms := analyzer.Terms(query, "")
		if len(analyzer.Words(query, "")) > 0 && len(terms) == 0 {
			t.Fatalf("query %q was emptied", query)
		}
		marked := analyzer.Highlight(text, terms, language, "\x01", "\x02")
		if !strings.ContainsAny(text, "\x00\x01\x02\r") && utf8.ValidString(text) {
			plain := html.UnescapeString(strings.NewReplacer("\x01", "", "\x02", "").Replace(marked))
			if plain != text {
				t.Fatalf("highlighting changed the text: %q, %q", text, plain)
			}
		}
		snippet := analyzer.Snippet(text, terms, language, 40)
		if utf8.RuneCountInString(snippet) > 40 {
			t.Fatalf("snippet of %d runes", utf8.RuneCountInString(snippet))
		}
		if inner := strings.TrimSuffix(strings.TrimPrefix(snippet, "…"), "…"); !strings.Contains(text, inner) {
			t.Fatalf("snippet %q is no part of %q", snippet, text)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`how to "restore the backup" -incremental -"point in time" kv.range`, "“a b” „c d“ «e» 「数据库」 -−5 --dry-run -n -Dx=y", `-"`, `"" " -" "-a`,
		"-数据 猫 ﾊﾞｯｸ\u200b\u200e ที่นี่ \"装Helm客\"", "a\xff\"b\xc3\" -\xe2\x80", "C++ -C# v1.2.3 l'eau O'Neil’s \"GitHub Actions\"",
	} {
		f.Add(seed, "en", "")
		f.Add(seed, "", "und")
		f.Add(seed, "zh", "de")
	}
	analyzer := analysis.New()
	f.Fuzz(func(t *testing.T, text, language, other string) {
		q := analyzer.Parse(text, language, other)
		if len(q.Words) == 0 && len(analyzer.Words(text, language)) > 0 {
			t.Fatalf("query %q was emptied", text)
		}
		last := analysis.QueryWord{}
		quoted := false
		for _, w := range q.Words {
			if len(w.Terms) == 0 || w.Start < 0 || w.End <= w.Start || w.End > len(text) {
				t.Fatalf("word %+v of %q", w, text)
			}
			if w.Position < last.Position || w.Position > last.Position+len(text) {
				t.Fatalf("word %+v after %+v", w, last)
			}
			for i, term := range w.Terms {
				if term == "" || !utf8.ValidString(term) || slices.Contains(w.Terms[:i], term) {
					t.Fatalf("terms %q of %q", w.Terms, text)
				}
			}
			quoted = quoted || w.Quoted
			last = w
		}
		if len(q.Phrases) > 0 && !quoted {
			t.Fatalf("a phrase without a quoted word: %q", text)
		}
		if len(q.Words) > analysis.MaxQueryWords || len(q.Phrases) > analysis.MaxPhrases || len(q.Excluded) > analysis.MaxPhrases {
			t.Fatalf("%d words, %d phrases, %d exclusions", len(q.Words), len(q.Phrases), len(q.Excluded))
		}
		for _, phrase := range append(slices.Clone(q.Phrases), q.Excluded...) {
			if len(phrase) == 0 || len(phrase) > analysis.MaxPhraseWords {
				t.Fatalf("a phrase of %d places", len(phrase))
			}
			for _, place := range phrase {
				if len(place) == 0 || slices.Contains(place, "") {
					t.Fatalf("place %q of %q", place, text)
				}
			}
		}
		if !utf8.ValidString(q.Prefix) || q.Prefix != "" && len(q.Words) == 0 {
			t.Fatalf("prefix %q of %q", q.Prefix, text)
		}
		for _, phrase := range q.Phrases {
			if len(phrase) < analysis.MaxPhraseWords && !follows(analyzer.Tokens(text, language), phrase) {
				t.Fatalf("%q lacks its own phrase %q", text, phrase)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	analyzer := analysis.New()
	b.ReportAllocs()
	for b.Loop() {
		analyzer.Parse(`how do I restore "a full backup" of kv.rangefeed.enabled clusters -incremental`)
	}
}

func BenchmarkTokens(b *testing.B) {
	text := strings.Repeat("CockroachDB's BACKUP statement allows you to create full or incremental backups of your cluster's "+
		"schema and data that are consistent as of a given timestamp. Set kv.rangefeed.enabled to true and run `helm install`. ", 100)
	analyzer := analysis.New()
	var tokens []analysis.Token
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		tokens = analyzer.AppendTokens(tokens[:0], text, "en")
	}
}

func BenchmarkHighlight(b *testing.B) {
	text := strings.Repeat("BACKUP statement allows you to create full or incremental backups of your cluster. ", 12)
	analyzer := analysis.New()
	terms := analyzer.Terms("create incremental backup", "")
	b.ReportAllocs()
	for b.Loop() {
		analyzer.Highlight(text, terms, "en", "<mark>", "</mark>")
	}
}
