package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/engine"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// Search implements engine.Backend. Objects of equal score are ordered by passage.
func (b *Backend) Search(ctx context.Context, class string, q *engine.Query) ([]engine.Found, error) {
	call := Call{Method: "Search", Class: class, Node: b.turn(class)}
	if err := b.enter(ctx, call); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	c, err := b.find(class)
	if err != nil {
		return nil, err
	}
	if err := engine.CheckVector(q.Vector, c.Dimensions); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(c.replicas, func(r *replica) bool { return r.node.name == call.Node && !r.node.stopped })
	if i < 0 { // the node has stopped since, or has no replica
		if i = slices.IndexFunc(c.replicas, func(r *replica) bool { return !r.node.stopped }); i < 0 {
			return nil, fmt.Errorf("class %s: no replica runs: %w", class, engine.ErrUnavailable)
		}
	}
	return c.replicas[i].search(q), nil
}

// turn returns the name of the node that a search asks, "" if the class has no replica
// that runs.
func (b *Backend) turn(class string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.classes[class]
	if c == nil {
		return ""
	}
	var alive []string
	for _, r := range c.replicas {
		if !r.node.stopped {
			alive = append(alive, r.node.name)
		}
	}
	if len(alive) == 0 {
		return ""
	}
	if slices.Contains(alive, b.prefer) {
		return b.prefer
	}
	b.searches++
	return alive[b.searches%len(alive)]
}

type scored struct {
	object *engine.Object
	score  float64
}

func (r *replica) search(q *engine.Query) []engine.Found {
	var best []scored
	switch {
	case q.Limit <= 0, r.node.blank:
	case q.Vector != nil:
		best = r.nearest(q.Vector)
	default:
		best = r.byWords(q.Terms)
	}
	best = slices.DeleteFunc(best, func(s scored) bool { return !matches(s.object, q.Filter) })
	slices.SortFunc(best, func(x, y scored) int {
		return cmp.Or(cmp.Compare(y.score, x.score), bytes.Compare(x.object.Passage[:], y.object.Passage[:]))
	})
	best = best[:min(len(best), max(q.Limit, 0))]
	out := make([]engine.Found, len(best))
	for i, s := range best {
		out[i] = engine.Found{Passage: s.object.Passage, Document: s.object.Document}
	}
	return out
}

func (r *replica) nearest(vector []float32) []scored {
	var out []scored
	for _, o := range r.objects {
		if o.Vector == nil {
			continue
		}
		sum := 0.0
		for i, x := range vector {
			sum += float64(x) * float64(o.Vector[i])
		}
		out = append(out, scored{o, sum})
	}
	return out
}

// byWords scores the objects that have a term.
func (r *replica) byWords(terms []string) []scored {
	words, wanted := 0, setOf(terms)
	delete(wanted, "")
	found := make(map[string][]hit)
	for _, o := range r.objects {
		words += len(o.Fields[index.FieldBody])
		for term, c := range countsOf(o, wanted) {
			found[term] = append(found[term], hit{o.Passage, c})
		}
	}
	average := float64(words) / float64(max(len(r.objects), 1))
	scores := make(map[uuid.UUID]float64)
	for _, term := range slices.Sorted(maps.Keys(found)) { // in one order, for the same sums each time
		hits := found[term]
		n, all := float64(len(hits)), float64(len(r.objects))
		idf := math.Log1p((all - n + 0.5) / (n + 0.5))
		for _, h := range hits {
			norm := rank.LengthNorm(int32(min(len(r.objects[h.passage].Fields[index.FieldBody]), math.MaxInt32)), average) //nolint:gosec // limited
			scores[h.passage] += idf * rank.Saturation(h.counts, norm)
		}
	}
	out := make([]scored, 0, len(scores))
	for id, score := range scores {
		out = append(out, scored{r.objects[id], score})
	}
	return out
}

type hit struct {
	passage uuid.UUID
	counts  rank.Counts
}

func countsOf(o *engine.Object, wanted map[string]bool) map[string]rank.Counts {
	out := make(map[string]rank.Counts)
	for field, terms := range o.Fields {
		for _, term := range terms {
			if !wanted[term] {
				continue
			}
			c := out[term]
			switch index.Field(field) {
			case index.FieldTitle:
				c.Title = true
			case index.FieldHeading:
				c.Heading = true
			case index.FieldPath:
				c.Path = true
			default:
				c.Body = min(c.Body+1, rank.MaxBody)
			}
			out[term] = c
		}
	}
	return out
}
