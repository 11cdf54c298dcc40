package graph_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/collection"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/viewer"
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

func TestChangesOfModelsAreAddedUp(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, bob, eve := h.tenant(t, "ada"), h.tenant(t, "bob"), h.tenant(t, "eve")
	at := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	collections := collection.New(collection.Options{
		Ent: h.db.Ent, Models: h.models, Index: h.resolver.Index, Connectors: h.resolver.Connectors, Now: time.Now,
		Attempts: &attempts{attempt: queue.Attempt{FailedAt: at}},
	})
	total := func(ctx context.Context, model string) (found collection.ChangeTotal) {
		t.Helper()
		totals, err := collections.ChangeTotals(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range totals {
			if one.Model == model {
				found = *one
			}
		}
		return found
	}
	if got := total(t.Context(), embed.BuiltinModel); got.Model == "" || got.Collections != 0 || *got.Passages != 0 || !got.FailedAt.IsZero() {
		t.Errorf("without a change: %+v", got)
	}
	for collection, next := range map[uuid.UUID]string{ada.collection: embed.BuiltinModel, bob.collection: embed.BuiltinModel, eve.collection: "gone"} {
		if _, err := h.db.Pool.Exec(t.Context(), "update collections set embedding_model = 'former', next_model = $2 where id = $1", collection, next); err != nil {
			t.Fatal(err)
		}
	}
	got := total(t.Context(), embed.BuiltinModel)
	if got.Collections != 2 || got.Failing != 2 || got.Passages == nil || *got.Passages == 0 || *got.Embedded > *got.Passages || !got.FailedAt.Equal(at) {
		t.Errorf("two workspaces: %+v", got)
	}
	if other := total(t.Context(), collection.OtherModels); other.Collections != 1 || other.Failing != 1 || *other.Embedded != 0 {
		t.Errorf("a model that is not configured: %+v", other)
	}
}

func TestAModelIsProbedBeforeACollectionChangesToIt(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	var answer atomic.Value
	calls := atomic.Int32{}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		text := answer.Load().(string)
		if strings.Contains(text, "error") {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(service.Close)
	remote, err := embed.NewOpenAI(embed.Config{Name: "attached", BaseURL: service.URL + "/v1", Key: "hunter2-key", Model: "m", Dimensions: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remote.Close)
	models, err := embed.NewRegistry(embed.NewBuiltin(), remote)
	if err != nil {
		t.Fatal(err)
	}
	options := collection.Options{Ent: h.db.Ent, Models: models, Index: h.resolver.Index, Connectors: h.resolver.Connectors, Attempts: &attempts{}, Now: time.Now}
	const working, refused, short = `{"data":[{"index":0,"embedding":[1,2,3]}]}`, `{"error":{"message":"Incorrect API key hunter2-key"}}`, `{"data":[{"index":0,"embedding":[1,2]}]}`
	for _, step := range []struct {
		name, answer, model string
		quote               bool
		says, hides         string // "" says nothing, for a change that is accepted
		calls               int32
	}{
		{"a refused key", refused, "attached", true, `the model \"attached\" does not work, so that nothing was changed. The service refused the key, or it may not use this model. (Status 401.) It said: Incorrect API key [key]. Correct`, "hunter2", 1},
		{"without the words of the service", refused, "attached", false, "(Status 401.) Correct", "Incorrect", 1},
		{"another length", short, "attached", false, "vectors of 2 dimensions, but its setting says 3: set dimensions (EMBEDDING_DIMENSIONS) to 2", "127.0.0.1", 1},
		{"the present model", refused, embed.BuiltinModel, true, "", "", 0},
		{"a working one", working, "attached", true, "", "", 1},
		{"the same again", refused, "attached", true, "", "", 0},
	} {
		answer.Store(step.answer)
		calls.Store(0)
		options.QuoteServices = step.quote
		h.resolver.Collections = collection.New(options)
		got := h.ask(t, ada.viewer, `mutation($i: ID!, $m: String) { updateCollection(id: $i, input: {name: "Probed", embeddingModel: $m}) { nextEmbeddingModel } }`,
			map[string]any{"i": ada.collection, "m": step.model})
		if calls.Load() != step.calls {
			t.Errorf("%s: %d calls of the model", step.name, calls.Load())
		}
		if step.says == "" {
			if got.code() != "" {
				t.Errorf("%s: %s", step.name, got.body)
			}
			continue
		}
		if got.code() != "invalid_request" || !strings.Contains(got.body, step.says) || strings.Contains(got.body, step.hides) {
			t.Errorf("%s: %s", step.name, got.body)
		}
		if row, err := h.db.Ent.Collection.Get(viewer.With(t.Context(), ada.viewer), ada.collection); err != nil || row.NextEmbeddingModel != nil || row.Name == "Probed" {
			t.Errorf("%s: the collection was changed: %v, %v", step.name, row, err)
		}
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
