// Package quota counts the queries of a workspace, which are searches, chat messages and statements of assistants,
// by calendar month (UTC), and refuses those over its limit. PostgreSQL has the counts, so
// that the limit is exact over all nodes. Queries of a workspace without a limit are
// counted in memory and written once a second.
//
// Allowed imports: internal/audit, internal/store/ttlcache, internal/viewer, internal/apierr, pgx.
package quota
