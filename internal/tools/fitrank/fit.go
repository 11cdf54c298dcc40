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

// A group is the questions of one kind in one language, of documentation or of paragraphs.
// Those with an answer and those without are two groups.
type group struct {
	kind       kind
	language   string
	paragraphs bool
	answerable bool
}

// A rankedQuestion is a question with its ranking.
type rankedQuestion struct {
	group
	query    rank.QueryEvidence
	passages []rankedPassage
}

type rankedPassage struct {
	relevant bool
	place    int // of its document, from 0
	evidence rank.Evidence
}

// depth is the number of passages of a ranking that the order is fitted on.
const depth = 100

func rankQuestions(ctx context.Context, x *eval.Index, g group, questions []question) ([]rankedQuestion, error) {
	var out []rankedQuestion
	for _, q := range questions {
		ranking, err := x.Search(ctx, rank.Hybrid, q.text, "", 0)
		if err != nil {
			return nil, err
		}
		ranked := rankedQuestion{group: g, query: ranking.Query}
		places := make(map[string]int)
		for i := range ranking.Results[:min(len(ranking.Results), depth)] {
			document := x.Document(&ranking.Results[i])
			if _, ok := places[document]; !ok {
				places[document] = len(places)
			}
			ranked.passages = append(ranked.passages, rankedPassage{
				relevant: g.answerable && document == q.document,
				place:    places[document],
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
	return []float64{e.Interpolation, e.ZScore, e.Proximity, e.Title, e.Heading, e.ExactMatch(), first}
}

// weightNames are the names of the weights of all keyTerms but the first, whose weight is 1.
var weightNames = []string{"ZScore", "Proximity", "Title", "Heading", "ExactMatch", "FirstPassage"}

// The bounds of the weights, in the order of weightNames. Documentation favours its own
// style: sentences worded like their neighbours, and pages that begin with their title and
// say first what matters. It needs vectors less than people's questions, which use other
// words. And a question that is a title asks for that page.
var (
	minWeights = []float64{0.09, 0, 0, 0.15, 0.5, 0}
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

// A sample is a passage that answers its question or not.
type sample struct {
	features [rank.FeatureCount]float64
	relevant bool
	weight   float64
}

// keyGap is the place of the last of rank.Features, Evidence.KeyGap.
const keyGap = rank.FeatureCount - 1

// answerDepth is the number of first documents that a document that answers must be among.
const answerDepth = 3

// fitConfidence fits the weights of rank.Features in three steps: all but that of KeyGap by
// whether the question has an answer, that of KeyGap by which passages answer, and the
// constant by keptShare.
func fitConfidence(cases []rankedQuestion) []float64 {
	samples := answerability(cases)
	w := logistic(samples, make([]float64, rank.FeatureCount), func(i int) bool { return i != keyGap })
	gap := logistic(candidates(cases), w, func(i int) bool { return i == 0 || i == keyGap })
	w[keyGap] = gap[keyGap]

	// Move a confidence of 0.5 to where keptShare of the answered questions keep their
	// passage. The other weights stay.
	var answered []float64
	for i := range samples {
		if samples[i].relevant {
			answered = append(answered, samples[i].logOdds(w))
		}
	}
	slices.Sort(answered)
	w[0] -= answered[int(float64(len(answered))*(1-keptShare))]
	silent, n := 0, 0
	for i := range samples {
		if !samples[i].relevant {
			n++
			if samples[i].logOdds(w) < 0 {
				silent++
			}
		}
	}
	fmt.Printf("confidence: over 0.5 for %.1f %% of those answered, below for %.1f %% of those without an answer\n",
		100*keptShare, 100*float64(silent)/float64(n))
	return w
}

// keptShare is the share of questions whose relevant passage scores over 0.5. It is set by
// hand.
const keptShare = 0.91

func (s *sample) logOdds(w []float64) float64 {
	x := 0.0
	for i, f := range s.features {
		x += w[i] * f
	}
	return x
}

// answerability returns the first relevant passage of each question with an answer, and the
// first passage of each without. All groups have the same total weight.
func answerability(cases []rankedQuestion) []sample {
	counts := make(map[group]float64)
	var samples []sample
	var groups []group
	for i := range cases {
		c := &cases[i]
		first := 0
		if c.answerable {
			if first = slices.IndexFunc(c.passages, func(p rankedPassage) bool { return p.relevant }); first < 0 || c.passages[first].place >= answerDepth {
				continue
			}
		}
		e := &c.passages[first].evidence
		if c.kind == keyword && !c.answerable && e.Coverage > 0.999 {
			continue // a passage with the keywords answers them
		}
		features := rank.Features(&c.query, e)
		features[keyGap] = 0
		samples = append(samples, sample{features: features, relevant: c.answerable})
		groups = append(groups, c.group)
		counts[c.group]++
	}
	for i, g := range groups {
		samples[i].weight = 1 / counts[g] / float64(len(counts))
	}
	return samples
}

// candidates returns the first passages of the first documents of each question with an
// answer.
func candidates(cases []rankedQuestion) []sample {
	const depth = 5
	var samples []sample
	for i := range cases {
		c := &cases[i]
		if !c.answerable {
			continue
		}
		place := -1
		for j := range c.passages {
			p := &c.passages[j]
			if p.place >= depth {
				break
			}
			if p.place > place { // the first of its document
				place = p.place
				samples = append(samples, sample{features: rank.Features(&c.query, &p.evidence), relevant: p.relevant})
			}
		}
	}
	for i := range samples {
		samples[i].weight = 1 / float64(len(samples))
	}
	return samples
}

// logistic fits weights by logistic regression, from a start. Only those of free features
// change.
func logistic(samples []sample, start []float64, free func(feature int) bool) []float64 {
	w := slices.Clone(start)
	momentum, grad := make([]float64, len(w)), make([]float64, len(w))
	for range steps {
		clear(grad)
		for i := range samples {
			s := &samples[i]
			p := 1 / (1 + math.Exp(-s.logOdds(w)))
			if s.relevant {
				p--
			}
			for j, f := range s.features {
				grad[j] += s.weight * p * f
			}
		}
		for j := range w {
			if free(j) {
				momentum[j] = 0.9*momentum[j] + grad[j] + ridge*w[j]
				w[j] -= 0.1 * momentum[j]
			}
		}
	}
	return w
}

// The descent of logistic.
const (
	steps = 6000
	ridge = 1e-4
)

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
