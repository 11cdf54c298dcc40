package rerank_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
	"github.com/magpie-search/magpie/internal/model/rerank"
)

// failing is a reranker that returns its errors in order.
type failing struct {
	errs  []error
	calls int
}

func (*failing) Model() string { return "failing" }

func (f *failing) Rerank(_ context.Context, _ string, passages []string) ([]float64, error) {
	f.calls++
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		return nil, err
	}
	return make([]float64, len(passages)), nil
}

func TestFailuresOpenTheCircuit(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	hung := &provider.Error{Kind: provider.KindTimeout, Op: "rerank"}
	down := &provider.Error{Kind: provider.KindUnavailable, Op: "rerank"}
	model := &failing{errs: []error{down, down, &provider.Error{Kind: provider.KindInvalid, Op: "rerank"}, hung, down}}
	var observed []error
	guard := rerank.NewGuard(model, rerank.GuardOptions{Pause: time.Second, Now: func() time.Time { return now }, Observe: func(context.Context) func(context.Context, error) {
		return func(_ context.Context, err error) { observed = append(observed, err) }
	}})
	ask := func() error {
		_, err := guard.Rerank(t.Context(), "question", []string{"passage"})
		return err
	}
	for i := range 4 {
		if err := ask(); err == nil || errors.Is(err, rerank.ErrCircuitOpen) {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	if err := ask(); !errors.Is(err, rerank.ErrCircuitOpen) || model.calls != 4 {
		t.Errorf("after a time-out: %v, %d calls", err, model.calls)
	}
	now = now.Add(time.Second)
	if err := ask(); !errors.Is(err, down) {
		t.Errorf("the try: %v", err)
	}
	now = now.Add(time.Second)
	if err := ask(); !errors.Is(err, rerank.ErrCircuitOpen) {
		t.Errorf("a try that failed doubles the pause: %v", err)
	}
	now = now.Add(time.Second)
	for range 2 {
		if err := ask(); err != nil {
			t.Errorf("it answers again: %v", err)
		}
	}
	if len(observed) != model.calls || !errors.Is(observed[0], down) || observed[len(observed)-1] != nil {
		t.Errorf("observed %v of %d calls", observed, model.calls)
	}
}
