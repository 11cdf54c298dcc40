package rank

import "math"

// A chanceModel is the collection as it would be if the words of the question occurred
// in its passages independently of each other. Among many passages, some have much of
// any question by chance, the more so the commoner its words are.
type chanceModel struct {
	passages int
	words    []chanceWord
	total    float64 // of idf
}

// minChancePassages is the size of the smallest collection that is modelled. A few
// passages do not say how common their words are.
const minChancePassages = 100

// A chanceWord is a word of the question.
type chanceWord struct {
	idf       float64 // in the collection, times the word's count
	frequency int     // the number of passages that have the word
}

// add adds a word.
func (m *chanceModel) add(w chanceWord) {
	m.words = append(m.words, w)
	m.total += w.idf
}

// rate estimates the share of such passages that have a word.
func (m *chanceModel) rate(w *chanceWord) float64 {
	return (float64(w.frequency) + 0.5) / (float64(m.passages) + 1)
}

// absent returns the share of the words, weighted by idf, that no passage has.
func (m *chanceModel) absent() float64 {
	sum := 0.0
	for i := range m.words {
		if m.words[i].frequency == 0 {
			sum += m.words[i].idf
		}
	}
	return sum / max(m.total, 1e-9)
}

// information returns the idf of all words together, in units of the information that
// tells one of the passages from the others.
func (m *chanceModel) information() float64 {
	return m.total / m.target()
}

// target returns the information that tells one of the passages from the others, in
// nats.
func (m *chanceModel) target() float64 { return math.Log(float64(max(m.passages, 2))) }

// coverage returns the share of the words, weighted by idf, that one of the passages
// may have by chance, from 0 to 1: the share that a passage reaches with a probability
// of at most one in the number of passages by Chernoff's bound (A measure of asymptotic
// efficiency for tests of a hypothesis based on the sum of observations, 1952).
func (m *chanceModel) coverage() float64 {
	if m.total == 0 {
		return 0
	}
	// The exponent of the bound at t is t*K'(t)-K(t), where K is the cumulant
	// generating function of the sum of idf. It rises with t, and the sum at t is K'(t).
	target := m.target()
	low, high := 0.0, maxTilt
	sum := 0.0
	for range tiltSteps {
		t := (low + high) / 2
		cumulant, derivative := 0.0, 0.0
		for i := range m.words {
			w := &m.words[i]
			rate := m.rate(w)
			e := rate * math.Exp(t*w.idf)
			all := 1 - rate + e
			cumulant += math.Log(all)
			derivative += w.idf * e / all
		}
		sum = derivative
		if t*derivative-cumulant < target {
			low = t
		} else {
			high = t
		}
	}
	return sum / m.total
}

// maxTilt bounds t in chanceModel.coverage, which tiltSteps halvings find.
const (
	maxTilt   = 20.0
	tiltSteps = 20
)
