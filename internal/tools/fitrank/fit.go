package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/eval"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// A rankedQuestion is a question with its ranking.
type rankedQuestion struct {
	kind       kind
	answerable bool
	query      rank.QueryEvidence
	passages   []rankedPassage
}

type rankedPassage struct {
	relevant bool
	evidence rank.Evidence
}

// depth is the number of passages of a ranking that the order is fitted on.
const depth = 100

func rankQuestions(ctx context.Context, x *eval.Index, k kind, questions []question, answerable bool) ([]rankedQuestion, error) {
	var out []rankedQuestion
	for _, q := range questions {
		ranking, err := x.Search(ctx, rank.Hybrid, q.text, "", 0)
		if err != nil {
			return nil, err
		}
		ranked := rankedQuestion{kind: k, answerable: answerable, query: ranking.Query}
		for i := range ranking.Results[:min(len(ranking.Results), depth)] {
			ranked.passages = append(ranked.passages, rankedPassage{
				relevant: answerable && x.Document(&ranking.Results[i]) == q.document,
				evidence: ranking.Results[i].Evidence,
			})
		}
		if len(ranked.passages) > 0 {
			out = append(out, ranked)
		}
	}
	return out, nil
}

// keyTerms returns the terms of the key that passages are ordered by.
func keyTerms(e *rank.Evidence) []float64 {
	first := 0.0
	if e.FirstPassage {
		first = e.Title
	}
	return []float64{e.Interpolation, e.Known * e.ZScore, e.Proximity, e.Title, e.Heading, e.ExactMatch(), first}
}

// weightNames are the names of the weights of all keyTerms but the first, whose weight is 1.
var weightNames = []string{"ZScore", "Proximity", "Title", "Heading", "ExactMatch", "FirstPassage"}

// The bounds of the weights, in the order of weightNames. Documentation favours its own
// style: sentences worded like their neighbours, and pages that begin with their title and
// say first what matters. It needs vectors less than people's questions, which use other
// words. And a question that is a title asks for that page.
var (
	minWeights = []float64{0.09, 0, 0, 0.1, 0.5, 0}
	maxWeights = []float64{0.15, 0.2, 0.2, 0.2, 0.5, 0.05}
)

// shrinkage keeps weights small that the questions hardly affect.
const shrinkage = 0.002

// fitOrder fits the weights of keyTerms. It maximises the likelihood that a relevant passage
// is drawn first, when passages are drawn by the exponential of their keys (ListNet with one
// draw, Cao et al. 2007). Weights are at least 0: evidence never counts against a passage.
func fitOrder(cases []rankedQuestion) []float64 {
	w := []float64{1, 0.1, 0.2, 0.2, 0.1, 0.2, 0.05}
	scale := 8.0 // of the softmax: the size of the weights together
	grad := make([]float64, len(w))
	rate, usable := 0.05, 0
	for step := range 400 {
		clear(grad)
		loss := 0.0
		usable = 0
		for _, c := range cases {
			if c.kind == keyword || !c.answerable || !slices.ContainsFunc(c.passages, func(p rankedPassage) bool { return p.relevant }) {
				continue
			}
			usable++
			loss += softmax(c.passages, w, scale, grad)
		}
		for i := range w {
			g := grad[i]/float64(usable) + shrinkage*w[i]
			w[i] = max(0, w[i]-rate*g)
			if i > 0 {
				w[i] = min(max(w[i], minWeights[i-1]*w[0]), maxWeights[i-1]*w[0])
			}
		}
		if step%100 == 99 {
			fmt.Printf("order: step %d, loss %.4f, weights %.3f\n", step+1, loss/float64(usable), w)
		}
	}
	first := w[0]
	for i := range w {
		w[i] /= first
	}
	printOrder(cases, w)
	return w
}

// printOrder prints how well passages are ordered by the weights.
func printOrder(cases []rankedQuestion, w []float64) {
	answerable, relevantFirst, reciprocal := 0, 0, 0.0
	for _, c := range cases {
		if !c.answerable {
			continue
		}
		answerable++
		order := slices.Clone(c.passages)
		slices.SortStableFunc(order, func(a, b rankedPassage) int {
			return cmp.Compare(dot(w, keyTerms(&b.evidence)), dot(w, keyTerms(&a.evidence)))
		})
		if i := slices.IndexFunc(order, func(p rankedPassage) bool { return p.relevant }); i >= 0 {
			reciprocal += 1 / float64(i+1)
			if i == 0 {
				relevantFirst++
			}
		}
	}
	fmt.Printf("order: relevant document first for %.1f %% of %d, mean reciprocal rank of its first passage %.4f\n",
		100*float64(relevantFirst)/float64(answerable), answerable, reciprocal/float64(answerable))
}

