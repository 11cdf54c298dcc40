package chat

import (
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/search"
)

// CitationState is the state of a Citations between two answers of a model.
type CitationState struct {
	Documents []CitedDocument `json:"documents"`
	Cited     []int           `json:"cited"` // indices of Documents, in the order of their first citation
}

// CitedDocument is a document that a model saw.
type CitedDocument struct {
	Passage  uuid.UUID `json:"passage"`
	Document uuid.UUID `json:"document"`
	Title    string    `json:"title"`
	URL      string    `json:"url,omitempty"`
	// Passages are those that it saw, the first one included.
	Passages []CitedPassage `json:"passages,omitempty"`
}

// State returns the documents so far and which of them are cited. It may be called
// after Flush.
func (c *Citations) State() CitationState {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := CitationState{Documents: []CitedDocument{}, Cited: []int{}}
	for _, hit := range c.rewriter.hits {
		s.Documents = append(s.Documents, CitedDocument{Passage: hit.Passage, Document: hit.Document, Title: hit.Title, URL: hit.URL, Passages: slices.Clone(c.passages[hit.Document])})
	}
	for _, source := range c.rewriter.sources {
		s.Cited = append(s.Cited, c.numbers[source.ID]-1)
	}
	return s
}

// RestoreCitations returns a Citations that continues from a state.
func RestoreCitations(s CitationState) *Citations {
	c := NewCitations()
	for _, d := range s.Documents {
		c.Add(search.Hit{Passage: d.Passage, Document: d.Document, Title: d.Title, URL: d.URL})
		if len(d.Passages) > 0 {
			c.passages[d.Document] = slices.Clone(d.Passages)
		}
	}
	for _, i := range s.Cited {
		if i >= 0 && i < len(c.rewriter.hits) {
			c.rewriter.sourceNumber(i)
		}
	}
	return c
}
