package mssql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/sqldb"
)

const (
	checkTimeout  = 10 * time.Second
	schemaTimeout = time.Minute
	// noRowLimit is the server's limit if all rows are needed.
	noRowLimit = 0

	informationSchema = "INFORMATION_SCHEMA"
)

// A database is an attached database. Each query has a connection of its own, so
// that it leaves nothing behind.
type database struct {
	config  msdsn.Config
	dial    connectors.Dial
	schemas []string
	sqldb.Settings
	sqldb.Closer
}

func newDatabase(s connectors.Settings, dial connectors.Dial) (*database, error) {
	config, err := newConfig(s)
	if err != nil {
		return nil, err
	}
	return &database{config: config, dial: dial, schemas: parseSchemas(s.String(optionSchema)), Settings: sqldb.NewSettings(s)}, nil
}

func (d *database) server() string {
	return "SQL Server at " + net.JoinHostPort(d.config.Host, strconv.FormatUint(d.config.Port, 10))
}

// rightsSQL lists what allows a login to do more than read: roles, rights on the server,
// in the database and in its schemas, and the numbers of tables, also by a column, that it
// may change and of procedures that it may run.
const rightsSQL = `select 'the role ' + r.name from (values ('sysadmin'), ('securityadmin'), ('serveradmin'), ('dbcreator'), ('bulkadmin'), ('diskadmin'), ('processadmin'), ('setupadmin')) r(name)
where is_srvrolemember(r.name) = 1
union all select 'the role ' + r.name from (values ('db_owner'), ('db_datawriter'), ('db_ddladmin'), ('db_securityadmin'), ('db_accessadmin'), ('db_backupoperator')) r(name) where is_rolemember(r.name) = 1
union all select permission_name collate database_default + ' on the server' from fn_my_permissions(null, 'SERVER') where ` + writes + `
union all select permission_name collate database_default from fn_my_permissions(null, 'DATABASE') where ` + writes + `
union all select permission_name collate database_default + ' on the schema ' + s.name collate database_default from sys.schemas s cross apply fn_my_permissions(quotename(s.name), 'SCHEMA') where ` + writes + `
union all select 'write access to ' + cast(count(distinct o.object_id) as varchar(20)) + ' tables' from sys.objects o
cross apply fn_my_permissions(quotename(schema_name(o.schema_id)) + '.' + quotename(o.name), 'OBJECT') where o.type in ('U', 'V') and o.is_ms_shipped = 0 and (` + writes + `) having count(*) > 0
union all select 'EXECUTE on ' + cast(count(distinct o.object_id) as varchar(20)) + ' procedures' from sys.objects o
cross apply fn_my_permissions(quotename(schema_name(o.schema_id)) + '.' + quotename(o.name), 'OBJECT') where o.type in ('P', 'PC', 'RF', 'X') and o.is_ms_shipped = 0 and (` + writes + `) having count(*) > 0`

// writes selects the rights that allow more than reading, of any securable.
const writes = `permission_name in ('INSERT', 'UPDATE', 'DELETE', 'TAKE OWNERSHIP', 'SHUTDOWN') or permission_name like 'ALTER%' or permission_name like 'CREATE %' or permission_name like 'CONTROL%'
or permission_name like 'EXECUTE%' or permission_name like 'IMPERSONATE%' or permission_name like 'ADMINISTER%' or permission_name like 'BACKUP%' or permission_name like 'EXTERNAL%' or permission_name like 'UNSAFE%'`

