package index

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/ent/gid"
)

// sameDocument compares what is shown of a document with what is about to be
// stored, and tells whether somebody may not read it any more.
const sameDocument = `select
		d.title = $2 and d.url is not distinct from $3 and d.section is not distinct from $4 and d.version is not distinct from $5
			and d.tags = $6 and d.doc_type is not distinct from $7 and d.language is not distinct from $8
			and d.metadata is not distinct from $9::jsonb
			and d.source_created_at is not distinct from $10 and d.source_updated_at is not distinct from $11,
		case when $12::text[] is null then false when d.readers is null then true else not d.readers <@ $12::text[] end
	from documents d where d.id = $1`

// sameTexts are those of a document that are the same as before, by ordinal.
const sameTexts = `select p.ordinal, p.id
	from unnest($2::int[], $3::text[], $4::text[], $5::text[], $6::int[], $7::text[])
		as t(ordinal, headings, body, anchor, page, sections)
	join passages p on p.collection_id = $8 and p.document_id = $1 and p.ordinal = t.ordinal and p.headings = string_to_array(t.headings, e'\x1f')
		and p.body = t.body and p.anchor = t.anchor and p.page = t.page
		and p.sections is not distinct from t.sections::jsonb`

// before compares the stored version of a document with the one that replaces it
// and gives the passages their ids: those of before when all that searches show
// is the same, else new ones. So nothing that a search has read of a passage
// becomes wrong while the passage is there. narrowed tells that somebody who may
// read the document may not read the next version. The document is locked.
func (p *prepared) before(ctx context.Context, conn *pgx.Conn, old *stored, r *Record) (ids []uuid.UUID, narrowed bool, err error) {
	ids = newPassageIDs(len(r.Passages))
	if !old.live {
		return ids, false, nil
	}
	same, count := false, 0
	stored := make([]uuid.UUID, len(ids))
	b := &pgx.Batch{}
	b.Queue(sameDocument, old.id, p.title, optional(r.URL, maxURL), optional(r.Section, maxSection),
		optional(r.Version, maxVersion), p.tags, optional(r.DocType, maxDocType), optional(r.Language, maxLanguage), p.metadata,
		known(r.CreatedAt), known(r.UpdatedAt), p.readers).
		QueryRow(func(row pgx.Row) error { return row.Scan(&same, &narrowed) })
	if old.passages == int64(len(ids)) && len(ids) <= passagesAtOnce {
		ordinals, pages := make([]int32, len(ids)), make([]int32, len(ids))
		for i := range ids {
			ordinals[i], pages[i] = int32(i), int32(r.Passages[i].Page) //nolint:gosec // few passages, and texts are far below 2 GB
		}
		b.Queue(sameTexts, old.id, ordinals, p.headings, p.bodies, p.anchors, pages, p.sections, r.Collection).Query(func(rows pgx.Rows) error {
			var ordinal int
			var id uuid.UUID
			_, err := pgx.ForEachRow(rows, []any{&ordinal, &id}, func() error {
				stored[ordinal] = id
				count++
				return nil
			})
			return err
		})
	}
	if err := run(ctx, conn, b, "compare with the stored version"); err != nil {
		return nil, false, err
	}
	if same && count == len(ids) {
		ids = stored
	}
	return ids, narrowed, nil
}

func newPassageIDs(n int) []uuid.UUID {
	ids := make([]uuid.UUID, n)
	for i := range ids {
		ids[i] = gid.New(gid.Passage)
	}
	return ids
}
