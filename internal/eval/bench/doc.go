// Package bench has the benchmarks of a running Magpie. Each takes the Magpie to
// measure and options, and returns a result, which the command line prints. The
// package also has their parts: a load generator with its statistics, a slow chat
// model, a search in plain SQL to compare with, and the checks of a soak.
//
// Allowed imports: internal/client, internal/devstack, internal/humanize,
// internal/index, internal/ingest, internal/model/embed,
// internal/connector/blob, internal/viewer, pgx and uuid.
package bench
