// Package apierr is the one error of the edge: a code that clients can act on,
// a message that is safe to show, and the cause that only the log sees. One
// table maps codes to HTTP statuses. It imports nothing of Magpie.
package apierr
