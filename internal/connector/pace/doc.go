// Package pace makes all processes together ask a platform only as fast as it
// takes requests with one set of credentials, and leave it alone for as long as
// it has asked to be. The counts are in Redis; while that is away each process
// counts for itself.
//
// Allowed imports: connectors and go-redis.
package pace
