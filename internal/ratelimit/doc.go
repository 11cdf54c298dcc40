// Package ratelimit counts requests against a limit a minute. The counts live
// in Redis, so that all nodes share them; while Redis does not answer, each
// node counts for itself, so that the limit still binds and nobody is refused
// for Redis' sake. It also says which client a request is counted for.
// It imports the Redis client and internal/request/breaker.
package ratelimit
