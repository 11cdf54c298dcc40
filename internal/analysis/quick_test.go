package analysis_test

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/magpie-search/magpie/internal/analysis"
)

var everyLanguage = []string{
	"", "en", "fr", "de", "es", "sv", "no", "hu", "ru", "it", "pt", "nl", "pl", "tr", "uk", "zh", "ja", "ko", "th", "ar", "vi", "hi", "id", "fa", "he", "el", "cs", "ro",
	"da", "fi", "hr", "sr", "km",
}

// oddWords are words, and things beside words, of many scripts, whole and broken.
var oddWords = []string{
	"the", "Restores", "BACKUP", "kv.range_feed", "GitHub", "HTTPServer", "URLs", "C++", "C#", "v1.2.3", "V2", "10.0.0.1:80", "a::b", "x.", "-x", "__init__",
	"foo/bar", "me@host.example", "l'eau", "dell’acqua", "O'Neil's", "´", "’s", ".", "..", "_", "-", ":", "@", "/", "\"", "&", "<", ",", "\t", "\n", "\r", "\r\n",
	"dying", "skies", "early", "ied", "edibility", "organization", "publication", "animaux", "existencia", "partenza", "dichtheden", "maan", "gyümölcs", "asszal",
	"größe", "Straße", "über", "naïve", "œuvre", "école", "e\u0301t\u00e9", "ﬁle", "Ｈelm", "\u212aelvin", "\u0130stanbul", "ırmak", "Ægir", "ǆ", "ẞ", "re\u00adstore", "\u200b",
	"зависимости", "Кэш", "ё", "Ελλάδα", "ς", "الكتاب", "ك\u0640تاب", "שָׁלוֹם", "हिन्दी", "数据库", "备", "々", "ー", "がぎ", "か\u3099", "ﾊﾞｯｸ", "한국어", "ᄒ\u1161", "ที่นี่",
	"\u0301", "\u200d", "👨‍👩‍👧", "1️⃣", "🇩🇪", "—", "…", "“", "→", "≥", "\u202e", "\u2060", "\x00", "\xff", "\xe4\xb8", "\xc3", "\xf0\x90", "\xf0\aq",
}

