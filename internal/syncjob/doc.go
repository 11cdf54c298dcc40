// Package syncjob starts, follows and stops sync jobs. A job is a row: this
// package holds the rules of who may change which state, and every write of a
// running job names the attempt it belongs to, so that a worker whose job was
// taken over cannot write any more. Redis carries nudges and progress only;
// what it loses is read from the row again.
//
// Allowed imports: ent, internal/queue, internal/apierr, ent/gid, internal/ingest/member, internal/store/transaction,
// internal/viewer and go-redis.
package syncjob
