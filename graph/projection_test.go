package graph_test

import (
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/system"
)

func TestEditorsChooseWhereACollectionIsSearched(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	const choose = `mutation($i: ID!, $t: CollectionSearchTier) { updateCollection(id: $i, input: {searchTier: $t}) { searchTier } }`
	for _, tier := range []any{"ENGINE", nil, "POSTGRESQL", "AUTO"} {
		want := tier
		if tier == nil {
			want = "ENGINE" // as it was
		}
		if got := h.ask(t, ada.viewer, choose, map[string]any{"i": ada.collection, "t": tier}); got.at("updateCollection.searchTier") != want {
			t.Errorf("%v: %s", tier, got.body)
		}
	}
	if got := h.ask(t, ada.viewer, choose, map[string]any{"i": ada.collection, "t": "MOON"}); got.code() != "invalid_request" {
		t.Errorf("a tier that does not exist: %s", got.body)
	}
	if got := h.ask(t, h.member(t, ada, "reader@example.com", membership.RoleViewer), choose, map[string]any{"i": ada.collection, "t": "ENGINE"}); got.code() != "forbidden" {
		t.Errorf("a viewer: %s", got.body)
	}
	if got := h.ask(t, eve.viewer, choose, map[string]any{"i": ada.collection, "t": "ENGINE"}); got.code() != "not_found" {
		t.Errorf("another workspace: %s", got.body)
	}
}

func TestAdministratorsSeeHowFarTheSearchEngineIs(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	const ask = `{ system { collections { name engine { state change written confirmed behindSeconds failing } } warnings { code text } } }`
	if got := h.ask(t, ada.viewer, ask, nil); !strings.Contains(got.body, `"engine":null`) || strings.Contains(got.body, "ENGINE_") {
		t.Errorf("without an engine: %s", got.body)
	}
	for _, statement := range []string{
		`insert into engine_collections (collection_id, workspace_id, class, class_generation, index_generation, model, dimensions, shards, replicas, history, state,
			written_change, confirmed_change) values ($1, $2, 'M1_1', 1, 0, 'm', 0, 0, 1, '', 'READY', 7, 5)`,
		"update collection_state set change_number = 9 where collection_id = $1 and workspace_id = $2",
	} {
		if _, err := h.db.Pool.Exec(t.Context(), statement, ada.collection, ada.viewer.Workspace); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.ask(t, ada.viewer, ask, nil); !strings.Contains(got.body, `"engine":{"state":"READY","change":9,"written":7,"confirmed":5,"behindSeconds":0,"failing":false}`) || strings.Contains(got.body, "ENGINE_") {
		t.Errorf("ready: %s", got.body)
	}
	if got := h.ask(t, eve.viewer, ask, nil); strings.Contains(got.body, "READY") {
		t.Errorf("another workspace: %s", got.body)
	}
	for code, change := range map[string]string{
		"ENGINE_BEHIND":  "behind_since = now() - interval '1 hour'",
		"ENGINE_FAILING": "last_error = 'canary of the engine'",
	} {
		if _, err := h.db.Pool.Exec(t.Context(), "update engine_collections set "+change); err != nil {
			t.Fatal(err)
		}
		if got := h.ask(t, ada.viewer, ask, nil); !strings.Contains(got.body, code) || !strings.Contains(got.body, "1 of the collections") || strings.Contains(got.body, "canary") {
			t.Errorf("%s: %s", code, got.body)
		}
		if got := h.ask(t, eve.viewer, ask, nil); strings.Contains(got.body, "ENGINE_") {
			t.Errorf("%s: another workspace: %s", code, got.body)
		}
		if _, err := h.db.Pool.Exec(t.Context(), "update engine_collections set behind_since = null, last_error = null"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestACollectionThatIsToBeInASearchEngineNeedsOne(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	const ask = `{ system { warnings { code text } } }`
	const missing = `{"code":"ENGINE_MISSING","text":"1 of the collections should be in a search engine, and this process has none."}`
	for _, tier := range []string{"AUTO", "POSTGRESQL", "ENGINE"} {
		if _, err := h.db.Pool.Exec(t.Context(), "update collections set search_tier = $1 where id = $2", tier, ada.collection); err != nil {
			t.Fatal(err)
		}
		if got := h.ask(t, ada.viewer, ask, nil); strings.Contains(got.body, missing) != (tier == "ENGINE") {
			t.Errorf("%s: %s", tier, got.body)
		}
	}
	if got := h.ask(t, eve.viewer, ask, nil); strings.Contains(got.body, "ENGINE_") {
		t.Errorf("another workspace: %s", got.body)
	}
	h.resolver.System = system.New(system.Options{
		Pool: h.db.Pool, Redis: h.redis, Queue: queue.NewAsynq(h.redis), Loaded: h.resolver.Search.Loaded, HasEngine: true, Now: time.Now,
	})
	if got := h.ask(t, ada.viewer, ask, nil); !strings.Contains(got.body, `"warnings":[`) || strings.Contains(got.body, "ENGINE_") {
		t.Errorf("with an engine: %s", got.body)
	}
}
