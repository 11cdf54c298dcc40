// Package gitwire reads the newest files of a git repository with git's "smart"
// HTTP protocol (gitprotocol-http, gitprotocol-pack and gitformat-pack in git's
// documentation), in memory and within limits. It makes no requests: it parses
// responses and formats the request between them.
//
// Other libraries decompress what a server sends without a limit.
//
// Allowed imports: the standard library.
package gitwire
