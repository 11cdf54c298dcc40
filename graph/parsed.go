package graph

import (
	"container/list"
	"sync"

	"github.com/vektah/gqlparser/v2/ast"
)

const (
	// parsedBytes is what a server holds of parsed documents.
	parsedBytes = 16 << 20
	// tokenBytes is what a token counts for beside its text. The tree of the densest
	// document has that many a token.
	tokenBytes = 450
	// parsedShare is how many documents from outside there is place for at least.
	parsedShare = 16
)

// storedShare is the part of a cache that is for Magpie's own operations.
func storedShare(all int) int { return all / 2 }

// parsed is a document that is ready to be executed, with what it was measured
// to have.
type parsed struct {
	document *ast.QueryDocument
	measured measured
}

func (p *parsed) bytes() int { return p.measured.bytes + p.measured.tokens*tokenBytes }

// parsedCache keeps the documents last used, up to a number of bytes.
type parsedCache struct {
	most int // bytes of all
	each int // bytes of one

	mu   sync.Mutex
	held int
	by   map[string]*list.Element
	used list.List // of *kept, the last used first
}

type kept struct {
	text string
	*parsed
}

func newParsedCache(most, each int) *parsedCache {
	return &parsedCache{most: most, each: each, by: make(map[string]*list.Element)}
}

// get returns the document of a text; nil when it is not held.
func (c *parsedCache) get(text string) *parsed {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.by[text]
	if !ok {
		return nil
	}
	c.used.MoveToFront(at)
	k, _ := at.Value.(*kept)
	return k.parsed
}

// add keeps a document, but for one that would take too much.
func (c *parsedCache) add(text string, p *parsed) {
	if p.bytes() > c.each {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, twice := c.by[text]; twice {
		return
	}
	c.by[text] = c.used.PushFront(&kept{text, p})
	c.held += p.bytes()
	for c.held > c.most {
		last := c.used.Back()
		k, _ := c.used.Remove(last).(*kept)
		delete(c.by, k.text)
		c.held -= k.bytes()
	}
}
