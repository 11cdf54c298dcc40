package chat

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/chat/quote"
	"github.com/magpie-search/magpie/internal/search"
)

// Citations numbers the documents that a model sees, and rewrites those numbers
// in its streamed text to the numbers of the cited sources: [n] cites the n-th
// of Sources. Other brackets stay unchanged, as in answers of a Chat. It is
// safe for concurrent use.
type Citations struct {
	mu       sync.Mutex
	rewriter *citationRewriter
	numbers  map[uuid.UUID]int
	passages map[uuid.UUID][]CitedPassage // that were added, by document
}

// NewCitations returns a Citations without documents.
func NewCitations() *Citations {
	return &Citations{rewriter: newCitationRewriter(nil), numbers: make(map[uuid.UUID]int), passages: make(map[uuid.UUID][]CitedPassage)}
}

// Add returns the number of a passage's document, from 1. The first passage of
// a document determines the title and the URL of its source.
func (c *Citations) Add(hit search.Hit) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, known := c.numbers[hit.Document]
	if !known {
		c.rewriter.hits = append(c.rewriter.hits, hit)
		n = len(c.rewriter.hits)
		c.numbers[hit.Document] = n
	}
	c.passages[hit.Document] = withPassage(c.passages[hit.Document], hit)
	return n
}

// Write takes the next piece of the text and returns the text that can be shown
// already.
func (c *Citations) Write(text string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rewriter.write(text)
}

// Flush returns the text that Write held back, at the end of the text.
func (c *Citations) Flush() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rewriter.flush()
}

// Cite cites the document of a number that Add returned, and returns the mark
// such as [2].
func (c *Citations) Cite(number int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return "[" + strconv.Itoa(c.rewriter.sourceNumber(number-1)) + "]"
}

// Sources returns the cited documents in the order of their numbers, with the
// passages that were added of each.
func (c *Citations) Sources() []Source {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := append([]Source{}, c.rewriter.sources...)
	for i := range out {
		out[i].Passages = slices.Clone(c.passages[out[i].ID])
	}
	return out
}

// Limits of the cited passages of a source.
const (
	maxCitedPassages = 10
	maxExcerpt       = 240 // characters
)

// withPassage adds a passage to those of a source, once and up to the limit.
func withPassage(passages []CitedPassage, hit search.Hit) []CitedPassage {
	if len(passages) >= maxCitedPassages || slices.ContainsFunc(passages, func(p CitedPassage) bool { return p.ID == hit.Passage }) {
		return passages
	}
	return append(passages, CitedPassage{
		ID: hit.Passage, HeadingPath: append([]string{}, hit.Headings...),
		Excerpt: quote.TruncateAtWord(strings.Join(strings.Fields(hit.Text), " "), maxExcerpt),
	})
}

// StoredSources returns sources as a message stores them.
func StoredSources(sources []Source) []map[string]any {
	list := make([]map[string]any, len(sources))
	for i, s := range sources {
		list[i] = map[string]any{"id": s.ID.String(), "title": s.Title, "url": s.URL, "passages": append([]CitedPassage{}, s.Passages...)}
	}
	return list
}

// Excerpt is a verbatim part of a passage, with citations of its author
// escaped.
type Excerpt struct {
	Text     string
	HitIndex int // index of the passage
	// Block reports whether Text is a table, code or a list.
	Block bool
}

// Excerpts returns the parts of passages that answer a question best, as in an
// answer without a model. It returns none if nothing fits.
func Excerpts(a *analysis.Analyzer, question string, hits []search.Hit) []Excerpt {
	var out []Excerpt
	for _, q := range quote.Select(a, quote.Question{Text: question}, hits) {
		out = append(out, Excerpt{Text: escapeCitations(q.Text), HitIndex: q.HitIndex, Block: q.Block})
	}
	return out
}

// StripCitations returns the text of an answer without its citations, which are
// wrong beside new sources.
func StripCitations(text string) string { return stripCitations(text) }
