// Package syncer is the engine of syncs. It does one slice of a job at a time: it
// walks pages of the source, compares their items with the ledger, fetches,
// parses, embeds and stores what has changed, and leaves the rest to the next
// slice. Every step may be repeated: the outcome of an item is written to the
// ledger in the transaction that stores its document, and every write names the
// attempt that holds the job.
//
// Allowed imports: ent, connectors, internal/connector, internal/identity/principal,
// internal/ingest, internal/index, internal/model/embed, internal/secret,
// internal/syncjob, internal/queue and the leaves.
package syncer