// realTexts are the files of testdata.
func realTexts(tb testing.TB) []string {
	tb.Helper()
	var all []string
	err := filepath.WalkDir("../../testdata", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if len(content) > 0 {
			all = append(all, string(content[:min(len(content), 100_000)]))
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// mixer makes texts and questions about them.
type mixer struct {
	random *rand.Rand
	texts  []string
}

func (m *mixer) text() string {
	if m.random.IntN(2) == 0 {
		text := m.texts[m.random.IntN(len(m.texts))]
		from := m.random.IntN(len(text))
		return text[from:min(len(text), from+1+m.random.IntN(2000))]
	}
	return m.mixture(m.random.IntN(80))
}

func (m *mixer) mixture(n int) string {
	var b strings.Builder
	for range n {
		switch m.random.IntN(12) {
		case 0:
			b.WriteByte(byte(m.random.IntN(256)))
		case 1:
			b.WriteRune(rune(m.random.IntN([]int{0x250, 0x3100, 0x11000, 0x20000}[m.random.IntN(4)])))
		default:
			b.WriteString(oddWords[m.random.IntN(len(oddWords))])
		}
		if m.random.IntN(2) == 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// question is made of words of a text, or of others.
func (m *mixer) question(text string) string {
	words := strings.Fields(text)
	if len(words) == 0 || m.random.IntN(3) == 0 {
		return m.mixture(1 + m.random.IntN(5))
	}
	var b strings.Builder
	for range 1 + m.random.IntN(5) {
		b.WriteString(words[m.random.IntN(len(words))] + " ")
	}
	return b.String()
}

// tokensWith are the tokens that have one of the terms, without their positions.
func tokensWith(tokens []analysis.Token, terms []string) []analysis.Token {
	var found []analysis.Token
	for _, token := range tokens {
		if slices.Contains(terms, token.Term) {
			token.Position = 0
			found = append(found, token)
		}
	}
	return found
}

// checkQuick compares the quick ways through a text with the plain ones.
func checkQuick(t *testing.T, a *analysis.Analyzer, text, language, question string, room int) {
	t.Helper()
	tokens := a.Tokens(text, language)
	if plain := a.PlainTokens(text, language); !slices.Equal(tokens, plain) {
		t.Fatalf("tokens of %q in %q:\n%v\n%v", text, language, tokens, plain)
	}
	for _, languages := range [][]string{nil, {"en", language}} {
		q := a.Parse(question, languages...)
		terms := q.Marks().Terms
		want := tokensWith(tokens, terms)
		if got := a.Found(text, terms, language); !slices.Equal(got, want) {
			t.Fatalf("%q in %q has of %q\n%v, found\n%v", text, language, terms, want, got)
		}
		start, runes := analysis.BestWindow(text, want, room)
		if wantStart, wantRunes := plainWindow(text, want, room); start != wantStart || runes != wantRunes {
			t.Fatalf("best %d runes of %q with %q: %d runes at %d, want %d at %d", room, text, terms, runes, start, wantRunes, wantStart)
		}
	}
	for i, token := range tokens {
		if quick, plain := analysis.Widened(text, tokens[i:i+1]); quick[0] != plain[0] {
			t.Fatalf("%v of %q has its borders at %d, found %d", token, text, plain[0], quick[0])
		}
		if i == 50 {
			break
		}
	}
	if got, want := analysis.CountRunes(text), utf8.RuneCountInString(text); got != want {
		t.Fatalf("%d runes counted in %q, there are %d", got, text, want)
	}
}

// plainWindow tries every window that begins at a token.
func plainWindow(text string, tokens []analysis.Token, room int) (start, runes int) {
	bestTerms, bestCount := 0, 0
	index := func(at int) int { return utf8.RuneCountInString(text[:at]) }
	from := 0
	for to, last := range tokens {
		for from < to && index(last.End)-index(tokens[from].Start) > room {
			from++
		}
		terms := map[string]bool{}
		for _, token := range tokens[from : to+1] {
			terms[token.Term] = true
		}
		if count := to + 1 - from; len(terms) > bestTerms || len(terms) == bestTerms && count > bestCount {
			bestTerms, bestCount = len(terms), count
			start = tokens[from].Start
			runes = min(index(max(last.End, tokens[from].End))-index(start), room)
		}
	}
	return start, runes
}

func TestQuickWaysFindTheSame(t *testing.T) {
	t.Parallel()
	m := mixer{rand.New(rand.NewPCG(8, 4)), realTexts(t)}
	a := analysis.New()
	for range 1500 {
		text := m.text()
		checkQuick(t, a, text, everyLanguage[m.random.IntN(len(everyLanguage))], m.question(text), 1+m.random.IntN(300))
	}
}

func FuzzQuickWays(f *testing.F) {
	for _, seed := range oddWords {
		f.Add(seed+" "+seed+"s "+seed, "", seed, 20)
	}
	f.Add("Restoring kv.rangefeed.enabled in v1.2.3 of C++", "en", "range feed enable restores c++", 30)
	f.Add("Die Größe der Übersicht, größer als die Grösse", "de", "Größen übersichten", 12)
	a := analysis.New()
	f.Fuzz(func(t *testing.T, text, language, question string, room int) {
		checkQuick(t, a, text, language, question, max(room, 1))
	})
}

func TestCountWordsCountsThoseOfWords(t *testing.T) {
	t.Parallel()
	m := &mixer{random: rand.New(rand.NewPCG(7, 7)), texts: realTexts(t)}
	analyzer := analysis.New()
	check := func(text, language string) {
		t.Helper()
		want, wantStops := 0, 0
		for _, word := range analyzer.Words(text, language) {
			want++
			if word.Stop {
				wantStops++
			}
		}
		if words, stops := analyzer.CountWords(text, language); words != want || stops != wantStops {
			t.Errorf("%q in %q has %d words and %d stop words, want %d and %d", text, language, words, stops, want, wantStops)
		}
	}
	for _, language := range everyLanguage {
		check("", language)
		check("the", language)
		for _, word := range oddWords {
			check(word, language)
		}
		for range 100 {
			check(m.text(), language)
		}
	}
}

func TestStemsBeginLikeTheirWords(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(11, 2))
	const letters = "abcdefghijklmnopqrstuvwxyzaeiouyge"
	suffixes := append(analysis.Suffixes(), strings.Fields("s es ies ied ed eed ing ly al ational tional ation ator ization izer ability biliti "+
		"anci enci abli alli entli eli ousli iviti ful ness ive icate ement ment ion y le able ible us ss eux euse aux eaux amment emment "+
		"ication atrice logie ution ence ifs ive ier iere encia uciones amientos mente idades al el ssz ccs ssel sszal nnyal ban nak kor ert erte")...)
	check := func(word string) {
		for _, language := range everyLanguage {
			stem, start := analysis.Start(word, language)
			most := len(start)
			if ascii := strings.IndexFunc(word, func(r rune) bool { return r >= utf8.RuneSelf }); ascii >= 0 {
				most = min(most, max(ascii-1, 0), 2) // excerpts rely on no more
			}
			if start == "" && language != "id" || !strings.HasPrefix(word, start[:most]) {
				t.Fatalf("%s in %q: its stem %s was to begin with %s", word, language, stem, start)
			}
		}
	}
	for range 10_000 {
		word := make([]byte, 1+random.IntN(6))
		for i := range word {
			word[i] = letters[random.IntN(len(letters))]
		}
		check(string(word))
		check(string(word) + suffixes[random.IntN(len(suffixes))])
		check(string(word) + suffixes[random.IntN(len(suffixes))] + suffixes[random.IntN(len(suffixes))])
	}
	for _, word := range strings.Fields("dying lying tying skies skis news ueber gegangen ibland yeux ge gedaan oeil aient eing ions uing aux edibility sszal") {
		check(word)
	}
}

func TestRunesThatStandAloneAreCharacters(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 9))
	var alone []rune
	for r := range rune(utf8.MaxRune) {
		if analysis.StandsAlone(r) {
			alone = append(alone, r)
		}
	}
	for _, r := range alone {
		text := string([]rune{'a', r, alone[random.IntN(len(alone))], 'b'})
		if strings.Contains(text, "\r\n") {
			continue
		}
		count := 0
		for clusters := graphemes.FromString(text); clusters.Next(); count++ {
		}
		if count != 4 {
			t.Fatalf("%q has %d characters", text, count)
		}
	}
}

func TestCommonPairsAreTheirOwnTerms(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(2, 6))
	var common []rune
	for r := range rune(utf8.MaxRune) {
		if analysis.IsCommonPair(r) {
			common = append(common, r)
		}
	}
	a := analysis.New()
	for _, r := range common {
		text := string([]rune{r, common[random.IntN(len(common))]})
		if got, want := a.Tokens(text, "zh"), a.PlainTokens(text, "zh"); !slices.Equal(got, want) {
			t.Fatalf("%q has the terms %v, want %v", text, got, want)
		}
	}
}
