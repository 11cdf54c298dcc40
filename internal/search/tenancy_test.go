package search_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"magpie/internal/embed"
	"magpie/internal/search"
	"magpie/internal/store"
	"magpie/internal/viewer"
)

func TestSearchesStayWithinTheirScope(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine, theirs := f.tenant(), f.tenant()
	second := f.collection(mine, "Second", embed.BuiltinModel)
	f.add(mine, "a", "Otters of mine", nil)
	f.add(second, "b", "Otters of my second collection", nil)
	f.add(theirs, "c", "Otters of theirs", nil)
	key := func(collections ...uuid.UUID) viewer.Scope {
		s, err := viewer.Viewer{Workspace: mine.workspace, Kind: viewer.KindKey, Collections: collections}.Scope()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, c := range map[string]struct {
		scope viewer.Scope
		want  []uuid.UUID
	}{
		"the whole workspace":        {mine.scope, []uuid.UUID{mine.collection, second.collection}},
		"one collection":             {key(second.collection), []uuid.UUID{second.collection}},
		"both":                       {key(second.collection, mine.collection), []uuid.UUID{mine.collection, second.collection}},
		"none":                       {key(), nil},
		"another workspace's":        {key(theirs.collection), nil},
		"one's own and another's":    {key(theirs.collection, mine.collection), []uuid.UUID{mine.collection}},
		"one that does not exist":    {key(uuid.New()), nil},
		"the other side's workspace": {theirs.scope, []uuid.UUID{theirs.collection}},
	} {
		r, err := f.engine.Search(t.Context(), c.scope, search.Query{Text: "otters", Limit: 10})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []uuid.UUID
		for _, h := range r.Hits {
			got = append(got, h.Collection)
		}
		for _, list := range [][]uuid.UUID{got, c.want} {
			slices.SortFunc(list, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
		}
		if !slices.Equal(got, c.want) || r.Total != len(c.want) {
			t.Errorf("%s: found %v, want %v", name, got, c.want)
		}
	}
}

// TestTheFunctionKeepsToItsWorkspace asks the one function that reads the index
// as the application would if its own code went wrong.
func TestTheFunctionKeepsToItsWorkspace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine, theirs := f.tenant(), f.tenant()
	f.add(mine, "a", "Otters of mine", nil)
	f.add(theirs, "b", "Otters of theirs", nil)
	vectors, err := embed.NewBuiltin().Embed(t.Context(), []string{"otters"}, embed.Query)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(setting string, workspace uuid.UUID, collections ...uuid.UUID) (found []uuid.UUID, err error) {
		t.Helper()
		tx, err := f.db.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(context.Background()) }()
		var role string
		if err := tx.QueryRow(t.Context(), "select current_user from set_config('magpie.workspace', $1, true)", setting).Scan(&role); err != nil {
			t.Fatal(err)
		}
		if role != store.AppRole {
			t.Fatalf("the application works as %s", role)
		}
		rows, err := tx.Query(t.Context(), `select distinct collection_id from magpie_candidates($1, $2, $3, $4::real[]::halfvec, 'otter', '{otter}',
				null, null, null, null, null, null, null, 100) where leg > 0`, workspace, collections, embed.BuiltinModel, vectors[0])
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	}
	if got, err := ask(mine.workspace.String(), mine.workspace, mine.collection); err != nil || !slices.Equal(got, []uuid.UUID{mine.collection}) {
		t.Errorf("one's own collection: %v, %v", got, err)
	}
	if got, err := ask(mine.workspace.String(), mine.workspace, theirs.collection); err != nil || len(got) != 0 {
		t.Errorf("another's collection under one's own workspace: %v, %v", got, err)
	}
	if got, err := ask(mine.workspace.String(), mine.workspace, theirs.collection, mine.collection); err != nil || !slices.Equal(got, []uuid.UUID{mine.collection}) {
		t.Errorf("both collections under one's own workspace: %v, %v", got, err)
	}
	for name, c := range map[string]struct {
		setting   string
		workspace uuid.UUID
	}{
		"another's workspace":          {mine.workspace.String(), theirs.workspace},
		"another's, without a setting": {"", theirs.workspace},
		"one's own, without a setting": {"", mine.workspace},
		"no workspace":                 {mine.workspace.String(), uuid.Nil},
	} {
		got, err := ask(c.setting, c.workspace, theirs.collection, mine.collection)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != "42501" || len(got) != 0 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
