package servicenow

import (
	"context"
	"fmt"
	"slices"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// maxPageContent bounds the content on one page, in bytes.
const maxPageContent = 16 << 20

// A position is a place in the walk: a table, and a place in it.
type position struct {
	Table int `json:"t"`
	place
	// Refused is the number of tables so far that could not be read.
	Refused int `json:"r,omitempty"`
	// Counts has the number of rows that the instance counts, by table, -1 if it does not
	// tell it. Seen is the number of rows of the table so far, and Files that of all files.
	Counts []int `json:"c,omitempty"`
	Seen   int   `json:"n,omitempty"`
	Files  int   `json:"f,omitempty"`
}

func (p *position) isValid() bool {
	return p.place.isValid() && p.Table >= 0 && p.Refused >= 0 && p.Seen >= 0 && p.Files >= 0
}

// nextTable moves behind a table.
func (p *position) nextTable() { p.Table, p.place, p.Seen = p.Table+1, place{}, 0 }

// Walk implements [connectors.Source].
func (s *source) Walk(ctx context.Context, text string) (connectors.Page, error) {
	if err := ctx.Err(); err != nil {
		return connectors.Page{}, err
	}
	var at position
	if text != "" && connectors.ParseCursor(text, &at) != nil || !at.isValid() {
		return connectors.Page{}, connectors.ErrCursor
	}
	var page connectors.Page
	for content := 0; at.Table < len(s.tables) && len(page.Items) < connectors.MaxPageItems && content <= maxPageContent; {
		more, err := s.walkTable(ctx, &at, &page)
		if err != nil {
			return connectors.Page{}, err
		}
		if content += more; more < 0 { // no row fits
			break
		}
	}
	if len(s.tables) > restapi.MaxCounted {
		at.Counts = nil
	} else if text == "" {
		if err := s.countTables(ctx, &at); err != nil {
			return connectors.Page{}, err
		}
	}
	page.Total = restapi.Total(at.Counts, len(s.tables), at.Files)
	page.Done, page.Warnings = at.Table >= len(s.tables), s.takeWarnings()
	if !page.Done {
		page.Next = connectors.FormatCursor(at)
	}
	return page, nil
}

// walkTable adds a part of a table to a page, and moves the position. It returns the
// length of the content in bytes, -1 if the page has no room for the next row.
func (s *source) walkTable(ctx context.Context, at *position, page *connectors.Page) (content int, err error) {
	t, room := &s.tables[at.Table], connectors.MaxPageItems-len(page.Items)
	listed, err := s.api.list(ctx, tablePath(t.name), t.query, t.fields(), at.place, room)
	if isRefused(err) || isAbsent(err) {
		return 0, s.skipTable(at, page, tableError(err, t.name))
	}
	if err != nil {
		return 0, err
	}
	if len(at.Counts) == at.Table && at.place == (place{}) {
		at.Counts = append(at.Counts, listed.total)
	}
	items, last, err := s.rowItems(ctx, t, listed.rows, room)
	if err != nil {
		return 0, err
	}
	if len(listed.rows) > 0 && last == "" {
		return -1, nil
	}
	for _, item := range items {
		content += len(item.Content)
	}
	page.Items = append(page.Items, items...)
	given := 1 + slices.IndexFunc(listed.rows, func(r row) bool { return r.id() == last })
	at.Seen, at.Files = at.Seen+given, at.Files+len(items)-given
	var end bool
	if at.place, end = listed.behind(last); end {
		s.finishWalk(t, at, page, listed.unsure)
	}
	return content, nil
}

// skipTable leaves a table out that cannot be read. It returns the error if there is no
// other.
func (s *source) skipTable(at *position, page *connectors.Page, err error) error {
	if at.Refused++; at.Refused == len(s.tables) {
		return err
	}
	name := s.tables[at.Table].name
	s.addWarning(fmt.Sprintf("Rows of %s are left out, and those that are known are kept: %s.", name, err))
	page.Incomplete = append(page.Incomplete, name)
	if len(at.Counts) == at.Table {
		at.Counts = append(at.Counts, 0)
	}
	at.nextTable()
	return nil
}

// finishWalk moves behind a table, and compares the rows that were shown with those that
// the instance counts.
func (s *source) finishWalk(t *table, at *position, page *connectors.Page, unsure bool) {
	if unsure {
		s.addWarning(fmt.Sprintf("ServiceNow does not count the rows of %s, so that its last ones may be missing and none of it is deleted. Let the header X-Total-Count pass the proxy.", t.name))
		page.Incomplete = append(page.Incomplete, t.name)
	} else if at.Table < len(at.Counts) {
		if count := at.Counts[at.Table]; restapi.IsShort(at.Seen, count) {
			s.addWarning(fmt.Sprintf("ServiceNow showed %d of about %d rows of %s: its access rules hide the others from the user.", at.Seen, count, t.name))
		}
	}
	at.nextTable()
}

// countTables counts the rows of the tables that the first page does not reach.
func (s *source) countTables(ctx context.Context, at *position) error {
	for len(at.Counts) < len(s.tables) {
		t := &s.tables[len(at.Counts)]
		listed, err := s.api.list(ctx, tablePath(t.name), t.query, []string{"sys_id", "sys_updated_on"}, place{}, 1)
		switch {
		case isRefused(err) || isAbsent(err): // the walk says so when it comes to the table
			listed.total = 0
		case err != nil:
			return err
		}
		at.Counts = append(at.Counts, listed.total)
	}
	return nil
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
