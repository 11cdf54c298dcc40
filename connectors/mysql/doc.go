// Package mysql attaches MySQL and MariaDB databases for agents. Statements are
// read by a parser of MySQL's grammar and compared with a list of what reads;
// what is sent is the parser's own writing of it, in a transaction of the
// server's that cannot write.
//
// Allowed imports: the standard library, connectors, go-sql-driver/mysql and
// Vitess's sqlparser.
package mysql
