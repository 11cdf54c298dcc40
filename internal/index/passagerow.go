package index

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/pgvector/pgvector-go"
)

const insertPassages = `insert into passages
	(id, document_id, collection_id, workspace_id, ordinal, headings, body, anchor, page, start_byte, end_byte, sections)
	select t.id, t.document, $1, $2, t.ordinal, string_to_array(t.headings, e'\x1f'), t.body, t.anchor, t.page, t.starts, t.ends, t.sections::jsonb
	from unnest($3::uuid[], $4::uuid[], $5::int[], $6::text[], $7::text[], $8::text[], $9::int[], $10::int[], $11::int[], $12::text[])
		as t(id, document, ordinal, headings, body, anchor, page, starts, ends, sections)`

const insertIndex = `insert into passage_index
	(passage_id, document_id, collection_id, workspace_id, ordinal, title_words, heading_words, path_words, body_words,
		lexemes, model, embedding)
	select t.id, t.document, $1, $2, t.ordinal, t.title, t.heading, t.path, t.body, t.lexemes, $3, t.embedding
	from unnest($4::uuid[], $5::uuid[], $6::int[], $7::int[], $8::int[], $9::int[], $10::int[], $11::tsvector[], $12::halfvec[])
		as t(id, document, ordinal, title, heading, path, body, lexemes, embedding)`

// passagesAtOnce bounds what one statement carries.
const passagesAtOnce = 512

// passageRows are rows of passages and of what is searched of them, column by column, on
// their way to the database. They are of one collection and have vectors of one model.
type passageRows struct {
	workspace, collection uuid.UUID
	model                 string

	ids, documents                [][16]byte
	ordinals, pages, starts, ends []int32
	headings, bodies, anchors     []string
	sections                      []*string
	words                         [FieldCount][]int32
	lexemes                       pgtype.FlatArray[pgtype.TSVector]
	vectors                       pgtype.FlatArray[pgvector.HalfVector]
}

// newPassageRows returns rows for documents of the record's collection and model.
func newPassageRows(workspace uuid.UUID, r *Record) passageRows {
	return passageRows{workspace: workspace, collection: r.Collection, model: r.Model}
}

// add adds the passages of a document, whose ids are given. It queues the statements of
// as many rows as one may carry.
func (p *passageRows) add(b *pgx.Batch, document uuid.UUID, r *Record, row *prepared, ids []uuid.UUID) {
	for i := range r.Passages {
		if len(p.ids) == passagesAtOnce {
			p.flush(b)
		}
		passage, t := &r.Passages[i], &row.terms[i]
		p.ids, p.documents = append(p.ids, ids[i]), append(p.documents, document)
		// Texts are bounded far below 2 GB, so 32 bits hold every offset.
		p.ordinals, p.pages = append(p.ordinals, int32(i)), append(p.pages, int32(passage.Page))      //nolint:gosec // see above
		p.starts, p.ends = append(p.starts, int32(passage.Start)), append(p.ends, int32(passage.End)) //nolint:gosec // see above
		p.headings, p.bodies = append(p.headings, row.headings[i]), append(p.bodies, row.bodies[i])
		p.anchors, p.sections = append(p.anchors, row.anchors[i]), append(p.sections, row.sections[i])
		for f := range p.words {
			p.words[f] = append(p.words[f], t.words[f])
		}
		p.lexemes, p.vectors = append(p.lexemes, t.vector), append(p.vectors, row.vectors[i])
	}
}

// flush queues the statements of the rows that were added since the last one.
func (p *passageRows) flush(b *pgx.Batch) {
	if len(p.ids) == 0 {
		return
	}
	b.Queue(insertPassages, p.collection, p.workspace, p.ids, p.documents, p.ordinals,
		p.headings, p.bodies, p.anchors, p.pages, p.starts, p.ends, p.sections)
	b.Queue(insertIndex, p.collection, p.workspace, p.model, p.ids, p.documents, p.ordinals,
		p.words[FieldTitle], p.words[FieldHeading], p.words[FieldPath], p.words[FieldBody], p.lexemes, p.vectors)
	// The batch keeps the columns.
	*p = passageRows{workspace: p.workspace, collection: p.collection, model: p.model}
}
