// Package storedop is about stored operations: the GraphQL operations that
// Magpie itself executes, for REST and for its commands. It marks the contexts of
// stored operations, to which the limits of outside queries do not apply, and it
// has the fragments that stored operations share.
//
// Allowed imports: the standard library.
package storedop
