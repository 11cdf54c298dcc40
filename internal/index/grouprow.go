package index

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/magpie-search/magpie/ent/gid"
)

const (
	// lockItems locks items against other writers as hold does, each only if nobody has
	// it: a group waits for nobody.
	lockItems = `select pg_try_advisory_xact_lock(hashtextextended(t.item, 0))
		from unnest($1::text[]) with ordinality as t (item, n) order by t.n`

	// knownItems reports which items have a document, of whatever state. The limit makes
	// it one look-up in the unique index an item, whatever the planner knows of the table.
	knownItems = `select d.id is not null
		from unnest($2::text[]) with ordinality as t (source_id, n)
		left join lateral (select id from documents where connector_id = $1 and source_id = t.source_id limit 1) d on true
		order by t.n`

	insertDocuments = `insert into documents (` + documentColumns + `, created_at, updated_at, indexed_at, status)
	select t.id, t.workspace, t.connector, t.collection, t.source_id, t.path, t.title, t.url, t.section, t.version,
		t.tags, t.doc_type, t.language, t.author, t.pages, t.metadata, t.created, t.updated, t.source_version, t.hash,
		t.bytes, t.passages, t.index_bytes, t.index_words, coalesce(t.processed, now()), string_to_array(t.readers, e'\x1f'), t.readers_at,
		now(), now(), now(), 'INDEXED'
	from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
		$11::jsonb[], $12::text[], $13::text[], $14::text[], $15::bigint[], $16::jsonb[], $17::timestamptz[], $18::timestamptz[], $19::text[], $20::bytea[],
		$21::bigint[], $22::bigint[], $23::bigint[], $24::bigint[], $25::timestamptz[], $26::text[], $27::timestamptz[])
		as t(id, workspace, connector, collection, source_id, path, title, url, section, version,
			tags, doc_type, language, author, pages, metadata, created, updated, source_version, hash,
			bytes, passages, index_bytes, index_words, processed, readers, readers_at)`

	insertTexts = `insert into document_texts (document_id, collection_id, workspace_id, body, summary)
	select t.id, $1, $2, t.body, t.summary from unnest($3::uuid[], $4::text[], $5::text[]) as t(id, body, summary)`

	// Ledger entries are locked in the order in which all statements lock several.
	upsertLedgers = insertLedger + `
	select t.id, now(), now(), $1, $2, $3, t.document, t.source_id, t.path, '` + statusIndexed + `', true, t.reason, false, t.source_version, t.pipeline
	from unnest($4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bigint[])
		as t(id, document, source_id, path, reason, source_version, pipeline)
	order by t.source_id` + repeatedLedger
)

// The columns of a document, in the order of documentColumns.
const (
	documentArguments = 27
	readersArgument   = 25
)

// putGroup stores the members of a group in one transaction, and writes their verdicts.
// Those whose item somebody else writes or has a document fall out, as do all if the
// database refuses one of them. An error without a refusal is that of all: nobody knows
// whether the transaction was committed.
func (s *Store) putGroup(ctx context.Context, key groupKey, group []*member) {
	var stored []*member
	var documents []uuid.UUID
	refused := false
	err := s.inTransaction(ctx, func(conn *pgx.Conn) (err error) {
		// As long as the connection is in the transaction, nothing is committed.
		defer func() { refused = err != nil && !conn.IsClosed() && conn.PgConn().TxStatus() != 'I' }()
		if stored, err = key.hold(ctx, conn, group); err != nil || len(stored) == 0 {
			return err
		}
		b := &pgx.Batch{}
		documents = key.queue(b, stored)
		return run(ctx, conn, b, "store documents")
	})
	err = readable(err)
	switch {
	case errors.Is(err, ErrFenced), err != nil && !refused:
		for _, m := range group {
			m.verdict = verdict{isFinal: true, err: err}
		}
	case err == nil:
		for i, m := range stored {
			m.verdict = verdict{isFinal: true, outcome: Outcome{Document: documents[i], Added: true}}
		}
	}
}

