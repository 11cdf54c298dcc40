package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
	"github.com/magpie-search/magpie/connectors/sqldb"
	"github.com/magpie-search/magpie/internal/safetext"
)

const (
	checkTimeout  = 10 * time.Second
	schemaTimeout = time.Minute
)

// A database is an attached database. Each statement is one request.
type database struct {
	client *restapi.Client
	server string // its name for errors
	name   string // of the database
	// hasNativePort says that the port is one that clickhouse-client uses.
	hasNativePort bool
	// profileIsReadonly says that the user's settings profile has readonly = 2.
	profileIsReadonly atomic.Bool
	sqldb.Settings
	sqldb.Closer
}

func newDatabase(s connectors.Settings, dial connectors.Dial) (*database, error) {
	client, server, err := newClient(s, dial)
	if err != nil {
		return nil, err
	}
	port := s.Integer(sqldb.OptionPort)
	return &database{client: client, server: server, name: s.String(sqldb.OptionDatabase), hasNativePort: port == 9000 || port == 9440, Settings: sqldb.NewSettings(s)}, nil
}

// Close implements [connectors.Database].
func (d *database) Close() error {
	d.client.Close()
	return d.Closer.Close()
}

// Check implements [connectors.Database]: something can be read, and nothing can
// be written.
func (d *database) Check(ctx context.Context) error {
	tables, err := d.visibleTables(ctx, checkTimeout)
	if err != nil {
		return d.connectError(err)
	}
	if len(tables) == 0 {
		return connectors.NeedsAuth(fmt.Errorf("the user sees no table in the database %s: it needs SELECT on the tables that agents are to see", sqldb.QuoteName(d.name)))
	}
	if d.AllowWrites {
		return nil
	}
	return d.checkGrants(ctx)
}

// Query implements [connectors.Database].
func (d *database) Query(ctx context.Context, text string, limits connectors.QueryLimits) (*connectors.Rows, error) {
	statement, err := Inspect(text)
	if err != nil {
		return nil, err
	}
	limits = limits.WithDefaults()
	if err := d.checkTables(ctx, statement); err != nil {
		return nil, err
	}
	return d.run(ctx, statement.Text, limits)
}

// run runs a statement and collects its rows.
func (d *database) run(ctx context.Context, text string, limits connectors.QueryLimits) (*connectors.Rows, error) {
	// The server measures values in its memory, where short ones are larger than here.
	const memoryFactor, omittedBytes = 8, 8 << 20
	l := serverLimits{timeout: limits.Timeout, rows: sqldb.MaxFetch(limits), bytes: memoryFactor*limits.Bytes + omittedBytes}
	start := time.Now()
	got, err := d.send(ctx, text, l)
	if err != nil {
		return nil, d.statementError(err, limits.Timeout)
	}
	rows := got.collect(limits, l.rows, l.bytes)
	rows.Duration = time.Since(start)
	return rows, nil
}

// Sample implements [connectors.Database].
func (d *database) Sample(ctx context.Context, _, table string, rows int) (*connectors.Rows, error) {
	if !d.AllowSamples {
		return nil, connectors.ErrNoSamples
	}
	text, limits := sqldb.Sample(quoteName(table), rows)
	return d.Query(ctx, text, limits)
}

// quoteName returns a name as a statement writes it. The statement is inspected with it.
func quoteName(name string) string { return "`" + name + "`" }

// SampleColumns implements [connectors.Database]. substringUTF8 takes no FixedString.
func (d *database) SampleColumns(ctx context.Context, _, table string, columns []string) (*connectors.Rows, error) {
	if !d.AllowSamples {
		return nil, connectors.ErrNoSamples
	}
	text, limits := sqldb.SampleColumns(quoteName(table), columns, quoteName, "substringUTF8(toString(%s), 1, %d)")
	return d.Query(ctx, text, limits)
}

// checkTables refuses a statement that reads a table which agents do not see. It
// also refuses a CTE with the name of such a table, since the CTE would hide it from
// the check.
func (d *database) checkTables(ctx context.Context, statement *Statement) error {
	for _, t := range statement.Tables {
		if !d.isVisible(t) {
			return sqldb.RefuseTable(strings.TrimPrefix(t.Database+"."+t.Name, "."))
		}
	}
	for _, cte := range statement.CTEs {
		if d.Tables.Allow(d.name, cte) {
			continue
		}
		found, err := d.send(ctx, "select count() from system.tables where database = currentDatabase() and name = "+quoteText(cte), serverLimits{timeout: checkTimeout})
		if err != nil {
			return d.statementError(err, checkTimeout)
		}
		if len(found.Data) != 1 || found.integer(0, 0, 1) != 0 {
			return sqldb.Refuse("Give %s of WITH another name: a table of the database has it.", sqldb.QuoteName(cte))
		}
	}
	return nil
}

// quoteText returns a text as a statement writes it.
func quoteText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

func (d *database) isVisible(t Name) bool {
	switch {
	case t.Database == "information_schema" || t.Database == "INFORMATION_SCHEMA":
		// It shows what the user may read.
		return strings.EqualFold(t.Name, "tables") || strings.EqualFold(t.Name, "columns")
	case t.Database != "" && t.Database != d.name:
		return false
	default:
		return d.Tables.Allow(d.name, t.Name)
	}
}

// connectError returns the marked error of a connection.
func (d *database) connectError(err error) error {
	server, ok := errors.AsType[*serverError](err)
	if !ok {
		return err
	}
	const maxText = 500
	err = fmt.Errorf("%s says: %s (%d)", d.server, safetext.Truncate(safetext.Line(server.message), maxText), server.code)
	switch {
	case isLoginError(server.code):
		return connectors.NeedsAuth(err)
	case server.code == codeNoDatabase, server.code == codeConstraint, server.code == codeReadonly:
		return connectors.Fatal(err)
	default:
		return connectors.Retryable(err, 0)
	}
}

// statementError returns the error of a statement.
func (d *database) statementError(err error, timeout time.Duration) error {
	server, ok := errors.AsType[*serverError](err)
	if !ok {
		return err
	}
	code := strconv.Itoa(server.code)
	switch {
	case server.code == codeTimeout, server.code == codeCanceled:
		return sqldb.StatementError(code, sqldb.TimeoutMessage(timeout))
	case server.code == codeReadonly:
		return &connectors.QueryError{Refused: true, Code: code, Message: "The database refuses it: " + safetext.Truncate(server.message, 500)}
	case server.code == codeMemory:
		return sqldb.StatementError(code, "The statement needs more memory than it may have. Ask for less: filter, or aggregate.\n"+server.message)
	case server.code != codeAccessDenied && isLoginError(server.code), server.code == codeNoDatabase, server.code == codeConstraint, isBusyError(server.code):
		return d.connectError(err)
	}
	return sqldb.StatementError(code, server.message)
}
