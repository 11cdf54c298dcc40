package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/sqldb"
)

const (
	checkTimeout  = 10 * time.Second
	schemaTimeout = time.Minute
	// noRowLimit is the server's limit if all rows are needed.
	noRowLimit = 1 << 30
)

// A database is an attached database. Each query has a connection of its own,
// so that it leaves nothing behind.
type database struct {
	config *mysql.Config
	sqldb.Settings
	sqldb.Closer
}

func newDatabase(s connectors.Settings, dial connectors.Dial) (*database, error) {
	config, err := newConfig(s, dial)
	if err != nil {
		return nil, err
	}
	return &database{config: config, Settings: sqldb.NewSettings(s)}, nil
}

func (d *database) server() string { return "the server at " + d.config.Addr }

// Check implements [connectors.Database]: something can be read, and nothing
// can be written.
func (d *database) Check(ctx context.Context) error {
	s, err := d.open(ctx, checkTimeout, noRowLimit)
	if err != nil {
		return err
	}
	defer s.close()
	names, err := d.visibleTables(ctx, s)
	if err != nil {
		return d.connectError(err)
	}
	if len(names) == 0 {
		return connectors.NeedsAuth(errors.New("the account sees no table: it needs SELECT on the tables that agents are to see"))
	}
	return d.checkGrants(ctx, s)
}

// Query implements [connectors.Database].
func (d *database) Query(ctx context.Context, text string, limits connectors.QueryLimits) (*connectors.Rows, error) {
	statement, err := Inspect(text)
	if err != nil {
		return nil, err
	}
	limits = limits.WithDefaults()
	ctx, cancel := context.WithTimeout(ctx, limits.Timeout+connectTimeout)
	defer cancel()
	s, err := d.open(ctx, limits.Timeout, sqldb.MaxFetch(limits))
	if err != nil {
		return nil, err
	}
	defer s.close()
	if err := d.checkTables(ctx, s, statement); err != nil {
		return nil, err
	}
	return d.run(ctx, s, statement.Text, limits)
}

// run runs a statement in the session's transaction and collects its rows. The
// session is of no use afterwards.
func (d *database) run(ctx context.Context, s *session, text string, limits connectors.QueryLimits) (*connectors.Rows, error) {
	queryCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	start := time.Now()
	rows, err := s.conn.QueryContext(queryCtx, text)
	if err != nil {
		if ctx.Err() != nil {
			s.kill(ctx)
			return nil, fmt.Errorf("the statement was given up: %w", context.Cause(ctx))
		}
		return nil, d.statementError(err, limits.Timeout)
	}
	defer func() {
		cancel() // otherwise Close reads the remaining rows
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
		if collector.IsFull() {
			more = err == nil && collector.Count(sqldb.RowSize(raw))
			continue
		}
		if err != nil {
			return nil, d.statementError(err, limits.Timeout)
		}
		row := make([]any, len(raw))
		for i := range raw {
			row[i] = convertValue(names[i], raw[i])
		}
		if !collector.Add(row) {
			defer time.AfterFunc(sqldb.CountTimeout, cancel).Stop()
		}
	}
	err = rows.Err()
	if err != nil && !collector.IsFull() {
		if ctx.Err() != nil {
			s.kill(ctx)
			return nil, fmt.Errorf("the statement was given up: %w", context.Cause(ctx))
		}
		return nil, d.statementError(err, limits.Timeout)
	}
	result := collector.Rows(more && err == nil)
	result.Duration = time.Since(start)
	return result, nil
}

func convertValue(kind string, raw sql.RawBytes) any {
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

// Sample implements [connectors.Database].
func (d *database) Sample(ctx context.Context, _, table string, rows int) (*connectors.Rows, error) {
	if !d.AllowSamples {
		return nil, connectors.ErrNoSamples
	}
	text, limits := sqldb.Sample(quoteName(table), rows)
	return d.Query(ctx, text, limits)
}

func quoteName(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// SampleColumns implements [connectors.Database].
func (d *database) SampleColumns(ctx context.Context, _, table string, columns []string) (*connectors.Rows, error) {
	if !d.AllowSamples {
		return nil, connectors.ErrNoSamples
	}
	text, limits := sqldb.SampleColumns(quoteName(table), columns, quoteName, "left(%s, %d)")
	return d.Query(ctx, text, limits)
}

// checkTables refuses a statement that reads a table which agents do not see.
// It also refuses a CTE with the name of such a table, since the CTE would hide
// it from the check.
func (d *database) checkTables(ctx context.Context, s *session, statement *Statement) error {
	for _, t := range statement.Tables {
		if !d.isVisible(t) {
			return sqldb.RefuseTable(strings.TrimPrefix(t.Database+"."+t.Name, "."))
		}
	}
	for _, cte := range statement.CTEs {
		if d.Tables.Allow(d.config.DBName, cte) {
			continue
		}
		var exists bool
		err := s.conn.QueryRowContext(ctx, "select exists (select 1 from information_schema.tables where table_schema = ? and lower(table_name) = lower(?))", d.config.DBName, cte).Scan(&exists)
		if err != nil {
			return d.statementError(err, checkTimeout)
		}
		if exists {
			return sqldb.Refuse("Give the table %s of WITH another name: one of the database has it.", sqldb.QuoteName(cte))
		}
	}
	return nil
}

func (d *database) isVisible(t Name) bool {
	switch {
	case strings.EqualFold(t.Database, "information_schema"):
		// Its tables of processes and files are not about this database.
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
		return d.Tables.Allow(d.config.DBName, t.Name)
	}
}
