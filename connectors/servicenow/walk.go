package servicenow

import (
	"context"
	"fmt"

	"github.com/magpie-search/magpie/connectors"
)

// maxPageContent bounds the content on one page, in bytes.
const maxPageContent = 16 << 20

// A position is a place in the walk: a table, and a place in it.
type position struct {
	Table int `json:"t"`
	place
	// Refused is the number of tables so far that could not be read.
	Refused int `json:"r,omitempty"`
}

// Walk implements [connectors.Source].
func (s *source) Walk(ctx context.Context, text string) (connectors.Page, error) {
	if err := ctx.Err(); err != nil {
		return connectors.Page{}, err
	}
	var at position
	if text != "" && connectors.ParseCursor(text, &at) != nil || !at.isValid() || at.Table < 0 || at.Refused < 0 {
		return connectors.Page{}, connectors.ErrCursor
	}
	var page connectors.Page
	for content := 0; at.Table < len(s.tables) && len(page.Items) < connectors.MaxPageItems && content <= maxPageContent; {
		t := &s.tables[at.Table]
		rows, next, done, err := s.api.list(ctx, tablePath(t.name), t.query, t.fields(), at.place, connectors.MaxPageItems-len(page.Items))
		if isRefused(err) || isAbsent(err) {
			err = tableError(err, t.name)
			if at.Refused++; at.Refused == len(s.tables) {
				return connectors.Page{}, err
			}
			s.addWarning(fmt.Sprintf("Rows of %s are left out, and those that are known are kept: %s.", t.name, err))
			page.Incomplete = append(page.Incomplete, t.name)
			at.Table, at.place = at.Table+1, place{}
			continue
		}
		if err != nil {
			return connectors.Page{}, err
		}
		items, last, err := s.rowItems(ctx, t, rows, connectors.MaxPageItems-len(page.Items))
		if err != nil {
			return connectors.Page{}, err
		}
		for _, item := range items {
			content += len(item.Content)
		}
		page.Items = append(page.Items, items...)
		switch {
		case done:
			at.Table, at.place = at.Table+1, place{}
		case len(rows) > 0 && last == "": // no row fits
			content = maxPageContent + 1
		case len(rows) > 0:
			at.place = place{Last: last}
		default:
			at.place = next
		}
	}
	page.Done, page.Warnings = at.Table >= len(s.tables), s.takeWarnings()
	if !page.Done {
		page.Next = connectors.FormatCursor(at)
	}
	return page, nil
}

// rowItems returns the items of rows and of their files, at most room, and the id of the
// last row whose items they are.
func (s *source) rowItems(ctx context.Context, t *table, rows []row, room int) (items []connectors.Item, last string, err error) {
	files, err := s.filesOf(ctx, t, rows)
	if err != nil {
		return nil, "", err
	}
	content := 0
	for _, r := range rows {
		own := s.fileItems(t, r, files[r.id()])
		if len(own) >= connectors.MaxPageItems {
			s.addWarning(fmt.Sprintf("%s has more than %d files; the others are left out.", rowPath(t, r), connectors.MaxPageItems-1))
			own = own[:connectors.MaxPageItems-1]
		}
		item := s.item(t, r)
		if len(items)+1+len(own) > room || len(items) > 0 && (content+len(item.Content) > maxPageContent) {
			return items, last, nil
		}
		items = append(append(items, item), own...)
		content += len(item.Content)
		last = r.id()
	}
	return items, last, nil
}
