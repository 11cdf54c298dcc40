package analysis_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/analysis"
)

// surfaces lists the words of a query; those of phrases stand in quotes.
func surfaces(q *analysis.Query) string {
	var out []string
	for _, w := range q.Words {
		if w.Quoted {
			out = append(out, `"`+w.Surface+`"`)
		} else {
			out = append(out, w.Surface)
		}
	}
	return strings.Join(out, " ")
}

// firsts lists phrases by the likeliest term of each place.
func firsts(phrases []analysis.Phrase) string {
	var out []string
	for _, phrase := range phrases {
		var places []string
		for _, place := range phrase {
			places = append(places, place[0])
		}
		out = append(out, strings.Join(places, " "))
	}
	return strings.Join(out, "|")
}

func TestParseReadsPhrasesAndExclusions(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ text, words, phrases, excluded, prefix string }{
		"plain words":                    {"restore Backups", "restore backups", "", "", "backups"},
		"phrase":                         {`how to "restore the backup" now `, `how to "restore" "the" "backup" now`, "restor the backup", "", ""},
		"two phrases":                    {`"a b" "c d"`, `"a" "b" "c" "d"`, "a b|c d", "", ""},
		"typographic quotes":             {"“hot backup” „kalte Sicherung“ «à froid» »so auch« ”och så” „po polsku”", `"hot" "backup" "kalte" "sicherung" "a" "froid" "so" "auch" "och" "sa" "po" "polsku"`, "hot backup|kalt sicherung|a froid|so auch|och sa|po polsku", "", ""},
		"quotes of East Asia":            {"「数据库备份」 『版本』", `"数据" "据库" "库备" "备份" "版本"`, "数据 据库 库备 备份|版本", "", ""},
		"quotes between characters":      {"关于\"备份策略\"文档", `关于 "备份" "份策" "策略" 文档`, "备份 份策 策略", "", "文档"},
		"full-width quotes":              {"＂hot backup＂", `"hot" "backup"`, "hot backup", "", ""},
		"phrase of one word":             {`"backups" cold`, `"backups" cold`, "backup", "", "cold"},
		"empty phrase":                   {`"" backup "  "`, `backup`, "", "", ""},
		"phrase of marks":                {`"?!" backup`, `backup`, "", "", "backup"},
		"quote without partner":          {`"hot backup`, `hot backup`, "", "", "backup"},
		"third quote without partner":    {`"hot backup" "cold`, `"hot" "backup" cold`, "hot backup", "", "cold"},
		"inches":                         {`24" screen and 27" screen`, `24 screen and 27 screen`, "", "", "screen"},
		"attribute":                      {`name="big value"`, `name "big" "value"`, "big valu", "", ""},
		"quotes of a word":               {`l'"eau`, `l eau`, "", "", "eau"},
		"exclusion":                      {"backup -incremental", "backup", "", "increment", ""},
		"exclusion first":                {"-incremental backup", "backup", "", "increment", "backup"},
		"exclusion of a phrase":          {`backup -"point in time"`, "backup", "", "point in time", ""},
		"exclusion with other minuses":   {"backup −cold －hot", "backup", "", "cold|hot", ""},
		"exclusion of typographic":       {"backup -„point in time“", "backup", "", "point in time", ""},
		"exclusion after a new line":     {"backup\n-cold\t-hot\u3000-warm", "backup", "", "cold|hot|warm", ""},
		"exclusion of a compound":        {"backup -kv.rangefeed", "backup", "", "kv rangefe", ""},
		"exclusion of a version":         {"helm -v1.2.3", "helm", "", "1 2 3", ""},
		"exclusion of an address":        {"ping -10.0.0.1", "ping", "", "10 0 0 1", ""},
		"exclusion of a word with signs": {"compiler -C++", "compiler", "", "c++", ""},
		"exclusion of characters":        {"备份 -数据库", "备份", "", "数据 据库", ""},
		"exclusion up to a comma":        {"backup -cold,hot", "backup hot", "", "cold", "hot"},
		"hyphens in words":               {"point-in-time", "point-in-time point in time", "", "", "point-in-time"},
		"minus with space":               {"backup - restore", "backup restore", "", "", "restore"},
		"minus at the end":               {"backup -", "backup", "", "", ""},
		"minus after a letter":           {"backup- restore", "backup restore", "", "", "restore"},
		"minus in brackets":              {"backup (-cold)", "backup cold", "", "", ""},
		"long flag":                      {"helm --dry-run", "helm dry-run dry run", "", "", "dry-run"},
		"short flag":                     {"kubectl -n default", "kubectl n default", "", "", "default"},
		"flag with value":                {"java -Dfile.encoding=UTF-8 x", "java dfile.encoding dfile encoding utf-8 utf 8 x", "", "", "x"},
		"negative number":                {"exit code -1", "exit code 1", "", "", "1"},
		"negative fraction":              {"offset −0.5 s", "offset 0.5 0 5 s", "", "", "s"},
		"negative number with unit":      {"rail at -48V and -3.5dB", "rail at 48v 48 and 3.5db 3 5db 5d", "", "", "3.5db"},
		"a name with digits":             {"login -sha256 -2factor -10.0.0.1 -2024-01-01", "login", "", "sha256|2factor|10 0 0 1|2024 01 01", ""},
		"excluded number":                {`errors -"404"`, "errors", "", "404", ""},
		"unclosed exclusion":             {`backup -"point in`, "backup point in", "", "", "in"},
		"only exclusions":                {`-cold -"hot backup"`, "cold hot backup", "", "", ""},
		"exclusions and marks":           {`-cold ???`, "cold", "", "", ""},
		"nothing":                        {` "" - -- -"" «» `, "", "", "", ""},
		"compound in a phrase":           {`"set kv.rangefeed.enabled to"`, `"set" "kv.rangefeed.enabled" "kv" "rangefeed" "enabled" "to"`, "set kv rangefe enabl to", "", ""},
		"camel case in a phrase":         {`"GitHub Actions"`, `"github" "git" "hub" "actions"`, "github action", "", ""},
		"word with sign in a phrase":     {`"modern C++ book"`, `"modern" "c" "c++" "book"`, "modern c++ book", "", ""},
		"lone character in a phrase":     {`"装Helm客户" "猫"`, `"装" "helm" "客户" "猫"`, "helm 客户", "", ""},
		"prefix of a compound":           {"set kv.range", "set kv.range kv range", "", "", "kv.range"},
		"prefix after an apostrophe":     {"l'install", "install", "", "", "install"},
		"no prefix after a mark":         {"backup?", "backup", "", "", ""},
		"prefix with diacritics":         {"Müll", "mull", "", "", "mull"},
		"prefix of characters":           {"数据库", "数据 据库", "", "", "据库"},
		"prefix of a lone character":     {"猫", "猫", "", "", "猫"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := analysis.New().Parse(c.text, "en")
			for _, part := range []struct{ what, got, want string }{
				{"words", surfaces(&q), c.words}, {"phrases", firsts(q.Phrases), c.phrases},
				{"excluded", firsts(q.Excluded), c.excluded}, {"prefix", q.Prefix, c.prefix},
			} {
				if part.got != part.want {
					t.Errorf("%s of %q: got %q, want %q", part.what, c.text, part.got, part.want)
				}
			}
		})
	}
}

