// Package queue names the work that travels through the queue: payloads of ids
// only, task ids, queue, retries and timeouts of each type, and the enqueuing
// side over asynq. The rows in PostgreSQL are the truth about all work; a task
// is only the nudge that makes a worker look at a row, and may be lost or
// delivered twice without harm.
//
// Allowed imports: the standard library, asynq, go-redis and google/uuid; no
// other package of Magpie.
package queue
