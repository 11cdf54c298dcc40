// Package body bounds what clients send around a GraphQL operation: the bytes
// of its JSON, and how deep that is nested. What is in the operation itself is
// bounded where it is read, in package graph.
//
// Allowed imports: the leaf internal/viewer.
package body
