// Package namedfile reads files that a person names on a command line. Nothing
// that has such a name makes a process hang or fill its memory: devices,
// sockets and folders are refused, pipes do not wait for a writer to come, and
// everything that is read has a bound.
//
// Allowed imports: none of Magpie's.
package namedfile
