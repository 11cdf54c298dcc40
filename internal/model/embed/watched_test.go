package embed_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// failing is an embedder that fails with an error, if it is not nil.
type failing struct {
	embed.Embedder
	err error
}

func (f *failing) Embed(context.Context, []string, embed.Purpose) ([][]float32, error) {
	return nil, f.err
}

func TestAWatchedEmbedderRemembersItsLastFailure(t *testing.T) {
	t.Parallel()
	model := &failing{Embedder: embed.NewBuiltin()}
	at := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	var observed []error
	watched := embed.Watch(model, func() time.Time { return at }, func(context.Context) func(context.Context, error) {
		return func(_ context.Context, err error) { observed = append(observed, err) }
	})
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, step := range []struct {
		ctx     context.Context
		err     error
		failing bool
		reason  string
	}{
		{t.Context(), nil, false, ""},
		{canceled, &provider.Error{Kind: provider.KindInterrupted}, false, ""},
		{t.Context(), &provider.Error{Kind: provider.KindUnavailable, Status: 503}, true, "The service failed or cannot be reached. (Status 503.)"},
		{canceled, &provider.Error{Kind: provider.KindTimeout}, true, "The service took too long."},
		{t.Context(), nil, false, "The service took too long."},
	} {
		model.err = step.err
		_, _ = watched.Embed(step.ctx, []string{"a"}, embed.Query)
		last := watched.LastFailure()
		if watched.IsFailing() != step.failing || (last == nil) != (step.reason == "") || last != nil && (last.Reason != step.reason || !last.At.Equal(at)) {
			t.Errorf("%v: %v, %+v", step.err, watched.IsFailing(), last)
		}
		if !errors.Is(observed[len(observed)-1], step.err) {
			t.Errorf("observed %v after %v", observed, step.err)
		}
	}
}
