// Package metrics has the Prometheus metrics of a process: what its parts count and
// time, what is read from them when somebody asks, the Go runtime and the process.
//
// Allowed imports: prometheus, internal/queue, internal/model/llm/provider,
// internal/store/replica and internal/syncjob.
package metrics
