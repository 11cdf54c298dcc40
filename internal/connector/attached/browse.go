package attached

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// An Overview is a database with what is known about it.
type Overview struct {
	Database
	Dialect    string
	Collection uuid.UUID
	// SyncedAt is when its schema was last read; zero if it never was.
	SyncedAt time.Time
	Tables   int
	// LastError says why the last sync failed, to those who may change the connector.
	// Others learn only that it did. It is empty if it did not fail.
	LastError string
}

// Overviews describes the databases within a scope in the order of their names.
func (d *Databases) Overviews(ctx context.Context, scope viewer.Scope) ([]Overview, error) {
	all, err := d.List(ctx, scope)
	if err != nil {
		return nil, err
	}
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, len(all))
	for i, db := range all {
		ids[i] = db.ID
	}
	known, err := d.o.Catalog.stored(ctx, workspace, ids)
	if err != nil {
		return nil, err
	}
	out := make([]Overview, len(all))
	for i, db := range all {
		s := known[db.ID]
		out[i] = Overview{Database: db, Dialect: db.dialect(), Collection: db.row.CollectionID, SyncedAt: s.syncedAt, Tables: s.tables}
		if db.row.LastError != nil {
			out[i].LastError = lastError(ctx, *db.row.LastError)
		}
	}
	return out, nil
}

// lastError returns what the viewer may read of a connector's error, which may name the
// host and the login of its settings.
func lastError(ctx context.Context, message string) string {
	if v, ok := viewer.From(ctx); ok && v.Kind != viewer.KindKey && v.Role.AtLeast(viewer.RoleEditor) {
		return message
	}
	return "The last sync failed. Those who may change the connector see why."
}

// A TableName is the name of a table in a database. Names are ordered by schema.
type TableName struct{ Schema, Name string }

func (n TableName) compare(other TableName) int {
	return cmp.Or(strings.Compare(n.Schema, other.Schema), strings.Compare(n.Name, other.Name))
}

// A Browse selects tables of a database in the order of their names.
type Browse struct {
	Database uuid.UUID
	// Matching selects tables whose name or comment, or the name or comment of a column,
	// contains it, ignoring case; "" selects all.
	Matching string
	After    TableName // the zero value begins with the first table
	Limit    int
}

// A TablePage is a part of the tables that a Browse selects.
type TablePage struct {
	Tables  []Match
	Total   int // of all parts
	HasMore bool
}

// Browse returns the next tables that b selects. A database out of reach is not_found.
func (d *Databases) Browse(ctx context.Context, scope viewer.Scope, b Browse) (*TablePage, error) {
	all, err := d.List(ctx, scope)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(db Database) bool { return db.ID == b.Database })
	if at < 0 {
		return nil, apierr.NotFound("Database")
	}
	schemas, err := d.readSchemas(ctx, scope, all[at:at+1])
	if err != nil {
		return nil, err
	}
	page := &TablePage{Tables: []Match{}}
	entries, text := schemas[0].tables, strings.ToLower(b.Matching)
	for _, e := range entries {
		columns, ok := contains(e.table, text)
		if !ok {
			continue
		}
		page.Total++
		switch name := (TableName{e.table.Schema, e.table.Name}); {
		case name.compare(b.After) <= 0:
		case len(page.Tables) == b.Limit:
			page.HasMore = true
		default:
			page.Tables = append(page.Tables, Match{Database: all[at], Table: e.table, Columns: columns, Joins: joins(entries, e)})
		}
	}
	return page, nil
}

// contains reports whether a table contains a text in lower case, and which of its
// columns do.
func contains(t *connectors.Table, text string) (columns []string, ok bool) {
	if text == "" {
		return nil, true
	}
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	for _, c := range t.Columns {
		if has(c.Name) || has(c.Comment) {
			columns = append(columns, c.Name)
		}
	}
	return columns, len(columns) > 0 || has(qualifiedName(t.Schema, t.Name)) || has(t.Comment)
}
