package eval

import (
	"context"
	"fmt"

	"github.com/magpie-search/magpie/internal/search/rank"
)

// Levels are the least scores that interfaces speak of: lenient, balanced, strict.
func Levels() []float64 { return []float64{0.3, 0.5, 0.7} }

// Confidence says what least scores do to a set.
type Confidence struct {
	// Kept is the share of questions, by level, that keep a relevant document,
	// of those that find one among the first Depth documents at all; Silent the
	// share of questions that find nothing.
	Kept, Silent []float64
	Questions    int
}

// Own puts the judged questions of the set to it.
func (v *Evaluator) Own(ctx context.Context) (Confidence, error) {
	return v.confidence(ctx, v.set, true)
}

// Foreign puts the questions of another set, which this one cannot answer.
func (v *Evaluator) Foreign(ctx context.Context, other *Set) (Confidence, error) {
	return v.confidence(ctx, other, false)
}

func (v *Evaluator) confidence(ctx context.Context, questions *Set, own bool) (Confidence, error) {
	levels := Levels()
	c := Confidence{Kept: make([]float64, len(levels)), Silent: make([]float64, len(levels))}
	for i := range questions.Questions {
		q := &questions.Questions[i]
		grades := questions.Judged[q.ID]
		if grades == nil {
			continue
		}
		asked := *q
		if !own {
			asked.Metadata = nil // a filter that belongs to the other set
		}
		found, err := v.Ask(ctx, rank.Hybrid, &asked, 0)
		if err != nil {
			return c, fmt.Errorf("question %s: %w", q.ID, err)
		}
		best, answer, depth := 0.0, -1.0, make(map[string]bool)
		for j := range found.Ranked {
			r := &found.Ranked[j]
			best = max(best, r.Score)
			id := v.Document(r)
			if depth[id] = true; len(depth) > Depth {
				break
			}
			if own && grades[id] > 0 {
				answer = max(answer, r.Score)
			}
		}
		if own && answer < 0 {
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
