package search

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/viewer"
)

// readers is what the one who asks may find. Every look at a collection goes
// through within: the engine takes it from the context, so that nobody can forget it.
type readers struct{ viewer.Readers }

func readersOf(ctx context.Context) (readers, error) {
	r, err := viewer.ReadersOf(ctx)
	if err != nil {
		return readers{}, fmt.Errorf("find out what may be found: %w", err)
	}
	return readers{r}, nil
}

// same reports whether two may find the same.
func (r readers) same(o readers) bool {
	return r.Everything() == o.Everything() && slices.Equal(r.Principals(), o.Principals())
}

// within is a filter as it counts for one collection.
func (r readers) within(f *rank.Filter, state *index.State, stored bool) *rank.Filter {
	if r.Everything() {
		return f
	}
	own := *f
	own.Readers = r.Principals()
	if f.Readers != nil { // only narrows
		own.Readers = slices.DeleteFunc(slices.Clone(f.Readers), func(p string) bool { return !slices.Contains(r.Principals(), p) })
	}
	if stored && !state.Restricted {
		own.Readers = nil // nobody's alone: a statement without the condition finds the same, and has better plans
	}
	if state.Open != nil {
		own.Values[rank.FacetConnector] = open(f.Values[rank.FacetConnector], state.Open)
	}
	return &own
}

// open are those of the wanted connectors that are open; all that are when none
// is named. Where none is left the answer names one that does not exist.
func open(wanted, all []string) []string {
	left := all
	if len(wanted) > 0 {
		left = slices.DeleteFunc(slices.Clone(wanted), func(id string) bool { return !slices.Contains(all, id) })
	}
	if len(left) == 0 {
		return []string{uuid.Nil.String()}
	}
	return left
}
