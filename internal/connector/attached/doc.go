// Package attached lets agents query attached databases. It stores the catalog of
// tables that schema syncs read, searches it, and runs statements, which it records
// in the audit log.
//
// Allowed imports: ent, pgx, connectors, internal/audit, internal/secret,
// internal/analysis, internal/safetext, internal/viewer, internal/apierr.
package attached
