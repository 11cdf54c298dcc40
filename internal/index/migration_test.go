package index_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/pressly/goose/v3"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/migrate/migrations"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
)

// TestDocumentsFromBeforeChangesWereNoted migrates a database with documents.
func TestDocumentsFromBeforeChangesWereNoted(t *testing.T) {
	t.Parallel()
	urls := testkit.EmptyDatabase(t)
	db, err := sql.Open("pgx", urls.OwnerURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	steps, err := goose.NewProvider(goose.DialectPostgres, db, migrations.Files)
	if err != nil {
		t.Fatal(err)
	}
	const before = 20261101000500
	if _, err := steps.UpTo(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	owner, err := pgx.Connect(t.Context(), urls.OwnerURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = owner.Close(context.Background()) })
	f := &fixture{TB: t, urls: urls, owner: owner}
	id := f.tenant()
	document, deleted := gid.New(gid.Document), gid.New(gid.Document)
	f.exec("select set_config('magpie.workspace', $1, false)", id.workspace.String())
	f.exec(`insert into documents (id, workspace_id, connector_id, collection_id, source_id, path, title, passage_count, index_words,
			created_at, updated_at, indexed_at, deleted_at, status)
		select d, $1, $2, $3, d::text, 'a.md', 'Title', 1, 1, now(), now(), now(), case when d = $5 then now() end, case when d = $5 then 'DELETED' else 'INDEXED' end
		from unnest(array[$4, $5]::uuid[]) d`, id.workspace, id.connector, id.collection, document, deleted)
	f.exec(`insert into passages select gen_random_uuid(), id, collection_id, workspace_id, 0, '{}', 'text', '', 0, 0, 4 from documents`)
	f.exec(`insert into passage_index select id, document_id, collection_id, workspace_id, 0, 1, 0, 0, 1, 'text:1024', 'test', '[0,1]' from passages`)
	f.exec(`insert into collection_state (collection_id, workspace_id, change_number, documents, passages, words) values ($1, $2, 7, 1, 1, 1)`,
		id.collection, id.workspace)
	for range 2 { // the second time has nothing to do
		if err := store.Migrate(t.Context(), urls.OwnerURL); err != nil {
			t.Fatal(err)
		}
	}
	if f.db, err = store.Open(t.Context(), urls.AppURL, 4); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.db.Close)
	f.store = index.New(f.db.Pool, analysis.New())
	var r follower
	f.follow(id, &r)
	f.agrees(id, &r)
	if e := r.documents[document]; len(r.documents) != 1 || len(e.Passages) != 1 || e.Passages[0].Vector == nil || e.Readers != nil {
		t.Errorf("a reader is told %+v", r.documents)
	}
	if s := f.state(id); s.Change != 7 || s.Required != 7 {
		t.Errorf("the state is %+v", s)
	}
	// The documents count as changed at the number that the collection had.
	r.at = index.Position{Change: 6}
	if f.follow(id, &r); r.told != 2 {
		t.Errorf("%d documents are told as changed", r.told)
	}
	f.put(id, id.record("new", "text"))
	f.follow(id, &r)
	f.agrees(id, &r)
	if changes, err := f.store.ModelChanges(t.Context()); err != nil || len(changes) != 0 {
		t.Errorf("there is something to do for vectors: %v, %v", changes, err)
	}
}
