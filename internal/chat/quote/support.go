package quote

import "math"

// Least support of an answer. Four in five questions that have no answer do not reach it.
// Of two or three words each says much, so that more of them must occur together.
const (
	minSupport           = 0.085
	minSupportThreeWords = 0.15
	minSupportTwoWords   = 0.3
)

// isAnswered reports whether the best unit, together with its context, has more of the
// question's words than chance explains.
func (s *selection) isAnswered() bool {
	least := minSupport
	switch len(s.words) {
	case 1, 2:
		least = minSupportTwoWords
	case 3:
		least = minSupportThreeWords
	}
	return s.support() >= least
}

// missingNameWeight is the factor of a name or number that the best unit and its context
// lack: what has another name is about something else.
const missingNameWeight = 3

// Weight and bounds of the search's score in the support. The words decide; the score adds
// what the search knows of similar texts.
const (
	scoreWeight = 0.02
	maxLogOdds  = 2.0
)

// partDependence is the factor of the variance in Vietnamese, which writes the syllables
// of a word apart, and in Thai, whose dictionary has the parts of compounds: the parts of
// a word occur together more often than by chance.
const partDependence = 1.25

// support returns how far the words of the best unit exceed those that the best of all
// passages would have by chance, as a share of a unit with all words.
//
// If words occurred independently, the weight of those in a passage would have a mean and
// a variance that follow from their document frequencies, and the greatest of n such sums
// would be near the mean plus sqrt(2 ln n) standard deviations. So a passage with one rare
// word of a question is no answer where some passage had to have it, and a passage with
// all of its words is.
func (s *selection) support() float64 {
	if len(s.units) == 0 || s.total == 0 {
		return -1
	}
	best := 0
	for i := range s.units {
		if s.units[i].coverage > s.units[best].coverage {
			best = i
		}
	}
	total := s.total
	for i := range s.words {
		if w := &s.words[i]; w.isName && s.question.Passages > 0 && s.credit(w, best) == 0 {
			total += (missingNameWeight - 1) * w.weight
		}
	}
	mean, variance := 0.0, 0.0
	for _, w := range s.words {
		mean += w.weight * w.frequency
		variance += w.weight * w.weight * w.frequency * (1 - w.frequency)
	}
	if s.language == "vi" || s.language == "th" {
		variance *= partDependence
	}
	n := float64(max(s.question.Passages, 2))
	support := (s.units[best].coverage*s.total - mean - math.Sqrt(2*math.Log(n)*variance)) / (total - mean)
	score := min(max(s.hits[0].Score, 0.001), 0.999)
	return support + scoreWeight*min(max(math.Log(score/(1-score)), -maxLogOdds), maxLogOdds)
}
