package servicenow

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// overlap is how far a window of changes goes back before the last one.
const overlap = 5 * time.Minute

// A feedToken is a position in the changes.
type feedToken struct {
	// Since is when the last window was begun, by the instance's clock, in Unix seconds.
	Since int64 `json:"s"`
	// Tables has the names of the tables, Table the one that is read.
	Tables []string `json:"n"`
	Table  int      `json:"t,omitempty"`
	place
	// Began is when this window was begun.
	Began int64 `json:"b,omitempty"`
}

// Changes implements [connectors.Feeder]: the rows of each table that were updated since
// a time, and those that were deleted or do not match the query any more.
func (s *source) Changes(ctx context.Context, text string) (connectors.ChangePage, error) {
	if err := ctx.Err(); err != nil {
		return connectors.ChangePage{}, err
	}
	var token feedToken
	if text != "" && (connectors.ParseCursor(text, &token) != nil || token.Since <= 0 || token.Table < 0 || token.Table >= len(s.tables) || !token.isValid()) {
		return connectors.ChangePage{Expired: true}, nil
	}
	if token.Began == 0 {
		// The answer tells the instance's time: windows are in minutes before it, since an
		// encoded query has times in the time zone of the user.
		if _, err := s.api.request(ctx, restapi.Request{Path: tablePath("sys_user"), Query: map[string][]string{"sysparm_limit": {"1"}, "sysparm_fields": {"sys_id"}}, RequiredFields: []string{"result"}}, &struct{ Result []row }{}); err != nil {
			return connectors.ChangePage{}, err
		}
		token.Began = s.api.now().Unix()
	}
	var names []string
	for _, t := range s.tables {
		names = append(names, t.name)
	}
	if text == "" {
		return connectors.ChangePage{Next: connectors.FormatCursor(feedToken{Since: token.Began, Tables: names})}, nil
	}
	if !slices.Equal(names, token.Tables) {
		return connectors.ChangePage{Expired: true}, nil
	}
	page, err := s.changesOf(ctx, &s.tables[token.Table], &token)
	if isRefused(err) || isAbsent(err) {
		t := s.tables[token.Table].name
		s.addWarning(fmt.Sprintf("Changes of %s are left out: %s.", t, tableError(err, t)))
		token.Table, token.place, err = token.Table+1, place{}, nil
	}
	if err != nil {
		return connectors.ChangePage{}, err
	}
	if page.More = token.Table < len(s.tables); !page.More {
		token = feedToken{Since: token.Began, Tables: token.Tables}
	}
	page.Next, page.Warnings = connectors.FormatCursor(token), s.takeWarnings()
	return page, nil
}

// window returns the condition that a time is in the window of a token.
func (s *source) window(field string, token *feedToken) string {
	ago := s.api.now().Sub(time.Unix(token.Since, 0)) + overlap
	return fmt.Sprintf("%sRELATIVEGT@minute@ago@%d", field, int(ago/time.Minute)+1)
}

// changesOf reads a part of the changes of a table and moves the token.
func (s *source) changesOf(ctx context.Context, t *table, token *feedToken) (connectors.ChangePage, error) {
	var page connectors.ChangePage
	query := join(t.query, s.window("sys_updated_on", token))
	for done := false; !done; {
		room := connectors.MaxPageItems - len(page.Items)
		if room == 0 {
			return page, nil
		}
		listed, err := s.api.list(ctx, tablePath(t.name), query, t.fields(), token.place, room)
		if err != nil {
			return connectors.ChangePage{}, err
		}
		items, last, err := s.rowItems(ctx, t, listed.rows, room)
		if err != nil {
			return connectors.ChangePage{}, err
		}
		if len(listed.rows) > 0 && last == "" { // no row fits
			return page, nil
		}
		page.Items = append(page.Items, items...)
		for _, item := range items {
			if s.imports {
				page.Permissions = append(page.Permissions, item.ID)
			}
		}
		token.place, done = listed.behind(last)
	}
	return page, s.finishTable(ctx, t, token, &page)
}

// finishTable adds what else changed in a table and moves the token to the next table.
func (s *source) finishTable(ctx context.Context, t *table, token *feedToken, page *connectors.ChangePage) (err error) {
	if page.Gone, err = s.gone(ctx, t, token); err != nil {
		return err
	}
	if s.withFiles {
		items, err := s.changedFiles(ctx, t, token)
		if err != nil {
			return err
		}
		known := map[string]bool{}
		for _, item := range page.Items {
			known[item.ID] = true
		}
		for _, item := range items {
			if !known[item.ID] {
				page.Items = append(page.Items, item)
			}
		}
	}
	token.Table, token.place = token.Table+1, place{}
	return nil
}

// gone returns the items of rows that were deleted, as far as the audit is readable, and
// of rows that were updated and do not match the query any more.
func (s *source) gone(ctx context.Context, t *table, token *feedToken) ([]string, error) {
	var gone []string
	tables := "tablename=" + t.name
	if s.withFiles {
		tables += "^ORtablename=sys_attachment"
	}
	err := s.api.all(ctx, "sys_audit_delete", join(tables, s.window("sys_created_on", token)), []string{"tablename", "documentkey"}, func(r row) error {
		name := t.name
		if r["tablename"].Value == "sys_attachment" {
			name = fileTable
		}
		gone = append(gone, name+":"+r["documentkey"].Value)
		return nil
	})
	if isRefused(err) || isAbsent(err) {
		s.addWarning("The user may not read sys_audit_delete: deleted rows are found by the next complete sync only.")
		err = nil
	}
	if err != nil || t.query == "" {
		return gone, err
	}
	updated := map[string]bool{}
	window := s.window("sys_updated_on", token)
	if err := s.api.all(ctx, t.name, window, nil, func(r row) error { updated[r.id()] = true; return nil }); err != nil {
		return nil, err
	}
	if len(updated) > 0 {
		if err := s.api.all(ctx, t.name, join(t.query, window), nil, func(r row) error { delete(updated, r.id()); return nil }); err != nil {
			return nil, err
		}
	}
	for id := range updated {
		gone = append(gone, t.name+":"+id)
	}
	slices.Sort(gone)
	return gone, nil
}

// changedFiles returns the items of rows one of whose files was added or changed.
func (s *source) changedFiles(ctx context.Context, t *table, token *feedToken) ([]connectors.Item, error) {
	ids := map[string]bool{}
	err := s.eachFile(ctx, join("table_name="+t.name, s.window("sys_updated_on", token)), func(f row) error {
		ids[f["table_sys_id"].Value] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	var items []connectors.Item
	for id := range ids {
		found, err := s.row(ctx, t, id)
		switch {
		case err == nil:
			own, _, err := s.rowItems(ctx, t, []row{found}, connectors.MaxPageItems)
			if err != nil {
				return nil, err
			}
			items = append(items, own...)
		case restapi.StatusOf(err) != 0 || !isAbsent(err):
			return nil, err
		}
	}
	return items, nil
}
