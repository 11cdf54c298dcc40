package graph

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"entgo.io/contrib/entgql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent/collection"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/connector/attached"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Limits of the texts of database fields, in characters.
const (
	maxSchemaQuery  = 500
	maxTableName    = 300
	maxDatabaseName = 200
)

// errNoDatabaseTools refuses a key that may not query databases.
func errNoDatabaseTools() error {
	return apierr.New(apierr.Forbidden, "This key may not query databases. An administrator switches it on for a secret key: databaseTools of the key, "+
		"or magpie keys update ID --database-tools")
}

// databaseScope returns the scope in which the viewer may query databases. A
// collection that the viewer cannot see is not_found.
func (r *Resolver) databaseScope(ctx context.Context, named *uuid.UUID) (viewer.Scope, error) {
	v, ok := viewer.From(ctx)
	switch {
	case !ok:
		return viewer.Scope{}, viewer.ErrNoViewer
	case v.Kind == viewer.KindKey && (!v.Secret || !v.DatabaseTools):
		return viewer.Scope{}, errNoDatabaseTools()
	case v.Kind != viewer.KindKey && !v.Role.AtLeast(viewer.RoleViewer):
		return viewer.Scope{}, apierr.New(apierr.Forbidden, "Your role does not allow this; it needs the role viewer")
	}
	scope, err := v.Scope()
	if err != nil || named == nil {
		return scope, err
	}
	if err := lookup.Exists(ctx, "Collection", r.client(ctx).Collection.Query().Where(collection.ID(*named))); err != nil {
		return viewer.Scope{}, err
	}
	scope, err = scope.Narrow(*named)
	if errors.Is(err, viewer.ErrOutOfScope) {
		return viewer.Scope{}, apierr.NotFound("Collection")
	}
	return scope, err
}

func between(field string, n, most int) error {
	if n < 1 || n > most {
		return apierr.Invalid(field, fmt.Sprintf("must be between 1 and %d", most))
	}
	return nil
}

func (r *Resolver) databaseSchema(ctx context.Context, query, table, database *string, named *uuid.UUID, limit *int) ([]*model.DatabaseTable, error) {
	scope, err := r.databaseScope(ctx, named)
	if err != nil {
		return nil, err
	}
	asked, name, most := strings.TrimSpace(orZero(query)), strings.TrimSpace(orZero(table)), orDefault(limit, attached.DefaultTables)
	if (asked == "") == (name == "") {
		return nil, apierr.Invalid("query", "or table must be given, and not both")
	}
	if err := errors.Join(check.Length("query", asked, maxSchemaQuery), check.Length("table", name, maxTableName),
		check.Length("database", orZero(database), maxDatabaseName), between("limit", most, attached.MaxTables)); err != nil {
		return nil, err
	}
	if name != "" {
		detail, err := r.Databases.Table(ctx, scope, orZero(database), name)
		if err != nil {
			return nil, err
		}
		out := databaseTable(detail.Summary())
		if s := detail.Samples; s != nil {
			out.SampleRows = &model.DatabaseSample{Columns: s.Columns, Rows: databaseRows(s), Notice: s.Notice()}
		}
		return []*model.DatabaseTable{out}, nil
	}
	found, err := r.Databases.Search(ctx, scope, orZero(database), asked, most)
	if err != nil {
		return nil, err
	}
	out := make([]*model.DatabaseTable, len(found))
	for i, match := range found {
		out[i] = databaseTable(match.Summary())
	}
	return out, nil
}

func (r *Resolver) databases(ctx context.Context, named *uuid.UUID) ([]*model.AttachedDatabase, error) {
	scope, err := r.databaseScope(ctx, named)
	if err != nil {
		return nil, err
	}
	all, err := r.Databases.Overviews(ctx, scope)
	if err != nil {
		return nil, err
	}
	out := make([]*model.AttachedDatabase, len(all))
	for i, o := range all {
		out[i] = &model.AttachedDatabase{
			ID: o.ID, Name: o.Name, Dialect: o.Dialect, CollectionID: o.Collection, SchemaSyncedAt: moment(o.SyncedAt), Tables: o.Tables, LastError: nilIfZero(o.LastError),
		}
	}
	return out, nil
}

// tableSeparator stands between schema and name in a cursor. No name contains it.
const tableSeparator = "\x00"

