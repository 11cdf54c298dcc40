// Package tracing records what a request or a task does as spans of a trace, in the
// form of OpenTelemetry. A [Tracer] begins the part of a trace that a process has: for a
// request or a task that is sampled, the context has a span, below which the functions
// of this package add others. Without one they cost a look at the context.
//
// Spans have names of a fixed set, ids, numbers and kinds of failures. They have no text
// of queries, documents, messages, headers or errors, and no credentials.
//
// Allowed imports: the standard library and the interfaces of OpenTelemetry, whose types
// no other package but internal/tracing/export knows.
package tracing
