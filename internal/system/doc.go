// Package system reports the state of the installation: versions, stores, workers,
// queues, models, the memory of searches, and what needs attention.
//
// Allowed imports: pgx, go-redis, internal/queue, internal/search/resident,
// internal/viewer.
package system
