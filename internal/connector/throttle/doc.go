// Package throttle limits the requests to a platform. All processes together stay
// below the rate that the platform allows for a set of credentials, and pause for as
// long as it asks to. The state is in Redis; without Redis each process has its own.
//
// Allowed imports: connectors, go-redis and uuid.
package throttle
