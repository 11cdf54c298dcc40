// Package storedop marks a context as running one of Magpie's own stored
// GraphQL operations, as REST does: limits on depth, complexity and
// introspection bind outside queries only. It imports nothing of Magpie.
package storedop
