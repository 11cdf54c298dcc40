package embed_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// A fakeModel is an embedder that calls a function of the test.
type fakeModel struct {
	calls atomic.Int64
	mutex sync.Mutex
	do    func(context.Context) error
}

func (*fakeModel) Model() string   { return "fake" }
func (*fakeModel) Dimensions() int { return 2 }

func (e *fakeModel) Embed(ctx context.Context, texts []string, _ embed.Purpose) ([][]float32, error) {
	e.calls.Add(1)
	e.mutex.Lock()
	do := e.do
	e.mutex.Unlock()
	if do != nil {
		if err := do(ctx); err != nil {
			return nil, err
		}
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = []float32{float32(len(text)), 1}
	}
	return vectors, nil
}

func (e *fakeModel) set(do func(context.Context) error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.do = do
}

func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestAQuestionWaitsForAHangingModelOnce(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	model := &fakeModel{}
	model.set(hang)
	q := embed.NewQuestions(model, embed.QuestionOptions{
		Timeout: 20 * time.Millisecond, Pause: time.Second, Now: func() time.Time { return time.Unix(1000, now.Load()) },
	})
	if _, err := q.Embed(t.Context(), "a"); err == nil || errors.Is(err, embed.ErrCircuitOpen) {
		t.Fatalf("the first question: %v", err)
	}
	for range 5 {
		if _, err := q.Embed(t.Context(), "b"); !errors.Is(err, embed.ErrCircuitOpen) {
			t.Fatalf("while the circuit is open: %v", err)
		}
	}
	if n := model.calls.Load(); n != 1 {
		t.Errorf("%d calls", n)
	}
	now.Store(int64(time.Second))
	model.set(nil)
	for range 3 {
		if v, err := q.Embed(t.Context(), "b"); err != nil || v[0] != 1 {
			t.Fatalf("the model answers again: %v, %v", v, err)
		}
	}
	if n := model.calls.Load(); n != 2 {
		t.Errorf("%d calls; the same question is sent once", n)
	}
}

func TestConsecutiveFailuresOpenTheCircuit(t *testing.T) {
	t.Parallel()
	model := &fakeModel{}
	model.set(func(context.Context) error { return &provider.Error{Kind: provider.KindUnavailable, Op: "embeddings"} })
	q := embed.NewQuestions(model, embed.QuestionOptions{Pause: time.Hour})
	for range 10 {
		if _, err := q.Embed(t.Context(), "a"); err == nil {
			t.Fatal("no error")
		}
	}
	if n := model.calls.Load(); n != 3 {
		t.Errorf("%d calls", n)
	}
}

func TestOtherFailuresDoNotOpenTheCircuit(t *testing.T) {
	t.Parallel()
	model := &fakeModel{}
	q := embed.NewQuestions(model, embed.QuestionOptions{Failures: 1, Pause: time.Hour, Timeout: time.Hour})
	model.set(func(context.Context) error { return &provider.Error{Kind: provider.KindRefused, Op: "embeddings"} })
	if _, err := q.Embed(t.Context(), "a"); err == nil {
		t.Error("no error")
	}
	model.set(hang)
	leaving, leave := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer leave()
	if _, err := q.Embed(leaving, "a"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a caller who leaves: %v", err)
	}
	model.set(nil)
	if _, err := q.Embed(t.Context(), "a"); err != nil {
		t.Errorf("the model works: %v", err)
	}
}

func TestTheCacheOfQuestionsIsLimitedInBytes(t *testing.T) {
	t.Parallel()
	model := &fakeModel{}
	q := embed.NewQuestions(model, embed.QuestionOptions{CacheBytes: 100 * 140})
	ask := func(text string) (sent bool) {
		t.Helper()
		before := model.calls.Load()
		if _, err := q.Embed(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		return model.calls.Load() > before
	}
	ask("often")
	for i := range 1000 {
		ask(fmt.Sprint(i))
		if ask("often") {
			t.Fatalf("what is asked again and again is forgotten after %d others", i+1)
		}
	}
	remembered := 0
	for i := range 1000 {
		text := fmt.Sprint(999 - i)
		if ask(text) {
			break
		}
		remembered++
	}
	if remembered == 0 || remembered > 100 {
		t.Errorf("%d questions are remembered", remembered)
	}
	long := fmt.Sprintf("%020000d", 1)
	for range 2 {
		if !ask(long) {
			t.Error("a question beyond the bound is remembered")
		}
	}
}
