// Package requestid carries the id of a request, from the X-Request-Id header, in
// its context, so that the log lines of every layer have it.
//
// Allowed imports: the standard library, uuid.
package requestid
