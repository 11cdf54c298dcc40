// Package export sends the spans of a process to a collector of OpenTelemetry, by OTLP
// over HTTP. Spans wait in a bounded queue, from which they are dropped if the collector
// is away or slow: nothing that is traced waits for it.
//
// Allowed imports: internal/tracing and the SDK of OpenTelemetry, whose types no other
// package knows.
package export
