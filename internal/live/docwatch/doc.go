// Package docwatch sends changes of documents to subscribers. One goroutine of a
// process reads the change numbers of all watched collections in one statement,
// reads what has changed once, and shares it among all watchers.
//
// Events have the order of the change numbers of a collection. PostgreSQL assigns
// change numbers under a lock that is held until the commit, so no earlier change
// appears after a later one, and a client that returns with the cursor of its last
// event misses nothing.
//
// Allowed imports: internal/index, internal/viewer, internal/apierr.
package docwatch
