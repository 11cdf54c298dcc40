// Package clickhouse attaches ClickHouse databases for agents, over the HTTP
// interface. A parser of ClickHouse's grammar parses each statement and compares
// it with a list of what reads. The server runs it with the setting readonly = 1
// and limits of time, rows, bytes and memory, which are a part of the same
// request.
//
// Allowed imports: the standard library, connectors, internal/httpx (by restapi),
// google/uuid and AfterShip's clickhouse-sql-parser.
package clickhouse
