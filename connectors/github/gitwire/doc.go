// Package gitwire reads the newest files of a git repository from git's "smart"
// HTTP protocol (gitprotocol-http, gitprotocol-pack, gitformat-pack of git's
// documentation), in memory and within bounds, whatever a server sends. It makes
// no requests: it reads advertisements and answers and writes the request
// between them. GitHub has no other way to a wiki.
//
// The reader is our own since libraries inflate what a server sends without a
// limit.
//
// Allowed imports: the standard library.
package gitwire
