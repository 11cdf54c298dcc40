package index_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// asApplication runs do in a transaction of the application's role, set to a
// workspace; "" leaves the setting out.
func (f *fixture) asApplication(workspace string, do func(pgx.Tx)) {
	f.Helper()
	tx, err := f.db.Pool.Begin(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	var role string
	var above bool
	if err := tx.QueryRow(f.Context(), `select current_user, rolsuper or rolbypassrls or pg_has_role(current_user,
			(select relowner from pg_class where oid = 'passages'::regclass), 'member')
			from pg_roles where rolname = current_user`).Scan(&role, &above); err != nil {
		f.Fatal(err)
	}
	if role != "magpie_app" || above {
		f.Fatalf("the application works as %s, which stands above row-level security: %v", role, above)
	}
	if workspace != "" {
		if _, err := tx.Exec(f.Context(), "select set_config('magpie.workspace', $1, true)", workspace); err != nil {
			f.Fatal(err)
		}
	}
	do(tx)
}

func TestTheDatabaseShowsTextToItsWorkspaceOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine, theirs := f.tenant(), f.tenant()
	f.put(mine, mine.record("a", "one", "two"))
	f.put(theirs, theirs.record("b", "three"))
	for _, table := range []string{"passages", "document_texts"} {
		for name, c := range map[string]struct {
			workspace string
			want      int
		}{
			"without a setting": {"", 0},
			"my workspace":      {mine.workspace.String(), map[string]int{"passages": 2, "document_texts": 1}[table]},
			"their workspace":   {theirs.workspace.String(), 1},
			"no workspace":      {uuid.Nil.String(), 0},
		} {
			f.asApplication(c.workspace, func(tx pgx.Tx) {
				var n int
				if err := tx.QueryRow(t.Context(), "select count(*) from "+table).Scan(&n); err != nil || n != c.want {
					t.Errorf("%s, %s: %d rows, %v", table, name, n, err)
				}
				for _, change := range []string{
					"update " + table + " set body = 'changed' where workspace_id <> coalesce(nullif(current_setting('magpie.workspace', true), ''), '00000000-0000-0000-0000-000000000000')::uuid",
					"delete from " + table + " where workspace_id <> coalesce(nullif(current_setting('magpie.workspace', true), ''), '00000000-0000-0000-0000-000000000000')::uuid",
				} {
					if tag, err := tx.Exec(t.Context(), change); err != nil || tag.RowsAffected() != 0 {
						t.Errorf("%s, %s: %s touched %d rows, %v", table, name, change[:6], tag.RowsAffected(), err)
					}
				}
			})
		}
	}
}

func TestTheSettingEndsWithItsTransaction(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	out := f.put(id, id.record("a", "one"))
	if _, err := f.store.Content(t.Context(), id.scope, out.Document); err != nil {
		t.Fatal(err)
	}
	for range 8 { // whatever connection of the pool it was
		var n int
		if err := f.db.Pool.QueryRow(t.Context(), "select count(*) from passages").Scan(&n); err != nil || n != 0 {
			t.Errorf("a later statement sees %d passages, %v", n, err)
		}
	}
}

func TestTheApplicationOnlyInsertsIntoTheIndex(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine, theirs := f.tenant(), f.tenant()
	f.put(mine, mine.record("a", "one"))
	stored := f.put(theirs, theirs.record("b", "two"))
	var passage uuid.UUID
	if err := f.owner.QueryRow(t.Context(), "select passage_id from passage_index where workspace_id = $1", theirs.workspace).Scan(&passage); err != nil {
		t.Fatal(err)
	}
	// The foreign row is free to be taken once its index row is gone.
	f.exec("delete from passage_index where workspace_id = $1", theirs.workspace)
	insert := `insert into passage_index (passage_id, document_id, collection_id, workspace_id, ordinal, title_words, heading_words,
		path_words, body_words, lexemes, model, embedding) values ($1, $2, $3, $4, 0, 1, 1, 1, 1, '''x'':1', 'test', '[1]')`
	for name, c := range map[string]struct {
		sql   string
		args  []any
		state string
	}{
		"select":                                {"select count(*) from passage_index", nil, "42501"},
		"select column":                         {"select passage_id from passage_index limit 1", nil, "42501"},
		"update":                                {"update passage_index set model = 'x'", nil, "42501"},
		"delete":                                {"delete from passage_index", nil, "42501"},
		"truncate":                              {"truncate passage_index", nil, "42501"},
		"copy":                                  {"copy passage_index to stdout", nil, "42501"},
		"returning":                             {insert + " returning lexemes", []any{passage, stored.Document, theirs.collection, theirs.workspace}, "42501"},
		"insert for another workspace":          {insert, []any{passage, stored.Document, theirs.collection, theirs.workspace}, "42501"},
		"insert of another workspace's passage": {insert, []any{passage, stored.Document, theirs.collection, mine.workspace}, "23503"},
		"insert of it under one's own collection": {insert, []any{passage, stored.Document, mine.collection, mine.workspace}, "23503"},
		"insert of a passage that does not exist": {insert, []any{uuid.New(), uuid.New(), mine.collection, mine.workspace}, "23503"},
		"settings":     {"update search_settings set exact_passages = 0", nil, "42501"},
		"common words": {"insert into collection_terms values ($1, $2, 'x', 1)", []any{mine.collection, mine.workspace}, "42501"},
	} {
		f.asApplication(mine.workspace.String(), func(tx pgx.Tx) {
			_, err := tx.Exec(t.Context(), c.sql, c.args...)
			var refused *pgconn.PgError
			if !errors.As(err, &refused) || refused.Code != c.state {
				t.Errorf("%s: %v, want SQLSTATE %s", name, err, c.state)
			}
		})
	}
}

