package index_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"

	"github.com/magpie-search/magpie/ent/migrate/migrations"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
)

// partitioned are the tables with partitions.
var partitioned = []string{"document_texts", "passages", "passage_index", "passage_vectors"}

// part is the number of the partition of a collection.
func (f *fixture) part(collection uuid.UUID) (n int) {
	f.Helper()
	if err := f.owner.QueryRow(f.Context(), "select magpie_part($1)", collection).Scan(&n); err != nil {
		f.Fatal(err)
	}
	return n
}

// apart adds collections to the tenant's workspace until one is in another partition.
func (f *fixture) apart(id tenant) tenant {
	f.Helper()
	for {
		if other := f.collection(id); f.part(other.collection) != f.part(id.collection) {
			return other
		}
	}
}

// The functions name the partition by a number of their own: it must be PostgreSQL's.
func TestTheNumberOfAPartitionIsPostgreSQLs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var wrong, used int
	err := f.owner.QueryRow(t.Context(), `
		select count(*) filter (where not satisfies_hash_partition('passages'::regclass, 16, magpie_part(id), id)), count(distinct magpie_part(id))
		from (
			select gen_random_uuid() as id from generate_series(1, 5000)
			union all select unnest(array['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff']::uuid[])
		) ids`).Scan(&wrong, &used)
	if err != nil || wrong != 0 || used != 16 {
		t.Errorf("%d numbers are wrong, %d are used, %v", wrong, used, err)
	}
	for _, table := range partitioned {
		var bounds []string
		if err := f.owner.QueryRow(t.Context(), `select array_agg(c.relname || ' ' || pg_get_expr(c.relpartbound, c.oid) order by c.oid)
			from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = $1::text::regclass`, table).Scan(&bounds); err != nil {
			t.Fatal(err)
		}
		if len(bounds) != 16 {
			t.Errorf("%s has %d partitions", table, len(bounds))
		}
		for n, bound := range bounds {
			if want := fmt.Sprintf("%s_p%d FOR VALUES WITH (modulus 16, remainder %d)", table, n, n); bound != want {
				t.Errorf("a partition is %s, want %s", bound, want)
			}
		}
	}
}

// A partition has the fences of no policy: nobody but the owner may name it.
func TestTheApplicationNamesNoPartition(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.put(id, id.record("a", "one"))
	for _, table := range partitioned {
		name := fmt.Sprintf("%s_p%d", table, f.part(id.collection))
		for _, statement := range []string{
			"select count(*) from " + name, "delete from " + name, "update " + name + " set workspace_id = workspace_id", "insert into " + name + " select * from " + name,
			"truncate " + name, "copy " + name + " to stdout", "alter table " + table + " detach partition " + name,
		} {
			f.asApplication(id.workspace.String(), func(tx pgx.Tx) {
				_, err := tx.Exec(t.Context(), statement)
				var refused *pgconn.PgError
				if !errors.As(err, &refused) || refused.Code != "42501" {
					t.Errorf("%s: %v", statement, err)
				}
			})
		}
	}
	var open int
	if err := f.owner.QueryRow(t.Context(), `select count(*) from pg_inherits i join pg_class c on c.oid = i.inhrelid
		where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and not c.relrowsecurity`).Scan(&open); err != nil || open != 0 {
		t.Errorf("%d partitions have no row-level security, %v", open, err)
	}
}

