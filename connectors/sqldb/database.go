package sqldb

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Settings are the settings that all kinds share.
type Settings struct {
	// Tables are the tables that agents see.
	Tables Tables
	// AllowSamples allows samples of tables, AllowWrites a login that may write.
	AllowSamples, AllowWrites bool
}

// NewSettings returns the shared settings of a connector.
func NewSettings(s connectors.Settings) Settings {
	return Settings{Tables: NewTables(s), AllowSamples: s.Boolean(OptionSamples), AllowWrites: s.Boolean(OptionWrites)}
}

// A Closer implements Close for databases whose queries have connections of their
// own.
type Closer struct{ closed atomic.Bool }

// Close makes CheckOpen fail.
func (c *Closer) Close() error {
	c.closed.Store(true)
	return nil
}

// CheckOpen returns an error after Close.
func (c *Closer) CheckOpen() error {
	if c.closed.Load() {
		return connectors.Fatal(errors.New("the database was closed"))
	}
	return nil
}

// Sample returns a statement for some rows of a table, at most ten, and its
// limits. The name is quoted.
func Sample(quotedName string, rows int) (sql string, limits connectors.QueryLimits) {
	rows = max(1, min(rows, 10))
	return fmt.Sprintf("select * from %s limit %d", quotedName, rows), connectors.QueryLimits{Rows: rows, Bytes: 16 << 10, Timeout: 5 * time.Second}
}

// SampleColumns returns a statement for the beginnings of columns' values in some
// rows of a table, whose name is quoted, and its limits. quote quotes the name of a column.
// beginning is the expression of one value in the dialect, with %s for the column and %d
// for the number of characters.
func SampleColumns(quotedName string, columns []string, quote func(string) string, beginning string) (sql string, limits connectors.QueryLimits) {
	limits = SampleLimits()
	return fmt.Sprintf("select %s from %s limit %d", Beginnings(columns, quote, beginning), quotedName, limits.Rows), limits
}

// SampleLimits returns the limits of a statement that samples columns.
func SampleLimits() connectors.QueryLimits {
	return connectors.QueryLimits{Rows: connectors.MaxSampledRows, Bytes: 1 << 20, Timeout: 5 * time.Second}
}

// Beginnings returns the expressions of SampleColumns.
func Beginnings(columns []string, quote func(string) string, beginning string) string {
	parts := make([]string, len(columns))
	for i, column := range columns {
		parts[i] = fmt.Sprintf(beginning, quote(column), connectors.MaxSampledText)
	}
	return strings.Join(parts, ", ")
}

// NetworkError returns the marked error of a connection that failed without an
// error of the server. server names it.
func NetworkError(server string, err error) error {
	if network, ok := errors.AsType[net.Error](err); ok && network.Timeout() {
		return connectors.Retryable(fmt.Errorf("%s did not answer in time", server), 0)
	}
	const maxText = 500
	return connectors.Retryable(fmt.Errorf("connect to %s: %s", server, safetext.Truncate(safetext.Line(err.Error()), maxText)), 0)
}

// CheckText refuses a statement that no parser should see. Its errors are
// *connectors.QueryError.
func CheckText(sql string) error {
	if len(sql) > connectors.MaxStatement {
		return Refuse("The statement has %d bytes; at most %d are allowed.", len(sql), connectors.MaxStatement)
	}
	if strings.ContainsRune(sql, 0) {
		return Refuse("The statement holds the character U+0000.")
	}
	return nil
}

// CheckCount refuses a text that is not exactly one statement.
func CheckCount(statements int) error {
	switch statements {
	case 0:
		return Refuse("There is no statement.")
	case 1:
		return nil
	default:
		return Refuse("These are %d statements; one at a time is allowed.", statements)
	}
}

// TimeoutMessage is the message of a statement that the engine stopped.
func TimeoutMessage(timeout time.Duration) string {
	return fmt.Sprintf("The statement was stopped after %s. Ask for less: filter, or aggregate.", timeout)
}

// RefuseTable refuses a statement that reads a table that agents do not see.
func RefuseTable(name string) error {
	return Refuse("The table %s is not among those that may be asked here.", QuoteName(name))
}

// RowSize returns the size of a row's encoded values in bytes.
func RowSize[T ~[]byte](values []T) int {
	size := 0
	for _, value := range values {
		size += len(value)
	}
	return size
}
