// Package gid makes the ids of all rows: UUIDs that sort by time and contain the kind of the
// row, so that the node query of GraphQL can find its table. It imports nothing of Magpie.
package gid
