// Package mssql attaches SQL Server databases for agents. SQL Server has no
// read-only transactions, so three things keep statements from writing: a lexer and
// a list of what reads, a transaction that is always rolled back, and a login that
// can only read, without which a connection is refused.
//
// Allowed imports: the standard library, connectors, internal/httpx and
// microsoft/go-mssqldb.
package mssql
