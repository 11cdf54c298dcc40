package search

import "github.com/magpie-search/magpie/internal/search/rank"

// A Tier is a way to answer a search.
type Tier string

// The tiers.
const (
	TierResident Tier = "resident" // from memory
	TierStored   Tier = "stored"   // from PostgreSQL
	TierEngine   Tier = "engine"   // from a distributed engine and PostgreSQL
)

// An Explanation says how the score of a hit came about.
type Explanation struct {
	*rank.Explanation
	Evidence rank.Evidence
	// Confidence is the score before reranking.
	Confidence float64
	// Rating is the reranker's, which replaced the confidence; nil without one.
	Rating *float64
	Tier   Tier
	// Change is the change number of the collection's snapshot that was searched.
	Change int64
}

// explanation returns the explanation of a result; nil without one.
func (s *searcher) explanation(r *rank.Result) *Explanation {
	if r.Explanation == nil {
		return nil
	}
	x := &Explanation{Explanation: r.Explanation, Evidence: r.Evidence, Confidence: r.Explanation.Score}
	if rating, ok := s.ratings[r.Passage]; ok {
		x.Rating = &rating
	}
	c := &s.collections[r.Part] // those of the parts come first
	if x.Tier = c.tier(); c.snapshot != nil {
		x.Change = c.snapshot.Change
	} else {
		x.Change = c.source.Position().Change
	}
	return x
}
