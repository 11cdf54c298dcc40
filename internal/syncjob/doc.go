// Package syncjob starts, watches and stops sync jobs. A job is a row. This package
// has the rules of its states, and fences every write of a running job with its
// attempt, so that a worker that lost its job cannot write any more. Redis carries
// tasks and updates only; what it loses is read from the row.
//
// Allowed imports: ent, connectors, internal/audit, internal/ingest/entryid,
// internal/queue, internal/safetext, internal/store/transaction, internal/viewer,
// internal/apierr, internal/tracing, go-redis.
package syncjob
