package chat

import (
	"strconv"
	"sync"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/search"
)

// Citations numbers the documents that a writer is shown, and turns those numbers in its streamed text into the numbers of
// what was cited, as in an answer of Chat: [n] is the n-th of Sources. A bracket whose numbers were never given, an
// index, a link or what stands in code is left as it is, as there. It is safe for concurrent use.
type Citations struct {
	mu    sync.Mutex
	c     *citations
	given map[uuid.UUID]int
}

// NewCitations makes an account of nothing shown.
func NewCitations() *Citations {
	return &Citations{c: newCitations(nil), given: make(map[uuid.UUID]int)}
}

// Add returns the number of a passage's document, from 1; the first passage of it gives title and address.
func (c *Citations) Add(hit search.Hit) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, known := c.given[hit.Document]
	if !known {
		c.c.hits = append(c.c.hits, hit)
		n = len(c.c.hits)
		c.given[hit.Document] = n
	}
	return n
}

// Write takes the next piece of the text and returns what can be shown by now.
func (c *Citations) Write(text string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.c.write(text)
}

// Flush returns what was held back, at the end of the text.
func (c *Citations) Flush() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.c.flush()
}

// Cite cites the document of a number that Add gave and returns the mark for it, such as [2].
func (c *Citations) Cite(number int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return "[" + strconv.Itoa(c.c.source(number-1)) + "]"
}

// Sources are the documents that were cited, so that [n] is the n-th.
func (c *Citations) Sources() []Source {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Source{}, c.c.sources...)
}

// Excerpt is a part of a passage, verbatim but for the author's own [1], which is escaped.
type Excerpt struct {
	Text string
	Hit  int // the passage's place
	// Whole says that it is a table, code or a list.
	Whole bool
}

// Excerpts are the parts of passages that answer a question best, as an answer without a model is made of them; none when
// nothing fits.
func Excerpts(a *analysis.Analyzer, question string, hits []search.Hit) []Excerpt {
	var out []Excerpt
	for _, q := range extract(a, question, question, hits) {
		out = append(out, Excerpt{Text: q.text, Hit: q.hit, Whole: q.whole})
	}
	return out
}

// WithoutCitations is the text of an answer without its marks, which mean nothing beside new sources.
func WithoutCitations(text string) string { return withoutCitations(text) }