func TestVectorsAndChangesAreReadThroughFunctionsOfTheirWorkspaceOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine, theirs := f.tenant(), f.tenant()
	f.put(mine, mine.record("a", "one"))
	stored := f.put(theirs, theirs.record("b", "two"))
	f.exec("update collections set next_model = 'other' where id = $1", theirs.collection)
	lacking, err := f.store.Lacking(t.Context(), theirs.scope, theirs.collection, "other", 0, uuid.Nil, 10)
	if err != nil || len(lacking) != 1 {
		t.Fatal(lacking, err)
	}
	if err := f.store.AddVectors(t.Context(), theirs.scope, theirs.collection, "other", lacking, [][]float32{{1}}); err != nil {
		t.Fatal(err)
	}
	insert := "insert into passage_vectors (passage_id, document_id, collection_id, workspace_id, model, embedding) values ($1, $2, $3, $4, 'x', '[1]')"
	passage := lacking[0].Passage
	for name, c := range map[string]struct {
		sql   string
		args  []any
		state string
	}{
		"select":                                {"select count(*) from passage_vectors", nil, "42501"},
		"update":                                {"update passage_vectors set model = 'x'", nil, "42501"},
		"delete":                                {"delete from passage_vectors", nil, "42501"},
		"returning":                             {insert + " returning embedding", []any{passage, stored.Document, theirs.collection, mine.workspace}, "42501"},
		"insert for another workspace":          {insert, []any{passage, stored.Document, theirs.collection, theirs.workspace}, "42501"},
		"insert of another workspace's passage": {insert, []any{passage, stored.Document, theirs.collection, mine.workspace}, "23503"},
		"lacking":                               {"select * from magpie_lacking($1, $2, 'z', null, $3, 10)", []any{theirs.workspace, theirs.collection, uuid.Nil}, "42501"},
		"lacking since":                         {"select magpie_lacking_since($1, $2, 'z', 0, false)", []any{theirs.workspace, theirs.collection}, "42501"},
		"fold":                                  {"select magpie_fold_vectors($1, $2, 10)", []any{theirs.workspace, theirs.collection}, "42501"},
		"drop":                                  {"select magpie_drop_vectors($1, $2, 10)", []any{theirs.workspace, theirs.collection}, "42501"},
	} {
		f.asApplication(mine.workspace.String(), func(tx pgx.Tx) {
			_, err := tx.Exec(t.Context(), c.sql, c.args...)
			var refused *pgconn.PgError
			if !errors.As(err, &refused) || refused.Code != c.state {
				t.Errorf("%s: %v, want SQLSTATE %s", name, err, c.state)
			}
		})
	}
	for name, c := range map[string]struct {
		setting               string
		workspace, collection uuid.UUID
		want                  int
	}{
		"theirs, set to them":           {theirs.workspace.String(), theirs.workspace, theirs.collection, 1},
		"theirs, set to me":             {mine.workspace.String(), theirs.workspace, theirs.collection, 0},
		"theirs, set to nobody":         {"", theirs.workspace, theirs.collection, 0},
		"theirs as mine, set to me":     {mine.workspace.String(), mine.workspace, theirs.collection, 0},
		"without a workspace, nor set":  {"", uuid.Nil, theirs.collection, 0},
		"mine as theirs, set to theirs": {theirs.workspace.String(), theirs.workspace, mine.collection, 0},
	} {
		f.asApplication(c.setting, func(tx pgx.Tx) {
			function := fmt.Sprintf("magpie_changes_p%d", f.part(c.collection))
			for _, after := range []any{nil, int64(0)} {
				var n int
				if err := tx.QueryRow(t.Context(), "select count(*) from "+function+"($1, $2, 'test', $3, true)", c.workspace, c.collection, after).Scan(&n); err != nil || n != c.want {
					t.Errorf("%s, after %v: %d rows, %v, want %d", name, after, n, err, c.want)
				}
			}
		})
	}
}
