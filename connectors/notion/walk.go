package notion

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"

	"github.com/magpie-search/magpie/connectors"
)

const (
	partsPerPage   = 10 // pages of the whole list that one page of a walk reads
	fetchesPerPage = 20 // pages whose files one page of a walk reads
	keptWalks      = 3
)

// A cursor is a position in a walk: first in the whole list, then in the items.
type cursor struct {
	Walk   string   `json:"w"`
	Chunks int      `json:"n"`
	List   *listing `json:"l,omitempty"`
	// Chunk and Index are the next node, File the number of its items that were given.
	Chunk int `json:"c,omitempty"`
	Index int `json:"x,omitempty"`
	File  int `json:"f,omitempty"`
}

func (c cursor) isValid() bool {
	const most = 1_000_000
	return len(c.Walk) <= 32 && c.Walk != "" && c.Chunks >= 0 && c.Chunks < most && c.Chunk >= 0 && c.Chunk <= c.Chunks && c.Index >= 0 && c.File >= 0
}

// Walk implements [connectors.Source].
func (s *source) Walk(ctx context.Context, text string) (connectors.Page, error) {
	if err := ctx.Err(); err != nil {
		return connectors.Page{}, err
	}
	var c cursor
	if text == "" {
		if err := s.checkAccount(ctx); err != nil {
			return connectors.Page{}, err
		}
		name := make([]byte, 8)
		_, _ = rand.Read(name) // never fails
		c = cursor{Walk: hex.EncodeToString(name), List: &listing{Phase: phaseSources}}
	} else if err := connectors.ParseCursor(text, &c); err != nil {
		return connectors.Page{}, err
	} else if !c.isValid() {
		return connectors.Page{}, connectors.ErrCursor
	}
	var page connectors.Page
	var err error
	if c.List != nil {
		if err = s.walkList(ctx, &c, &page); err != nil {
			return connectors.Page{}, err
		}
	}
	if c.List == nil {
		if err = s.walkItems(ctx, &c, &page); err != nil {
			return connectors.Page{}, err
		}
	}
	if !page.Done {
		page.Next = connectors.FormatCursor(c)
	}
	page.Warnings = s.takeWarnings()
	return page, nil
}

// walkList reads some pages of the whole list.
func (s *source) walkList(ctx context.Context, c *cursor, page *connectors.Page) error {
	sources := func() ([]string, error) { return s.sourcesOf(ctx, c.Walk, c.Chunks) }
	for range partsPerPage {
		nodes, next, incomplete, err := s.readPart(ctx, *c.List, sources)
		if err != nil {
			return err
		}
		if incomplete != "" {
			page.Incomplete = append(page.Incomplete, incomplete)
		}
		if err := s.putChunk(ctx, c.Walk, c.Chunks, nodes); err != nil {
			return err
		}
		c.Chunks++
		if c.List = next; next == nil {
			return s.completeList(ctx, *c)
		}
	}
	return nil
}

// sourcesOf returns the data sources whose rows a walk lists, sorted. chunks are the
// chunks so far, which have all data sources and pages.
func (s *source) sourcesOf(ctx context.Context, walk string, chunks int) ([]string, error) {
	s.mutex.Lock()
	known, of := s.rowSources, s.rowSourcesOf
	s.mutex.Unlock()
	if of == walk {
		return known, nil
	}
	t, ok, err := s.loadTree(ctx, walk, chunks)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, connectors.ErrCursor
	}
	found := t.sources(s.only)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.rowSources, s.rowSourcesOf = found, walk
	return found, nil
}

// sources returns the ids of the data sources that the settings include, sorted.
func (t *tree) sources(only map[string]bool) []string {
	var found []string
	for id, n := range t.nodes {
		if n.Source && t.isIncluded(n, only) {
			found = append(found, id)
		}
	}
	slices.Sort(found)
	return found
}

