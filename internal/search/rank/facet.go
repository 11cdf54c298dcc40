package rank

import "time"

// A Facet is a field of documents that is filtered and counted by value.
type Facet uint8

// The facets. The numbers are those of the database's function magpie_facets.
const (
	FacetSection Facet = iota
	FacetVersion
	FacetLanguage
	FacetDocType
	FacetSource    // kind of the connector
	FacetConnector // id of the connector
	FacetTag       // the only facet of which a document may have several values
	FacetCount
)

// A Range is a span of time in whole microseconds, From inclusive, Until exclusive.
// The zero time is no bound.
type Range struct{ From, Until time.Time }

// A FacetRequest says what to count.
type FacetRequest struct {
	// Facets are counted by value, each once.
	Facets []Facet
	// Ranges are counted by index.Entry.Time.
	Ranges []Range
	// Passages limits the count to their documents. Nil counts every document of
	// which the filter selects a passage.
	Passages []Candidate
}

// FacetCounts are numbers of documents. The counts of several collections add up.
type FacetCounts struct {
	Documents int // all that were counted
	// Values counts by value, nil for a facet that was not requested. A document
	// without a value counts for "".
	Values [FacetCount]map[string]int
	// Ranges are in the order of the request and may overlap. Documents without a
	// time count as Undated, if any range was requested.
	Ranges  []int
	Undated int
}

// NewFacetCounts returns zeros for a request.
func NewFacetCounts(r *FacetRequest) *FacetCounts {
	c := &FacetCounts{Ranges: make([]int, len(r.Ranges))}
	for _, f := range r.Facets {
		c.Values[f] = make(map[string]int)
	}
	return c
}

// Add adds the counts of another answer to the same request.
func (c *FacetCounts) Add(other *FacetCounts) {
	c.Documents += other.Documents
	c.Undated += other.Undated
	for f, values := range other.Values {
		for value, n := range values {
			c.Values[f][value] += n
		}
	}
	for i, n := range other.Ranges {
		c.Ranges[i] += n
	}
}
