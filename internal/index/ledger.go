package index

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/ent/gid"
)

// Statuses of ledger rows that this package gives.
const (
	statusIndexed   = "INDEXED"
	statusUnchanged = "UNCHANGED"
)

// A job may do an item twice, when its worker was killed after the commit and
// before it could note the progress. What the first time found stays: an item
// that this job added or indexed does not become merely modified or unchanged.
const (
	upsertLedger = insertLedger + `
	values ($1, now(), now(), $2, $3, $4, $5, $6, $7, $8, $9, $10, false, $11, $12)` + repeatedLedger

	insertLedger = `insert into sync_items
	(id, created_at, updated_at, workspace_id, connector_id, job_id, document_id, source_id, path, status, added, reason,
		retryable, source_version, pipeline_version)`

	repeatedLedger = `
	on conflict (connector_id, source_id) do update set
		updated_at = now(), job_id = excluded.job_id, document_id = excluded.document_id, path = excluded.path,
		status = case when sync_items.job_id = excluded.job_id and sync_items.status = 'INDEXED' then 'INDEXED' else excluded.status end,
		added = excluded.added or sync_items.added and sync_items.job_id = excluded.job_id and sync_items.status = 'INDEXED',
		reason = excluded.reason, retryable = false, source_version = excluded.source_version,
		pipeline_version = excluded.pipeline_version, hold = null, waiting_since = null`
)

func queueLedger(b *pgx.Batch, workspace uuid.UUID, r *Record, document uuid.UUID, status string, added bool) {
	if r.Ledger.JobID == uuid.Nil {
		return
	}
	b.Queue(upsertLedger, gid.New(gid.SyncItem), workspace, r.Connector, r.Ledger.JobID, document, clean(r.SourceID),
		cut(r.Path, maxPath), status, added, optional(r.Ledger.Reason, maxReason), cut(r.SourceVersion, maxSourceVersion),
		r.Ledger.PipelineVersion)
}

// delta is a change of a collection's counters.
type delta struct{ documents, passages, bytes, words int64 }

// One statement, whose parts follow one another: the counter row is locked, and
// under its lock the documents get the number that it has risen to. A search
// must see a write without a fence at once. Vectors of a model that is not the
// collection's any more are noticed here, where the model cannot change.
const upsertState = `with raised as (
		insert into collection_state as s (collection_id, workspace_id, change_number, required_number, documents, passages, bytes,
			words, model, stale)
		select c.id, $2, 1, $7::int, $3, $4, $5, $6, c.embedding_model, coalesce(c.embedding_model <> $8, false)
		from collections c where c.id = $1
		on conflict (collection_id) do update set change_number = s.change_number + 1,
			required_number = case when $7::int = 1 then s.change_number + 1 else s.required_number end,
			documents = s.documents + excluded.documents, passages = s.passages + excluded.passages,
			bytes = s.bytes + excluded.bytes, words = s.words + excluded.words,
			stale = s.stale or coalesce(s.model <> $8, false)
		returning change_number
	)
	insert into document_changes (collection_id, document_id, workspace_id, change_number)
	select $1, d.id, $2, raised.change_number from raised, unnest($9::uuid[]) d (id)
	on conflict (collection_id, document_id) do update set change_number = excluded.change_number`

// change is what a write did to a collection.
type change struct {
	delta
	documents []uuid.UUID // each once
	required  bool        // searches must see it at once
	model     string      // of the vectors that were written, "" for none
}

// queueEnd ends a write: the fence once more, held from here on so that nobody
// takes the job over between the check and the commit; then the counter row,
// which every writer of the collection needs; then the commit. Both rows are
// locked for the moment of these statements only.
func queueEnd(b *pgx.Batch, workspace uuid.UUID, f Fence, collection uuid.UUID, c change) {
	queueFence(b, workspace, f)
	queueState(b, workspace, collection, c)
	b.Queue("commit")
}

func queueState(b *pgx.Batch, workspace, collection uuid.UUID, c change) {
	b.Queue(upsertState, stateArguments(workspace, collection, c)...)
}

func stateArguments(workspace, collection uuid.UUID, c change) []any {
	required := 0
	if c.required {
		required = 1
	}
	var model *string
	if c.model != "" {
		model = &c.model
	}
	return []any{collection, workspace, c.delta.documents, c.passages, c.bytes, c.words, required, model, c.documents}
}

func queueFence(b *pgx.Batch, workspace uuid.UUID, f Fence) {
	if f.Job != uuid.Nil {
		b.Queue("select magpie_hold_job($1, $2, $3)", f.Job, f.Attempt, workspace)
	}
}
