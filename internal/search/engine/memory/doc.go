// Package memory is an engine in the memory of the process, for tests. It compares every
// object, so what it finds is exact, and it lets a test break it: stop a node, let a
// replica fall behind, fail calls, lose everything.
//
// The package may import internal/index, internal/search/engine, internal/search/rank,
// google/uuid and the standard library. Only tests import it.
package memory
