//go:build !cgo

package postgresql

import (
	pgquery "github.com/pganalyze/pg_query_go/v6"
	wasmquery "github.com/wasilibs/go-pgquery"
)

// parse reads statements with PostgreSQL's own parser, compiled to WebAssembly:
// releases are built for every system without a C compiler. The first call
// compiles the parser, which takes seconds.
func parse(text string) (*pgquery.ParseResult, error) {
	return wasmquery.Parse(text)
}
