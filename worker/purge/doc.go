// Package purge deletes the rows of connectors and collections that have a
// tombstone, which hides all of them. It deletes in slices that are short enough
// not to block others. The work to do is in PostgreSQL; a task only starts it, and
// every step may be interrupted and repeated.
//
// Allowed imports: internal/index, internal/viewer and internal/queue.
package purge
