package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/sqldb"
)

const (
	checkTime  = 10 * time.Second
	schemaTime = time.Minute
	// manyRows is the server's limit where all rows are wanted.
	manyRows = 1 << 30
)

// database is an attached one. Every question has a connection of its own, so
// that nothing one leaves behind is met by the next.
type database struct {
	config  *mysql.Config
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
		config: config, tables: sqldb.TablesOf(s), samples: s.Boolean(sqldb.OptionSamples), writes: s.Boolean(sqldb.OptionWrites),
	}, nil
}

func (d *database) place() string { return "the server at " + d.config.Addr }

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

// Check implements connectors.Database: something can be read, and nothing can
// be written.
func (d *database) Check(ctx context.Context) error {
	s, err := d.open(ctx, checkTime, manyRows)
	if err != nil {
		return err
	}
	defer s.close()
	names, err := d.names(ctx, s)
	if err != nil {
		return d.connectError(err)
	}
	if len(names) == 0 {
		return connectors.NeedsAuth(errors.New("the account sees no table: it needs SELECT on the tables that agents are to see"))
	}
	return d.checkGrants(ctx, s)
}

// Query implements connectors.Database.
func (d *database) Query(ctx context.Context, text string, limits connectors.QueryLimits) (*connectors.Rows, error) {
	statement, err := Inspect(text)
	if err != nil {
		return nil, err
	}
	limits = limits.WithDefaults()
	ctx, cancel := context.WithTimeout(ctx, limits.Timeout+connectTime)
	defer cancel()
	s, err := d.open(ctx, limits.Timeout, sqldb.Wanted(limits))
	if err != nil {
		return nil, err
	}
	defer s.close()
	if err := d.admit(ctx, s, statement); err != nil {
		return nil, err
	}
	return d.run(ctx, s, statement.Text, limits)
}

// run runs a statement in a session's transaction and gathers its rows. It gives
// the connection up.
func (d *database) run(ctx context.Context, s *session, text string, limits connectors.QueryLimits) (*connectors.Rows, error) {
	inside, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	rows, err := s.conn.QueryContext(inside, text)
	if err != nil {
		if ctx.Err() != nil {
			s.kill(ctx)
			return nil, fmt.Errorf("the statement was given up: %w", context.Cause(ctx))
		}
		return nil, d.statementError(err, limits.Timeout)
	}
	defer func() {
		cancel() // else closing would read the rest
		_ = rows.Close()
	}()
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, d.statementError(err, limits.Timeout)
	}
	columns, names := make([]string, len(types)), make([]string, len(types))
	raw, targets := make([]sql.RawBytes, len(types)), make([]any, len(types))
	for i, t := range types {
		columns[i], names[i], targets[i] = t.Name(), strings.ToLower(t.DatabaseTypeName()), &raw[i]
	}
	collector := sqldb.NewCollector(limits, columns, names)
	more := true
	for more && rows.Next() {
		err := rows.Scan(targets...)
		if collector.Full() {
			more = err == nil && collector.Count(sizeOf(raw))
			continue
		}
		if err != nil {
			return nil, d.statementError(err, limits.Timeout)
		}
		row := make([]any, len(raw))
		for i := range raw {
			row[i] = value(names[i], raw[i])
		}
		if !collector.Add(row) {
			defer time.AfterFunc(sqldb.CountTime, cancel).Stop()
		}
	}
	err = rows.Err()
	if err != nil && !collector.Full() {
		if ctx.Err() != nil {
			s.kill(ctx)
			return nil, fmt.Errorf("the statement was given up: %w", context.Cause(ctx))
		}
		return nil, d.statementError(err, limits.Timeout)
	}
	found := collector.Rows(more && err == nil)
	found.Duration = time.Since(began)
	return found, nil
}

func sizeOf(values []sql.RawBytes) int {
	size := 0
	for _, raw := range values {
		size += len(raw)
	}
	return size
}

func value(kind string, raw sql.RawBytes) any {
	if raw == nil {
		return nil
	}
	switch strings.TrimPrefix(kind, "unsigned ") {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "year":
		return sqldb.Integer(raw)
	case "float", "double":
		return sqldb.Float(raw)
	case "decimal":
		return sqldb.Decimal(raw)
	default:
		return sqldb.Text(raw)
	}
}

// Sample implements connectors.Database.
func (d *database) Sample(ctx context.Context, _, table string, rows int) (*connectors.Rows, error) {
	if !d.samples {
		return nil, connectors.ErrNoSamples
	}
	rows = max(1, min(rows, 10))
	text := fmt.Sprintf("select * from `%s` limit %d", strings.ReplaceAll(table, "`", "``"), rows)
	return d.Query(ctx, text, connectors.QueryLimits{Rows: rows, Bytes: 16 << 10, Timeout: 5 * time.Second})
}

// admit refuses a statement that reads a table which is not to be seen. A table
// of the statement's own that has the name of such a one hides it here.
func (d *database) admit(ctx context.Context, s *session, statement *Statement) error {
	for _, t := range statement.Tables {
		if !d.sees(t) {
			return sqldb.Refuse("The table %s is not among those that may be asked here.", sqldb.Brief(strings.TrimPrefix(t.Database+"."+t.Name, ".")))
		}
	}
	for _, own := range statement.Own {
		if d.tables.Allow(d.config.DBName, own) {
			continue
		}
		var taken bool
		err := s.conn.QueryRowContext(ctx, "select exists (select 1 from information_schema.tables where table_schema = ? and lower(table_name) = lower(?))", d.config.DBName, own).Scan(&taken)
		if err != nil {
			return d.statementError(err, checkTime)
		}
		if taken {
			return sqldb.Refuse("Give the table %s of WITH another name: one of the database has it.", sqldb.Brief(own))
		}
	}
	return nil
}

func (d *database) sees(t Name) bool {
	switch {
	case strings.EqualFold(t.Database, "information_schema"):
		// What it says of processes and files is no table of the database's.
		switch strings.ToLower(t.Name) {
		case "tables", "columns", "statistics", "key_column_usage", "table_constraints", "referential_constraints", "views", "":
			return true
		}
		return false
	case t.Database != "" && t.Database != d.config.DBName:
		return false
	case t.Name == "":
		return true
	case t.Database == "" && strings.EqualFold(t.Name, "dual"):
		return true
	default:
		return d.tables.Allow(d.config.DBName, t.Name)
	}
}
