// Package breaker keeps callers from waiting for a service that does not work: a Breaker counts failures in a row, refuses
// calls for a while once there were too many, and then lets one through to try.
//
// The package may import the standard library.
package breaker
