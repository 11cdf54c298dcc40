// Package sqldb is shared by the connectors that attach SQL databases: their
// options, the tables that agents see, and the limits of results.
//
// Allowed imports: the standard library, connectors and internal/safetext.
package sqldb
