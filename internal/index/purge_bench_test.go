package index_test

import (
	"context"
	"strings"
	"testing"
	"time"
)

// many fills the tenant's connector with documents of three passages each.
func (f *fixture) many(id tenant, n int) {
	f.Helper()
	tx, err := f.owner.Begin(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	for _, sql := range []string{
		"select set_config('magpie.workspace', '" + id.workspace.String() + "', true)",
		`insert into collection_state (collection_id, workspace_id, model) values ('` + id.collection.String() + `', '` + id.workspace.String() + `', 'test') on conflict do nothing`,
		`insert into documents (id, created_at, updated_at, workspace_id, connector_id, collection_id, source_id, path, title, status, tags,
				passage_count, index_bytes, indexed_at)
			select gen_random_uuid(), now(), now(), '` + id.workspace.String() + `', '` + id.connector.String() + `', '` + id.collection.String() + `',
				'doc-' || i, 'doc-' || i || '.md', 'Document ' || i, 'INDEXED', '[]', 3, 3000, now()
			from generate_series(1, $1::int) i`,
		`insert into document_texts (document_id, collection_id, workspace_id, body)
			select id, collection_id, workspace_id, repeat('some text of a document ', 120) from documents where connector_id = '` + id.connector.String() + `'`,
		`insert into passages (id, document_id, collection_id, workspace_id, ordinal, headings, body, anchor, page, start_byte, end_byte)
			select gen_random_uuid(), d.id, d.collection_id, d.workspace_id, o, '{Guide}', repeat('some text of a passage ', 40), '', 0, 0, 10
			from documents d cross join generate_series(0, 2) o where d.connector_id = '` + id.connector.String() + `'`,
		`insert into passage_index (passage_id, document_id, collection_id, workspace_id, ordinal, title_words, heading_words, path_words, body_words, lexemes, model, embedding)
			select p.id, p.document_id, p.collection_id, p.workspace_id, p.ordinal, 2, 1, 0, 160,
				('word' || (hashtext(p.id::text) % 5000) || ':1 some:2 text:3 of:4 passage:5')::tsvector, 'test', v.embedding
			from (select array_fill(0.05::real, array[384])::vector::halfvec as embedding) v, passages p join documents d on d.id = p.document_id where d.connector_id = '` + id.connector.String() + `'`,
		`insert into sync_items (id, created_at, updated_at, workspace_id, connector_id, job_id, document_id, source_id, path, status)
			select gen_random_uuid(), now(), now(), workspace_id, connector_id, gen_random_uuid(), id, source_id, path, 'INDEXED'
			from documents where connector_id = '` + id.connector.String() + `'`,
		`update collection_state set documents = $1::int, passages = 3 * $1::int, bytes = 3000 * $1::int where collection_id = '` + id.collection.String() + `'`,
	} {
		args := []any{}
		if strings.Contains(sql, "$1") {
			args = append(args, n)
		}
		if _, err := tx.Exec(f.Context(), sql, args...); err != nil {
			f.Fatalf("%s: %v", sql, err)
		}
	}
	if err := tx.Commit(f.Context()); err != nil {
		f.Fatal(err)
	}
	f.exec("analyze")
}

// BenchmarkDeletionOfAConnector compares one cascade with slices: how long each
// holds what it locks, and how long the whole takes.
func BenchmarkDeletionOfAConnector(b *testing.B) {
	const documents = 20_000
	b.Run("cascade", func(b *testing.B) {
		f := newFixture(b)
		id := f.tenant()
		f.many(id, documents)
		for b.Loop() {
			f.exec("delete from connectors where id = $1", id.connector)
		}
	})
	b.Run("slices", func(b *testing.B) {
		f := newFixture(b)
		id := f.tenant()
		f.many(id, documents)
		var tombstone, longest, stats time.Duration
		for b.Loop() {
			start := time.Now()
			f.exec("update connectors set deleting_at = now() where id = $1", id.connector)
			tombstone = time.Since(start)
			if got := f.stats(id); got.Documents != 0 {
				b.Errorf("%d documents are still counted", got.Documents)
			}
			for {
				start = time.Now()
				n, err := f.store.Purge(b.Context(), id.scope, id.connector, 200)
				longest = max(longest, time.Since(start))
				if err != nil {
					b.Fatal(err)
				}
				if n == 0 {
					break
				}
				start = time.Now()
				if got := f.stats(id); got.Documents != 0 || got.Embeddings != 0 || got.StorageBytes != 0 {
					b.Fatalf("half way the statistics are %+v", got)
				}
				stats = max(stats, time.Since(start))
			}
			if err := f.store.PurgeConnector(b.Context(), id.scope, id.connector); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(tombstone.Microseconds())/1000, "ms/tombstone")
		b.ReportMetric(float64(longest.Microseconds())/1000, "ms/longest-slice")
		b.ReportMetric(float64(stats.Microseconds())/1000, "ms/longest-stats")
	})
}
