// Package purge deletes what hangs on connectors and collections with a
// tombstone: nobody sees any of it, and it goes in slices that are short enough
// to hold nobody up. What is to be done stands in PostgreSQL; a task is only the
// nudge, and every step may be broken off and done twice.
//
// Allowed imports: internal/index, internal/viewer and internal/queue.
package purge
