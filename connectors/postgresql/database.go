package postgresql

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/sqldb"
)

const (
	checkTimeout  = 10 * time.Second
	schemaTimeout = time.Minute
)

// A database is an attached database. Each query has a connection of its own,
// so that it leaves nothing behind.
type database struct {
	config  *pgx.ConnConfig
	schemas []string
	sqldb.Settings
	sqldb.Closer
}

func newDatabase(s connectors.Settings, dial connectors.Dial) (*database, error) {
	config, err := newConfig(s, dial)
	if err != nil {
		return nil, err
	}
	return &database{config: config, schemas: parseSchemas(s.String(optionSchema)), Settings: sqldb.NewSettings(s)}, nil
}

func (d *database) server() string {
	return fmt.Sprintf("PostgreSQL at %s", net.JoinHostPort(d.config.Host, strconv.Itoa(int(d.config.Port))))
}

// Check implements [connectors.Database]: the schemas exist, something can be
// read, and nothing can be written.
func (d *database) Check(ctx context.Context) error {
	s, err := d.open(ctx, checkTimeout)
	if err != nil {
		return err
	}
	defer s.close(ctx)
	var missing []string
	if err := s.conn.QueryRow(ctx, `select coalesce(array_agg(s order by s), '{}') from unnest($1::text[]) s
		where not exists (select from pg_catalog.pg_namespace n where n.nspname = s)`, d.schemas).Scan(&missing); err != nil {
		return d.connectError(err)
	}
	if len(missing) > 0 {
		return connectors.Fatal(fmt.Errorf("there is no schema %s in the database", strings.Join(missing, ", ")))
	}
	names, err := d.visibleTables(ctx, s)
	if err != nil {
		return d.connectError(err)
	}
	if len(names) == 0 {
		return connectors.NeedsAuth(errors.New("the login sees no table: it needs USAGE on the schemas and SELECT on the tables that agents are to see"))
	}
	return d.checkPrivileges(ctx, s)
}

// extraPrivilegesSQL describes what allows a login to do more than read.
const extraPrivilegesSQL = `select concat_ws(', ', case when r.rolsuper then 'a superuser' end, case when r.rolcreaterole then 'CREATEROLE' end,
	case when r.rolcreatedb then 'CREATEDB' end, case when r.rolreplication then 'REPLICATION' end,
	(select string_agg('a member of ' || g.rolname, ', ' order by g.rolname) from pg_catalog.pg_roles g
		where not r.rolsuper and g.rolname in ('pg_write_all_data', 'pg_execute_server_program', 'pg_write_server_files', 'pg_read_server_files', 'pg_signal_backend', 'pg_maintain')
		and pg_catalog.pg_has_role(r.oid, g.oid, 'member')),
	(select 'with write access to ' || count(*) || ' tables, among them ' || min(t.name) from (
		select n.nspname || '.' || c.relname as name from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
		where not r.rolsuper and c.relkind in ('r', 'p', 'v', 'f') and n.nspname <> 'information_schema' and n.nspname not like 'pg\_%'
		and pg_catalog.has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')) t having count(*) > 0))
	from pg_catalog.pg_roles r where r.rolname = current_user`

func (d *database) checkPrivileges(ctx context.Context, s *session) error {
	if d.AllowWrites {
		return nil
	}
	var privileges string
	if err := s.conn.QueryRow(ctx, extraPrivilegesSQL).Scan(&privileges); err != nil {
		return d.connectError(err)
	}
	if privileges != "" {
		return connectors.NeedsAuth(fmt.Errorf("the login is %s; give one that can only read (SELECT on the tables and nothing else), or accept this one with config.allowWriteAccess", privileges))
	}
	return nil
}

// Query implements [connectors.Database].
func (d *database) Query(ctx context.Context, sql string, limits connectors.QueryLimits) (*connectors.Rows, error) {
	statement, err := Inspect(sql)
	if err != nil {
		return nil, err
	}
	limits = limits.WithDefaults()
	ctx, cancel := context.WithTimeout(ctx, limits.Timeout+connectTimeout)
	defer cancel()
	s, err := d.open(ctx, limits.Timeout)
	if err != nil {
		return nil, err
	}
	defer s.close(ctx)
	if err := d.checkNames(ctx, s, statement); err != nil {
		return nil, err
	}
	return d.run(ctx, s, sql, limits)
}

// run runs a statement in the session's transaction and collects its rows. The
// session is of no use afterwards.
func (d *database) run(ctx context.Context, s *session, sql string, limits connectors.QueryLimits) (*connectors.Rows, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	start := time.Now()
	// The extended protocol accepts only one statement, and returns values as text.
	reader := s.conn.PgConn().ExecParams(ctx, sql, nil, nil, nil, nil)
	var collector *sqldb.Collector
	var oids []uint32
	more := true
	for more && reader.NextRow() {
		if collector == nil {
			collector, oids = d.newCollector(s, reader.FieldDescriptions(), limits)
		}
		values := reader.Values()
		if collector.IsFull() {
			more = collector.Count(sqldb.RowSize(values))
			continue
		}
		row := make([]any, len(values))
		for i, raw := range values {
			row[i] = convertValue(oids[i], raw)
		}
		if !collector.Add(row) {
			defer time.AfterFunc(sqldb.CountTimeout, cancel).Stop()
		}
	}
	if collector == nil {
		collector, _ = d.newCollector(s, reader.FieldDescriptions(), limits)
	}
	if !more {
		cancel() // otherwise Close reads the remaining rows
	}
	_, err := reader.Close()
	if err != nil && !collector.IsFull() {
		return nil, d.statementError(err, limits.Timeout)
	}
	rows := collector.Rows(more && err == nil)
	rows.Duration = time.Since(start)
	return rows, nil
}

func convertValue(oid uint32, raw []byte) any {
	if raw == nil {
		return nil
	}
	switch oid {
	case pgtype.BoolOID:
		return string(raw) == "t"
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID:
		return sqldb.Integer(raw)
	case pgtype.Float4OID, pgtype.Float8OID:
		return sqldb.Float(raw)
	case pgtype.NumericOID:
		return sqldb.Decimal(raw)
	default:
		return sqldb.Text(raw)
	}
}

// Sample implements [connectors.Database].
func (d *database) Sample(ctx context.Context, schema, table string, rows int) (*connectors.Rows, error) {
	if !d.AllowSamples {
		return nil, connectors.ErrNoSamples
	}
	text, limits := sqldb.Sample(pgx.Identifier{schema, table}.Sanitize(), rows)
	return d.Query(ctx, text, limits)
}

// SampleColumns implements [connectors.Database].
func (d *database) SampleColumns(ctx context.Context, schema, table string, columns []string) (*connectors.Rows, error) {
	if !d.AllowSamples {
		return nil, connectors.ErrNoSamples
	}
	quote := func(name string) string { return pgx.Identifier{name}.Sanitize() }
	text, limits := sqldb.SampleColumns(pgx.Identifier{schema, table}.Sanitize(), columns, quote, "left(%s, %d)")
	return d.Query(ctx, text, limits)
}
