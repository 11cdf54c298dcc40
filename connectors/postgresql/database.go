package postgresql

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/sqldb"
)

const (
	checkTime  = 10 * time.Second
	schemaTime = time.Minute
)

// database is an attached one. Every question has a connection of its own, so
// that nothing one leaves behind is met by the next.
type database struct {
	config  *pgx.ConnConfig
	schemas []string
	tables  sqldb.Tables
	samples bool
	writes  bool // a login that may write is accepted

	mu     sync.Mutex
	closed bool
}

func newDatabase(s connectors.Settings, dial connectors.Dial) (*database, error) {
	config, err := configOf(s, dial)
	if err != nil {
		return nil, err
	}
	return &database{
		config: config, schemas: schemasOf(s.String(optionSchema)), tables: sqldb.TablesOf(s),
		samples: s.Boolean(sqldb.OptionSamples), writes: s.Boolean(sqldb.OptionWrites),
	}, nil
}

func (d *database) place() string {
	return fmt.Sprintf("PostgreSQL at %s", net.JoinHostPort(d.config.Host, strconv.Itoa(int(d.config.Port))))
}

func (d *database) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// Close implements connectors.Database.
func (d *database) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return nil
}

// Check implements connectors.Database: the schemas exist, something can be
// read, and nothing can be written.
func (d *database) Check(ctx context.Context) error {
	s, err := d.open(ctx, checkTime)
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
	names, err := d.names(ctx, s)
	if err != nil {
		return d.connectError(err)
	}
	if len(names) == 0 {
		return connectors.NeedsAuth(errors.New("the login sees no table: it needs USAGE on the schemas and SELECT on the tables that agents are to see"))
	}
	return d.checkRights(ctx, s)
}

// powers are what makes a login able to do more than read, whatever the tables.
const powersSQL = `select concat_ws(', ', case when r.rolsuper then 'a superuser' end, case when r.rolcreaterole then 'CREATEROLE' end,
	case when r.rolcreatedb then 'CREATEDB' end, case when r.rolreplication then 'REPLICATION' end,
	(select string_agg('a member of ' || g.rolname, ', ' order by g.rolname) from pg_catalog.pg_roles g
		where not r.rolsuper and g.rolname in ('pg_write_all_data', 'pg_execute_server_program', 'pg_write_server_files', 'pg_read_server_files', 'pg_signal_backend', 'pg_maintain')
		and pg_catalog.pg_has_role(r.oid, g.oid, 'member')),
	(select 'with write access to ' || count(*) || ' tables, among them ' || min(t.name) from (
		select n.nspname || '.' || c.relname as name from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
		where not r.rolsuper and c.relkind in ('r', 'p', 'v', 'f') and n.nspname <> 'information_schema' and n.nspname not like 'pg\_%'
		and pg_catalog.has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')) t having count(*) > 0))
	from pg_catalog.pg_roles r where r.rolname = current_user`

func (d *database) checkRights(ctx context.Context, s *session) error {
	if d.writes {
		return nil
	}
	var powers string
	if err := s.conn.QueryRow(ctx, powersSQL).Scan(&powers); err != nil {
		return d.connectError(err)
	}
	if powers != "" {
		return connectors.NeedsAuth(fmt.Errorf("the login is %s; give one that can only read (SELECT on the tables and nothing else), or accept this one with config.allowWriteAccess", powers))
	}
	return nil
}

// Query implements connectors.Database.
func (d *database) Query(ctx context.Context, sql string, limits connectors.QueryLimits) (*connectors.Rows, error) {
	statement, err := Inspect(sql)
	if err != nil {
		return nil, err
	}
	limits = limits.WithDefaults()
	ctx, cancel := context.WithTimeout(ctx, limits.Timeout+connectTime)
	defer cancel()
	s, err := d.open(ctx, limits.Timeout)
	if err != nil {
		return nil, err
	}
	defer s.close(ctx)
	if err := d.admit(ctx, s, statement); err != nil {
		return nil, err
	}
	return d.run(ctx, s, sql, limits)
}

// run runs a statement in a session's transaction and gathers its rows. It gives
// the connection up.
func (d *database) run(ctx context.Context, s *session, sql string, limits connectors.QueryLimits) (*connectors.Rows, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	// The extended protocol takes one statement alone, and values come as text.
	reader := s.conn.PgConn().ExecParams(ctx, sql, nil, nil, nil, nil)
	var collector *sqldb.Collector
	var oids []uint32
	more := true
	for more && reader.NextRow() {
		if collector == nil {
			collector, oids = d.collector(s, reader.FieldDescriptions(), limits)
		}
		values := reader.Values()
		if collector.Full() {
			more = collector.Count(sizeOf(values))
			continue
		}
		row := make([]any, len(values))
		for i, raw := range values {
			row[i] = value(oids[i], raw)
		}
		if !collector.Add(row) {
			defer time.AfterFunc(sqldb.CountTime, cancel).Stop()
		}
	}
	if collector == nil {
		collector, _ = d.collector(s, reader.FieldDescriptions(), limits)
	}
	if !more {
		cancel() // else closing would read the rest
	}
	_, err := reader.Close()
	if err != nil && !collector.Full() {
		return nil, d.statementError(err, limits.Timeout)
	}
	rows := collector.Rows(more && err == nil)
	rows.Duration = time.Since(began)
	return rows, nil
}

func sizeOf(values [][]byte) int {
	size := 0
	for _, raw := range values {
		size += len(raw)
	}
	return size
}

func value(oid uint32, raw []byte) any {
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

// Sample implements connectors.Database.
func (d *database) Sample(ctx context.Context, schema, table string, rows int) (*connectors.Rows, error) {
	if !d.samples {
		return nil, connectors.ErrNoSamples
	}
	rows = max(1, min(rows, 10))
	text := "select * from " + pgx.Identifier{schema, table}.Sanitize() + " limit " + strconv.Itoa(rows)
	return d.Query(ctx, text, connectors.QueryLimits{Rows: rows, Bytes: 16 << 10, Timeout: 5 * time.Second})
}
