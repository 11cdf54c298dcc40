// Package breaker has a circuit breaker, which keeps callers from waiting for a
// service that does not work. It counts consecutive failures, refuses calls for a
// while after too many of them, and then admits one call as a probe.
//
// Allowed imports: the standard library.
package breaker
