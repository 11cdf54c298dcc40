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

// readers are the principals of the viewer. The engine reads them from the context, and
// every filter of a collection goes through restrict, so that no caller can forget them.
type readers struct{ viewer.Readers }

func readersOf(ctx context.Context) (readers, error) {
	r, err := viewer.ReadersOf(ctx)
	if err != nil {
		return readers{}, fmt.Errorf("find the viewer's principals: %w", err)
	}
	return readers{r}, nil
}

// restrict narrows a filter of a collection to the documents that the viewer may read.
func (r readers) restrict(f *rank.Filter, state *index.State, tier Tier) *rank.Filter {
	if r.Everything() {
		return f
	}
	out := *f
	out.Readers = r.Principals()
	if f.Readers != nil { // the query may only narrow
		out.Readers = slices.DeleteFunc(slices.Clone(f.Readers), func(p string) bool { return !slices.Contains(r.Principals(), p) })
	}
	if tier == TierStored && !state.Restricted {
		out.Readers = nil // no document is restricted, and statements without the condition have better plans
	}
	if state.OpenConnectors != nil {
		out.Values[rank.FacetConnector] = intersect(f.Values[rank.FacetConnector], state.OpenConnectors)
	}
	return &out
}

// intersect returns the selected connectors that are open. An empty selection selects all.
// If no connector remains it returns an id that no connector has.
func intersect(selected, open []string) []string {
	out := open
	if len(selected) > 0 {
		out = slices.DeleteFunc(slices.Clone(selected), func(id string) bool { return !slices.Contains(open, id) })
	}
	if len(out) == 0 {
		return []string{uuid.Nil.String()}
	}
	return out
}
