// Package bench is what the benchmarks of a running Magpie are made of: texts
// and questions made from real documentation, a load generator with its
// statistics, a chat model that takes its time, the search in plain SQL that Magpie is compared with, the
// judgement of a soak, and a large workspace with what a dashboard asks of it.
//
// Allowed imports: the standard library, pgx and uuid.
package bench
