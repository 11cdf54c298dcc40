// Package engineserver starts real nodes of the search engine for tests. `make test-engine`
// builds the server once for each version and runs every test whose name begins with
// TestRealEngine in the packages that import this one; elsewhere such a test is skipped.
//
// Some ports of a node listen on every interface, whatever its settings say. So nodes start
// only in a network namespace that has nothing but loopback. PostgreSQL and Redis of
// package testkit listen on sockets of the file system and can be used beside.
//
// Allowed imports: internal/testkit and the standard library. Only tests import it.
package engineserver