// What belongs to one collection is read and written in its partitions only.
func TestStatementsLookAtOnePartition(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	for range 8 { // more than the plans that are made for the values at hand before one is kept
		for _, text := range []string{"one", "two"} {
			out := f.put(id, id.record("a", text, "more"))
			if _, err := f.store.Passages(t.Context(), id.scope, []uuid.UUID{out.Document}, index.PassageRange{After: -1, First: 10}); err != nil {
				t.Fatal(err)
			}
			if _, err := f.store.Texts(t.Context(), id.scope, []uuid.UUID{out.Document}, false); err != nil {
				t.Fatal(err)
			}
			if err := f.store.SetSummary(t.Context(), id.scope, out.Document, "short"); err != nil {
				t.Fatal(err)
			}
			if _, err := f.store.Content(t.Context(), id.scope, out.Document); err != nil {
				t.Fatal(err)
			}
			var r follower
			f.follow(id, &r)
			lacking, err := f.store.Lacking(t.Context(), id.scope, id.collection, "other", 0, uuid.Nil, 10)
			if err != nil || len(lacking) != 2 {
				t.Fatal(lacking, err)
			}
			if _, err := f.store.Embedded(t.Context(), id.scope, id.collection, "other"); err != nil {
				t.Fatal(err)
			}
			if _, err := f.store.Recount(t.Context(), id.scope, id.collection); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.exec("delete from connectors where id = $1", id.connector)
	f.db.Close()
	// The connections of the pool tell what they have read when they end.
	testkit.WaitFor(t, "the end of the connections", func() (ended bool) {
		err := f.owner.QueryRow(t.Context(), "select not exists (select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend')").Scan(&ended)
		return err == nil && ended
	})
	var name *string
	var scans int
	if err := f.owner.QueryRow(t.Context(), `select string_agg(relname::text, ', ') filter (where relname !~ ('_p' || $1::int || '$')),
			coalesce(sum(seq_scan + idx_scan) filter (where relname ~ ('_p' || $1::int || '$')), 0)
		from pg_stat_user_tables where relname ~ '_p\d+$' and coalesce(seq_scan, 0) + coalesce(idx_scan, 0) > 0`, f.part(id.collection)).Scan(&name, &scans); err != nil {
		t.Fatal(err)
	}
	if name != nil || scans == 0 {
		t.Errorf("statements about one collection looked at %v, and %d times at its own partitions", name, scans)
	}
}

// Row ids are unique within a partition only.
func TestRowIDsAreThoseOfTheCollectionsPartition(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	other := f.apart(id)
	f.put(id, id.record("a", "otter"))
	f.put(other, other.record("b", "heron"))
	for _, c := range []struct {
		tenant
		word string
	}{{id, "otter"}, {other, "heron"}} {
		f.asApplication(id.workspace.String(), func(tx pgx.Tx) {
			rows, err := tx.Query(t.Context(), `select l.lexemes::text from magpie_lexemes($1, $2, '{"(0,1)"}') l
				union all select h.hits::text from magpie_hits($1, $2, '{"(0,1)"}', '{otter,heron}', 'test', '[1,0,0,0,0,0,0,0]') h`, c.workspace, c.collection)
			if err != nil {
				t.Fatal(err)
			}
			found, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil || len(found) != 2 || !strings.Contains(found[0], c.word) || !strings.Contains(found[1], c.word) {
				t.Errorf("%s: %q, %v", c.word, found, err)
			}
		})
	}
}

// everything returns the rows of the partitioned tables, as the owner reads them.
func (f *fixture) everything() map[string][]string {
	f.Helper()
	all := map[string][]string{}
	for _, table := range partitioned {
		var workspaces []uuid.UUID
		if err := f.owner.QueryRow(f.Context(), "select array_agg(id) from workspaces").Scan(&workspaces); err != nil {
			f.Fatal(err)
		}
		for _, workspace := range workspaces {
			f.exec("select set_config('magpie.workspace', $1, false)", workspace.String())
			all[table] = append(all[table], f.texts("select to_jsonb(t)::text from "+table+" t where workspace_id = '"+workspace.String()+"' order by 1")...)
		}
		f.exec("reset magpie.workspace")
	}
	return all
}

// TestPartitionsHaveWhatTheTablesHad migrates a database of before the partitions.
func TestPartitionsHaveWhatTheTablesHad(t *testing.T) {
	t.Parallel()
	const step = 20261130000500
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
	if _, err := steps.UpTo(t.Context(), step-1); err != nil {
		t.Fatal(err)
	}
	owner, err := pgx.Connect(t.Context(), urls.OwnerURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = owner.Close(context.Background()) })
	f := &fixture{TB: t, urls: urls, owner: owner}
	mine, theirs := f.tenant(), f.tenant()
	collections := []tenant{mine, theirs}
	for range 20 {
		collections = append(collections, f.collection(mine), f.collection(theirs))
	}
	for n, id := range collections {
		f.exec("select set_config('magpie.workspace', $1, false)", id.workspace.String())
		if n == 3 {
			continue // one that is empty
		}
		f.exec(`insert into documents (id, workspace_id, connector_id, collection_id, source_id, path, title, passage_count, index_words, created_at, updated_at, indexed_at, status)
			select gen_random_uuid(), $1, $2, $3, n::text, n || '.md', 'Title', 2, 2, now(), now(), now(), 'INDEXED' from generate_series(1, 5) n`, id.workspace, id.connector, id.collection)
		f.exec(`insert into document_texts select id, collection_id, workspace_id, case source_id when '1' then '' when '2' then repeat(md5(id::text), 5000) else e'it''s %s $$ \x01 "' end,
			case when source_id = '3' then 'short' end from documents where collection_id = $1`, id.collection)
		f.exec(`insert into passages select gen_random_uuid(), id, collection_id, workspace_id, o, case o when 0 then '{}' else '{Guide,"a, b"}'::text[] end, 'text ' || o, '', 0, 0, 4,
			case o when 1 then '[{"start": 0, "headings": [], "anchor": "", "page": 1}]'::jsonb end from documents, generate_series(0, 1) o where collection_id = $1`, id.collection)
		f.exec(`insert into passage_index select id, document_id, collection_id, workspace_id, ordinal, 1, 0, 0, 1, 'text:1024'::tsvector, 'test', '[0,0,0,1,0,0,0,0]' from passages where collection_id = $1`, id.collection)
		if n%4 == 0 {
			f.exec(`insert into passage_vectors select id, document_id, collection_id, workspace_id, m, '[1,0]' from passages, unnest(array['next', 'old']) m where collection_id = $1`, id.collection)
		}
		f.exec(`insert into collection_state (collection_id, workspace_id, change_number, required_number, documents, passages, words, model) values ($1, $2, 7, 7, 5, 10, 10, 'test')`, id.collection, id.workspace)
		f.exec(`insert into document_changes select collection_id, id, workspace_id, 7 from documents where collection_id = $1`, id.collection)
	}
	f.exec("reset magpie.workspace")
	f.exec("insert into search_indexes (collection_id, workspace_id, model, dimensions, passages) values ($1, $2, 'test', 8, 10)", mine.collection, mine.workspace)
	before := f.everything()
	for _, table := range partitioned {
		if len(before[table]) < 100 {
			t.Fatalf("%s has %d rows", table, len(before[table]))
		}
	}

	// A step that fails at its end leaves everything as it was.
	broken := changed(t, "20261130000500_partitions.sql", func(s string) string { return s + "\nselect 1 / 0;\n" })
	half, err := goose.NewProvider(goose.DialectPostgres, db, broken)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := half.Up(t.Context()); err == nil || !strings.Contains(err.Error(), "division by zero") {
		t.Fatalf("the broken step: %v", err)
	}
	if diff := cmp.Diff(before, f.everything()); diff != "" {
		t.Fatalf("after a step that failed:\n%s", diff)
	}
	if n := f.count(mine, "select count(*) from pg_inherits i join pg_class c on c.oid = i.inhrelid where c.relkind = 'r'"); n != 0 {
		t.Fatalf("it left %d partitions", n)
	}

	for range 2 { // the second time has nothing to do
		if err := store.Migrate(t.Context(), urls.OwnerURL); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(before, f.everything()); diff != "" {
		t.Fatalf("the rows are others:\n%s", diff)
	}
	if n := f.count(mine, "select count(*) from search_indexes"); n != 0 {
		t.Errorf("%d collections still count as indexed", n)
	}
	if n := f.count(mine, "select count(distinct tableoid) from passages"); n < 5 {
		t.Errorf("the passages are in %d partitions", n)
	}
	var floor int64
	if err := owner.QueryRow(t.Context(), "select step from schema_floor").Scan(&floor); err != nil || floor < step {
		t.Errorf("programs of before may still run: the floor is %d, %v", floor, err)
	}

	if f.db, err = store.Open(t.Context(), urls.AppURL, 4); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.db.Close)
	f.store = index.New(f.db.Pool, analysis.New())
	for _, id := range []tenant{mine, collections[3], collections[8]} {
		var r follower
		f.follow(id, &r)
		f.agrees(id, &r)
		f.put(id, id.record("new", "text"))
		f.put(id, id.record("new", "another text"))
		f.follow(id, &r)
		f.agrees(id, &r)
	}
	// The keys work: what belongs to a connector ends with it, in all tables.
	f.exec("delete from connectors where id = $1", mine.connector)
	for _, table := range partitioned {
		if n := f.count(mine, "select count(*) from "+table+" where collection_id = $1", mine.collection); n != 0 {
			t.Errorf("%s keeps %d rows of a connector that is gone", table, n)
		}
	}
	if n := f.count(theirs, "select count(*) from passages where collection_id = $1", theirs.collection); n != 10 {
		t.Errorf("another workspace has %d passages left", n)
	}
}

// changed returns the steps, one of them changed.
func changed(t *testing.T, step string, change func(string) string) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		content, err := fs.ReadFile(migrations.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		if name == step {
			content = []byte(change(string(content)))
		}
		files[name] = &fstest.MapFile{Data: content}
	}
	return files
}
