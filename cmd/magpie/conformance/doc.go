// Package conformance holds the public surface to its word: tests that talk
// HTTP to a whole Magpie with real stores, one case for each row of the
// interface that concerns /v1 (testdata/rows.txt lists them), and fuzzing of
// the same surface in process. It has no code of its own.
//
// Allowed imports: none; the tests import what starts a server.
package conformance
