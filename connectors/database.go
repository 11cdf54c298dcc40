package connectors

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Database is an attached database, whose schema agents read and which they
// query. Its methods may be called concurrently. Errors are those of a [Source],
// and *QueryError.
type Database interface {
	// Check tests the connection, and that the connection cannot write.
	Check(ctx context.Context) error
	// Schema returns the tables and views that the login may read, at most
	// MaxTables, sorted by name.
	Schema(ctx context.Context) ([]Table, error)
	// Query runs one statement that reads. A statement that could do anything else
	// is refused before it is sent, and runs in a session in which the engine itself
	// refuses to write. Errors in the statement are *QueryError.
	Query(ctx context.Context, sql string, limits QueryLimits) (*Rows, error)
	// Sample returns some rows of a table that Schema returned. The error is
	// ErrNoSamples if the connector does not allow samples.
	Sample(ctx context.Context, schema, table string, rows int) (*Rows, error)
	// SampleColumns returns columns of text of some rows of a table that Schema
	// returned: the first rows in the order of the engine, at most MaxSampledRows, with
	// the first MaxSampledText characters of each value. The error is ErrNoSamples if
	// the connector does not allow samples.
	SampleColumns(ctx context.Context, schema, table string, columns []string) (*Rows, error)
	// Close ends all connections. It may be called twice.
	Close() error
}

// MaxTables is the largest number of tables and views in a schema.
const MaxTables = 2000

// Limits of SampleColumns.
const (
	MaxSampledRows = 1000
	MaxSampledText = 61
)

// MaxStatement is the length of the longest statement that is parsed, in bytes.
const MaxStatement = 20_000

// ErrNoSamples says that the connector does not allow samples of tables.
var ErrNoSamples = errors.New("this connector shows no sample rows (config.sampleRows is off)")

// A QueryError says what is wrong with a statement, for its author.
type QueryError struct {
	// Refused says that the statement was not run because it could do more than read.
	Refused bool
	// Code is the engine's error code, "" for none.
	Code string
	// Message is at most 1,000 characters.
	Message string
}

func (e *QueryError) Error() string { return e.Message }

// A Table is a table or view of a database.
type Table struct {
	Schema, Name string
	View         bool
	Comment      string
	Columns      []Column
	PrimaryKey   []string
	ForeignKeys  []ForeignKey
	// Rows is the engine's estimate of the number of rows, -1 if unknown.
	Rows int64
}

// A Column is a column of a table.
type Column struct {
	Name, Type, Comment string
	Nullable            bool
	// Default is the expression, "" for none.
	Default string
	// Values are the values of an enumerated type, at most 50. It is nil for other
	// types.
	Values []string
	// Samples are values that a schema sync has found in rows. It is nil without
	// permission to show rows.
	Samples []string `json:",omitempty"`
}

// A ForeignKey says that columns of a table reference columns of another table.
type ForeignKey struct {
	Columns       []string
	Schema, Table string
	References    []string
}

// QueryLimits bound a query. A zero field is its default.
type QueryLimits struct {
	Rows    int           // default 100, at most 1,000
	Bytes   int           // of all values together; default 256 KiB, at most 4 MiB
	Timeout time.Duration // default 10 s, at most 60 s
}

// WithDefaults replaces zero fields by their defaults and reduces fields to their
// maximums.
func (l QueryLimits) WithDefaults() QueryLimits {
	const defaultRows, maxRows = 100, 1000
	const defaultBytes, maxBytes = 256 << 10, 4 << 20
	const defaultTimeout, maxTimeout = 10 * time.Second, time.Minute
	if l.Rows <= 0 {
		l.Rows = defaultRows
	}
	if l.Bytes <= 0 {
		l.Bytes = defaultBytes
	}
	if l.Timeout <= 0 {
		l.Timeout = defaultTimeout
	}
	return QueryLimits{Rows: min(l.Rows, maxRows), Bytes: min(l.Bytes, maxBytes), Timeout: min(l.Timeout, maxTimeout)}
}

// Rows are the result of a query.
type Rows struct {
	Columns []string
	// Types are the engine's names of the columns' types.
	Types []string
	// Values are nil, bool, int64, float64, json.Number (exact decimals) or string.
	// Values of other types are strings in the engine's format. A truncated string
	// ends with an ellipsis and its full length.
	Values [][]any
	// Truncated says which limit truncated the rows: TruncatedByRows,
	// TruncatedByBytes or "".
	Truncated string
	// Omitted is the number of rows that were found and not returned. If
	// OmittedAtLeast is true, there may be more.
	Omitted        int
	OmittedAtLeast bool
	// OversizedRow is the number, from 1, of the row that is larger than Limits.Bytes
	// and ends the rows, or 0.
	OversizedRow int
	// Limits are the limits of the query.
	Limits   QueryLimits
	Duration time.Duration
}

// Notice says which rows are missing and how to get them, or "" if the rows are
// complete.
func (r *Rows) Notice() string {
	if r.Truncated == "" {
		return ""
	}
	omitted := fmt.Sprintf("%d", r.Omitted)
	if r.OmittedAtLeast {
		omitted = "at least " + omitted
	}
	const advice = "Select fewer columns, or parts of long ones, as with substring(column, 1, 200)"
	switch {
	case r.OversizedRow > 0:
		return fmt.Sprintf("Row %d alone is larger than the %d bytes that an answer may have. It is left out, with what comes behind it: %s in all. %s.",
			r.OversizedRow, r.Limits.Bytes, omitted, advice)
	case r.Truncated == TruncatedByBytes:
		return fmt.Sprintf("Rows left out: %s. The first %d fill the %d bytes that an answer may have. %s, or ask for fewer rows.",
			omitted, len(r.Values), r.Limits.Bytes, advice)
	default:
		return fmt.Sprintf("Rows left out: %s. An answer has %d rows at most here. Let the database filter or aggregate, or ask for more rows.",
			omitted, r.Limits.Rows)
	}
}

// The values of [Rows].Truncated.
const (
	TruncatedByRows  = "rows"
	TruncatedByBytes = "bytes"
)
