package rank

import (
	"context"

	"github.com/google/uuid"
)

// A Traced is a candidate of the traced document, whether it is a result or not.
type Traced struct {
	Result
	// Place is the candidate's in the order of all candidates, from 0.
	Place int
}

// trace lists the candidates of the traced document, best first. Order has all
// candidates.
func (s *search) trace(all []scored, order []sortKey) {
	if s.opt.Trace == uuid.Nil {
		return
	}
	for place, o := range order {
		if c := &all[o.index]; c.Document == s.opt.Trace {
			s.traced = append(s.traced, Traced{c.result(), place})
		}
	}
}

// explainTraced sets the explanations of the traced candidates.
func (s *search) explainTraced(ctx context.Context) error {
	results := make([]Result, len(s.traced))
	for i := range s.traced {
		results[i] = s.traced[i].Result
	}
	if err := s.explain(ctx, results); err != nil {
		return err
	}
	for i := range results {
		s.traced[i].Result = results[i]
	}
	return nil
}