func TestParseTellsOfWordsWhatTheyAre(t *testing.T) {
	t.Parallel()
	q := analysis.New().Parse(`how is kv.rangefeed set in "GitHub docs" since v1.2, open-source 猫 C++ -cold and/or`, "en")
	var got []string
	for _, w := range q.Words {
		marks := ""
		for _, m := range []struct {
			mark string
			on   bool
		}{{"stop", w.Stop}, {"exact", w.Exact}, {"part", w.Part}, {"lone", w.Lone}, {"quoted", w.Quoted}} {
			if m.on {
				marks += " " + m.mark
			}
		}
		got = append(got, fmt.Sprintf("%d %s%s", w.Position, w.Surface, marks))
	}
	want := []string{
		"0 how stop", "1 is stop", "2 kv.rangefeed exact", "2 kv part", "3 rangefeed part", "4 set", "5 in stop",
		"6 github quoted", "6 git part quoted", "6 hub part quoted", "7 docs quoted", "8 since", "9 v1.2 exact", "9 1.2 exact part",
		"9 1 exact part", "10 2 exact part", "11 open-source", "11 open part", "12 source part", "13 猫 lone", "14 c", "14 c++",
		"15 and/or", "15 and stop part", "16 or stop part",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// follows tells whether a phrase stands in a text.
func follows(tokens []analysis.Token, phrase analysis.Phrase) bool {
	at := make(map[int][]string)
	last := 0
	for _, token := range tokens {
		at[token.Position] = append(at[token.Position], token.Term)
		last = max(last, token.Position)
	}
	for start := 0; start+len(phrase) <= last+1; start++ {
		all := true
		for i, place := range phrase {
			all = all && slices.ContainsFunc(at[start+i], func(term string) bool { return slices.Contains(place, term) })
		}
		if all {
			return true
		}
	}
	return false
}

func TestEveryStretchOfATextMatchesAsAPhrase(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"en": "The state-of-the-art GitHub API's HTTPServer listens on 10.0.0.1:8080 since v1.2.3, see /etc/app/server.conf or https://example.org/a_b?q=1. " +
			"Set `kv.rangefeed.enabled` to TRUE -- don't use C++ or C# (nor F#) with --dry-run and __init__.py; O'Neil's e-mail is ada@example.org…",
		"de": "Die Abhängigkeiten der Häuser, z. B. Straßen-Beläge, können im Verzeichnis /var/log/größe.log nicht wieder\u00ADhergestellt werden. l'eau",
		"fr": "L’installation d'un résumé n'est pas aujourd'hui l'œuvre de M. Müller; qu’en dit-on à Saint-Étienne ?",
		"ru": "Резервные копии ёмкости нельзя восстановить из-за п'ять зависимостей Helm-чарта",
		"it": "Gli aggiornamenti dell'applicazione re\u0301sume\u0301 e l’installazione dei pacchetti",
		"zh": "请先 安装Helm客户端v3 然后备份 数据库 型号A型B 。 一 二三 四",
		"ja": "チャートを 使う ﾊﾞｯｸ アップ は、 データベース です",
		"ko": "데이터베이스를 백업하는 방법 은 다음 과 같습니다",
		"th": "การสำรอง ข้อมูล ที่นี่ ทำได้ ง่าย 123",
		"hi": "हिन्दी में डेटाबेस का बैकअप कैसे लें",
		"ar": "كِتَاب النسخ الاحتياطي لقاعدة البيانات",
		"tr": "İstanbul'da ISPARTA ışık yedekleme",
		"":   "Mixed Sprache und café установка of 東京 Tower™ ﬁle naïve",
	}
	analyzer := analysis.New()
	for language, text := range texts {
		tokens := analyzer.Tokens(text, language)
		words := strings.Fields(text)
		for from := range words {
			for to := from + 1; to <= len(words); to++ {
				stretch := strings.Join(words[from:to], " ")
				for _, asked := range []string{language, ""} {
					q := analyzer.Parse("『"+stretch+"』", asked)
					if len(q.Phrases) == 0 && len(q.Words) > 1 && stretch != "使う" { // its characters may be parts of longer runs
						t.Errorf("%q in %q gives no phrase", stretch, asked)
					}
					for _, phrase := range q.Phrases {
						if !follows(tokens, phrase) {
							t.Errorf("the text in %q lacks its own %q, asked in %q: %q", language, stretch, asked, phrase)
						}
					}
				}
			}
		}
	}
}

func TestPhrasesAreNotMatchedByOtherOrders(t *testing.T) {
	t.Parallel()
	analyzer := analysis.New()
	cases := []struct {
		text, phrase string
		want         bool
	}{
		{"the backup of the database", `"backup of the database"`, true},
		{"the backup of a database", `"backup of the database"`, false},
		{"the database backup", `"backup database"`, false},
		{"GitHub Actions", `"github actions"`, true},
		{"Github actions", `"GitHub Actions"`, true},
		{"the JavaScript book", `"javascript book"`, true},
		{"an open-source tool", `"open source tool"`, true},
		{"an open source tool", `"open-source tool"`, true},
		{"kv.rangefeed.enabled", `"kv.rangefeed"`, true},
		{"kv.other.rangefeed", `"kv.rangefeed"`, false},
		{"v1.2.3", `"1.2"`, true},
		{"v1.3.2", `"1.2"`, false},
		{"数据库备份", `"数据库"`, true},
		{"数据和据库", `"数据库"`, false},
	}
	for _, c := range cases {
		q := analyzer.Parse(c.phrase, "en")
		if len(q.Phrases) != 1 || follows(analyzer.Tokens(c.text, "en"), q.Phrases[0]) != c.want {
			t.Errorf("%s in %q: want %v, phrases %q", c.phrase, c.text, c.want, q.Phrases)
		}
	}
}

func TestLongQueriesStayBounded(t *testing.T) {
	t.Parallel()
	const size = 100 << 10
	for _, unit := range []string{
		"word ", `"a b" `, "-cold ", "“", "„", "„a“ ", "»", `"`, `-"`, "- ", "数", "a.b.", "”", "aB", "x-", "\u200b", "\u0301", "-„", "« ",
		"a \"", "„ x “ ", "『", `'`, "::", "__",
	} {
		text := strings.Repeat(unit, size/len(unit)) + "”"
		started := time.Now()
		q := analysis.New().Parse(text, "")
		// Far above what it takes: what is quadratic takes minutes.
		if took := time.Since(started); took > 20*time.Second {
			t.Errorf("%q took %s", unit, took)
		}
		if len(q.Words) > analysis.MaxQueryWords || len(q.Phrases) > analysis.MaxPhrases || len(q.Excluded) > analysis.MaxPhrases {
			t.Errorf("%q: %d words, %d phrases, %d excluded", unit, len(q.Words), len(q.Phrases), len(q.Excluded))
		}
		for _, phrase := range append(q.Phrases, q.Excluded...) {
			if len(phrase) > analysis.MaxPhraseWords {
				t.Errorf("%q: a phrase of %d places", unit, len(phrase))
			}
		}
	}
}

// What is remembered of the words of queries is what is found out anew.
func TestWordsThatAreKnownMeanTheSame(t *testing.T) {
	t.Parallel()
	known, fresh := analysis.New(), new(analysis.Analyzer)
	for range 3 {
		for _, text := range []string{
			"Running runners ran", "running RUNNERS", "Häuser häuser HÄUSER", "Сервер серверы", `"backup servers" -restores`,
			"open-source v1.2.3 getUserName", "数据库 backup", strings.Repeat("long", 40) + " words",
		} {
			for _, language := range []string{"", "en", "de"} {
				if want, got := fresh.Parse(text, language), known.Parse(text, language); !reflect.DeepEqual(got, want) {
					t.Errorf("%q in %q: %+v, want %+v", text, language, got, want)
				}
			}
		}
	}
}
