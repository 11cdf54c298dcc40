// Package sample starts the servers of internal/testkit with some content, to try a
// kind of connector without an account at its platform. `magpie dev --fake` uses it.
//
// Allowed imports: the servers in internal/testkit and the standard library.
package sample
