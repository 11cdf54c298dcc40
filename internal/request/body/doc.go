// Package body bounds the JSON around a GraphQL operation: its bytes and its
// nesting. Package graph bounds the operation itself.
//
// Allowed imports: internal/viewer.
package body
