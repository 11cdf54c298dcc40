package eval

import "context"

// MinScores returns the minimum scores that are measured: lenient, balanced, strict.
func MinScores() []float64 { return []float64{0.3, 0.5, 0.7} }

// Confidence is the effect of each of MinScores on the results of a set's questions.
type Confidence struct {
	// Kept is the share of questions that keep a relevant document, of those with one among
	// the first Depth documents. Silent is the share of questions without a result.
	Kept, Silent []float64
	Questions    int
	Calibration  Calibration // of answerable questions
}

// Answerable measures the confidence in answers to the judged questions of the set.
func (v *Evaluator) Answerable(ctx context.Context) (Confidence, error) {
	return v.confidence(ctx, v.set, true)
}

// Unanswerable measures the confidence in answers to the questions of another set, which
// this set cannot answer.
func (v *Evaluator) Unanswerable(ctx context.Context, other *Set) (Confidence, error) {
	return v.confidence(ctx, other, false)
}

func (v *Evaluator) confidence(ctx context.Context, questions *Set, answerable bool) (Confidence, error) {
	levels := MinScores()
	c := Confidence{Kept: make([]float64, len(levels)), Silent: make([]float64, len(levels))}
	for i := range questions.Questions {
		q := questions.Questions[i]
		grades := questions.Judged[q.ID]
		if grades == nil {
			continue
		}
		if !answerable {
			q.Metadata = nil // it filters documents of the other set
		}
		calibration := &c.Calibration
		if !answerable {
			grades, calibration = nil, nil
		}
		answer, best, err := v.bestScores(ctx, &q, grades, calibration)
		if err != nil {
			return c, err
		}
		if answerable && answer < 0 {
			continue
		}
		c.Questions++
		for l, level := range levels {
			if best < level {
				c.Silent[l]++
			}
			if answer >= level {
				c.Kept[l]++
			}
		}
	}
	for l := range levels {
		if c.Questions > 0 {
			c.Kept[l] /= float64(c.Questions)
			c.Silent[l] /= float64(c.Questions)
		}
	}
	return c, nil
}
