// Package postgresql attaches PostgreSQL databases for agents. PostgreSQL's own
// parser parses each statement, which is compared with a list of what reads.
// Statements run in a transaction in which the server refuses to write.
//
// Allowed imports: the standard library, connectors, pgx, pg_query_go and go-pgquery.
package postgresql
