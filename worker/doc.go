// Package worker takes tasks from the queue and does what no request waits for:
// it runs slices of sync jobs, starts scheduled syncs and looks after jobs whose
// worker died. Any number of workers may run; PostgreSQL decides who does what.
//
// Allowed imports: asynq, go-redis, internal/syncjob, internal/queue and the leaves.
package worker
