// Package mysql attaches MySQL and MariaDB databases for agents. A parser of
// MySQL's grammar parses each statement and compares it with a list of what
// reads. The parser's own text of the statement is sent, in a transaction in
// which the server refuses to write.
//
// Allowed imports: the standard library, connectors, go-sql-driver/mysql and
// Vitess's sqlparser.
package mysql
