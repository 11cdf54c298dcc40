// Package replay keeps the events of streams, so that a reader who lost the connection
// can go on. A stream goes on for a while without readers, and its events stay for a
// while after its end. Everything is in the memory of one process.
//
// Allowed imports: internal/apierr.
package replay
