package search

import (
	"time"

	"github.com/google/uuid"
)

// Hit is a passage that was found, with what is known about its document.
// Unknown texts are empty.
type Hit struct {
	Passage, Document, Collection uuid.UUID
	Title                         string
	URL                           string // of the document, with the passage's anchor where it has one
	Snippet                       string // HTML: the escaped part of the text that shows the query's words
	Text                          string // the whole passage, raw Markdown
	Section, Version              string
	DocType, Language             string
	CollectionName                string
	Source                        string // the connector's type
	Tags, Headings                []string
	Score                         float64   // 0 to 1, a confidence; see internal/search/rank
	UpdatedAt                     time.Time // when the source changed the document; zero when unknown
	Metadata                      map[string]any
	Page                          int // 0 where the format has no pages
}

// Results is a page of what was found.
type Results struct {
	Hits []Hit
	// Total counts the passages at or over the query's MinScore in the pool.
	Total int
	Took  time.Duration
	// LexicalOnly tells that a model did not answer, or is not configured, and
	// that at least one collection was searched by words alone.
	LexicalOnly bool
	// Unrated tells that the reranker did not answer and the results keep their order.
	Unrated bool
	// Facets are those asked for, in their order.
	Facets []Facet
	// Oldest is the collection that Query.OldestAmong asks for, looked up after
	// the search began; uuid.Nil where it is not known.
	Oldest uuid.UUID
}

// Warnings say what the search had to do without, for people; nil for nothing.
func (r *Results) Warnings() []string {
	var out []string
	if r.LexicalOnly {
		out = append(out, "An embedding model is not available at the moment: the results were found by words alone.")
	}
	if r.Unrated {
		out = append(out, "The reranking model is not available at the moment: the results have the order of the first pass.")
	}
	return out
}
