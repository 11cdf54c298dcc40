// Package redistrace traces the commands of clients of Redis.
//
// Allowed imports: internal/tracing, go-redis.
package redistrace
