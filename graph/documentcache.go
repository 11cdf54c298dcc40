package graph

import (
	"container/list"
	"sync"

	"github.com/vektah/gqlparser/v2/ast"
)

const (
	// defaultCacheBytes is the size of a server's cache of parsed documents.
	defaultCacheBytes = 16 << 20
	// tokenBytes is an estimate of the memory of a token in addition to its text. It is
	// measured at documents with the most syntax nodes for their length.
	tokenBytes = 450
	// minCachedDocuments is how many documents of clients fit in the cache, however large
	// they are.
	minCachedDocuments = 16
)

// storedBytes returns the part of a cache that is reserved for stored operations.
func storedBytes(all int) int { return all / 2 }

// A parsedDocument is a valid document with its size.
type parsedDocument struct {
	document *ast.QueryDocument
	size     documentSize
}

func (p *parsedDocument) bytes() int { return p.size.bytes + p.size.tokens*tokenBytes }

// A documentCache is a cache of parsed documents by text. It evicts the least recently
// used ones.
type documentCache struct {
	maxBytes         int
	maxDocumentBytes int

	mu      sync.Mutex
	bytes   int
	entries map[string]*list.Element
	recent  list.List // of *cacheEntry, the most recently used first
}

type cacheEntry struct {
	text string
	*parsedDocument
}

func newDocumentCache(maxBytes, maxDocumentBytes int) *documentCache {
	return &documentCache{maxBytes: maxBytes, maxDocumentBytes: maxDocumentBytes, entries: make(map[string]*list.Element)}
}

// get returns the document of a text, or nil if it is not cached.
func (c *documentCache) get(text string) *parsedDocument {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.entries[text]
	if !ok {
		return nil
	}
	c.recent.MoveToFront(element)
	entry, _ := element.Value.(*cacheEntry)
	return entry.parsedDocument
}

// add caches a document, unless it is too large.
func (c *documentCache) add(text string, p *parsedDocument) {
	if p.bytes() > c.maxDocumentBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, exists := c.entries[text]; exists {
		return
	}
	c.entries[text] = c.recent.PushFront(&cacheEntry{text, p})
	c.bytes += p.bytes()
	for c.bytes > c.maxBytes {
		entry, _ := c.recent.Remove(c.recent.Back()).(*cacheEntry)
		delete(c.entries, entry.text)
		c.bytes -= entry.bytes()
	}
}
