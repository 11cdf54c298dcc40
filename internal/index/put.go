package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/ingest/passage"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Put stores a document with everything that belongs to it in one transaction:
// its row, text, passages, vectors, lexemes, ledger row and the collection's
// counters, the change number last. The document keeps its id; its passages keep
// theirs where nothing that is shown of the document and no passage is another,
// and get new ones else. Until the commit the old version answers. A deleted
// document comes back under its id. Concurrent Puts of one item follow one another.
// Searches see a Put under a fence when its job has ended, and at once where who
// could read the document before may not any more. Small records that say to be new
// may share the transaction, and the change number, with others of their job that
// are put meanwhile; none of them can make another one fail.
//
// Errors: viewer.ErrOutOfScope for a collection outside the scope, ErrRecord
// for a record that cannot be stored, ErrFenced, and an apierr not found for a
// connector that is gone or a Document that is not the connector's.
func (s *Store) Put(ctx context.Context, scope viewer.Scope, f Fence, r *Record) (Outcome, error) {
	workspace, err := writable(scope, r)
	if err != nil {
		return Outcome{}, err
	}
	if err := r.check(); err != nil {
		return Outcome{}, fmt.Errorf("store a document: %w", err)
	}
	row, err := s.prepare(r)
	if err != nil {
		return Outcome{}, fmt.Errorf("store a document: %w", err)
	}
	p := &put{workspace: workspace, fence: f, record: r, row: row}
	if p.mayShare() {
		if v := s.putTogether(ctx, p); v.isFinal {
			return v.outcome, v.err
		}
	}
	return s.putAlone(ctx, p)
}

// A put is a record on its way to the database.
type put struct {
	workspace uuid.UUID
	fence     Fence
	record    *Record
	row       *prepared
}

// putAlone stores a document in a transaction of its own.
func (s *Store) putAlone(ctx context.Context, p *put) (Outcome, error) {
	r, row := p.record, p.row
	var out Outcome
	err := s.write(ctx, func(conn *pgx.Conn) error {
		old, err := hold(ctx, conn, p.workspace, p.fence, r)
		if err != nil {
			return err
		}
		out = Outcome{Document: old.id, Added: !old.live}
		ids, narrowed, err := row.before(ctx, conn, &old, r)
		if err != nil {
			return err
		}
		b := &pgx.Batch{}
		if old.exists {
			b.Queue(updateDocument, row.args(p.workspace, old.id, r)...)
			b.Queue("delete from passages where document_id = $1 and collection_id = $2", old.id, r.Collection)
		} else {
			b.Queue(insertDocument, row.args(p.workspace, old.id, r)...)
		}
		rows := newPassageRows(p.workspace, r)
		rows.add(b, old.id, r, row, ids)
		rows.flush(b)
		b.Queue(upsertText, old.id, r.Collection, p.workspace, row.text, row.summary)
		queueLedger(b, p.workspace, r, out.Document, statusIndexed, out.Added)
		written := change{
			delta: delta{
				documents: 1 - old.documents(),
				passages:  int64(len(r.Passages)) - old.livePassages(),
				bytes:     r.storedBytes() - old.liveBytes(),
				words:     row.words - old.liveWords(),
			},
			documents: []uuid.UUID{old.id},
			required:  p.fence.Job == uuid.Nil || narrowed,
		}
		if len(r.Passages) > 0 {
			written.model = r.Model
		}
		queueEnd(b, p.workspace, p.fence, r.Collection, written)
		return run(ctx, conn, b, "store a document")
	})
	if err != nil {
		return Outcome{}, err
	}
	return out, nil
}

// writable is the workspace of a scope that reaches the record's collection.
func writable(scope viewer.Scope, r *Record) (uuid.UUID, error) {
	narrow, err := scope.Narrow(r.Collection)
	if err != nil {
		return uuid.Nil, fmt.Errorf("store a document: %w", err)
	}
	return narrow.Workspace()
}

// stored is the document's row before a write.
type stored struct {
	id       uuid.UUID
	exists   bool
	indexed  bool // it has been indexed once, and may have been deleted since
	live     bool // searches find it
	failed   bool // its newest version could not be indexed
	passages int64
	bytes    int64
	words    int64
	url      string
	created  *time.Time // by its source, as it is stored
	updated  *time.Time
}

func (s stored) documents() int64 {
	if s.live {
		return 1
	}
	return 0
}

