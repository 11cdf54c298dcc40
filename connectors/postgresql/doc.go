// Package postgresql attaches PostgreSQL databases for agents. Statements are
// read by PostgreSQL's own parser and compared with a list of what reads; they
// run in a transaction of the server's that cannot write.
//
// Allowed imports: the standard library, connectors, pgx and pg_query_go.
package postgresql
