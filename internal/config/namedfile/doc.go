// Package namedfile reads files that a person names on a command line. No name can
// make a process hang or fill its memory: devices, sockets and folders are refused,
// pipes do not wait for a writer, and every read is bounded.
//
// Allowed imports: the standard library.
package namedfile
