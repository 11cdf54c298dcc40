// Package audit writes down who changed what. A hook on the ent client notes
// each change of an audited entity in the transaction of the change, whoever
// makes it: resolvers, domain packages or the command line; table.go says what
// is audited, and what is not and why. Events that change no row are recorded
// by name. Entries are read through ent.
//
// Allowed imports: ent, internal/viewer, ent/gid, internal/request/requestid,
// internal/ratelimit, internal/apierr.
package audit
