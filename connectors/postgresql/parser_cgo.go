//go:build cgo

package postgresql

import pgquery "github.com/pganalyze/pg_query_go/v6"

// parse reads statements with PostgreSQL's own parser, in C.
func parse(text string) (*pgquery.ParseResult, error) {
	return pgquery.Parse(text)
}
