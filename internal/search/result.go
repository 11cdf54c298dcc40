package search

import (
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/ingest/passage"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// A Hit is a passage that was found, with data of its document. Unknown texts are empty.
type Hit struct {
	Passage, Document, Collection uuid.UUID
	Title                         string
	URL                           string // of the document, with the passage's anchor if it has one
	Snippet                       string // escaped HTML: an excerpt of the text that shows the query's words
	Text                          string // the whole passage in Markdown
	Section, Version              string
	DocType, Language             string
	CollectionName                string
	Source                        string // the connector's kind
	Tags, Headings                []string
	Score                         float64   // 0 to 1, a confidence; see internal/search/rank
	UpdatedAt                     time.Time // when the source last changed the document; zero if unknown
	Metadata                      map[string]any
	Page                          int          // 0 for formats without pages
	Explanation                   *Explanation // nil unless asked for
	Duplicates                    *Duplicates  // left out by Query.Collapse; nil for none

	address  string            // of the document
	sections []passage.Section // within the text
}

// Results are a page of results.
type Results struct {
	Hits []Hit
	// Total is the number of candidates with at least the query's MinScore, less those that
	// Query.Collapse and Query.Distinct leave out.
	Total int
	Took  time.Duration
	// LexicalOnly says that at least one collection was searched by words alone, because its
	// model did not answer or is not configured.
	LexicalOnly bool
	// RerankFailed says that the reranker did not answer and the results kept their order.
	RerankFailed bool
	// Unverified says that a source did not answer who may read its documents, so that they
	// are left out.
	Unverified bool
	// Corrected are the words of the query that were replaced, because no passage has them;
	// DidYouMean is the query with these words replaced, "" without corrections.
	Corrected  []rank.Correction
	DidYouMean string
	// Words are the words of the question that were searched for, with their weights, and
	// Passages is the number of passages in scope. Filters do not affect them.
	Words    []rank.Word
	Passages int
	// Facets are in the order of the query.
	Facets []Facet
	// Collection is the only collection in scope, or the one that DefaultToOldest chose;
	// uuid.Nil if there are several.
	Collection uuid.UUID
}

// Warnings returns messages for people on what was unavailable during the search.
func (r *Results) Warnings() []string {
	var out []string
	if r.LexicalOnly {
		out = append(out, "An embedding model is not available at the moment: the results were found by words alone.")
	}
	if r.RerankFailed {
		out = append(out, "The reranking model is not available at the moment: the results have the order of the first pass.")
	}
	if r.Unverified {
		out = append(out, "A source does not answer at the moment who may read its documents: they are left out.")
	}
	return out
}
