// Package gid makes the identifiers of every stored thing: UUIDs that sort by
// time and carry the kind of thing they name, so that one id serves GraphQL's
// node query, REST paths and SQL alike. It imports nothing of Magpie.
package gid
