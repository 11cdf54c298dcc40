// Package principal keeps who belongs to which group at the sources of
// connectors, tells which principals a person has, and says why somebody finds a
// document or does not.
//
// A principal is a text. "user:" and an address in lower case is a person
// wherever they are named; "group:", the id of a connector and the source's id of
// the group is a group, so that groups of two connectors are never the same.
// What a source says is kept as it says it, "group:" and its own id, with the
// connector beside it; Qualify makes the one of the other.
//
// Allowed imports: pgx, internal/apierr, internal/store/ttlcache, ent/gid,
// internal/viewer.
package principal