func (s stored) livePassages() int64 { return s.documents() * s.passages }
func (s stored) liveBytes() int64    { return s.documents() * s.bytes }
func (s stored) liveWords() int64    { return s.documents() * s.words }

// live is the condition under which a document (alias d) is searched and counted.
const live = "d.indexed_at is not null and d.deleted_at is null and d.status <> 'DELETED'"

// hold opens the transaction and makes sure that nobody else writes this item
// until it ends: an advisory lock for items that have no row yet, the row's lock
// against everyone else. A stale fence is refused before any work.
func hold(ctx context.Context, conn *pgx.Conn, workspace uuid.UUID, f Fence, r *Record) (stored, error) {
	b := &pgx.Batch{}
	beginWrite(b, workspace)
	if f.Job != uuid.Nil {
		b.Queue("select from sync_jobs where id = $1 and attempt = $2 and workspace_id = $3", f.Job, f.Attempt, workspace)
	}
	b.Queue("select pg_advisory_xact_lock(hashtextextended($1, 0))", r.Connector.String()+clean(r.SourceID))
	b.Queue(`select d.id, d.indexed_at is not null, `+live+`, d.passage_count, d.index_bytes, d.index_words,
			coalesce(d.url, ''), d.source_created_at, d.source_updated_at, d.failure is not null or d.status <> 'INDEXED'
		from documents d
		where d.connector_id = $1 and d.source_id = $2 and d.workspace_id = $3 and d.collection_id = $4
		for no key update`, r.Connector, clean(r.SourceID), workspace, r.Collection)
	results := conn.SendBatch(ctx, b)
	defer func() { _ = results.Close() }()
	for range 2 {
		if _, err := results.Exec(); err != nil {
			return stored{}, fmt.Errorf("begin: %w", err)
		}
	}
	if f.Job != uuid.Nil {
		switch tag, err := results.Exec(); {
		case err != nil:
			return stored{}, fmt.Errorf("check the fence: %w", err)
		case tag.RowsAffected() == 0:
			return stored{}, ErrFenced
		}
	}
	if _, err := results.Exec(); err != nil {
		return stored{}, fmt.Errorf("lock the item: %w", err)
	}
	old := stored{exists: true}
	err := results.QueryRow().Scan(&old.id, &old.indexed, &old.live, &old.passages, &old.bytes, &old.words,
		&old.url, &old.created, &old.updated, &old.failed)
	switch {
	case errors.Is(err, pgx.ErrNoRows) && r.Document == uuid.Nil:
		old = stored{id: gid.New(gid.Document)}
	case errors.Is(err, pgx.ErrNoRows), err == nil && r.Document != uuid.Nil && r.Document != old.id:
		return stored{}, apierr.NotFound("Document")
	case err != nil:
		return stored{}, fmt.Errorf("read the document: %w", err)
	}
	if err := results.Close(); err != nil {
		return stored{}, fmt.Errorf("begin: %w", err)
	}
	return old, nil
}

// prepared is a record as the database takes it, made before any lock is held.
type prepared struct {
	title, text    string
	summary        *string
	tags, metadata []byte
	readers        []string // nil is null
	headings       []string
	bodies         []string
	anchors        []string
	sections       []*string // JSON; nil is null
	terms          []terms
	vectors        []pgvector.HalfVector
	words          int64 // of all bodies
}

// headingBreak parts the headings of a passage on the way to the database,
// which has no arrays of arrays of different lengths.
const headingBreak = "\x1f"

func (s *Store) prepare(r *Record) (*prepared, error) {
	p := &prepared{title: r.title(), text: clean(r.Text)}
	if r.Summary != "" {
		summary := clean(r.Summary)
		p.summary = &summary
	}
	if r.Readers != nil {
		p.readers = make([]string, len(r.Readers))
		for i, reader := range r.Readers {
			p.readers[i] = clean(reader)
		}
	}
	var err error
	// No tags are an empty list, which is what a document's tags always are.
	if p.tags, err = json.Marshal(cleanJSON(append([]string{}, r.Tags...))); err != nil {
		return nil, fmt.Errorf("%w: tags: %w", ErrRecord, err)
	}
	if len(r.Metadata) > 0 {
		if p.metadata, err = json.Marshal(cleanJSON(r.Metadata)); err != nil {
			return nil, fmt.Errorf("%w: metadata: %w", ErrRecord, err)
		}
	}
	n := len(r.Passages)
	p.headings, p.bodies, p.anchors = make([]string, n), make([]string, n), make([]string, n)
	p.sections = make([]*string, n)
	p.terms, p.vectors = make([]terms, n), make([]pgvector.HalfVector, n)
	builder := newTermBuilder(s.analyzer, p.title, r.Language)
	for i := range r.Passages {
		passage := &r.Passages[i]
		headings := make([]string, len(passage.Headings))
		for j, h := range passage.Headings {
			headings[j] = strings.ReplaceAll(clean(h), headingBreak, " ")
		}
		p.headings[i] = strings.Join(headings, headingBreak)
		p.bodies[i] = clean(passage.Text)
		p.anchors[i] = clean(passage.Anchor)
		if p.sections[i], err = sectionsJSON(passage.Sections); err != nil {
			return nil, fmt.Errorf("%w: sections: %w", ErrRecord, err)
		}
		p.terms[i] = builder.build(headings, p.bodies[i], passage.Stub)
		p.words += int64(p.terms[i].words[FieldBody])
		p.vectors[i] = pgvector.NewHalfVector(r.Vectors[i])
	}
	return p, nil
}

