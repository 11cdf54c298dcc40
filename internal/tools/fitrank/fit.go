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

// asked is a question with what the search found.
type asked struct {
	kind       kind
	answerable bool
	query      rank.QueryEvidence
	found      []found
}

type found struct {
	right    bool
	evidence rank.Evidence
}

// considered is how many passages of a ranking the order is fitted on.
const considered = 100

func ask(ctx context.Context, x *eval.Index, k kind, questions []question, answerable bool) ([]asked, error) {
	var out []asked
	for _, q := range questions {
		r, err := x.Search(ctx, rank.Hybrid, q.text, "", 0)
		if err != nil {
			return nil, err
		}
		a := asked{kind: k, answerable: answerable, query: r.Query}
		for i := range r.Ranked[:min(len(r.Ranked), considered)] {
			a.found = append(a.found, found{
				right:    answerable && x.Document(&r.Ranked[i]) == q.document,
				evidence: r.Ranked[i].Evidence,
			})
		}
		if len(a.found) > 0 {
			out = append(out, a)
		}
	}
	return out, nil
}

// features of the order.
func features(e *rank.Evidence) []float64 {
	start := 0.0
	if e.Start {
		start = e.Title
	}
	return []float64{e.Words, e.Rise, e.Proximity, e.Title, e.Heading, e.Exact(), start}
}

// names are the constants of all features but the first, whose weight is 1.
var names = []string{"Rise", "Proximity", "Title", "Heading", "Exact", "Start"}

// least and most bound the weights in the order of names. Documentation flatters
// what is its own style: sentences worded like their neighbours, pages that begin
// with their title and say what matters first. And it needs vectors less than
// questions of people do, who use words of their own. Who types a title wants that page.
var (
	least = []float64{0.09, 0, 0, 0.1, 0.5, 0}
	most  = []float64{0.15, 0.2, 0.2, 0.2, 0.5, 0.05}
)

// fitOrder maximises the likelihood that a right passage is drawn first, when
// passages are drawn by the exponential of their order (ListNet with one draw,
// Cao et al. 2007). Weights are kept from going negative: evidence never speaks
// against a passage.
func fitOrder(cases []asked) []float64 {
	w := []float64{1, 0.1, 0.2, 0.2, 0.1, 0.2, 0.05}
	scale := 8.0 // of the softmax: the size of the weights together
	grad := make([]float64, len(w))
	rate, usable := 0.05, 0
	for step := range 400 {
		clear(grad)
		loss := 0.0
		usable = 0
		for _, c := range cases {
			if c.kind == keyword || !c.answerable || !slices.ContainsFunc(c.found, func(f found) bool { return f.right }) {
				continue
			}
			usable++
			loss += softmax(c.found, w, scale, grad)
		}
		for i := range w {
			g := grad[i]/float64(usable) + shrink*w[i]
			w[i] = max(0, w[i]-rate*g)
			if i > 0 {
				w[i] = min(max(w[i], least[i-1]*w[0]), most[i-1]*w[0])
			}
		}
		if step%100 == 99 {
			fmt.Printf("order: step %d, loss %.4f, weights %.3f\n", step+1, loss/float64(usable), w)
		}
	}
	whole := w[0]
	for i := range w {
		w[i] /= whole
	}
	first, reciprocal := 0, 0.0
	for _, c := range cases {
		if !c.answerable {
			continue
		}
		order := slices.Clone(c.found)
		slices.SortStableFunc(order, func(a, b found) int { return cmp.Compare(dot(w, features(&b.evidence)), dot(w, features(&a.evidence))) })
		if i := slices.IndexFunc(order, func(f found) bool { return f.right }); i >= 0 {
			reciprocal += 1 / float64(i+1)
			if i == 0 {
				first++
			}
		}
	}
	n := 0
	for _, c := range cases {
		if c.answerable {
			n++
		}
	}
	fmt.Printf("order: right document first for %.1f %% of %d, mean reciprocal rank of its first passage %.4f\n",
		100*float64(first)/float64(n), n, reciprocal/float64(n))
	return w
}