// Check implements [connectors.Database]: something can be read, and nothing can
// be written.
func (d *database) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout+connectTimeout)
	defer cancel()
	s, err := d.open(ctx, checkTimeout, noRowLimit)
	if err != nil {
		return err
	}
	defer s.close(ctx)
	tables, err := d.visibleTables(ctx, s)
	if err != nil {
		return d.connectError(err)
	}
	if len(tables) == 0 {
		return connectors.NeedsAuth(fmt.Errorf("the login sees no table in the schemas %s; %s", strings.Join(d.schemas, ", "), d.grantAdvice()))
	}
	var rights []string
	if err := s.each(ctx, rightsSQL, func(rows *sql.Rows) error {
		var right string
		err := rows.Scan(&right)
		if !slices.Contains(rights, right) {
			rights = append(rights, right)
		}
		return err
	}); err != nil {
		return d.connectError(err)
	}
	if len(rights) > 0 {
		const shown = 20
		return connectors.NeedsAuth(fmt.Errorf("the login may do more than read (%s), and SQL Server has no transaction that keeps it from writing; %s", strings.Join(rights[:min(len(rights), shown)], ", "), d.grantAdvice()))
	}
	return nil
}

// grantAdvice returns the statements that make a login that can only read.
func (d *database) grantAdvice() string {
	grants := make([]string, len(d.schemas))
	for i, schema := range d.schemas {
		grants[i] = "GRANT SELECT ON SCHEMA::" + quoteName(schema) + " TO magpie_reader;"
	}
	return "make one with CREATE LOGIN magpie_reader WITH PASSWORD = '…'; and in the database CREATE USER magpie_reader FOR LOGIN magpie_reader; " + strings.Join(grants, " ")
}

func quoteName(name string) string { return "[" + strings.ReplaceAll(name, "]", "]]") + "]" }

// Query implements [connectors.Database].
func (d *database) Query(ctx context.Context, text string, limits connectors.QueryLimits) (*connectors.Rows, error) {
	statement, err := Inspect(text)
	if err != nil {
		return nil, err
	}
	return d.inTransaction(ctx, statement.Text, limits, func(ctx context.Context, s *session) error { return d.checkTables(ctx, s, statement) })
}

// inTransaction runs a statement in a transaction that is rolled back, unless check
// refuses it before.
func (d *database) inTransaction(ctx context.Context, text string, limits connectors.QueryLimits, check func(context.Context, *session) error) (*connectors.Rows, error) {
	limits = limits.WithDefaults()
	s, err := d.open(ctx, limits.Timeout, sqldb.MaxFetch(limits)+1)
	if err != nil {
		return nil, err
	}
	defer s.close(ctx)
	ctx, cancel := context.WithTimeoutCause(ctx, limits.Timeout, errTimeout)
	defer cancel()
	if err := check(ctx, s); err != nil {
		return nil, err
	}
	return d.run(ctx, s, text, limits)
}

// run runs a statement in the session's transaction and collects its rows. The
// session is of no use afterwards. The end of ctx sends an attention, which stops the
// statement at the server.
func (d *database) run(ctx context.Context, s *session, text string, limits connectors.QueryLimits) (*connectors.Rows, error) {
	queryCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	start := time.Now()
	rows, err := s.conn.QueryContext(queryCtx, text)
	if err != nil {
		return nil, d.statementError(ctx, err, limits.Timeout)
	}
	defer func() {
		cancel() // otherwise Close reads the remaining rows
		_ = rows.Close()
	}()
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, d.statementError(ctx, err, limits.Timeout)
	}
	columns, names := make([]string, len(types)), make([]string, len(types))
	for i, t := range types {
		columns[i], names[i] = t.Name(), strings.ToLower(t.DatabaseTypeName())
	}
	collector := sqldb.NewCollector(limits, columns, names)
	more := true
	for more && rows.Next() {
		raw, targets := make([]any, len(types)), make([]any, len(types))
		for i := range raw {
			targets[i] = &raw[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, d.statementError(ctx, err, limits.Timeout)
		}
		size := 0
		for i := range raw {
			raw[i] = convertValue(names[i], raw[i])
			if value, ok := raw[i].(string); ok {
				size += len(value)
			}
		}
		if collector.IsFull() {
			more = collector.Count(size)
			continue
		}
		if !collector.Add(raw) {
			defer time.AfterFunc(sqldb.CountTimeout, cancel).Stop()
		}
	}
	err = rows.Err()
	if err != nil && !collector.IsFull() {
		return nil, d.statementError(ctx, err, limits.Timeout)
	}
	result := collector.Rows(more && err == nil)
	result.Duration = time.Since(start)
	return result, nil
}

