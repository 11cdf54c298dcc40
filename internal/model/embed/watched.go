package embed

import (
	"context"
	"log/slog"
	"time"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// A Watched is an Embedder that remembers its last failure. It is safe for concurrent use.
type Watched struct {
	Embedder
	now     func() time.Time
	observe provider.Observe
	record  provider.Record
}

// Watch returns a Watched of an embedder, with the clock of its failures. observe is
// told of each request and may be nil.
func Watch(embedder Embedder, now func() time.Time, observe provider.Observe) *Watched {
	return &Watched{Embedder: embedder, now: now, observe: observe}
}

// Embed implements Embedder. Requests that their callers canceled do not count.
func (w *Watched) Embed(ctx context.Context, texts []string, purpose Purpose) ([][]float32, error) {
	start, ended := time.Now(), w.observe.Begin(ctx)
	vectors, err := w.Embedder.Embed(ctx, texts, purpose)
	ended(ctx, err)
	provider.Trace(ctx, "embeddings", w.Model(), start, err, slog.Int("magpie.texts", len(texts)))
	if err == nil || ctx.Err() == nil || provider.IsKind(err, provider.KindTimeout) {
		w.record.Note(err, w.now())
	}
	return vectors, err
}

// IsFailing reports whether the last request failed.
func (w *Watched) IsFailing() bool { return w.record.IsFailing() }

// LastFailure returns the last failure; nil for none.
func (w *Watched) LastFailure() *provider.Failure { return w.record.Last() }
