// Package queue has the tasks of workers (payloads of ids, task ids, queues,
// retries and timeouts) and puts them into asynq. The truth about all work is in
// PostgreSQL: a task only makes a worker look at a row, and may be lost or
// delivered twice without harm.
//
// Allowed imports: the standard library, asynq, go-redis and google/uuid.
package queue
