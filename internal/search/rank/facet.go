package rank

import "time"

// Facet names a field of documents that is filtered and counted by value.
type Facet uint8

// The facets. The numbers are those of the database's function magpie_facets.
const (
	FacetSection Facet = iota
	FacetVersion
	FacetLanguage
	FacetDocType
	FacetSource    // kind of the connector
	FacetConnector // its id
	FacetTag       // the only one of which a document has several
	FacetCount
)

// Range is a span of time: From inclusive, Until exclusive, both in whole
// microseconds; the zero time is no bound.
type Range struct{ From, Until time.Time }

// FacetRequest says what is to be counted.
type FacetRequest struct {
	// Facets are those asked for, each once.
	Facets []Facet
	// Ranges are counted by index.Entry.Time.
	Ranges []Range
	// Passages are those whose documents are counted; with nil all documents
	// are that the filter leaves a passage of.
	Passages []Candidate
}

// FacetCounts are numbers of documents. Those of several collections add up.
type FacetCounts struct {
	Documents int // that were looked at
	// Values count by value, nil where a facet was not asked for. A document
	// without a value counts for "".
	Values [FacetCount]map[string]int
	// Ranges are in the order of the request's. They may overlap. No document
	// without a time is in any; those are Undated, where ranges were asked for.
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
