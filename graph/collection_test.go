package graph_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/collection"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/queue"
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

func TestTheProgressOfAChangeOfModelsIsShown(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	const ask = `query($i: ID!) { collection(id: $i) { modelChange { model state passages embedded reason failedAt } } embeddingModels { name dimensions isDefault failing } }`
	read := func() answer { return h.ask(t, ada.viewer, ask, map[string]any{"i": ada.collection}) }
	got := read()
	if got.code() != "" || got.at("collection.modelChange") != nil || !strings.Contains(got.body, `"embeddingModels":[{"name":"`+embed.BuiltinModel+`","dimensions":`) ||
		!strings.Contains(got.body, `"isDefault":true,"failing":false`) {
		t.Errorf("without a change: %s", got.body)
	}
	set := func(statement string) {
		t.Helper()
		if _, err := h.db.Pool.Exec(t.Context(), statement, ada.collection); err != nil {
			t.Fatal(err)
		}
	}
	set("update collections set next_model = 'gone' where id = $1")
	if got = read(); got.at("collection.modelChange.state") != "FAILING" || !strings.Contains(got.body, "no longer configured") ||
		got.at("collection.modelChange.embedded") != 0.0 || got.at("collection.modelChange.passages") == 0.0 {
		t.Errorf("to a model that is not configured: %s", got.body)
	}
	set("update collections set embedding_model = 'former', next_model = '" + embed.BuiltinModel + "' where id = $1")
	if got = read(); got.at("collection.modelChange.state") != "WAITING" || got.at("collection.modelChange.reason") != nil ||
		got.at("collection.modelChange.embedded") != got.at("collection.modelChange.passages") {
		t.Errorf("without a task: %s", got.body)
	}
}

func TestTheStateOfTheTaskIsThatOfTheChange(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	if _, err := h.db.Pool.Exec(t.Context(), "update collections set embedding_model = 'former', next_model = $2 where id = $1", ada.collection, embed.BuiltinModel); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	attempts := &attempts{}
	h.resolver.Collections = collection.New(collection.Options{
		Ent: h.db.Ent, Models: h.models, Index: h.resolver.Index, Connectors: h.resolver.Connectors, Attempts: attempts, Now: time.Now,
	})
	for _, step := range []struct {
		attempt queue.Attempt
		err     error
		want    string
	}{
		{queue.Attempt{Running: true}, nil, `"state":"RUNNING","reason":null,"failedAt":null`},
		{queue.Attempt{Running: true, FailedAt: at, Reason: "The service took too long."}, nil, `"state":"FAILING","reason":"The service took too long.","failedAt":"2026-11-01T08:00:00Z"`},
		{queue.Attempt{FailedAt: at}, nil, `"state":"FAILING","reason":"An internal error, which the log of the workers has."`},
		{queue.Attempt{}, errors.New("Redis is away"), `"state":"WAITING","reason":null`},
	} {
		attempts.attempt, attempts.err = step.attempt, step.err
		got := h.ask(t, ada.viewer, "query($i: ID!) { collection(id: $i) { modelChange { state reason failedAt } } }", map[string]any{"i": ada.collection})
		if !strings.Contains(got.body, step.want) {
			t.Errorf("%+v %v: %s", step.attempt, step.err, got.body)
		}
	}
	if want := (queue.Reembed{Workspace: ada.viewer.Workspace, Collection: ada.collection}); attempts.task != want {
		t.Errorf("asked for %v", attempts.task)
	}
}

// attempts returns an attempt, or an error, for every task.
type attempts struct {
	attempt queue.Attempt
	err     error
	task    queue.Task
}

func (a *attempts) Attempt(_ context.Context, t queue.Task) (queue.Attempt, error) {
	a.task = t
	return a.attempt, a.err
}
