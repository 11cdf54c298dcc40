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

// known are the principals of everybody.
type known []string

func (k known) Of(context.Context, uuid.UUID, string) ([]string, error) { return k, nil }

// asking is the context of somebody with these principals; with nil of Magpie
// itself, which finds everything.
func asking(t testing.TB, principals []string) context.Context {
	t.Helper()
	workspace := uuid.New()
	if principals == nil {
		return viewer.With(t.Context(), viewer.System(workspace))
	}
	v := viewer.Viewer{Workspace: workspace, Kind: viewer.KindSession, Email: "somebody@example.com", Verified: true, AllCollections: true}
	return viewer.WithPrincipals(viewer.With(t.Context(), v), known(principals))
}

func TestSearchesFindWhatTheirAskerMayRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	for path, readers := range map[string][]string{"open.md": nil, "ann.md": {"user:ann"}, "staff.md": {"group:staff", "user:ben"}, "nobody.md": {}} {
		f.add(id, path, "# Otters\n\nOf otters in "+path+".", func(r *index.Record) { r.Title, r.Readers = path, readers })
	}
	stored := newEngine(t, f.db, analysis.New(), f.models, search.Options{Memory: -1})
	nobody := viewer.With(t.Context(), viewer.Viewer{Workspace: uuid.New(), Kind: viewer.KindKey, Secret: true, AllCollections: true})
	unverified := viewer.Viewer{Workspace: uuid.New(), Kind: viewer.KindSession, Email: "ann@example.com"}
	for name, engine := range map[string]*search.Engine{"memory": f.engine, "PostgreSQL": stored} {
		count := func(what string, ctx context.Context, filters search.Filters, want int) {
			t.Helper()
			r, err := engine.Search(ctx, id.scope, search.Query{Text: "otters", Limit: 10, Filters: filters})
			if err != nil || len(r.Hits) != want || r.Total != want {
				t.Errorf("%s, %s: %+v, %v; want %d", name, what, r, err, want)
			}
			facets, err := engine.Facets(ctx, id.scope, search.Query{Filters: filters, Facets: everyField()})
			if err != nil || facets[0].Documents != want {
				t.Errorf("%s, %s: %+v, %v; want %d documents", name, what, facets, err, want)
			}
			titles, err := engine.Suggest(ctx, id.scope, "otters", 10, filters)
			if err != nil || len(titles) > want {
				t.Errorf("%s, %s: %+v, %v", name, what, titles, err)
			}
		}
		var none, ann, both search.Filters
		ann.Readers, both.Readers = []string{"user:ann"}, []string{"user:ann", "group:staff"}
		count("no viewer at all", t.Context(), none, 1)
		count("a key that names nobody", nobody, none, 1)
		count("an address that nobody vouches for", viewer.WithPrincipals(viewer.With(t.Context(), unverified), known{"user:ann"}), none, 1)
		count("nobody who narrows to somebody", nobody, ann, 1)
		count("ann", asking(t, []string{"user:ann"}), none, 2)
		count("ann, who narrows to staff, too", asking(t, []string{"user:ann"}), both, 2)
		count("ann of the staff", asking(t, []string{"user:ann", "group:staff"}), none, 3)
		count("Magpie", asking(t, nil), none, 4)
	}
	// Nothing of a connector that is closed is found by anybody but Magpie.
	other := id
	other.connector = gid.New(gid.Connector)
	f.exec(`insert into connectors (id, created_at, updated_at, workspace_id, name, type, config, collection_id)
		values ($1, now(), now(), $2, 'L', 'file_upload', '{}', $3)`, other.connector, id.workspace, id.collection)
	f.exec("update connectors set closed = true where id = $1", id.connector)
	f.add(other, "other.md", "# Otters\n\nMore otters.", nil)
	for name, engine := range map[string]*search.Engine{"memory": f.engine, "PostgreSQL": stored} {
		for want, filters := range map[int]search.Filters{1: {}, 0: {Connectors: []uuid.UUID{id.connector}}} {
			ctx := asking(t, []string{"user:ann"})
			r, err := engine.Search(ctx, id.scope, search.Query{Text: "otters", Limit: 10, Filters: filters})
			if err != nil || len(r.Hits) != want {
				t.Errorf("%s, closed, %+v: %+v, %v", name, filters, r, err)
			}
			facets, err := engine.Facets(ctx, id.scope, search.Query{Filters: filters, Facets: everyField()})
			if err != nil || facets[0].Documents != want {
				t.Errorf("%s, closed, %+v: %+v, %v", name, filters, facets, err)
			}
			for _, facet := range facets {
				if facet.Field == search.FieldConnector && (facet.Documents != 1 || facet.Distinct != 1) {
					t.Errorf("%s, closed: connectors %+v", name, facet)
				}
			}
		}
	}
}
