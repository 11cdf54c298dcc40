package eval_test

import (
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/eval"
	"github.com/magpie-search/magpie/internal/model/embed"
)

// twoArticles is a set of two articles in two languages, with one question about each.
func twoArticles() *eval.Set {
	english := map[string]any{"language": "en"}
	german := map[string]any{"language": "de"}
	return &eval.Set{
		Name: "two",
		Documents: []eval.Document{
			{ID: "e1", Title: "Harbours", Text: "The harbour of Kovalam has 40 boats. They leave before dawn. Nets are mended in the afternoon.", Metadata: english},
			{ID: "e2", Title: "Turbines", Text: "A steam turbine drives the generator. Charles Parsons built the first one. It turned 18000 times a minute.", Metadata: english},
			{ID: "d1", Title: "Harbours", Text: "Der Hafen von Kovalam hat viele Boote, es sind 40. Sie fahren vor der Dämmerung aus. Am Nachmittag werden Netze geflickt.", Metadata: german},
			{ID: "d2", Title: "Turbines", Text: "Eine Dampfturbine treibt den Generator an. Charles Parsons baute die erste. Sie drehte sich 18000 Mal in der Minute.", Metadata: german},
		},
		Questions: []eval.Question{
			{ID: "q1", Text: "How many boats does the harbour of Kovalam have?", Metadata: english, Answers: []string{"٤٠ boats"}},
			{ID: "q2", Text: "Who built the first steam turbine?", Metadata: english, Answers: []string{"CHARLES Parsons."}},
			{ID: "q3", Text: "Wie viele Boote hat der Hafen von Kovalam?", Metadata: german, Answers: []string{"400"}}, // not "40"
			{ID: "q4", Text: "Wer baute die erste Dampfturbine?", Metadata: german, Answers: []string{"Parsons"}},
		},
		Judged: map[string]map[string]int{"q1": {"e1": 1}, "q2": {"e2": 1}, "q3": {"d1": 1}, "q4": {"d2": 1}},
	}
}

func TestAnswersAreMeasuredByLanguage(t *testing.T) {
	t.Parallel()
	got, err := eval.MeasureAnswers(t.Context(), twoArticles(), analysis.New(), embed.NewBuiltin())
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Language != "de" || got[1].Language != "en" {
		t.Fatalf("languages: %+v", got)
	}
	for _, a := range got {
		if a.Questions != 2 || a.Unanswerable != 2 || a.Found != 1 || a.Kept != 1 || a.Silent != 1 || a.Sentences < 1 || a.Characters < 30 {
			t.Errorf("%+v", a)
		}
	}
	if de, en := got[0], got[1]; de.Right != 0.5 || de.Mixed != 0.5 || en.Right != 1 || en.Mixed != 1 {
		t.Errorf("right answers: %+v", got)
	}
}

func TestASetWithoutAnswersMeasuresNone(t *testing.T) {
	t.Parallel()
	set := twoArticles()
	for i := range set.Questions {
		set.Questions[i].Answers = nil
	}
	got, err := eval.MeasureAnswers(t.Context(), set, analysis.New(), embed.NewBuiltin())
	if err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// People who change the answerer see what it does to the shared sets.
func TestQualityOfAnswers(t *testing.T) {
	t.Parallel()
	set, err := eval.Load(ownSet)
	if err != nil {
		t.Fatal(err)
	}
	for i := range set.Questions {
		q := &set.Questions[i]
		q.Answers = nil
		for _, d := range set.Documents {
			if set.Judged[q.ID][d.ID] > 0 {
				q.Answers = append(q.Answers, firstWords(d.Text))
			}
		}
	}
	got, err := eval.MeasureAnswers(t.Context(), set, analysis.New(), embed.NewBuiltin())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range got {
		if a.Found == 0 {
			t.Errorf("no question in %q is answered: %+v", a.Language, a)
		}
	}
}

func firstWords(text string) string {
	words := strings.Fields(text)
	return strings.Join(words[:min(3, len(words))], " ")
}