// sectionsJSON returns sections as the database takes them, nil for none.
func sectionsJSON(sections []passage.Section) (*string, error) {
	if len(sections) == 0 {
		return nil, nil //nolint:nilnil // null
	}
	cleaned := slices.Clone(sections)
	for i := range cleaned {
		s := &cleaned[i]
		s.Anchor, s.Headings = clean(s.Anchor), slices.Clone(s.Headings)
		for j := range s.Headings {
			s.Headings[j] = clean(s.Headings[j])
		}
	}
	encoded, err := json.Marshal(cleaned)
	text := string(encoded)
	return &text, err
}

const documentColumns = `id, workspace_id, connector_id, collection_id, source_id, path, title, url, section, version,
	tags, doc_type, language, author, pages, metadata, source_created_at, source_updated_at, source_version, content_hash,
	bytes, passage_count, index_bytes, index_words, processed_at, readers, readers_at`

const insertDocument = `insert into documents (` + documentColumns + `, created_at, updated_at, indexed_at, status)
	values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
		coalesce($25, now()), $26, $27, now(), now(), now(), 'INDEXED')`

const updateDocument = `update documents set
	path = $6, title = $7, url = $8, section = $9, version = $10, tags = $11, doc_type = $12, language = $13, author = $14,
	pages = $15, metadata = $16, source_created_at = $17, source_updated_at = $18, source_version = $19, content_hash = $20,
	bytes = $21, passage_count = $22, index_bytes = $23, index_words = $24, processed_at = coalesce($25, now()), updated_at = now(),
	readers = $26, readers_at = $27, indexed_at = now(), status = 'INDEXED', deleted_at = null, failure = null
	where id = $1 and workspace_id = $2 and connector_id = $3 and collection_id = $4 and source_id = $5`

// The longest values of the documents' columns, in bytes, as ent/schema has them.
const (
	maxPath          = 2048
	maxURL           = 64 << 10
	maxSection       = 300
	maxVersion       = 100
	maxDocType       = 100
	maxLanguage      = 16
	maxAuthor        = 500
	maxSourceVersion = 1024
	maxReason        = 2000
)

// args are the values of documentColumns, in their order. Ids are in a form that needs
// no conversion.
func (p *prepared) args(workspace, id uuid.UUID, r *Record) []any {
	return []any{
		[16]byte(id), [16]byte(workspace), [16]byte(r.Connector), [16]byte(r.Collection), clean(r.SourceID), cut(r.Path, maxPath), p.title, optional(r.URL, maxURL),
		optional(r.Section, maxSection), optional(r.Version, maxVersion), p.tags, optional(r.DocType, maxDocType),
		optional(r.Language, maxLanguage), optional(r.Author, maxAuthor), positive(r.Pages), p.metadata,
		known(r.CreatedAt), known(r.UpdatedAt), cut(r.SourceVersion, maxSourceVersion), r.Hash,
		r.Bytes, len(r.Passages), r.storedBytes(), p.words, known(r.ProcessedAt), p.readers, known(r.ReadersAt),
	}
}

// optional is nil for an unknown text.
func optional(s string, max int) *string {
	if s = cut(s, max); s == "" {
		return nil
	}
	return &s
}

func positive(n int) *int {
	if n <= 0 {
		return nil
	}
	return &n
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

const upsertText = `insert into document_texts (document_id, collection_id, workspace_id, body, summary)
	values ($1, $2, $3, $4, $5)
	on conflict (document_id, collection_id) do update set body = excluded.body, summary = excluded.summary`
