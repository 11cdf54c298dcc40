// Package sqldb is what the connectors that attach SQL databases share: their
// options, which tables may be seen, and the bounds of answers.
//
// Allowed imports: the standard library and connectors.
package sqldb
