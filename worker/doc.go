// Package worker takes tasks from the queue and does the work that no request
// waits for: slices of sync jobs, changes of embedding models and deletions. Its
// loops start scheduled syncs and requeue work whose worker died. Any number of
// workers may run; PostgreSQL decides which worker does what.
//
// Allowed imports: asynq, go-redis, internal/queue, internal/syncjob,
// internal/store/driverlog.
package worker
