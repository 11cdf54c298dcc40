package embedtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/magpie-search/magpie/internal/model/embed"
)

// Run tests an Embedder, which must respond immediately.
func Run(t *testing.T, embedder embed.Embedder) {
	t.Helper()
	t.Run("names itself", func(t *testing.T) {
		if embedder.Model() == "" || embedder.Dimensions() <= 0 {
			t.Errorf("model %q with %d dimensions", embedder.Model(), embedder.Dimensions())
		}
	})
	t.Run("no texts", func(t *testing.T) {
		if vectors, err := embedder.Embed(t.Context(), nil, embed.Passage); err != nil || len(vectors) != 0 {
			t.Errorf("got %d vectors, error %v", len(vectors), err)
		}
	})
	t.Run("unit vectors for every text", func(t *testing.T) {
		texts := []string{
			"A backup of the database", "", " \n\t", "…", "数据库备份", "a\xffb\x00c", strings.Repeat("long text ", 5000),
			strings.Repeat("x", 20000), "👍🏽",
		}
		for range 70 {
			texts = append(texts, fmt.Sprintf("passage %d of many", len(texts)))
		}
		for _, purpose := range []embed.Purpose{embed.Passage, embed.Query} {
			checkUnit(t, embedder, embedAll(t, embedder, texts, purpose), len(texts))
		}
	})
	t.Run("same text, same vector, in any company", func(t *testing.T) {
		alone := embedAll(t, embedder, []string{"restore a backup"}, embed.Passage)
		among := embedAll(t, embedder, []string{"other", "restore a backup", strings.Repeat("more ", 50)}, embed.Passage)
		if similarity := dot(alone[0], among[1]); similarity < 0.9999 {
			t.Errorf("similarity to itself is %f", similarity)
		}
	})
	t.Run("vectors are the caller's", func(t *testing.T) {
		first := embedAll(t, embedder, []string{"one text"}, embed.Passage)[0]
		clear(first)
		if second := embedAll(t, embedder, []string{"one text"}, embed.Passage)[0]; dot(second, second) < 0.99 {
			t.Error("changing a returned vector changed a later one")
		}
	})
	t.Run("concurrent use", func(t *testing.T) {
		want := embedAll(t, embedder, []string{"shared text"}, embed.Passage)[0]
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				vectors, err := embedder.Embed(t.Context(), []string{"noise", "shared text"}, embed.Passage)
				if err != nil || dot(vectors[1], want) < 0.9999 {
					t.Errorf("concurrent call: error %v", err)
				}
			})
		}
		group.Wait()
	})
	t.Run("ended context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := embedder.Embed(ctx, []string{"text"}, embed.Query); !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v, want one that is context.Canceled", err)
		}
	})
}

func embedAll(t *testing.T, embedder embed.Embedder, texts []string, purpose embed.Purpose) [][]float32 {
	t.Helper()
	vectors, err := embedder.Embed(t.Context(), texts, purpose)
	if err != nil {
		t.Fatalf("embed %d texts: %v", len(texts), err)
	}
	return vectors
}

func checkUnit(t *testing.T, embedder embed.Embedder, vectors [][]float32, want int) {
	t.Helper()
	if len(vectors) != want {
		t.Fatalf("got %d vectors for %d texts", len(vectors), want)
	}
	for i, vector := range vectors {
		if len(vector) != embedder.Dimensions() {
			t.Errorf("vector %d has %d values, want %d", i, len(vector), embedder.Dimensions())
		}
		if length := math.Sqrt(dot(vector, vector)); math.IsNaN(length) || math.Abs(length-1) > 1e-3 {
			t.Errorf("vector %d has length %f", i, length)
		}
	}
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
