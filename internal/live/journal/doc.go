// Package journal keeps the events of streams in PostgreSQL: one process writes those of a
// stream, in batches and in order, and readers in any process follow them from any event on.
// A Bus wakes readers; without it they poll.
//
// Allowed imports: internal/apierr, redis.
package journal
