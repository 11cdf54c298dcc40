// Package replay keeps the events of work under way, so that a reader who lost
// the connection can go on where they were. The work goes on for a while
// without any reader; what it told is kept for a while after its end. All of it
// is in the memory of one process.
//
// It imports internal/apierr only.
package replay
