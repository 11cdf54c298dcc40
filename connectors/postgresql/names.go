package postgresql

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/sqldb"
)

// informationSchema is visible: it shows each login what the login may read.
const informationSchema = "information_schema"

// volatileSQL finds the first volatile function and operator, which could do
// anything: $1 and $2 are the schemas and names of functions, $3 the allowed
// volatile functions, $4 and $5 the schemas and names of operators.
const volatileSQL = `select coalesce((select f.name from unnest($1::text[], $2::text[]) f (schema, name)
		join pg_catalog.pg_proc p on p.proname = f.name join pg_catalog.pg_namespace n on n.oid = p.pronamespace
		where p.provolatile = 'v' and (n.nspname = f.schema or f.schema = '' and n.nspname = any (current_schemas(true)))
		and not (n.nspname = 'pg_catalog' and p.proname = any ($3::text[])) limit 1), ''),
	coalesce((select o.name from unnest($4::text[], $5::text[]) o (schema, name)
		join pg_catalog.pg_operator op on op.oprname = o.name join pg_catalog.pg_namespace n on n.oid = op.oprnamespace
		join pg_catalog.pg_proc p on p.oid = op.oprcode
		where p.provolatile = 'v' and (n.nspname = o.schema or o.schema = '' and n.nspname = any (current_schemas(true))) limit 1), ''),
	current_setting('is_superuser') = 'on'`

// resolveTablesSQL resolves the quoted names $1 to tables.
const resolveTablesSQL = `select r.at, n.nspname, c.relname from unnest($1::text[]) with ordinality r (name, at)
	join pg_catalog.pg_class c on c.oid = pg_catalog.to_regclass(r.name) join pg_catalog.pg_namespace n on n.oid = c.relnamespace`

// checkNames asks the server about the names in a statement. It refuses calls
// of volatile functions and tables that agents do not see.
func (d *database) checkNames(ctx context.Context, s *session, statement *Statement) error {
	schemas, names := splitNames(statement.Functions)
	operatorSchemas, operators := splitNames(statement.Operators)
	var function, operator string
	var superuser bool
	if err := s.conn.QueryRow(ctx, volatileSQL, schemas, names, allowedVolatileFunctions(), operatorSchemas, operators).Scan(&function, &operator, &superuser); err != nil {
		return d.statementError(err, checkTimeout)
	}
	switch {
	case superuser && !d.AllowWrites:
		return sqldb.Refuse("The connector's login is a superuser of the database, with whom nothing is asked here. An administrator of the connector has to give another one.")
	case function != "":
		return sqldb.Refuse("The function %s is not allowed: it is volatile, so it could do more than read.", sqldb.QuoteName(function))
	case operator != "":
		return sqldb.Refuse("The operator %s is not allowed: it is volatile, so it could do more than read.", sqldb.QuoteName(operator))
	}
	return d.checkTables(ctx, s, statement.Tables)
}

func splitNames(names []Name) (schemas, bare []string) {
	schemas, bare = make([]string, len(names)), make([]string, len(names))
	for i, n := range names {
		schemas[i], bare[i] = n.Schema, n.Name
	}
	return schemas, bare
}

func (d *database) checkTables(ctx context.Context, s *session, tables []Name) error {
	if len(tables) == 0 {
		return nil
	}
	quoted := make([]string, len(tables))
	for i, t := range tables {
		if t.Schema != "" && t.Schema != informationSchema && !slices.Contains(d.schemas, t.Schema) {
			return sqldb.Refuse("The schema %s is not among those that may be asked here.", sqldb.QuoteName(t.Schema))
		}
		if t.Schema == "" {
			quoted[i] = pgx.Identifier{t.Name}.Sanitize()
		} else {
			quoted[i] = pgx.Identifier{t.Schema, t.Name}.Sanitize()
		}
	}
	rows, err := s.conn.Query(ctx, resolveTablesSQL, quoted)
	if err != nil {
		return d.statementError(err, checkTimeout)
	}
	type resolved struct {
		Position     int
		Schema, Name string
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[resolved])
	if err != nil {
		return d.statementError(err, checkTimeout)
	}
	for _, t := range found {
		if !d.isVisible(t.Schema, t.Name) {
			return sqldb.RefuseTable(t.Schema + "." + t.Name)
		}
	}
	return nil
}

// isVisible reports whether a table is one of the connector's, or in the
// information schema.
func (d *database) isVisible(schema, name string) bool {
	if schema == informationSchema {
		return true
	}
	return slices.Contains(d.schemas, schema) && d.Tables.Allow(schema, name)
}

// newCollector returns a collector for columns, and their types' OIDs.
func (d *database) newCollector(s *session, fields []pgconn.FieldDescription, limits connectors.QueryLimits) (*sqldb.Collector, []uint32) {
	columns, types, oids := make([]string, len(fields)), make([]string, len(fields)), make([]uint32, len(fields))
	for i, f := range fields {
		columns[i], oids[i], types[i] = f.Name, f.DataTypeOID, "text"
		if t, ok := s.conn.TypeMap().TypeForOID(f.DataTypeOID); ok {
			types[i] = t.Name
		}
	}
	return sqldb.NewCollector(limits, columns, types), oids
}
