package confluence

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	stepBytes    = 16 << 20 // of text at hand in one page of the walk
	stepRequests = 12       // lists in one page of the walk
)

// cursor is where a walk is: in a space, among its pages or blog posts, at a
// place in their list, behind one of that part's pages and files.
type cursor struct {
	Space string `json:"s"`
	Kind  string `json:"k"`
	List  string `json:"l,omitempty"`
	Page  string `json:"p,omitempty"`
	File  string `json:"f,omitempty"`
	Trail string `json:"t,omitempty"` // of the parts of the list that were read
}

func (c cursor) String() string {
	text, _ := json.Marshal(c) // strings alone
	return string(text)
}

func parseCursor(text string) (cursor, error) {
	var c cursor
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&c) != nil || decoder.More() || c.Space == "" || c.Kind != kindPage && c.Kind != kindBlog {
		return cursor{}, errCursor
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
		s.forget()
	} else {
		var err error
		if at, err = parseCursor(text); err != nil {
			return connectors.Page{}, err
		}
	}
	spaces, err := s.scope(ctx)
	if err != nil {
		return connectors.Page{}, err
	}
	made := connectors.Page{Done: true}
	if text == "" {
		at = cursor{Kind: kindPage}
		if len(spaces) > 0 {
			at.Space = spaces[0].key
		}
	}
	size := 0
	for requests := 0; ; {
		// A space that is gone by now is passed over; one that is named was
		// missed already.
		in := slices.IndexFunc(spaces, func(one space) bool { return one.key >= at.Space })
		if in < 0 || at.Space == "" {
			break
		}
		if spaces[in].key != at.Space {
			at = cursor{Space: spaces[in].key, Kind: kindPage}
		}
		if requests == stepRequests || len(made.Items) >= connectors.MaxPageItems || size > stepBytes {
			made.Done, made.Next = false, at.String()
			break
		}
		pages, next, err := s.place.list(ctx, spaces[in], at.Kind, at.List)
		if err != nil {
			return connectors.Page{}, err
		}
		requests++
		if pages, err = s.wanted(ctx, pages); err != nil {
			return connectors.Page{}, err
		}
		stopped, err := s.take(ctx, &made, &size, &at, pages)
		if err != nil {
			return connectors.Page{}, err
		}
		if stopped {
			made.Done, made.Next = false, at.String()
			break
		}
		switch {
		case next != "":
			trail, _ := restapi.ParseLoopDetector(at.Trail)
			if err := trail.Visit("Confluence", "the content of "+at.Space, next); err != nil {
				return connectors.Page{}, err
			}
			at = cursor{Space: at.Space, Kind: at.Kind, List: next, Trail: trail.String()}
		case at.Kind == kindPage && s.s.Boolean(optionBlogs):
			at = cursor{Space: at.Space, Kind: kindBlog}
		case in+1 < len(spaces):
			at = cursor{Space: spaces[in+1].key, Kind: kindPage}
		default:
			at = cursor{}
		}
	}
	if s.api.busy.Swap(false) {
		made.Pause = nearLimit
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	made.Warnings, s.warnings = s.warnings, nil
	return made, nil
}

// take makes items of pages and their files, until the walk's page is full.
func (s *source) take(ctx context.Context, made *connectors.Page, size *int, at *cursor, pages []*page) (stopped bool, err error) {
	if at.Page != "" {
		// Where the page is gone, the part is walked again from its beginning.
		if seen := slices.IndexFunc(pages, func(p *page) bool { return p.id == at.Page }); seen >= 0 {
			pages = pages[seen:]
		} else {
			at.Page, at.File = "", ""
		}
	}
	for _, p := range pages {
		files := p.files
		slices.SortFunc(files, func(a, b file) int { return compareIDs(a.id, b.id) })
		if p.id == at.Page {
			files = slices.DeleteFunc(slices.Clone(files), func(f file) bool { return at.File != "" && compareIDs(f.id, at.File) <= 0 || at.File == "" })
		} else {
			if len(made.Items) >= connectors.MaxPageItems || *size > stepBytes {
				return true, nil
			}
			item, err := s.itemOf(ctx, p)
			if err != nil {
				return false, err
			}
			made.Items = append(made.Items, item)
			*size += len(item.Content)
			at.Page, at.File = p.id, "0"
		}
		for _, f := range files {
			if len(made.Items) >= connectors.MaxPageItems {
				return true, nil
			}
			made.Items = append(made.Items, fileItem(p, f))
			at.File = f.id
		}
	}
	return false, nil
}

// wanted are the pages that the settings let through, and notes where they are
// and who may read them.
func (s *source) wanted(ctx context.Context, pages []*page) ([]*page, error) {
	kept := slices.DeleteFunc(pages, func(p *page) bool { return !s.lets(p) })
	if clause := s.s.String(optionCQL); clause != "" && len(kept) > 0 {
		found, err := s.api.matching(ctx, kept, clause)
		if err != nil {
			return nil, err
		}
		kept = slices.DeleteFunc(kept, func(p *page) bool { return !found[p.id] })
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, p := range kept {
		s.remember(p)
	}
	return kept, nil
}

// lets reports whether the settings let a page through, but for the clause.
func (s *source) lets(p *page) bool {
	switch {
	case p.status != "" && p.status != "current" && (p.status != "archived" || !s.wants.archived):
		return false
	case p.kind == kindBlog && !s.s.Boolean(optionBlogs):
		return false
	}
	labels := s.s.Strings(optionLabels)
	return len(labels) == 0 || slices.ContainsFunc(p.labels, func(l string) bool {
		return slices.ContainsFunc(labels, func(want string) bool { return strings.EqualFold(want, l) })
	})
}

// remember keeps what Readers will ask for. The caller holds the mutex.
func (s *source) remember(p *page) {
	if len(s.above) > 100_000 {
		clear(s.above)
		clear(s.spaceOf)
		clear(s.readers)
	}
	s.above[p.id], s.spaceOf[p.id] = p.ancestors, p.space
	if p.restriction != nil {
		s.readers[p.id] = p.restriction
	} else {
		delete(s.readers, p.id)
	}
}

// itemOf is the item of a page, with its text where that is at hand and
// complete: comments have to be asked for.
func (s *source) itemOf(ctx context.Context, p *page) (connectors.Item, error) {
	item := pageItem(p)
	if !p.hasBody || len(p.marks) > 0 {
		return item, nil
	}
	names, err := s.named(ctx, p.body)
	if err != nil {
		return item, err
	}
	item.Content = document(s.api.site.base, p, nil, names)
	return item, nil
}
