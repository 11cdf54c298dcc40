// Package tdsserver is a stand-in for SQL Server in tests. It speaks the Tabular
// Data Stream protocol, version 7.4, as the open specification [MS-TDS] describes
// it: PRELOGIN, LOGIN7 with and without TLS, SQLBATCH, RPC of sp_executesql, and
// attention. What it answers is a script of the test. It knows no SQL.
//
// Allowed imports: the standard library. Only tests import it.
package tdsserver
