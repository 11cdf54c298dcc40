// Package ratelimit counts requests against rate limits. The counts are in Redis,
// so that all nodes share them. While Redis does not answer, each node counts for
// itself: the limit still holds, and no request fails because of Redis. The package
// also identifies the client that a request counts for.
//
// Allowed imports: the Redis client and internal/request/breaker.
package ratelimit
