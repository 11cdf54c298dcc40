// Package connector owns the connectors of a workspace: how they are created,
// changed, tested, scheduled and deleted, and which settings they may have. The
// packages below it hold parts of a connector: credential what it signs in with,
// oauth its grants, sourcefile its uploads, inbound its webhooks, attached its
// databases, state what its source remembers, pace how fast its source may be
// asked. Running a sync is the job of internal/syncjob and worker/syncer.
//
// Allowed imports: ent, connectors, the packages below this one, internal/audit,
// internal/identity/principal, internal/store, internal/syncjob, and the leaves.
package connector
