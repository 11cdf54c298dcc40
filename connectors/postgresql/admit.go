package postgresql

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/sqldb"
)

// informationSchema says to every login what it may read.
const informationSchema = "information_schema"

// volatileSQL finds the first of the called functions and operators that is
// volatile, and so may do anything: $1 and $2 are the functions' schemas and
// names, $3 those that are allowed all the same, $4 and $5 the operators'.
const volatileSQL = `select coalesce((select f.name from unnest($1::text[], $2::text[]) f (schema, name)
		join pg_catalog.pg_proc p on p.proname = f.name join pg_catalog.pg_namespace n on n.oid = p.pronamespace
		where p.provolatile = 'v' and (n.nspname = f.schema or f.schema = '' and n.nspname = any (current_schemas(true)))
		and not (n.nspname = 'pg_catalog' and p.proname = any ($3::text[])) limit 1), ''),
	coalesce((select o.name from unnest($4::text[], $5::text[]) o (schema, name)
		join pg_catalog.pg_operator op on op.oprname = o.name join pg_catalog.pg_namespace n on n.oid = op.oprnamespace
		join pg_catalog.pg_proc p on p.oid = op.oprcode
		where p.provolatile = 'v' and (n.nspname = o.schema or o.schema = '' and n.nspname = any (current_schemas(true))) limit 1), ''),
	current_setting('is_superuser') = 'on'`

// meantSQL says which tables names mean: $1 are quoted names.
const meantSQL = `select r.at, n.nspname, c.relname from unnest($1::text[]) with ordinality r (name, at)
	join pg_catalog.pg_class c on c.oid = pg_catalog.to_regclass(r.name) join pg_catalog.pg_namespace n on n.oid = c.relnamespace`

// admit asks the server about the names in a statement, and refuses what calls a
// volatile function or reads a table that is not to be seen.
func (d *database) admit(ctx context.Context, s *session, statement *Statement) error {
	schemas, names := apart(statement.Functions)
	operatorSchemas, operators := apart(statement.Operators)
	var function, operator string
	var superuser bool
	if err := s.conn.QueryRow(ctx, volatileSQL, schemas, names, harmless(), operatorSchemas, operators).Scan(&function, &operator, &superuser); err != nil {
		return d.statementError(err, checkTime)
	}
	switch {
	case superuser && !d.writes:
		return sqldb.Refuse("The connector's login is a superuser of the database, with whom nothing is asked here. An administrator of the connector has to give another one.")
	case function != "":
		return sqldb.Refuse("The function %s is not allowed: it is volatile, so it could do more than read.", sqldb.Brief(function))
	case operator != "":
		return sqldb.Refuse("The operator %s is not allowed: it is volatile, so it could do more than read.", sqldb.Brief(operator))
	}
	return d.admitTables(ctx, s, statement.Tables)
}

func apart(names []Name) (schemas, rest []string) {
	schemas, rest = make([]string, len(names)), make([]string, len(names))
	for i, n := range names {
		schemas[i], rest[i] = n.Schema, n.Name
	}
	return schemas, rest
}

func (d *database) admitTables(ctx context.Context, s *session, tables []Name) error {
	if len(tables) == 0 {
		return nil
	}
	quoted := make([]string, len(tables))
	for i, t := range tables {
		if t.Schema != "" && t.Schema != informationSchema && !slices.Contains(d.schemas, t.Schema) {
			return sqldb.Refuse("The schema %s is not among those that may be asked here.", sqldb.Brief(t.Schema))
		}
		if t.Schema == "" {
			quoted[i] = pgx.Identifier{t.Name}.Sanitize()
		} else {
			quoted[i] = pgx.Identifier{t.Schema, t.Name}.Sanitize()
		}
	}
	rows, err := s.conn.Query(ctx, meantSQL, quoted)
	if err != nil {
		return d.statementError(err, checkTime)
	}
	type meant struct {
		At           int
		Schema, Name string
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[meant])
	if err != nil {
		return d.statementError(err, checkTime)
	}
	for _, t := range found {
		if !d.sees(t.Schema, t.Name) {
			return sqldb.Refuse("The table %s is not among those that may be asked here.", sqldb.Brief(t.Schema+"."+t.Name))
		}
	}
	return nil
}

// sees reports whether a table may be asked: one of the connector's, or what
// every login is told of those it may read.
func (d *database) sees(schema, name string) bool {
	if schema == informationSchema {
		return true
	}
	return slices.Contains(d.schemas, schema) && d.tables.Allow(schema, name)
}

// collector begins the gathering of rows.
func (d *database) collector(s *session, fields []pgconn.FieldDescription, limits connectors.QueryLimits) (*sqldb.Collector, []uint32) {
	columns, types, oids := make([]string, len(fields)), make([]string, len(fields)), make([]uint32, len(fields))
	for i, f := range fields {
		columns[i], oids[i], types[i] = f.Name, f.DataTypeOID, "text"
		if t, ok := s.conn.TypeMap().TypeForOID(f.DataTypeOID); ok {
			types[i] = t.Name
		}
	}
	return sqldb.NewCollector(limits, columns, types), oids
}