func dot(a, b []float64) float64 {
	s := 0.0
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

// softmax adds the gradient of one question to grad and returns the question's loss.
func softmax(passages []rankedPassage, w []float64, scale float64, grad []float64) float64 {
	values := make([][]float64, len(passages))
	scores := make([]float64, len(passages))
	highest := math.Inf(-1)
	for i := range passages {
		values[i] = keyTerms(&passages[i].evidence)
		scores[i] = scale * dot(w, values[i])
		highest = max(highest, scores[i])
	}
	var total, relevant float64
	for i := range scores {
		scores[i] = math.Exp(scores[i] - highest)
		total += scores[i]
		if passages[i].relevant {
			relevant += scores[i]
		}
	}
	for i := range scores {
		g := scores[i] / total
		if passages[i].relevant {
			g -= scores[i] / relevant
		}
		for j, v := range values[i] {
			grad[j] += scale * g * v
		}
	}
	return math.Log(total / relevant)
}

// fitConfidence fits by logistic regression whether the first passage in the fitted order is
// of a document that answers. Questions with and without an answer have the same total
// weight.
func fitConfidence(cases []rankedQuestion, order []float64) []float64 {
	type sample struct {
		x        []float64
		relevant bool
		weight   float64
	}
	var samples []sample
	var answerable, unanswerable float64
	for _, c := range cases {
		if c.answerable {
			answerable++
		} else {
			unanswerable++
		}
	}
	for _, c := range cases {
		best := &c.passages[0]
		for i := range c.passages {
			if dot(order, keyTerms(&c.passages[i].evidence)) > dot(order, keyTerms(&best.evidence)) {
				best = &c.passages[i]
			}
		}
		features := rank.Features(&c.query, &best.evidence)
		s := sample{x: features[:], relevant: c.answerable, weight: 1 / unanswerable}
		hasAllWords := best.evidence.Coverage > 0.999
		if c.kind == keyword && hasAllWords && !c.answerable {
			continue // a passage with the keywords answers them
		}
		if c.answerable {
			if !best.relevant && (c.kind != keyword || !hasAllWords) {
				continue // the other document may answer as well
			}
			s.weight = 1 / answerable
		}
		samples = append(samples, s)
	}
	w := make([]float64, len(samples[0].x))
	momentum := make([]float64, len(w))
	for range 30000 {
		grad := make([]float64, len(w))
		for _, s := range samples {
			p := 1 / (1 + math.Exp(-dot(w, s.x)))
			if s.relevant {
				p--
			}
			for j, v := range s.x {
				grad[j] += s.weight * p * v
			}
		}
		for j := range w {
			momentum[j] = 0.9*momentum[j] + grad[j] + 1e-4*w[j]
			w[j] -= 0.05 * momentum[j]
		}
	}
	// Move a confidence of 0.5 to where keptShare of the answered questions keep their
	// passage. The other weights stay.
	var answered []float64
	for _, s := range samples {
		if s.relevant {
			answered = append(answered, dot(w, s.x))
		}
	}
	slices.Sort(answered)
	w[0] -= answered[int(float64(len(answered))*(1-keptShare))]
	silent, n := 0, 0
	for _, s := range samples {
		if !s.relevant {
			n++
			if dot(w, s.x) < 0 {
				silent++
			}
		}
	}
	fmt.Printf("confidence: over 0.5 for %.1f %% of those answered, below for %.1f %% of those without an answer\n",
		100*keptShare, 100*float64(silent)/float64(n))
	return w
}

// keptShare is the share of questions whose relevant first passage scores over 0.5.
const keptShare = 0.9905

// write writes the source file with the fitted weights; "-" prints it.
func write(path string, order, confidence []float64) error {
	var b strings.Builder
	b.WriteString("// Code generated by internal/tools/fitrank. DO NOT EDIT.\n\npackage rank\n\n")
	b.WriteString("// The weights of the key's terms; that of Evidence.Interpolation is 1.\nconst (\n")
	width := 0
	for _, name := range weightNames {
		width = max(width, len(name))
	}
	for i, name := range weightNames {
		fmt.Fprintf(&b, "\tweight%-*s = %.3f\n", width, name, order[i+1])
	}
	b.WriteString(")\n\n// confidenceWeights returns the weights of Features in the log-odds.\nfunc confidenceWeights() [FeatureCount]float64 {\n\treturn [FeatureCount]float64{")
	for i, w := range confidence {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%.3f", w)
	}
	b.WriteString("}\n}\n")
	if path == "-" {
		fmt.Print(b.String())
		return nil
	}
	return os.WriteFile(path, []byte(b.String()), 0o644) //nolint:gosec // source code
}
