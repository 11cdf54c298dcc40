// Package principal stores the groups at the sources of connectors and their
// members, and reads the groups of a workspace's directory. It returns the principals of a person and explains who can read a
// document.
//
// A principal is a text. "user:" and an email address in lower case is a person at
// any source. "group:", the id of a connector and the source's id of the group is a
// group, so groups of two connectors are always different. Sources report groups as
// "group:" and their own id, and they are stored this way next to the connector.
// Qualify adds the connector. "directory:" and an id is a group of a workspace's
// directory. Only restrictions name it, since no source can: Qualify leaves it out.
//
// Allowed imports: pgx, internal/apierr, internal/safetext, internal/store/ttlcache,
// ent/gid, internal/viewer.
package principal
