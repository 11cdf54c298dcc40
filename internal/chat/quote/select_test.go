package quote_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/chat/quote"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/search/rank"
)

func hit(title, language, text string, score float64) search.Hit {
	return search.Hit{Document: uuid.NewSHA1(uuid.Nil, []byte(title+language+text)), Title: title, Language: language, Text: text, Score: score}
}

// answer returns the quotes of an answer, joined.
func answer(q quote.Question, hits ...search.Hit) string {
	var texts []string
	for _, c := range quote.Select(analysis.New(), q, hits) {
		texts = append(texts, c.Text)
	}
	return strings.Join(texts, " | ")
}

// words returns the words of a question with the weights of a search in so many passages,
// of which each word occurs in some.
func words(passages int, frequency map[string]int) []rank.Word {
	var out []rank.Word
	for term, n := range frequency {
		weight := 10.0
		for weight > 0 && rank.DocumentFrequency(passages, weight) < float64(n) {
			weight -= 0.01
		}
		out = append(out, rank.Word{Terms: []string{term}, Weight: weight})
	}
	return out
}

func TestOneWordOfAQuestionIsNoAnswer(t *testing.T) {
	t.Parallel()
	human := hit("Economy", "en", "Rising levels of human capital raise incomes. Human capital is what people know.", 0.6)
	q := quote.Question{Text: "What is the capital of Mongolia?", Passages: 400, Words: words(400, map[string]int{"capit": 9, "mongolia": 0})}
	if got := answer(q, human); got != "" {
		t.Errorf("human capital is quoted: %q", got)
	}
	q.Words = words(400, map[string]int{"capit": 9, "mongolia": 3})
	if got := answer(q, human, hit("Asia", "en", "Mongolia lies between Russia and China. Its capital is Ulaanbaatar.", 0.5)); !strings.Contains(got, "Ulaanbaatar") || strings.Contains(got, "uman capital") {
		t.Errorf("the answer is %q", got)
	}
}

func TestTheContextOfASentenceCounts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		question string
		hit      search.Hit
		want     string
	}{
		"the sentence before names the subject": {"When was the lighthouse of Kovalam built?",
			hit("Coast", "en", "Kovalam has a lighthouse. It was built in 1972. Boats come in winter. Nets dry on the sand.", 0.8), "Kovalam has a lighthouse. | It was built in 1972."},
		"the title names the subject": {"What is the default port of Tidewater?",
			hit("Tidewater", "en", "Jobs wait in queues. The default port is 7070. Logs go to the standard output.", 0.8), "The default port is 7070."},
		"a compound": {"Welche Theorie behandelt Komplexität?",
			hit("Informatik", "de", "Die Komplexitätstheorie ordnet Probleme. Sie sind leicht oder schwer. Bücher gibt es viele. Das Fach ist alt.", 0.8), "Die Komplexitätstheorie ordnet Probleme."},
		"a number is asked for": {"How many boats does the harbour of Kovalam have?",
			hit("Harbour", "en", "The boats of the harbour of Kovalam are blue. The harbour of Kovalam has 40 boats.", 0.8), "40 boats"},
	} {
		if got := answer(quote.Question{Text: c.question}, c.hit); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q in it", name, got, c.want)
		}
	}
}

func TestTwinsInTheLanguageOfTheQuestionAreQuoted(t *testing.T) {
	t.Parallel()
	english := hit("Tesla", "en", "Nikola Tesla was born in Smiljan in 1856.", 0.9)
	german := hit("Tesla", "de", "Nikola Tesla wurde 1856 in Smiljan geboren.", 0.8)
	chinese := hit("Tesla", "zh", "尼古拉·特斯拉（Nikola Tesla）于1856年出生在斯米良（Smiljan）。", 0.7)
	for question, want := range map[string]string{
		"When was Nikola Tesla born in Smiljan?":      english.Text,
		"Wann wurde Nikola Tesla in Smiljan geboren?": german.Text,
		"Nikola Tesla Smiljan 1856":                   english.Text, // no language: the best
		"尼古拉·特斯拉（Nikola Tesla）是哪一年出生在斯米良（Smiljan）？":   chinese.Text,
	} {
		if got := answer(quote.Question{Text: question}, english, german, chinese); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", question, got, want)
		}
	}
	if got := answer(quote.Question{Text: "Wann wurde Nikola Tesla in Smiljan geboren?"}, english, german); strings.Contains(got, english.Text) {
		t.Errorf("both twins are quoted: %q", got)
	}
	if got := answer(quote.Question{Text: "Wann wurde Nikola Tesla in Smiljan geboren?"}, english); got != english.Text {
		t.Errorf("without a twin the other language answers, got %q", got)
	}
}

func TestOneVersionOfAPageIsQuoted(t *testing.T) {
	t.Parallel()
	of := func(version, limit string, updated time.Time) search.Hit {
		h := hit("Limits", "en", "A payload of a job may have "+limit+" mebibytes. Larger payloads are refused by the queue.", 0.8)
		h.Version, h.UpdatedAt = version, updated
		return h
	}
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	old, current := of("v1.9", "one", day), of("v1.10", "two", day)
	for question, want := range map[string]string{
		"How large may the payload of a job be?":            "two",
		"How large may the payload of a job be in v1.9?":    "one",
		"How large may the payload of a job be with v1.10?": "two",
	} {
		got := answer(quote.Question{Text: question}, old, current)
		if !strings.Contains(got, "have "+want) || strings.Count(got, "A payload") != 1 {
			t.Errorf("%s: %q, want only the version with %s", question, got, want)
		}
	}
	later := of("", "three", day.AddDate(0, 1, 0))
	if got := answer(quote.Question{Text: "How large may the payload of a job be?"}, of("", "one", day), later); !strings.Contains(got, "have three") || strings.Contains(got, "have one") {
		t.Errorf("the newest is not the only one: %q", got)
	}
}

func TestNothingIsQuotedOfNothing(t *testing.T) {
	t.Parallel()
	for _, q := range []string{"", "?", "What?", "12", "capital"} {
		if got := answer(quote.Question{Text: q}); got != "" {
			t.Errorf("%q: %q", q, got)
		}
		if got := answer(quote.Question{Text: q, Passages: 10}, hit("", "", "", 0.9), hit("T", "en", "# Only a heading", 0.5)); got != "" {
			t.Errorf("%q: %q", q, got)
		}
	}
}
