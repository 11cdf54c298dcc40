package index_test

import (
	"fmt"
	"testing"

	"github.com/magpie-search/magpie/internal/index"
)

// counter is a reader that only counts.
type counter struct{ passages, bytes int }

func (*counter) Begin(index.Position, string, bool) error { return nil }

func (c *counter) Entry(e *index.Entry) error {
	c.passages += len(e.Passages)
	for i := range e.Passages {
		c.bytes += len(e.Passages[i].Lexemes) + 4*len(e.Passages[i].Vector)
	}
	return nil
}

// BenchmarkChanges reads a collection of 20,000 passages of 384 dimensions and
// about 100 words, ten to a document, whole and after a change of one document.
func BenchmarkChanges(b *testing.B) {
	const documents, passages = 2000, 10
	f := newFixture(b)
	id := f.tenant()
	f.put(id, id.record("one"))
	for _, statement := range []string{
		"begin",
		fmt.Sprintf("select set_config('magpie.workspace', '%s', true)", id.workspace),
		fmt.Sprintf(`insert into documents (id, workspace_id, connector_id, collection_id, source_id, path, title, tags, section, language,
				source_updated_at, passage_count, index_words, created_at, updated_at, indexed_at, status)
			select gen_random_uuid(), '%s', '%s', '%s', n::text, n || '.md', 'Title ' || n, '["a", "b"]', 'guides', 'en',
				now(), %d, 1000, now(), now(), now(), 'INDEXED' from generate_series(1, %d) n`, id.workspace, id.connector, id.collection, passages, documents),
		fmt.Sprintf(`insert into passages (id, document_id, collection_id, workspace_id, ordinal, headings, body, anchor, page, start_byte, end_byte)
			select gen_random_uuid(), d.id, d.collection_id, d.workspace_id, n, '{}', '', '', 0, 0, 0
			from documents d, generate_series(0, %d) n where d.passage_count > 0 order by d.id, n`, passages-1),
		`insert into passage_index (passage_id, document_id, collection_id, workspace_id, ordinal, title_words, heading_words, path_words,
				body_words, lexemes, model, embedding)
			select p.id, p.document_id, p.collection_id, p.workspace_id, p.ordinal, 2, 3, 4, 100,
				(select string_agg(format('word%s:%s,%s', (hashtext(p.id::text || w) & 1048575) / (1 + w * w), 1024 + w, 1200 + w), ' ')
					from generate_series(1, 80) w)::tsvector, 'test',
				(select array_agg(sin(w * (1 + hashtext(p.id::text) & 1023))::real / 14) from generate_series(1, 384) w)::real[]::halfvec
			from passages p order by p.document_id, p.ordinal`,
		"insert into document_changes select collection_id, id, workspace_id, 1 from documents on conflict do nothing",
		"commit", "vacuum analyze documents, passages, passage_index, document_changes",
	} {
		if _, err := f.owner.Exec(b.Context(), statement); err != nil {
			b.Fatalf("%s: %v", statement, err)
		}
	}
	b.Run("whole", func(b *testing.B) {
		b.ReportAllocs()
		var c counter
		for b.Loop() {
			if err := f.store.Changes(b.Context(), id.scope, index.State{Collection: id.collection}, index.Position{}, &c); err != nil {
				b.Fatal(err)
			}
		}
		if c.passages != b.N*documents*passages {
			b.Fatalf("%d passages", c.passages)
		}
		b.ReportMetric(float64(c.passages)/b.Elapsed().Seconds(), "passages/s")
		b.ReportMetric(float64(c.bytes)/float64(c.passages), "bytes/passage")
	})
	b.Run("one changed", func(b *testing.B) {
		f.put(id, id.record("one", "text", "more"))
		after := f.state(id).Position
		after.Change--
		var c counter
		for b.Loop() {
			if err := f.store.Changes(b.Context(), id.scope, index.State{Collection: id.collection}, after, &c); err != nil {
				b.Fatal(err)
			}
		}
		if c.passages != 2*b.N {
			b.Fatalf("%d passages", c.passages)
		}
	})
}
