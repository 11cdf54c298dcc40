package system

import (
	"fmt"
	"time"
)

// A ProjectionState is how far a collection is in the search engine.
type ProjectionState string

// The states, as package index has them.
const (
	projectionReady  ProjectionState = "READY"
	projectionFailed ProjectionState = "FAILED"
)

// A Projection is what the search engine has of a collection.
type Projection struct {
	State ProjectionState
	// Change is the number of the collection's last change, Written that of the last one that
	// was sent to the engine, and Confirmed that of the last one that all replicas are known
	// to have.
	Change, Written, Confirmed int64
	BehindSeconds              float64 // since when something is not confirmed
	Failing                    bool    // the last try failed
}

// projectionColumns are those of engine_collections e and collection_state s. They are null
// without a projection.
const projectionColumns = `e.state, coalesce(s.change_number, 0), e.written_change, e.confirmed_change,
	coalesce(extract(epoch from now() - e.behind_since), 0)::float8, e.last_error is not null`

// projectionRow is a row of projectionColumns.
type projectionRow struct {
	state              *string
	change             int64
	written, confirmed *int64
	behind             float64
	failing            bool
}

func (p *projectionRow) fields() []any {
	return []any{&p.state, &p.change, &p.written, &p.confirmed, &p.behind, &p.failing}
}

// projection returns nil for a row without one.
func (p *projectionRow) projection() *Projection {
	if p.state == nil || p.written == nil || p.confirmed == nil {
		return nil
	}
	return &Projection{
		State: ProjectionState(*p.state), Change: p.change, Written: *p.written, Confirmed: *p.confirmed, BehindSeconds: max(p.behind, 0), Failing: p.failing,
	}
}

// MaxEngineLag is the time after which a collection that the engine does not have completely
// needs attention.
const MaxEngineLag = 15 * time.Minute

// warnOfProjections warns of collections that the search engine does not get. So many are to
// be in it by choice.
func (s *System) warnOfProjections(r *Report, chosen int) {
	failing, behind := 0, 0
	for _, c := range r.Collections {
		switch {
		case c.Engine == nil:
		case c.Engine.State == projectionFailed || c.Engine.Failing:
			failing++
		case c.Engine.State == projectionReady && c.Engine.BehindSeconds > MaxEngineLag.Seconds():
			behind++
		}
	}
	// Without an engine, collections that are only large belong where they are.
	if chosen > 0 && !s.o.HasEngine {
		r.warn("ENGINE_MISSING", fmt.Sprintf("%d of the collections should be in a search engine, and this process has none.", chosen),
			"Set ENGINE_URL for every process, or searchTier of these collections to AUTO; without it they are searched in memory or in PostgreSQL.")
	}
	if failing > 0 {
		r.warn("ENGINE_FAILING", fmt.Sprintf("%d of the collections cannot be sent to the search engine.", failing),
			"Look for \"search engine\" in the log of the workers, and run magpie doctor.")
	}
	if behind > 0 {
		r.warn("ENGINE_BEHIND", fmt.Sprintf("The search engine has not confirmed changes of %d of the collections for %d minutes.", behind, int(MaxEngineLag.Minutes())),
			"Look whether all nodes of the engine run; what is not confirmed is searched in memory or in PostgreSQL.")
	}
}