// hold begins the transaction and returns the members that can be stored: the first of
// each item that nobody else writes and that has no document. No Put writes these items
// until the transaction ends. A stale fence is ErrFenced.
func (k *groupKey) hold(ctx context.Context, conn *pgx.Conn, group []*member) ([]*member, error) {
	candidates := make([]*member, 0, len(group))
	items, locks := make([]string, 0, len(group)), make([]string, 0, len(group))
	for _, m := range group {
		item := clean(m.record.SourceID)
		if slices.Contains(items, item) {
			continue
		}
		candidates, items, locks = append(candidates, m), append(items, item), append(locks, k.connector.String()+item)
	}
	var locked, known []bool
	b := &pgx.Batch{}
	beginWrite(b, k.workspace)
	b.Queue("select from sync_jobs where id = $1 and attempt = $2 and workspace_id = $3", k.fence.Job, k.fence.Attempt, k.workspace).
		Exec(func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() == 0 {
				return ErrFenced
			}
			return nil
		})
	b.Queue(lockItems, locks).Query(func(rows pgx.Rows) (err error) {
		locked, err = pgx.CollectRows(rows, pgx.RowTo[bool])
		return err
	})
	b.Queue(knownItems, k.connector, items).Query(func(rows pgx.Rows) (err error) {
		known, err = pgx.CollectRows(rows, pgx.RowTo[bool])
		return err
	})
	if err := run(ctx, conn, b, "begin"); err != nil {
		return nil, err
	}
	free := candidates[:0]
	for i, m := range candidates {
		if locked[i] && !known[i] {
			free = append(free, m)
		}
	}
	return free, nil
}

// queue queues the statements that store new documents, up to the commit, and returns
// the ids of the documents.
func (k *groupKey) queue(b *pgx.Batch, members []*member) []uuid.UUID {
	documents, ids := make([]uuid.UUID, len(members)), make([][16]byte, len(members))
	for i := range documents {
		documents[i] = gid.New(gid.Document)
		ids[i] = documents[i]
	}
	k.queueDocuments(b, members, documents)
	written := change{documents: documents}
	written.delta.documents = int64(len(members))
	rows := newPassageRows(k.workspace, members[0].record)
	bodies, summaries := make([]string, len(members)), make([]*string, len(members))
	for i, m := range members {
		r := m.record
		rows.add(b, documents[i], r, m.row, newPassageIDs(len(r.Passages)))
		bodies[i], summaries[i] = m.row.text, m.row.summary
		written.passages += int64(len(r.Passages))
		written.bytes += r.storedBytes()
		written.words += m.row.words
		if len(r.Passages) > 0 {
			written.model = k.model
		}
	}
	rows.flush(b)
	b.Queue(insertTexts, k.collection, k.workspace, ids, bodies, summaries)
	k.queueLedger(b, members, ids)
	queueEnd(b, k.workspace, k.fence, k.collection, written)
	return documents
}

func (k *groupKey) queueDocuments(b *pgx.Batch, members []*member, documents []uuid.UUID) {
	columns := make([]pgtype.FlatArray[any], documentArguments)
	for i, m := range members {
		for c, value := range m.row.args(k.workspace, documents[i], m.record) {
			if c == readersArgument {
				value = joinedReaders(m.row.readers)
			}
			columns[c] = append(columns[c], value)
		}
	}
	arguments := make([]any, len(columns))
	for c := range columns {
		arguments[c] = columns[c]
	}
	b.Queue(insertDocuments, arguments...)
}

func (k *groupKey) queueLedger(b *pgx.Batch, members []*member, documents [][16]byte) {
	if k.ledger == uuid.Nil {
		return
	}
	n := len(members)
	ids, pipelines := make([][16]byte, n), make([]int, n)
	items, paths, versions, reasons := make([]string, n), make([]string, n), make([]string, n), make([]*string, n)
	for i, m := range members {
		r := m.record
		ids[i], pipelines[i] = gid.New(gid.SyncItem), r.Ledger.PipelineVersion
		items[i], paths[i], versions[i] = clean(r.SourceID), cut(r.Path, maxPath), cut(r.SourceVersion, maxSourceVersion)
		reasons[i] = optional(r.Ledger.Reason, maxReason)
	}
	b.Queue(upsertLedgers, k.workspace, k.connector, k.ledger, ids, documents, items, paths, reasons, versions, pipelines)
}

// joinedReaders returns a list of readers as one text; nil for no list.
func joinedReaders(readers []string) *string {
	if readers == nil {
		return nil
	}
	joined := strings.Join(readers, headingBreak)
	return &joined
}
