// Package audit records who changed what. A hook on the ent client writes an entry
// for each change of an audited entity, in the transaction of the change, whether a
// resolver, a domain package or the command line makes it. table.go lists what is
// audited, and what is not and why. Events that change no row are recorded by
// Record. Entries are read through ent.
//
// Allowed imports: ent, ent/gid, internal/ratelimit, internal/request/requestid,
// internal/viewer, internal/apierr.
package audit