func (r *Resolver) databaseTables(ctx context.Context, id uuid.UUID, matching *string, after cursor, first *int) (*model.DatabaseTableConnection, error) {
	scope, err := r.databaseScope(ctx, nil)
	if err != nil {
		return nil, err
	}
	browse := attached.Browse{Database: id, Matching: strings.TrimSpace(orZero(matching)), Limit: *first}
	if err := check.Length("matching", browse.Matching, maxDatabaseName); err != nil {
		return nil, err
	}
	if after != nil {
		schema, name, ok := strings.Cut(fmt.Sprint(after.Value), tableSeparator)
		if !ok {
			return nil, apierr.Invalid("after", "must be the cursor of a table")
		}
		browse.After = attached.TableName{Schema: schema, Name: name}
	}
	page, err := r.Databases.Browse(ctx, scope, browse)
	if err != nil {
		return nil, err
	}
	out := &model.DatabaseTableConnection{
		Edges: make([]*model.DatabaseTableEdge, len(page.Tables)), TotalCount: page.Total,
		PageInfo: &entgql.PageInfo[uuid.UUID]{HasNextPage: page.HasMore, HasPreviousPage: after != nil},
	}
	for i, m := range page.Tables {
		out.Edges[i] = &model.DatabaseTableEdge{
			Node: databaseTable(m.Summary()), Cursor: entgql.Cursor[uuid.UUID]{ID: id, Value: m.Table.Schema + tableSeparator + m.Table.Name},
		}
	}
	if n := len(out.Edges); n > 0 {
		out.PageInfo.StartCursor, out.PageInfo.EndCursor = &out.Edges[0].Cursor, &out.Edges[n-1].Cursor
	}
	return out, nil
}

func (r *Resolver) databaseTable(ctx context.Context, id uuid.UUID, table string) (*model.DatabaseTable, error) {
	name := id.String()
	if err := check.Text("table", table, maxTableName); err != nil {
		return nil, err
	}
	found, err := r.databaseSchema(ctx, nil, &table, &name, nil, nil)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

func databaseTable(s attached.Summary) *model.DatabaseTable {
	out := &model.DatabaseTable{
		Database: s.Database.Name, DatabaseID: s.Database.ID, Dialect: s.Dialect, Table: s.Table, Kind: s.Kind, Comment: s.Comment, EstimatedRows: s.Rows,
		Columns: make([]*model.DatabaseColumn, len(s.Columns)), MoreColumns: s.More, MatchedColumns: append([]string{}, s.Matched...),
		PrimaryKey: append([]string{}, s.PrimaryKey...), Joins: append([]string{}, s.Joins...),
	}
	for i, c := range s.Columns {
		out.Columns[i] = &model.DatabaseColumn{
			Name: c.Name, Type: c.Type, Nullable: c.Nullable, Default: c.Default, Values: append([]string{}, c.Values...), Comment: c.Comment,
		}
	}
	return out
}

// databaseRows returns rows that are not null.
func databaseRows(rows *connectors.Rows) [][]any { return append([][]any{}, rows.Values...) }

func (r *Resolver) queryDatabase(ctx context.Context, sql string, database *string, named *uuid.UUID, limit *int) (*model.DatabaseRows, error) {
	scope, err := r.databaseScope(ctx, named)
	if err != nil {
		return nil, err
	}
	rows := orDefault(limit, 100)
	if err := errors.Join(check.Text("sql", sql, attached.MaxSQL), check.Length("database", orZero(database), maxDatabaseName), between("limit", rows, attached.MaxRows)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, attached.CallTimeout)
	defer cancel()
	answer, err := r.Databases.Query(ctx, scope, attached.Statement{Database: orZero(database), SQL: sql, Limits: attached.ToolLimits(rows), Admit: r.metered})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, apierr.New(apierr.Unavailable, "The database did not answer in time; ask for less, or try again later.")
	}
	if err != nil {
		return nil, err
	}
	return &model.DatabaseRows{
		Database: answer.Database.Name, Columns: append([]string{}, answer.Columns...), Types: append([]string{}, answer.Types...), Rows: databaseRows(answer.Rows),
		Truncated: nilIfZero(answer.Truncated), LeftOut: answer.Omitted, LeftOutAtLeast: answer.OmittedAtLeast, Notice: answer.Notice(),
		TookMs: float64(answer.Duration.Microseconds()) / 1000,
	}, nil
}
