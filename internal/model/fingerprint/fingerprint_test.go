package fingerprint_test

import (
	"bytes"
	"context"
	"errors"
	"hash/fnv"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/model/fingerprint"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
	"github.com/magpie-search/magpie/internal/testkit"
)

// A fakeModel gives vectors that depend on the text and a seed, with a share of another model's.
type fakeModel struct {
	name       string
	dimensions int
	seed       string
	other      float32
	err        error
	calls      int
}

func (m *fakeModel) Model() string   { return m.name }
func (m *fakeModel) Dimensions() int { return m.dimensions }

func (m *fakeModel) Embed(_ context.Context, texts []string, _ embed.Purpose) ([][]float32, error) {
	m.calls++
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, m.dimensions)
		vectors[i][at(m.seed+text, m.dimensions)] += 1 - m.other
		vectors[i][at("other"+text, m.dimensions)] += m.other
		unit(vectors[i])
	}
	return vectors, m.err
}

func at(text string, n int) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return int(h.Sum64() % uint64(n))
}

func unit(v []float32) {
	sum := float32(0)
	for _, x := range v {
		sum += x * x
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(float64(sum)))
	}
}

type world struct {
	pool *pgxpool.Pool
	log  bytes.Buffer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), testkit.Database(t).AppURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return &world{pool: pool}
}

func (w *world) fingerprints(t *testing.T, opt fingerprint.Options, models ...embed.Embedder) *fingerprint.Fingerprints {
	t.Helper()
	registry, err := embed.NewRegistry(append(models, embed.NewBuiltin())...)
	if err != nil {
		t.Fatal(err)
	}
	opt.Log = slog.New(slog.NewTextHandler(&w.log, nil))
	return fingerprint.New(w.pool, registry, opt)
}

// reason returns the noted difference of a model, "" for none and "none kept" without a fingerprint.
func (w *world) reason(t *testing.T, model string) string {
	t.Helper()
	var reason string
	err := w.pool.QueryRow(t.Context(), `select coalesce((select coalesce(reason, '') from embedding_fingerprints where model = $1), 'none kept')`, model).Scan(&reason)
	if err != nil {
		t.Fatal(err)
	}
	return reason
}

func TestAModelThatGivesOtherVectorsIsNoted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	model := &fakeModel{name: "attached", dimensions: 997, seed: "a"}
	f := w.fingerprints(t, fingerprint.Options{}, model)
	compare := func(want string) {
		t.Helper()
		if err := f.Compare(t.Context(), model); err != nil {
			t.Fatal(err)
		}
		if got := w.reason(t, "attached"); got != want {
			t.Errorf("noted %q, want %q", got, want)
		}
	}
	compare("") // kept
	model.other = 0.1
	compare("") // a little different, as of other number formats
	model.other = 0.5
	compare("The similarity of the same sentences is 0.71.")
	if !strings.Contains(w.log.String(), "other vectors than before") {
		t.Errorf("log: %s", &w.log)
	}
	model.other = 0
	compare("") // the former model is back
	if !strings.Contains(w.log.String(), "former vectors again") {
		t.Errorf("log: %s", &w.log)
	}
	model.dimensions = 500
	compare("Its vectors have 500 dimensions instead of 997.")

	// Accepted: the present vectors are the ones to compare with.
	if found, err := f.Accept(t.Context(), "attached"); !found || err != nil {
		t.Errorf("found %v, error %v", found, err)
	}
	compare("")
	if found, err := f.Accept(t.Context(), "unknown"); found || err != nil {
		t.Errorf("an unknown model: found %v, error %v", found, err)
	}
}

func TestAServiceOfAnotherLengthIsNoted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	model := &fakeModel{name: "attached", dimensions: 8, seed: "a"}
	f := w.fingerprints(t, fingerprint.Options{}, model)
	model.err = &provider.Error{Kind: provider.KindInvalid, Advice: "The model gives vectors of 9 dimensions."}
	if err := f.Compare(t.Context(), model); err == nil || w.reason(t, "attached") != "none kept" {
		t.Errorf("error %v, noted %q", err, w.reason(t, "attached"))
	}
	model.err = nil
	if err := f.Compare(t.Context(), model); err != nil {
		t.Fatal(err)
	}
	model.err = &provider.Error{Kind: provider.KindInvalid, Advice: "The model gives vectors of 9 dimensions."}
	if err := f.Compare(t.Context(), model); err == nil || w.reason(t, "attached") != "The model gives vectors of 9 dimensions." {
		t.Errorf("error %v, noted %q", err, w.reason(t, "attached"))
	}
}

func TestCredentialsThatEndAreNoOtherVectors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	model := &fakeModel{name: "attached", dimensions: 8, seed: "a"}
	f := w.fingerprints(t, fingerprint.Options{}, model)
	if err := f.Compare(t.Context(), model); err != nil {
		t.Fatal(err)
	}
	model.err = &provider.Error{Kind: provider.KindAuth, Advice: "Set the credentials of the cloud."}
	if err := f.Compare(t.Context(), model); !errors.Is(err, model.err) || w.reason(t, "attached") != "" {
		t.Errorf("error %v, noted %q", err, w.reason(t, "attached"))
	}
	if strings.Contains(w.log.String(), "other vectors than before") {
		t.Errorf("log: %s", &w.log)
	}
}

func TestModelsThatCollectionsUseAreWatched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	used, next, idle := &fakeModel{name: "used", dimensions: 8}, &fakeModel{name: "next", dimensions: 8}, &fakeModel{name: "idle", dimensions: 8}
	next.err = errors.New("the service is away")
	var waited []time.Duration
	f := w.fingerprints(t, fingerprint.Options{Wait: func(_ context.Context, d time.Duration) error {
		waited = append(waited, d)
		next.err = nil
		if len(waited) == 2 {
			return context.Canceled
		}
		return nil
	}}, used, next, idle)
	workspace := uuid.New()
	for _, statement := range []string{
		"insert into workspaces (id, created_at, updated_at, name) values ($1, now(), now(), 'w')",
		"insert into collections (id, created_at, updated_at, workspace_id, name, embedding_model, next_model) values (gen_random_uuid(), now(), now(), $1, 'c', 'used', 'next')",
		"insert into collections (id, created_at, updated_at, workspace_id, name, embedding_model) values (gen_random_uuid(), now(), now(), $1, 'd', 'former')",
	} {
		if _, err := w.pool.Exec(t.Context(), statement, workspace); err != nil {
			t.Fatal(err)
		}
	}
	f.Watch(t.Context())
	if len(waited) != 2 || waited[0] != 10*time.Minute || waited[1] != 24*time.Hour {
		t.Errorf("waited %v", waited)
	}
	for model, want := range map[string]string{"used": "", "next": "", "idle": "none kept", "former": "none kept"} {
		if got := w.reason(t, model); got != want {
			t.Errorf("%s: %q, want %q", model, got, want)
		}
	}
	if idle.calls != 0 || used.calls != 2 {
		t.Errorf("%d calls of a model that nothing uses, %d of one that is used", idle.calls, used.calls)
	}
}

func TestTheBuiltinModelIsNotCompared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.fingerprints(t, fingerprint.Options{}).Compare(t.Context(), embed.NewBuiltin()); err != nil || w.reason(t, embed.BuiltinModel) != "none kept" {
		t.Errorf("error %v, %q", err, w.reason(t, embed.BuiltinModel))
	}
}
