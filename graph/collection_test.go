package graph_test

import (
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/model/embed"
)

func TestTheModelOfACollectionIsChanged(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	// A model that is not configured.
	if _, err := h.db.Pool.Exec(t.Context(), "update collections set embedding_model = 'former' where id = $1", ada.collection); err != nil {
		t.Fatal(err)
	}
	change := func(model string) answer {
		t.Helper()
		return h.ask(t, ada.viewer, `mutation($i: ID!, $m: String) { updateCollection(id: $i, input: {embeddingModel: $m}) { name embeddingModel nextEmbeddingModel } }`,
			map[string]any{"i": ada.collection, "m": model})
	}
	for _, step := range []struct {
		model string
		next  any
	}{{embed.BuiltinModel, embed.BuiltinModel}, {embed.BuiltinModel, embed.BuiltinModel}, {"former", nil}, {"former", nil}} {
		got := change(step.model)
		if got.at("updateCollection.embeddingModel") != "former" || got.at("updateCollection.nextEmbeddingModel") != step.next {
			t.Errorf("choosing %s: %s", step.model, got.body)
		}
	}
	for _, model := range []string{"unknown", ""} {
		if got := change(model); got.code() != "invalid_request" || !strings.Contains(got.body, "embeddingModel") {
			t.Errorf("choosing %q: %s", model, got.body)
		}
	}
	if got := h.ask(t, ada.viewer, `mutation($i: ID!) { updateCollection(id: $i, input: {name: "Other"}) { nextEmbeddingModel } }`,
		map[string]any{"i": ada.collection}); got.code() != "" || got.at("updateCollection.nextEmbeddingModel") != nil {
		t.Errorf("a new name: %s", got.body)
	}
	bob := h.tenant(t, "bob")
	if got := h.ask(t, bob.viewer, `mutation($i: ID!, $m: String) { updateCollection(id: $i, input: {embeddingModel: $m}) { id } }`,
		map[string]any{"i": ada.collection, "m": embed.BuiltinModel}); got.code() != "not_found" {
		t.Errorf("another workspace's collection: %s", got.body)
	}
}
