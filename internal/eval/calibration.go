package eval

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// A Calibration compares the scores of documents with how many of these documents are
// relevant, by tenths of the score: a reliability table.
type Calibration struct {
	Bins [10]CalibrationBin // scores from 0 to 0.1, to 0.2, ...
}

// A CalibrationBin is what was found with scores in one tenth.
type CalibrationBin struct {
	Documents int
	Relevant  int
	Scores    float64 // their sum
}

// calibrationDepth is the number of first documents of each question that are counted:
// those that people look at.
const calibrationDepth = 5

func (c *Calibration) add(score float64, relevant bool) {
	b := &c.Bins[min(int(score*10), len(c.Bins)-1)]
	b.Documents++
	b.Scores += score
	if relevant {
		b.Relevant++
	}
}

// Error returns the expected calibration error (Naeini et al. 2015): the mean distance
// between the score and the share of relevant documents, weighted by documents.
func (c *Calibration) Error() float64 {
	sum, n := 0.0, 0
	for _, b := range c.Bins {
		sum += math.Abs(b.Scores - float64(b.Relevant))
		n += b.Documents
	}
	return sum / float64(max(n, 1))
}

// Halves is the outcome of the halves test in one language: the articles are divided into
// two halves, and the questions about both are put to each. Half of the questions have no
// answer then, in documents of the same kind and language.
type Halves struct {
	Language string
	// Kept is the share of answerable questions that keep a relevant document at
	// HalvesMinScore, of those with one among the first Depth documents. Silent is the share
	// of unanswerable questions without a result.
	Kept, Silent             float64
	Answerable, Unanswerable int
	Calibration              Calibration // of the answerable questions
}

// HalvesMinScore is the minimum score of the halves test: what clients use by default.
const HalvesMinScore = 0.5

// MeasureHalves runs the halves test in each language of a set. Documents with one title are
// one article. It returns nothing for a set whose documents have no language.
func MeasureHalves(ctx context.Context, set *Set, a *analysis.Analyzer, e embed.Embedder) ([]Halves, error) {
	halves := splitByLanguage(set)
	results := make(map[string]*Halves)
	var order []string
	for _, key := range slices.SortedFunc(maps.Keys(halves), func(x, y halfKey) int {
		return cmp.Or(cmp.Compare(x.language, y.language), cmp.Compare(x.half, y.half))
	}) {
		half, other := halves[key], halves[halfKey{key.language, 1 - key.half}]
		if other == nil {
			continue
		}
		h := results[key.language]
		if h == nil {
			h = &Halves{Language: key.language}
			results[key.language], order = h, append(order, key.language)
		}
		v, err := NewEvaluator(ctx, half, a, e)
		if err != nil {
			return nil, err
		}
		if err := v.halves(ctx, h, other); err != nil {
			return nil, err
		}
	}
	out := make([]Halves, len(order))
	for i, language := range order {
		out[i] = *results[language]
		out[i].Kept /= float64(max(out[i].Answerable, 1))
		out[i].Silent /= float64(max(out[i].Unanswerable, 1))
	}
	return out, nil
}

// halves adds the outcome of the evaluator's questions and those of the other half.
func (v *Evaluator) halves(ctx context.Context, h *Halves, other *Set) error {
	for i := range v.set.Questions {
		q := &v.set.Questions[i]
		best, _, err := v.bestScores(ctx, q, v.set.Judged[q.ID], &h.Calibration)
		if err != nil {
			return err
		}
		if best < 0 {
			continue
		}
		h.Answerable++
		if best >= HalvesMinScore {
			h.Kept++
		}
	}
	for i := range other.Questions {
		_, best, err := v.bestScores(ctx, &other.Questions[i], nil, nil)
		if err != nil {
			return err
		}
		h.Unanswerable++
		if best < HalvesMinScore {
			h.Silent++
		}
	}
	return nil
}

// bestScores returns the best score of a relevant document among the first Depth documents,
// -1 if there is none, and the best score of any. The first documents are added to the
// calibration unless it is nil.
func (v *Evaluator) bestScores(ctx context.Context, q *Question, grades map[string]int, c *Calibration) (relevant, best float64, err error) {
	ranking, err := v.Search(ctx, rank.Hybrid, q, 0)
	if err != nil {
		return 0, 0, fmt.Errorf("question %s: %w", q.ID, err)
	}
	if len(ranking.Results) > 0 {
		best = ranking.Results[0].Score
	}
	relevant = -1
	for i, d := range v.documents(ranking) {
		isRelevant := grades[d.Document] > 0
		if c != nil && i < calibrationDepth {
			c.add(d.Score, isRelevant)
		}
		if isRelevant {
			relevant = max(relevant, d.Score)
		}
	}
	return relevant, best, nil
}

// halfKey names one half of the articles in a language.
type halfKey struct {
	language string
	half     int
}

func splitByLanguage(set *Set) map[halfKey]*Set {
	halves := make(map[halfKey]*Set)
	articles := make(map[string]int) // by title, numbered in the order of their first documents
	place := make(map[string]halfKey)
	for _, d := range set.Documents {
		language := metadataText(d.Metadata, "language")
		if language == "" {
			return nil
		}
		if _, ok := articles[d.Title]; !ok {
			articles[d.Title] = len(articles)
		}
		key := halfKey{language, articles[d.Title] % 2}
		place[d.ID] = key
		if halves[key] == nil {
			halves[key] = &Set{Name: set.Name, Judged: make(map[string]map[string]int)}
		}
		halves[key].Documents = append(halves[key].Documents, d)
	}
	for _, q := range set.Questions {
		for id, grade := range set.Judged[q.ID] {
			if h := halves[place[id]]; grade > 0 && h != nil && h.Judged[q.ID] == nil {
				h.Questions = append(h.Questions, q)
				h.Judged[q.ID] = set.Judged[q.ID]
			}
		}
	}
	return halves
}
