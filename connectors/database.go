package connectors

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Database is an attached database: agents look at its schema and ask it
// questions. All methods may be called from several goroutines. Errors are those
// of a [Source], and *QueryError.
type Database interface {
	// Check tests the connection, and that it cannot write.
	Check(ctx context.Context) error
	// Schema reads the tables and views that the login may read, at most
	// MaxTables, in the order of their names.
	Schema(ctx context.Context) ([]Table, error)
	// Query runs one statement that reads. It is refused before it is sent when
	// it is more than one statement or could do anything but read, and runs where
	// the engine itself refuses to write. What is wrong with the statement is a
	// *QueryError.
	Query(ctx context.Context, sql string, limits QueryLimits) (*Rows, error)
	// Sample reads some rows of a table that Schema named. It is ErrNoSamples where
	// the connector does not allow that.
	Sample(ctx context.Context, schema, table string, rows int) (*Rows, error)
	// Close ends all connections. Closing twice is no error.
	Close() error
}

// MaxTables is how many tables and views of a database are looked at.
const MaxTables = 2000

// MaxStatement is the longest statement that is looked at, in bytes.
const MaxStatement = 20_000

// ErrNoSamples says that rows of tables are not to be shown unasked.
var ErrNoSamples = errors.New("this connector shows no sample rows (config.sampleRows is off)")

// QueryError says what is wrong with a statement, in words for whoever wrote it.
type QueryError struct {
	// Refused says that the statement was not run, since it could do something
	// else than read what may be read.
	Refused bool
	// Code is the engine's, "" for none.
	Code string
	// Message is at most 1,000 characters.
	Message string
}

func (e *QueryError) Error() string { return e.Message }

// Table is a table or view of a database.
type Table struct {
	Schema, Name string
	View         bool
	Comment      string
	Columns      []Column
	PrimaryKey   []string
	ForeignKeys  []ForeignKey
	// Rows is the engine's estimate, -1 when unknown.
	Rows int64
}

// Column is a column of a table.
type Column struct {
	Name, Type, Comment string
	Nullable            bool
	// Default is the expression, "" for none.
	Default string
	// Values are the only ones that an enumerated type has, at most 50; nil for
	// every other type.
	Values []string
}

// ForeignKey says that columns of a table point at those of another one.
type ForeignKey struct {
	Columns       []string
	Schema, Table string
	References    []string
}

// QueryLimits bound a question; zeros take the defaults.
type QueryLimits struct {
	Rows    int           // 100, at most 1,000
	Bytes   int           // of all values together: 256 KiB
	Timeout time.Duration // 10 s, at most 60 s
}

// WithDefaults fills in what is left out and cuts off what is too much.
func (l QueryLimits) WithDefaults() QueryLimits {
	const defaultRows, maxRows = 100, 1000
	const defaultBytes, maxBytes = 256 << 10, 4 << 20
	const defaultTime, maxTime = 10 * time.Second, time.Minute
	if l.Rows <= 0 {
		l.Rows = defaultRows
	}
	if l.Bytes <= 0 {
		l.Bytes = defaultBytes
	}
	if l.Timeout <= 0 {
		l.Timeout = defaultTime
	}
	return QueryLimits{Rows: min(l.Rows, maxRows), Bytes: min(l.Bytes, maxBytes), Timeout: min(l.Timeout, maxTime)}
}

// Rows are what a question found.
type Rows struct {
	Columns []string
	// Types are the engine's names of the columns' types.
	Types []string
	// Values are nil, bool, int64, float64, json.Number (exact decimals) or string;
	// what the engine has as anything else is a string in its own form. A string
	// that was cut off ends in an ellipsis and its length.
	Values [][]any
	// Truncated says which limit cut the rows off: "rows", "bytes" or "".
	Truncated string
	// LeftOut is how many rows were found and not returned. With Uncounted there may be more of them.
	LeftOut   int
	Uncounted bool
	// Oversized is the number, from 1, of the row at which the rows end since it is larger than all bytes of an answer; 0 where
	// it fits.
	Oversized int
	// Limits are those that the rows were cut off by.
	Limits QueryLimits
	Took   time.Duration
}

// Notice says in words what is missing and how to get it; "" when the rows are complete.
func (r *Rows) Notice() string {
	if r.Truncated == "" {
		return ""
	}
	left := fmt.Sprintf("%d", r.LeftOut)
	if r.Uncounted {
		left = "at least " + left
	}
	const narrower = "Select fewer columns, or parts of long ones, as with substring(column, 1, 200)"
	switch {
	case r.Oversized > 0:
		return fmt.Sprintf("Row %d alone is larger than the %d bytes that an answer may have. It is left out, with what comes behind it: %s in all. %s.",
			r.Oversized, r.Limits.Bytes, left, narrower)
	case r.Truncated == TruncatedByBytes:
		return fmt.Sprintf("Rows left out: %s. The first %d fill the %d bytes that an answer may have. %s, or ask for fewer rows.",
			left, len(r.Values), r.Limits.Bytes, narrower)
	default:
		return fmt.Sprintf("Rows left out: %s. An answer has %d rows at most here. Let the database filter or aggregate, or ask for more rows.",
			left, r.Limits.Rows)
	}
}

// What rows are cut off by.
const (
	TruncatedByRows  = "rows"
	TruncatedByBytes = "bytes"
)
