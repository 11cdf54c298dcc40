// Package enginetest is the contract of engine.Backend as tests, which every backend
// passes: the fake in memory, and the client of a real engine.
//
// The package may import internal/index, internal/search/engine, internal/search/rank,
// google/uuid and the standard library. Only tests import it.
package enginetest
