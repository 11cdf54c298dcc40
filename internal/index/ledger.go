package index

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"magpie/internal/gid"
)

// Statuses of ledger rows that this package gives.
const (
	statusIndexed   = "INDEXED"
	statusUnchanged = "UNCHANGED"
)

// A job may do an item twice, when its worker was killed after the commit and
// before it could note the progress. What the first time found stays: an item
// that this job added or indexed does not become merely modified or unchanged.
const upsertLedger = `insert into sync_items
	(id, created_at, updated_at, workspace_id, connector_id, job_id, document_id, source_id, path, status, added, reason,
		retryable, source_version, pipeline_version)
	values ($1, now(), now(), $2, $3, $4, $5, $6, $7, $8, $9, $10, false, $11, $12)
	on conflict (connector_id, source_id) do update set
		updated_at = now(), job_id = excluded.job_id, document_id = excluded.document_id, path = excluded.path,
		status = case when sync_items.job_id = excluded.job_id and sync_items.status = 'INDEXED' then 'INDEXED' else excluded.status end,
		added = excluded.added or sync_items.added and sync_items.job_id = excluded.job_id and sync_items.status = 'INDEXED',
		reason = excluded.reason, retryable = false, source_version = excluded.source_version,
		pipeline_version = excluded.pipeline_version`

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

const upsertState = `insert into collection_state as s (collection_id, workspace_id, change_number, documents, passages, bytes, words)
	values ($1, $2, 1, $3, $4, $5, $6)
	on conflict (collection_id) do update set change_number = s.change_number + 1,
		documents = s.documents + excluded.documents, passages = s.passages + excluded.passages, bytes = s.bytes + excluded.bytes,
		words = s.words + excluded.words`

// queueEnd ends a write: the fence once more, held from here on so that nobody
// takes the job over between the check and the commit; then the counter row,
// which every writer of the collection needs; then the commit. Both rows are
// locked for the moment of these statements only.
func queueEnd(b *pgx.Batch, workspace uuid.UUID, f Fence, collection uuid.UUID, d delta) {
	queueFence(b, workspace, f)
	queueState(b, workspace, collection, d)
	b.Queue("commit")
}

func queueState(b *pgx.Batch, workspace, collection uuid.UUID, d delta) {
	b.Queue(upsertState, collection, workspace, d.documents, d.passages, d.bytes, d.words)
}

func queueFence(b *pgx.Batch, workspace uuid.UUID, f Fence) {
	if f.Job != uuid.Nil {
		b.Queue("select magpie_hold_job($1, $2, $3)", f.Job, f.Attempt, workspace)
	}
}
