package connectors

import (
	"context"
	"time"
)

// Database is an attached database: agents look at its schema and ask it
// questions. All methods may be called from several goroutines. Errors are those
// of a [Source].
type Database interface {
	// Check tests the connection, and that it cannot write.
	Check(ctx context.Context) error
	// Schema reads the tables and views that the login may read, at most
	// MaxTables, in the order of their names.
	Schema(ctx context.Context) ([]Table, error)
	// Query runs one statement that reads. It is refused before it is sent when
	// it is more than one statement or could do anything but read, and runs where
	// the engine itself refuses to write.
	Query(ctx context.Context, sql string, limits QueryLimits) (*Rows, error)
	// Close ends all connections. Closing twice is no error.
	Close() error
}

// MaxTables is how many tables and views of a database are looked at.
const MaxTables = 2000

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

// Rows are what a question found.
type Rows struct {
	Columns []string
	// Types are the engine's names of the columns' types.
	Types []string
	// Values are nil, bool, int64, float64 or string; what the engine has as
	// anything else is a string in its own form.
	Values [][]any
	// Truncated says which limit cut the rows off: "rows", "bytes" or "".
	Truncated string
	Took      time.Duration
}
