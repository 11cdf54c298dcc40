package analysis_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/analysis"
)

func TestHighlightMarksInflectionsAndEscapes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ text, query, language, want string }{
		"inflection":       {"Backups of a <db> & more: backup.", "backup", "en", "<mark>Backups</mark> of a &lt;db&gt; &amp; more: <mark>backup</mark>."},
		"unknown language": {"Die Abhängigkeiten laden", "abhängigkeit", "de", "Die <mark>Abhängigkeiten</mark> laden"},
		"part of compound": {"set kv.rangefeed.enabled now", "rangefeed", "en", "set kv.<mark>rangefeed</mark>.enabled now"},
		"whole compound":   {"set kv.rangefeed.enabled now", "kv.rangefeed.enabled", "en", "set <mark>kv.rangefeed.enabled</mark> now"},
		"Chinese":          {"备份数据库表", "数据库", "zh", "备份<mark>数据库</mark>表"},
		"combining mark":   {"re\u0301sume\u0301!", "resume", "it", "<mark>re\u0301sume\u0301</mark>!"},
		"escape beside":    {`"backup"'s`, "backup", "en", `&#34;<mark>backup</mark>&#34;&#39;s`},
		"no match":         {"a < b", "zebra", "en", "a &lt; b"},
		"broken encoding":  {"a\xffb", "b", "en", "a\uFFFD<mark>b</mark>"},
		"empty":            {"", "x", "en", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			terms := analysis.New().Terms(c.query, "")
			if got := analysis.Highlight(c.text, terms, c.language, "<mark>", "</mark>"); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestTermsLeaveOutStopWordsButNeverEverything(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		query, language, holds, lacks string
	}{
		"English question":       {"how do I restore a backup", "", "restor", "how"},
		"German question":        {"wie installiere ich die Anwendung", "", "installi", "die"},
		"German word in English": {"die casting process", "", "die", "zzz"},
		"only stop words":        {"to be or to do", "", "be", "zzz"},
		"known language":         {"was ist ein Chart", "de", "chart", "was"},
		"French stems":           {"installations", "", "install", "zzz"},
		"surface form":           {"installazione", "", "installazione", "zzz"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			terms := " " + strings.Join(analysis.New().Terms(c.query, c.language), " ") + " "
			if !strings.Contains(terms, " "+c.holds+" ") {
				t.Errorf("terms of %q:%s lack %q", c.query, terms, c.holds)
			}
			if strings.Contains(terms, " "+c.lacks+" ") {
				t.Errorf("terms of %q:%s hold %q", c.query, terms, c.lacks)
			}
		})
	}
}

func TestQueriesOfUnknownLanguageMatchDocumentsOfEachLanguage(t *testing.T) {
	t.Parallel()
	analyzer := analysis.New()
	words := map[string][]string{
		"en": {"restoring", "dependencies", "databases"}, "de": {"abhängigkeiten", "häuser", "wiederherstellung"},
		"fr": {"dépendances", "sauvegardées"}, "es": {"instalaciones", "dependencias"}, "sv": {"säkerhetskopior"},
		"no": {"sikkerhetskopier"}, "hu": {"adatbázisok"}, "ru": {"зависимости"}, "it": {"dipendenze"}, "ja": {"チャート"},
		"": {"restoring", "abhängigkeiten"},
	}
	for language, list := range words {
		for _, word := range list {
			terms := analyzer.Terms(word, "")
			if highlighted := analysis.Highlight(word, terms, language, "[", "]"); highlighted != "["+word+"]" {
				t.Errorf("%q in a document in %q: query terms %q do not match all of it: %s", word, language, terms, highlighted)
			}
		}
	}
}

func TestSnippetShowsTheBestWindow(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("Nothing of interest stands here. ", 20)
	text := filler + "A backup is made. " + filler + "Restore the backup of the database with care. " + filler
	terms := analysis.New().Terms("restore database backup", "")
	snippet := analysis.Snippet(text, terms, "en", 120)
	if !strings.Contains(snippet, "Restore the backup of the database") {
		t.Errorf("snippet misses the best window: %q", snippet)
	}
	if !strings.HasPrefix(snippet, "Restore the") || !strings.HasSuffix(snippet, "stands here.") || utf8.RuneCountInString(snippet) > 120 {
		t.Errorf("snippet is not cut as it should be: %q", snippet)
	}
	if inner := strings.Trim(snippet, "…"); !strings.Contains(text, inner) || strings.TrimSpace(inner) != inner {
		t.Errorf("snippet is no clean window of the text: %q", snippet)
	}
	if got := analysis.Snippet("short", terms, "en", 120); got != "short" {
		t.Errorf("a short text was changed: %q", got)
	}
	if got := analysis.Snippet(filler, terms, "en", 50); got != "Nothing of interest stands here." {
		t.Errorf("without a match the start is shown: %q", got)
	}
	long := strings.Repeat("x", 500)
	if got := analysis.Snippet(long, []string{long}, "en", 50); utf8.RuneCountInString(got) > 50 {
		t.Errorf("a long word was not cut: %d runes", utf8.RuneCountInString(got))
	}
}
