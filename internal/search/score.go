package search

import (
	"math"

	"magpie/internal/embed"
)

// The map from evidence to confidence is provisional. Its form: a logistic
// function of a weighted sum, so that the order of results is the order of
// evidence, and one number means the same in every collection.
//
// BM25's share enters by its root of the order sqrt(words). A short question
// must be matched nearly whole. A long one has words that no answer repeats;
// half of it in one passage is no accident.
//
// The weights were fitted by logistic regression on 3,248 questions made from
// documentation in English, German, French and Japanese (a heading for the
// passages under it, with all headings taken out of the index; a page's
// description, or the text of a link to it, for the page), each also put to the
// documentation of another product, which has no answer. They are rounded, and
// then moved as a whole so that 0.5 keeps nine in ten answers to questions in
// whole sentences, which share fewer words with their answers than headings do.
const (
	weightNone     = -4.9 // nothing speaks for the passage
	weightBM25     = 9.0
	weightCoverage = 2.0
	weightTitle    = 6.0
	weightHeading  = 3.0
	weightExact    = 3.0 // question and title, or heading, are the same: the passage is what was asked for
	weightStart    = 0.3 // with the title: the page's beginning before its other passages
)

// dense weighs the rise of a passage's similarity above chance. The builtin
// embedder sees shared wording, which the lexical part has seen already, so it
// adds little. A model that knows meanings may carry a passage alone, but the
// best of many unrelated passages stands some deviations above chance as well:
// that much counts for nothing. No such model was at hand for fitting.
func dense(model string, rise float64) float64 {
	if model == embed.BuiltinModel {
		return 0.15 * rise
	}
	return 1.3 * max(rise-2.5, 0)
}

// unknownRise stands in for the similarity of a passage that has none: about
// what a passage has that shares some words with the question.
const unknownRise = 3

// score fuses what is known about a passage into a confidence between 0 and 1.
// words is the number of words of the question.
func score(l lexical, dense float64, words int, ordinal int32) float64 {
	x := weightNone + dense + weightCoverage*l.coverage + weightTitle*l.title + weightHeading*l.heading
	if l.bm25 > 0 {
		x += weightBM25 * math.Pow(l.bm25, 1/math.Sqrt(float64(words)))
	}
	if l.title == 1 {
		x += weightExact
	}
	if l.heading == 1 {
		x += weightExact
	}
	if ordinal == 0 {
		x += weightStart * l.title
	}
	return 1 / (1 + math.Exp(-x))
}
