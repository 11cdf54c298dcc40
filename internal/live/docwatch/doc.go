// Package docwatch tells who watches which documents changed. One goroutine of
// a process asks the database for the change numbers of all watched collections
// in one statement, reads what changed once, and shares it with all who watch.
//
// The order is that of the collections' change numbers, which are given under a
// lock that is held to the commit: nothing that was told can be overtaken, and
// who comes back with the position of what they saw last misses nothing.
//
// Allowed imports: internal/index, internal/viewer, internal/apierr.
package docwatch
