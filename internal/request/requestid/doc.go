// Package requestid carries the id of a request, the one of the X-Request-Id
// header, so that log lines of every layer can name it. It imports nothing of
// Magpie.
package requestid