func dot(a, b []float64) float64 {
	s := 0.0
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

// softmax adds the gradient of one question and returns its loss.
func softmax(all []found, w []float64, scale float64, grad []float64) float64 {
	values := make([][]float64, len(all))
	scores := make([]float64, len(all))
	most := math.Inf(-1)
	for i := range all {
		values[i] = features(&all[i].evidence)
		scores[i] = scale * dot(w, values[i])
		most = max(most, scores[i])
	}
	var whole, right float64
	for i := range scores {
		scores[i] = math.Exp(scores[i] - most)
		whole += scores[i]
		if all[i].right {
			right += scores[i]
		}
	}
	for i := range scores {
		g := scores[i] / whole
		if all[i].right {
			g -= scores[i] / right
		}
		for j, v := range values[i] {
			grad[j] += scale * g * v
		}
	}
	return math.Log(whole / right)
}

// signals are what the certainty of the first passage is fitted on.
func signals(q *rank.QueryEvidence, t *rank.Evidence) []float64 {
	s := rank.Signals(q, t)
	return s[:]
}

// fitCertain fits by logistic regression whether the first passage, by the
// fitted order, is of a document that answers. Questions with and without an
// answer count alike together.
func fitCertain(cases []asked, order []float64) []float64 {
	type sample struct {
		x     []float64
		right bool
		share float64
	}
	var samples []sample
	var with, without float64
	for _, c := range cases {
		if c.answerable {
			with++
		} else {
			without++
		}
	}
	for _, c := range cases {
		best := 0
		for i := range c.found {
			if dot(order, features(&c.found[i].evidence)) > dot(order, features(&c.found[best].evidence)) {
				best = i
			}
		}
		s := sample{x: signals(&c.query, &c.found[best].evidence), right: c.answerable, share: 1 / without}
		whole := c.found[best].evidence.Coverage > 0.999
		if c.kind == keyword && whole && !c.answerable {
			continue // who asks for words is answered by a passage that has them
		}
		if c.answerable {
			if !c.found[best].right && (c.kind != keyword || !whole) {
				continue // another passage may answer as well: it says nothing
			}
			s.share = 1 / with
		}
		samples = append(samples, s)
	}
	w := make([]float64, len(samples[0].x))
	momentum := make([]float64, len(w))
	for range 30000 {
		grad := make([]float64, len(w))
		for _, s := range samples {
			p := 1 / (1 + math.Exp(-dot(w, s.x)))
			if s.right {
				p--
			}
			for j, v := range s.x {
				grad[j] += s.share * p * v
			}
		}
		for j := range w {
			momentum[j] = 0.9*momentum[j] + grad[j] + 1e-4*w[j]
			w[j] -= 0.05 * momentum[j]
		}
	}
	// The slopes stand; 0.5 is moved to where so many of the answered questions
	// keep their passage.
	var answered []float64
	for _, s := range samples {
		if s.right {
			answered = append(answered, dot(w, s.x))
		}
	}
	slices.Sort(answered)
	w[0] -= answered[int(float64(len(answered))*(1-keep))]
	silent, m := 0, 0
	for _, s := range samples {
		if !s.right {
			m++
			if dot(w, s.x) < 0 {
				silent++
			}
		}
	}
	fmt.Printf("certainty: over 0.5 for %.1f %% of those answered, below for %.1f %% of those without an answer\n",
		100*keep, 100*float64(silent)/float64(m))
	return w
}

// keep is the share of questions whose right first passage scores over 0.5.
const keep = 0.9905

func write(path string, order, certain []float64) error {
	var b strings.Builder
	b.WriteString("// Code generated by internal/tools/fitrank. DO NOT EDIT.\n\npackage rank\n\n")
	b.WriteString("// The weights of the order, that of the lexical scores being 1.\nconst (\n")
	for i, name := range names {
		fmt.Fprintf(&b, "\tweight%s = %.3f\n", name, order[i+1])
	}
	b.WriteString(")\n\n// certainWeights belong to Signals.\nfunc certainWeights() [SignalCount]float64 {\n\treturn [SignalCount]float64{")
	for i, w := range certain {
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

// shrink keeps weights small that the questions say little about.
const shrink = 0.002
