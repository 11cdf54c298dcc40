// Package quota counts a workspace's queries, searches and chat messages, by
// calendar month (UTC) and refuses those over its limit. PostgreSQL holds the
// counts, so that all nodes together let exactly the limit through. What has no
// limit is counted in memory and written down once a second.
//
// Allowed imports: internal/audit, internal/store/ttlcache, internal/viewer, internal/apierr, pgx.
package quota