// completeList makes a walk the current one, and deletes all but the last ones.
func (s *source) completeList(ctx context.Context, c cursor) error {
	t, ok, err := s.loadTree(ctx, c.Walk, c.Chunks)
	if err != nil {
		return err
	}
	if ok && len(t.nodes) == 0 {
		return errNothingShared
	}
	var walks []string
	if _, err := connectors.GetJSON(ctx, s.state, keyWalks, &walks); err != nil {
		return err
	}
	walks = append(slices.DeleteFunc(walks, func(w string) bool { return w == c.Walk }), c.Walk)
	for len(walks) > keptWalks {
		if err := s.state.DeletePrefix(ctx, keyChunks+walks[0]+"/"); err != nil {
			return err
		}
		if err := s.state.DeletePrefix(ctx, keyWalked+walks[0]); err != nil {
			return err
		}
		walks = walks[1:]
	}
	if err := connectors.PutJSON(ctx, s.state, keyWalks, walks); err != nil {
		return err
	}
	if err := connectors.PutJSON(ctx, s.state, keyWalked+c.Walk, current{c.Walk, c.Chunks}); err != nil {
		return err
	}
	return connectors.PutJSON(ctx, s.state, keyCurrent, current{c.Walk, c.Chunks})
}

const keyWalks = "walks"

// walkItems lists the items of a walk whose list is complete.
func (s *source) walkItems(ctx context.Context, c *cursor, page *connectors.Page) error {
	t, ok, err := s.loadTree(ctx, c.Walk, c.Chunks)
	if err != nil {
		return err
	}
	if !ok {
		return connectors.ErrCursor
	}
	first, err := s.firstChunks(ctx, c.Walk, c.Chunks)
	if err != nil {
		return err
	}
	fetches := 0
	for ; c.Chunk < c.Chunks; c.Chunk, c.Index, c.File = c.Chunk+1, 0, 0 {
		nodes, ok, err := s.chunk(ctx, c.Walk, c.Chunk)
		if err != nil {
			return err
		}
		if !ok {
			return connectors.ErrCursor
		}
		for ; c.Index < len(nodes); c.Index, c.File = c.Index+1, 0 {
			n := nodes[c.Index]
			// An object that was listed twice is given once, in its last state.
			if first[n.ID] != [2]int{c.Chunk, c.Index} {
				continue
			}
			n = t.nodes[n.ID]
			if n.Source || !t.isIncluded(n, s.only) {
				continue
			}
			if len(page.Items) >= connectors.MaxPageItems || fetches >= fetchesPerPage {
				return nil
			}
			items, fetched, err := s.items(ctx, t, n)
			if err != nil {
				return err
			}
			if fetched {
				fetches++
			}
			items = items[min(c.File, len(items)):]
			room := connectors.MaxPageItems - len(page.Items)
			page.Items = append(page.Items, items[:min(room, len(items))]...)
			if len(items) > room {
				c.File += room
				return nil
			}
		}
	}
	page.Done = true
	return nil
}

// firstChunks returns the first place of each node in the chunks of a walk.
func (s *source) firstChunks(ctx context.Context, walk string, chunks int) (map[string][2]int, error) {
	s.mutex.Lock()
	if s.places != nil && s.placesOf == walk {
		defer s.mutex.Unlock()
		return s.places, nil
	}
	s.mutex.Unlock()
	places := map[string][2]int{}
	for number := range chunks {
		nodes, _, err := s.chunk(ctx, walk, number)
		if err != nil {
			return nil, err
		}
		for i, n := range nodes {
			if _, exists := places[n.ID]; !exists {
				places[n.ID] = [2]int{number, i}
			}
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.places, s.placesOf = places, walk
	return places, nil
}

// items returns the items of a page: the page itself and its files. fetched says
// that the page was requested.
func (s *source) items(ctx context.Context, t *tree, n node) (items []connectors.Item, fetched bool, err error) {
	items = []connectors.Item{pageItem(t, n)}
	if s.withComments {
		items[0].Version += markComments
	}
	if !s.withFiles {
		return items, false, nil
	}
	files, fetched, err := s.filesOf(ctx, n)
	if err != nil {
		return nil, fetched, err
	}
	return append(items, fileItems(t, n, files.Files)...), fetched, nil
}
