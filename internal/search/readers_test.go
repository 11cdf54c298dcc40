package search_test

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

// fixedPrincipals are the principals of every viewer.
type fixedPrincipals []string

func (p fixedPrincipals) Of(context.Context, uuid.UUID, string) ([]string, error) { return p, nil }

func (fixedPrincipals) OfAccount(context.Context, uuid.UUID, uuid.UUID) ([]string, error) {
	return nil, nil
}

// viewerWith returns the context of a viewer with the given principals; nil for Magpie
// itself, which may read everything.
func viewerWith(t testing.TB, principals []string) context.Context {
	t.Helper()
	workspace := uuid.New()
	if principals == nil {
		return viewer.With(t.Context(), viewer.System(workspace))
	}
	v := viewer.Viewer{Workspace: workspace, Kind: viewer.KindSession, Email: "somebody@example.com", Verified: true, AllCollections: true}
	return viewer.WithPrincipals(viewer.With(t.Context(), v), fixedPrincipals(principals))
}

func TestSearchesFindReadableDocumentsOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	documents := map[string]uuid.UUID{}
	for path, readers := range map[string][]string{"open.md": nil, "ann.md": {"user:ann"}, "staff.md": {"group:staff", "user:ben"}, "nobody.md": {}} {
		documents[path] = f.add(id, path, "# Otters\n\nOf otters in "+path+".", func(r *index.Record) { r.Title, r.Readers = path, readers })
	}
	stored := newEngine(t, f.db, analysis.New(), f.models, search.Options{Memory: -1})
	key := viewer.With(t.Context(), viewer.Viewer{Workspace: uuid.New(), Kind: viewer.KindKey, Secret: true, AllCollections: true})
	unverified := viewer.Viewer{Workspace: uuid.New(), Kind: viewer.KindSession, Email: "ann@example.com"}
	for name, engine := range map[string]*search.Engine{"resident": f.engine, "stored": stored} {
		count := func(as string, ctx context.Context, filters search.Filters, want int) {
			t.Helper()
			r, err := engine.Search(ctx, id.scope, search.Query{Text: "otters", Limit: 10, Filters: filters})
			if err != nil || len(r.Hits) != want || r.Total != want {
				t.Errorf("%s: Search as %s = %+v, %v, want %d hits", name, as, r, err, want)
			}
			facets, err := engine.DocumentFacets(ctx, id.scope, search.Query{Filters: filters, Facets: allFacets()})
			if err != nil || facets[0].Documents != want {
				t.Errorf("%s: DocumentFacets as %s = %+v, %v, want %d documents", name, as, facets, err, want)
			}
			titles, err := engine.Suggest(ctx, id.scope, search.Query{Text: "otters", Limit: 10, Filters: filters})
			if err != nil || len(titles) > want {
				t.Errorf("%s: Suggest as %s = %+v, %v, want at most %d", name, as, titles, err, want)
			}
		}
		var none, ann, both search.Filters
		ann.Readers, both.Readers = []string{"user:ann"}, []string{"user:ann", "group:staff"}
		count("no viewer", t.Context(), none, 1)
		count("a key", key, none, 1)
		count("a session with an unverified address", viewer.WithPrincipals(viewer.With(t.Context(), unverified), fixedPrincipals{"user:ann"}), none, 1)
		count("a key with a filter on ann", key, ann, 1)
		count("ann", viewerWith(t, []string{"user:ann"}), none, 2)
		count("ann with a filter on staff", viewerWith(t, []string{"user:ann"}), both, 2)
		count("ann of the staff", viewerWith(t, []string{"user:ann", "group:staff"}), none, 3)
		count("Magpie", viewerWith(t, nil), none, 4)
	}
	// Restrictions narrow.
	for document, to := range map[uuid.UUID][]string{documents["open.md"]: {"named:ann", "group:staff"}, documents["staff.md"]: {"user:ben"}} {
		tx, err := f.db.Ent.Tx(t.Context())
		if err == nil {
			_, err = f.index.RestrictIn(t.Context(), tx.Client(), id.scope, document, to, uuid.Nil)
		}
		if err == nil {
			err = tx.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, engine := range map[string]*search.Engine{"resident": f.engine, "stored": stored} {
		for _, try := range []struct {
			as         string
			principals []string
			want       int
		}{
			{"somebody", []string{}, 0}, {"ann", []string{"user:ann"}, 1}, {"ann, who is named", []string{"user:ann", "named:ann"}, 2},
			{"the staff", []string{"group:staff"}, 1}, {"ben", []string{"user:ben"}, 1}, {"ben of the staff", []string{"user:ben", "group:staff"}, 2}, {"Magpie", nil, 4},
		} {
			ctx := viewerWith(t, try.principals)
			r, err := engine.Search(ctx, id.scope, search.Query{Text: "otters", Limit: 10})
			if err != nil || len(r.Hits) != try.want || r.Total != try.want {
				t.Errorf("%s: Search as %s with restrictions = %+v, %v, want %d hits", name, try.as, r, err, try.want)
			}
			facets, err := engine.DocumentFacets(ctx, id.scope, search.Query{Facets: allFacets()})
			if err != nil || facets[0].Documents != try.want {
				t.Errorf("%s: DocumentFacets as %s with restrictions = %+v, %v, want %d documents", name, try.as, facets, err, try.want)
			}
		}
	}
	// Only Magpie finds documents of a closed connector.
	other := id
	other.connector = gid.New(gid.Connector)
	f.exec(`insert into connectors (id, created_at, updated_at, workspace_id, name, type, config, collection_id)
		values ($1, now(), now(), $2, 'L', 'file_upload', '{}', $3)`, other.connector, id.workspace, id.collection)
	f.exec("update connectors set closed = true where id = $1", id.connector)
	f.add(other, "other.md", "# Otters\n\nMore otters.", nil)
	for name, engine := range map[string]*search.Engine{"resident": f.engine, "stored": stored} {
		for want, filters := range map[int]search.Filters{1: {}, 0: {Connectors: []uuid.UUID{id.connector}}} {
			ctx := viewerWith(t, []string{"user:ann"})
			r, err := engine.Search(ctx, id.scope, search.Query{Text: "otters", Limit: 10, Filters: filters})
			if err != nil || len(r.Hits) != want {
				t.Errorf("%s: Search with a closed connector and %+v = %+v, %v, want %d hits", name, filters, r, err, want)
			}
			facets, err := engine.DocumentFacets(ctx, id.scope, search.Query{Filters: filters, Facets: allFacets()})
			if err != nil || facets[0].Documents != want {
				t.Errorf("%s: DocumentFacets with a closed connector and %+v = %+v, %v, want %d documents", name, filters, facets, err, want)
			}
			for _, facet := range facets {
				if facet.Field == search.FieldConnector && (facet.Documents != 1 || facet.Distinct != 1) {
					t.Errorf("%s: connectors counted with a closed one = %+v", name, facet)
				}
			}
		}
	}
}
