// Package attached is what agents know of attached databases and how they ask
// them: the catalogue of tables that schema syncs keep, the search in it, and
// statements that are run at the database and written down.
//
// Allowed imports: ent, pgx, connectors, internal/audit, internal/secret,
// internal/analysis, internal/viewer, internal/apierr.
package attached
