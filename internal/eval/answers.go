package eval

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/chat/quote"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// Answers is what the answerer without a model makes of the questions in one language.
type Answers struct {
	Language string // "" for documents without one
	// Questions have an answer in the set. Found is the share of them that is answered
	// from documents in their language, Right the share whose answer has the text of a
	// known answer. Mixed is Right with the documents of all languages.
	Questions           int
	Found, Right, Mixed float64
	// Silent is the share of the questions about one half of the articles that find nothing
	// in the other half, and Kept the share that is answered from their own half.
	Unanswerable int
	Silent, Kept float64
	// Sentences and Characters are the mean size of an answer.
	Sentences, Characters float64
}

// MeasureAnswers answers the questions of a set that have known answers.
func MeasureAnswers(ctx context.Context, set *Set, a *analysis.Analyzer, e embed.Embedder) ([]Answers, error) {
	byLanguage := make(map[string]*Set)
	place := make(map[string]string) // language by document
	for _, d := range set.Documents {
		language := metadataText(d.Metadata, "language")
		if byLanguage[language] == nil {
			byLanguage[language] = &Set{Name: set.Name, Judged: set.Judged}
		}
		byLanguage[language].Documents, place[d.ID] = append(byLanguage[language].Documents, d), language
	}
	for _, q := range set.Questions {
		for id, grade := range set.Judged[q.ID] {
			if grade > 0 && len(q.Answers) > 0 {
				s := byLanguage[place[id]]
				s.Questions = append(s.Questions, q)
				break
			}
		}
	}
	halves := splitByLanguage(set)
	whole, err := newAnswerer(ctx, set, a, e)
	if err != nil {
		return nil, err
	}
	var out []Answers
	for _, language := range slices.Sorted(maps.Keys(byLanguage)) {
		own := byLanguage[language]
		if len(own.Questions) == 0 {
			continue
		}
		r := Answers{Language: language, Questions: len(own.Questions)}
		if err := r.measure(ctx, own, whole, a, e); err != nil {
			return nil, err
		}
		if err := r.measureHalves(ctx, halves[halfKey{language, 0}], halves[halfKey{language, 1}], a, e); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// answerer answers questions from one set of documents.
type answerer struct {
	index    *Index
	analyzer *analysis.Analyzer
}

func newAnswerer(ctx context.Context, set *Set, a *analysis.Analyzer, e embed.Embedder) (*answerer, error) {
	x, err := NewIndex(a, e)
	if err != nil {
		return nil, err
	}
	for i := range set.Documents {
		if err := x.Add(ctx, set.Documents[i].ID, set.Documents[i].document()); err != nil {
			return nil, err
		}
	}
	return &answerer{x, a}, nil
}

// answer returns the quotes that answer a question.
func (n *answerer) answer(ctx context.Context, question string) ([]quote.Quote, error) {
	ranking, respelling, err := n.index.respellAndSearch(ctx, rank.Hybrid, question, "", quote.MinScore)
	if err != nil {
		return nil, fmt.Errorf("question %q: %w", question, err)
	}
	if respelling.Meant != "" {
		question = respelling.Meant
	}
	return quote.Select(n.analyzer, quote.Question{Text: question, Words: ranking.Words, Passages: ranking.Query.Passages}, n.index.Hits(ranking, quote.Passages)), nil
}

// measure answers the questions of a language from its documents and from all.
func (r *Answers) measure(ctx context.Context, own *Set, whole *answerer, a *analysis.Analyzer, e embed.Embedder) error {
	alone, err := newAnswerer(ctx, own, a, e)
	if err != nil {
		return err
	}
	var found, right, mixed, sentences, characters float64
	for i := range own.Questions {
		q := &own.Questions[i]
		quotes, err := alone.answer(ctx, q.Text)
		if err != nil {
			return err
		}
		if len(quotes) > 0 {
			found++
		}
		if hasAnswer(quotes, q.Answers) {
			right++
		}
		for _, part := range quotes {
			sentences++
			characters += float64(utf8.RuneCountInString(part.Text))
		}
		if quotes, err = whole.answer(ctx, q.Text); err != nil {
			return err
		}
		if hasAnswer(quotes, q.Answers) {
			mixed++
		}
	}
	n := float64(r.Questions)
	r.Found, r.Right, r.Mixed = found/n, right/n, mixed/n
	r.Sentences, r.Characters = sentences/max(found, 1), characters/max(found, 1)
	return nil
}

// measureHalves puts the questions of two halves to each.
func (r *Answers) measureHalves(ctx context.Context, first, second *Set, a *analysis.Analyzer, e embed.Embedder) error {
	if first == nil || second == nil {
		return nil
	}
	var silent, kept, answerable float64
	for _, half := range []*Set{first, second} {
		n, err := newAnswerer(ctx, half, a, e)
		if err != nil {
			return err
		}
		for _, asked := range []*Set{first, second} {
			for i := range asked.Questions {
				quotes, err := n.answer(ctx, asked.Questions[i].Text)
				if err != nil {
					return err
				}
				if asked == half {
					answerable++
					if len(quotes) > 0 {
						kept++
					}
					continue
				}
				r.Unanswerable++
				if len(quotes) == 0 {
					silent++
				}
			}
		}
	}
	r.Silent, r.Kept = silent/float64(max(r.Unanswerable, 1)), kept/max(answerable, 1)
	return nil
}

// hasAnswer reports whether one of the answers occurs in the quotes.
func hasAnswer(quotes []quote.Quote, answers []string) bool {
	var b strings.Builder
	for _, q := range quotes {
		b.WriteString(q.Text)
		b.WriteByte('\n')
	}
	text := normalizeAnswer(b.String())
	return slices.ContainsFunc(answers, func(answer string) bool { return containsAnswer(text, normalizeAnswer(answer)) })
}

// containsAnswer reports whether an answer occurs in a text. A number is no part of a
// longer one.
func containsAnswer(text, answer string) bool {
	for at := 0; answer != ""; {
		i := strings.Index(text[at:], answer)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(answer)
		isPart := from > 0 && isDigit(text[from]) && isDigit(text[from-1]) || to < len(text) && isDigit(text[to-1]) && isDigit(text[to])
		if !isPart {
			return true
		}
		at = to
	}
	return false
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// normalizeAnswer returns a text in lower case, with ASCII digits, and without
// punctuation, marks of pronunciation and space.
func normalizeAnswer(text string) string {
	var b strings.Builder
	for _, r := range norm.NFKC.String(strings.ToLower(text)) {
		switch {
		case unicode.IsDigit(r):
			b.WriteByte("0123456789"[digitValue(r)])
		case unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// digitValue returns the value of a decimal digit. Digits of a script are consecutive.
func digitValue(r rune) int {
	value := 0
	for value < 9 && unicode.IsDigit(r-1) {
		value++
		r--
	}
	return value
}