// convertValue returns a value of the driver.
func convertValue(kind string, value any) any {
	switch value := value.(type) {
	case []byte:
		switch kind {
		case "decimal", "numeric", "money", "smallmoney":
			return sqldb.Decimal(value)
		case "uniqueidentifier":
			var id mssql.UniqueIdentifier
			if id.Scan(value) == nil {
				return id.String()
			}
		}
		return sqldb.Text(value)
	case float64:
		return sqldb.Float(strconv.AppendFloat(nil, value, 'g', -1, 64))
	case time.Time:
		return value.Format(timeFormat(kind))
	default:
		return value
	}
}

func timeFormat(kind string) string {
	switch kind {
	case "date":
		return time.DateOnly
	case "time":
		return "15:04:05.9999999"
	case "datetimeoffset":
		return "2006-01-02 15:04:05.9999999 -07:00"
	default:
		return "2006-01-02 15:04:05.9999999"
	}
}

// Sample implements [connectors.Database].
func (d *database) Sample(ctx context.Context, schema, table string, rows int) (*connectors.Rows, error) {
	if !d.AllowSamples {
		return nil, connectors.ErrNoSamples
	}
	_, limits := sqldb.Sample("", rows)
	return d.Query(ctx, fmt.Sprintf("select top (%d) * from %s.%s", limits.Rows, quoteName(schema), quoteName(table)), limits)
}

// SampleColumns implements [connectors.Database]. LEFT takes no text and ntext.
func (d *database) SampleColumns(ctx context.Context, schema, table string, columns []string) (*connectors.Rows, error) {
	if !d.AllowSamples {
		return nil, connectors.ErrNoSamples
	}
	limits := sqldb.SampleLimits()
	list := sqldb.Beginnings(columns, quoteName, "left(cast(%s as nvarchar(max)), %d)")
	return d.Query(ctx, fmt.Sprintf("select top (%d) %s from %s.%s", limits.Rows, list, quoteName(schema), quoteName(table)), limits)
}

// resolveSQL finds what a name stands for.
const resolveSQL = "select schema_name(schema_id), name, rtrim(type) from sys.objects where object_id = object_id(@p1)"

// checkTables refuses a statement that reads a table which agents do not see. The
// server resolves names without a schema, and synonyms, which may lead to other servers.
func (d *database) checkTables(ctx context.Context, s *session, statement *Statement) error {
	for _, t := range statement.Tables {
		shown := strings.TrimLeft(t.Database+"."+t.Schema+"."+t.Name, ".")
		switch {
		case t.Database != "" && !strings.EqualFold(t.Database, d.config.Database):
			return sqldb.RefuseTable(shown)
		case strings.EqualFold(t.Schema, informationSchema):
			if !slices.Contains([]string{"TABLES", "COLUMNS", "KEY_COLUMN_USAGE", "TABLE_CONSTRAINTS", "REFERENTIAL_CONSTRAINTS", "VIEWS"}, strings.ToUpper(t.Name)) {
				return sqldb.RefuseTable(shown)
			}
			continue
		case t.Schema != "" && !d.isVisible(t.Schema, t.Name):
			return sqldb.RefuseTable(shown)
		}
		name := quoteName(t.Name)
		if t.Schema != "" {
			name = quoteName(t.Schema) + "." + name
		}
		var schema, table, kind string
		err := s.conn.QueryRowContext(ctx, resolveSQL, name).Scan(&schema, &table, &kind)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return sqldb.StatementError("208", "There is no table "+sqldb.QuoteName(shown)+" that the login may read.")
		case err != nil:
			return d.statementError(ctx, err, checkTimeout)
		case kind != "U" && kind != "V", !d.isVisible(schema, table):
			return sqldb.RefuseTable(shown)
		}
	}
	return nil
}

func (d *database) isVisible(schema, table string) bool {
	known := slices.ContainsFunc(d.schemas, func(s string) bool { return strings.EqualFold(s, schema) })
	return known && d.Tables.Allow(schema, table)
}
