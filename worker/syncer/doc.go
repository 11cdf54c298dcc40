// Package syncer is the engine of syncs. It does one slice of a job at a time:
// it walks some pages of the source, compares their items with what is known,
// fetches, parses, embeds and stores what changed, and hands the rest to the
// next slice. Every step may run twice without harm: what happens to an item is
// written to the ledger in the transaction that stores it, and every write
// names the attempt under which the job is held.
//
// Allowed imports: ent, connectors, internal/ingest, internal/index,
// internal/model/embed, internal/secret, internal/syncjob, internal/queue and the
// leaves.
package syncer
