package confluence

import (
	"context"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	maxPageContent  = 16 << 20 // bytes of content on one page of the walk
	maxPageRequests = 12       // lists that are read for one page of the walk
)

// A cursor is a position in the lists of a space's pages or blog posts: the
// part of the list, and the last page and file of that part.
type cursor struct {
	Space string `json:"s"`
	Kind  string `json:"k"`
	List  string `json:"l,omitempty"`
	Page  string `json:"p,omitempty"`
	File  string `json:"f,omitempty"`
	Loop  string `json:"t,omitempty"` // of the parts of the list
}

func parseCursor(text string) (cursor, error) {
	var c cursor
	if err := connectors.ParseCursor(text, &c); err != nil {
		return cursor{}, err
	}
	if c.Space == "" || c.Kind != kindPage && c.Kind != kindBlog {
		return cursor{}, connectors.ErrCursor
	}
	return c, nil
}

// Walk implements [connectors.Source].
func (s *source) Walk(ctx context.Context, text string) (connectors.Page, error) {
	if err := ctx.Err(); err != nil {
		return connectors.Page{}, err
	}
	var at cursor
	if text == "" {
		s.resetCaches()
	} else {
		var err error
		if at, err = parseCursor(text); err != nil {
			return connectors.Page{}, err
		}
	}
	spaces, err := s.selectedSpaces(ctx)
	if err != nil {
		return connectors.Page{}, err
	}
	if text == "" {
		at = cursor{Kind: kindPage}
		if len(spaces) > 0 {
			at.Space = spaces[0].key
		}
	}
	b := &pageBuilder{source: s, cursor: at, page: connectors.Page{Done: true}}
	for requests := 0; ; requests++ {
		// A deleted space is skipped. A deleted space that the config names is an
		// error of selectedSpaces.
		index := slices.IndexFunc(spaces, func(sp space) bool { return sp.key >= b.cursor.Space })
		if index < 0 || b.cursor.Space == "" {
			break
		}
		if spaces[index].key != b.cursor.Space {
			b.cursor = cursor{Space: spaces[index].key, Kind: kindPage}
		}
		if requests == maxPageRequests || b.isFull() {
			b.stop()
			break
		}
		pages, next, err := s.deployment.list(ctx, spaces[index], b.cursor.Kind, b.cursor.List)
		if err != nil {
			return connectors.Page{}, err
		}
		if pages, err = s.filterPages(ctx, pages); err != nil {
			return connectors.Page{}, err
		}
		full, err := b.add(ctx, pages)
		if err != nil {
			return connectors.Page{}, err
		}
		if full {
			b.stop()
			break
		}
		if err := b.advance(spaces, index, next); err != nil {
			return connectors.Page{}, err
		}
	}
	b.page.Pause = s.client.Pause()
	b.page.Warnings = s.takeWarnings()
	return b.page, nil
}

// A pageBuilder makes one page of a walk.
type pageBuilder struct {
	source  *source
	cursor  cursor
	page    connectors.Page
	content int // bytes
}

func (b *pageBuilder) isFull() bool {
	return len(b.page.Items) >= connectors.MaxPageItems || b.content > maxPageContent
}

// stop ends the page before the end of the walk.
func (b *pageBuilder) stop() { b.page.Done, b.page.Next = false, connectors.FormatCursor(b.cursor) }

// advance moves the cursor to the next part of the list, the next list, or the end.
func (b *pageBuilder) advance(spaces []space, index int, next string) error {
	c := b.cursor
	switch {
	case next != "":
		loop, _ := restapi.ParseLoopDetector(c.Loop)
		if err := loop.Visit("Confluence", "the content of "+c.Space, next); err != nil {
			return err
		}
		b.cursor = cursor{Space: c.Space, Kind: c.Kind, List: next, Loop: loop.String()}
	case c.Kind == kindPage && b.source.settings.Boolean(optionBlogs):
		b.cursor = cursor{Space: c.Space, Kind: kindBlog}
	case index+1 < len(spaces):
		b.cursor = cursor{Space: spaces[index+1].key, Kind: kindPage}
	default:
		b.cursor = cursor{}
	}
	return nil
}

// add adds the items of pages and their files, until the page of the walk is full.
func (b *pageBuilder) add(ctx context.Context, pages []*page) (full bool, err error) {
	c := &b.cursor
	if c.Page != "" {
		// If the page is gone, its part of the list is walked again.
		if i := slices.IndexFunc(pages, func(p *page) bool { return p.id == c.Page }); i >= 0 {
			pages = pages[i:]
		} else {
			c.Page, c.File = "", ""
		}
	}
	for _, p := range pages {
		files := p.files
		slices.SortFunc(files, func(a, b file) int { return compareIDs(a.id, b.id) })
		if p.id == c.Page {
			files = slices.DeleteFunc(slices.Clone(files), func(f file) bool { return c.File != "" && compareIDs(f.id, c.File) <= 0 || c.File == "" })
		} else {
			if b.isFull() {
				return true, nil
			}
			item, err := b.source.newPageItem(ctx, p)
			if err != nil {
				return false, err
			}
			b.page.Items = append(b.page.Items, item)
			b.content += len(item.Content)
			c.Page, c.File = p.id, "0"
		}
		for _, f := range files {
			if len(b.page.Items) >= connectors.MaxPageItems {
				return true, nil
			}
			b.page.Items = append(b.page.Items, fileItem(p, f))
			c.File = f.id
		}
	}
	return false, nil
}

// filterPages returns the pages that the settings include, and stores their
// ancestors and restrictions for Readers.
func (s *source) filterPages(ctx context.Context, pages []*page) ([]*page, error) {
	included := slices.DeleteFunc(pages, func(p *page) bool { return !s.isIncluded(p) })
	if clause := s.settings.String(optionCQL); clause != "" && len(included) > 0 {
		found, err := s.client.matchCQL(ctx, included, clause)
		if err != nil {
			return nil, err
		}
		included = slices.DeleteFunc(included, func(p *page) bool { return !found[p.id] })
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, p := range included {
		s.rememberPage(p)
	}
	return included, nil
}

// isIncluded reports whether the settings include a page, except for the CQL
// clause.
func (s *source) isIncluded(p *page) bool {
	switch {
	case p.status != "" && p.status != "current" && (p.status != "archived" || !s.include.archived):
		return false
	case p.kind == kindBlog && !s.settings.Boolean(optionBlogs):
		return false
	}
	labels := s.settings.Strings(optionLabels)
	return len(labels) == 0 || slices.ContainsFunc(p.labels, func(l string) bool {
		return slices.ContainsFunc(labels, func(want string) bool { return strings.EqualFold(want, l) })
	})
}

// rememberPage stores what Readers needs. The caller holds the mutex.
func (s *source) rememberPage(p *page) {
	if len(s.ancestors) > 100_000 {
		clear(s.ancestors)
		clear(s.spaceKeys)
		clear(s.restrictions)
	}
	s.ancestors[p.id], s.spaceKeys[p.id] = p.ancestors, p.space
	if p.restriction != nil {
		s.restrictions[p.id] = p.restriction
	} else {
		delete(s.restrictions, p.id)
	}
}

// newPageItem returns the item of a page, with its content if that is complete:
// comments must be requested.
func (s *source) newPageItem(ctx context.Context, p *page) (connectors.Item, error) {
	item := pageItem(p)
	if !p.hasBody || len(p.commentMarks) > 0 {
		return item, nil
	}
	names, err := s.namesIn(ctx, p.body)
	if err != nil {
		return item, err
	}
	item.Content = renderDocument(s.client.Site.Base, p, nil, names)
	return item, nil
}
