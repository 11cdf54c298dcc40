package llm_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/model/llm/llmtest"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// play is a model that answers requests with its acts in order, and repeats the last one.
type play struct {
	name string
	acts []act

	mu    sync.Mutex
	asked int
}

// An act is text followed by an error or usage.
type act struct {
	text  string
	usage llm.Usage
	err   error
	hold  <-chan struct{} // after the text
}

func (p *play) Name() string { return p.name }

func (p *play) Stream(ctx context.Context, _ llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		p.mu.Lock()
		a := p.acts[min(p.asked, len(p.acts)-1)]
		p.asked++
		p.mu.Unlock()
		for part := range strings.FieldsSeq(a.text) {
			if !yield(llm.Event{Text: part}, nil) {
				return
			}
		}
		if a.hold != nil {
			select {
			case <-a.hold:
			case <-ctx.Done():
				yield(llm.Event{}, ctx.Err())
				return
			}
		}
		switch {
		case ctx.Err() != nil:
			yield(llm.Event{}, ctx.Err())
		case a.err != nil:
			yield(llm.Event{}, a.err)
		default:
			yield(llm.Event{Usage: &a.usage}, nil)
		}
	}
}

func (p *play) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

func failing(kind provider.Kind) error {
	return &provider.Error{Kind: kind, Op: "chat", Message: "no", PromptTokens: 5, CompletionTokens: 1}
}

func TestGuardsAndChainsKeepTheContract(t *testing.T) {
	t.Parallel()
	server := llmtest.NewServer(t, llmtest.Reply{Parts: []string{"two", " words"}})
	model := claude(t, server)
	llmtest.Run(t, llm.NewGuard(model, llm.GuardOptions{}))
	down := &play{name: "down", acts: []act{{err: failing(provider.KindUnavailable)}}}
	llmtest.Run(t, llm.NewChain(nil, down, llm.NewGuard(model, llm.GuardOptions{})))
}

func TestFallbacksAreAskedBeforeTheFirstTextOnly(t *testing.T) {
	t.Parallel()
	good := act{text: "all well", usage: llm.Usage{PromptTokens: 100, CompletionTokens: 2}}
	for name, test := range map[string]struct {
		acts  []act // of the models of the chain
		text  string
		usage llm.Usage // of the answer or of the error
		kind  provider.Kind
		asked string
	}{
		"the first answers":       {[]act{good, good}, "allwell", good.usage, "", "10"},
		"unavailable":             {[]act{{err: failing(provider.KindUnavailable)}, good}, "allwell", llm.Usage{PromptTokens: 105, CompletionTokens: 3}, "", "11"},
		"no rights":               {[]act{{err: failing(provider.KindAuth)}, good}, "allwell", llm.Usage{PromptTokens: 105, CompletionTokens: 3}, "", "11"},
		"too long":                {[]act{{err: failing(provider.KindContextLength)}, good}, "allwell", llm.Usage{PromptTokens: 105, CompletionTokens: 3}, "", "11"},
		"silent":                  {[]act{{usage: llm.Usage{PromptTokens: 7, CompletionTokens: 1}}, good}, "allwell", llm.Usage{PromptTokens: 107, CompletionTokens: 3}, "", "11"},
		"an error of no kind":     {[]act{{err: errors.New("odd")}, good}, "allwell", good.usage, "", "11"},
		"two fail":                {[]act{{err: failing(provider.KindTimeout)}, {err: failing(provider.KindRateLimited)}, good}, "allwell", llm.Usage{PromptTokens: 110, CompletionTokens: 4}, "", "111"},
		"all fail":                {[]act{{err: failing(provider.KindTimeout)}, {err: failing(provider.KindRateLimited)}}, "", llm.Usage{PromptTokens: 10, CompletionTokens: 2}, provider.KindRateLimited, "11"},
		"the last one is silent":  {[]act{{err: failing(provider.KindTimeout)}, {usage: llm.Usage{PromptTokens: 7}}}, "", llm.Usage{PromptTokens: 12, CompletionTokens: 1}, "", "11"},
		"refused":                 {[]act{{err: failing(provider.KindRefused)}, good}, "", llm.Usage{PromptTokens: 5, CompletionTokens: 1}, provider.KindRefused, "10"},
		"broken after text":       {[]act{{text: "half", err: failing(provider.KindInterrupted)}, good}, "half", llm.Usage{PromptTokens: 5, CompletionTokens: 1}, provider.KindInterrupted, "10"},
		"nobody stands in for it": {[]act{{err: failing(provider.KindUnavailable)}}, "", llm.Usage{PromptTokens: 5, CompletionTokens: 1}, provider.KindUnavailable, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			plays, models := []*play{}, []llm.ChatModel{}
			for i, a := range test.acts {
				p := &play{name: "m" + string(rune('0'+i)), acts: []act{a}}
				plays, models = append(plays, p), append(models, p)
			}
			chain := llm.NewChain(slog.New(slog.NewTextHandler(&log, nil)), models[0], models[1:]...)
			text, usage, err := llmtest.Collect(t.Context(), chain, hello)
			if text != test.text || (err != nil) != (test.kind != "") || err != nil && !provider.IsKind(err, test.kind) {
				t.Errorf("text %q, error %v", text, err)
			}
			spent := llm.Spent(err)
			if usage != nil {
				spent = *usage
			}
			if spent != test.usage {
				t.Errorf("usage %+v, want %+v", spent, test.usage)
			}
			asked := ""
			for _, p := range plays {
				asked += string(rune('0' + p.count()))
			}
			if asked != test.asked {
				t.Errorf("asked %s, want %s", asked, test.asked)
			}
			if fellBack := strings.Count(asked, "1") > 1; fellBack != strings.Contains(log.String(), "next=m1") {
				t.Errorf("log %s", log.String())
			}
		})
	}
}

func TestAChainEndsWithItsContextAndConsumer(t *testing.T) {
	t.Parallel()
	first := &play{name: "a", acts: []act{{hold: make(chan struct{})}}}
	second := &play{name: "b", acts: []act{{text: "no"}}}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, _, err := llmtest.Collect(ctx, llm.NewChain(nil, first, second), hello); !errors.Is(err, context.DeadlineExceeded) || second.count() != 0 {
		t.Errorf("error %v", err)
	}
	talker := &play{name: "c", acts: []act{{text: "one two", err: failing(provider.KindTimeout)}}}
	for range llm.NewChain(nil, talker, second).Stream(t.Context(), hello) {
		break
	}
	if second.count() != 0 {
		t.Error("a stand-in was asked for a consumer who had left")
	}
}

func TestAChainHasTheStrictestLimits(t *testing.T) {
	t.Parallel()
	limited := func(window, output int) llm.ChatModel {
		model, err := llm.NewOpenAI(llm.Config{BaseURL: "http://x/v1", Model: "m", Limits: llm.Limits{ContextWindow: window, MaxOutputTokens: output}})
		if err != nil {
			t.Fatal(err)
		}
		return llm.NewGuard(model, llm.GuardOptions{})
	}
	got := llm.LimitsOf(llm.NewChain(nil, limited(50_000, 0), limited(8_000, 900), limited(0, 2_000)))
	if got != (llm.Limits{ContextWindow: 8_000, MaxOutputTokens: 900}) {
		t.Errorf("%+v", got)
	}
	if got := llm.LimitsOf(&play{}); got.ContextWindow != llm.DefaultContextWindow {
		t.Errorf("%+v", got)
	}
}

func TestWindowsOfKnownFamilies(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]int{
		"claude-sonnet-4-5": 200_000, "anthropic/Claude-Opus-4": 200_000, "gpt-4": 8_192, "gpt-4o-mini": 128_000, "openai/gpt-4.1": 128_000,
		"gpt-3.5-turbo": 16_000, "o3-mini": 128_000, "llama3.1:8b": llm.DefaultContextWindow, "": llm.DefaultContextWindow,
	} {
		if got := llm.KnownWindow(model); got != want {
			t.Errorf("%s: %d, want %d", model, got, want)
		}
	}
}

// A clock is a clock that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestConsecutiveFailuresOpenTheCircuit(t *testing.T) {
	t.Parallel()
	down := failing(provider.KindTimeout)
	model := &play{name: "m", acts: []act{
		{err: down}, {err: down}, {text: "up"}, {err: down}, {err: down}, {err: down}, // the third consecutive failure opens the circuit
		{err: down}, {text: "up"},
	}}
	at := &clock{now: time.Unix(1_000_000, 0)}
	var log bytes.Buffer
	var observed []error
	guard := llm.NewGuard(model, llm.GuardOptions{Now: at.Now, Log: slog.New(slog.NewTextHandler(&log, nil)), Observe: func(context.Context) func(context.Context, error) {
		return func(_ context.Context, err error) { observed = append(observed, err) }
	}})
	ask := func() error {
		_, _, err := llmtest.Collect(t.Context(), guard, hello)
		return err
	}
	for range 6 {
		_ = ask()
	}
	if model.count() != 6 {
		t.Fatalf("%d requests", model.count())
	}
	passedOver := func(when string) {
		t.Helper()
		before := model.count()
		var failure *provider.Error
		if err := ask(); !errors.As(err, &failure) || failure.Kind != provider.KindUnavailable || model.count() != before {
			t.Errorf("%s: error %v after %d requests", when, err, model.count()-before)
		}
	}
	passedOver("at once")
	at.move(29 * time.Second)
	passedOver("before the pause is over")
	at.move(2 * time.Second)
	if err := ask(); !provider.IsKind(err, provider.KindTimeout) || model.count() != 7 {
		t.Errorf("the probe: %v", err)
	}
	passedOver("after a failed probe")
	at.move(31 * time.Second)
	for range 2 {
		if err := ask(); err != nil {
			t.Errorf("after the pause: %v", err)
		}
	}
	if model.count() != 9 || strings.Count(log.String(), "not asked after") != 2 || !strings.Contains(log.String(), "recovered") {
		t.Errorf("%d requests, log %s", model.count(), log.String())
	}
	if len(observed) != model.count() || !errors.Is(observed[0], down) || observed[2] != nil {
		t.Errorf("observed %v of %d requests", observed, model.count())
	}
}

func TestOneRequestTestsAModelAfterThePause(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	model := &play{name: "m", acts: []act{{err: failing(provider.KindUnavailable)}, {hold: never}, {hold: never}, {text: "up"}}}
	at := &clock{now: time.Unix(1_000_000, 0)}
	guard := llm.NewGuard(model, llm.GuardOptions{Failures: 1, Now: at.Now})
	_, _, _ = llmtest.Collect(t.Context(), guard, hello)
	at.move(time.Hour)
	probing, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, _, err := llmtest.Collect(probing, guard, hello)
		ended <- err
	}()
	for model.count() < 2 {
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := llmtest.Collect(t.Context(), guard, hello); !provider.IsKind(err, provider.KindUnavailable) || model.count() != 2 {
		t.Errorf("a second request went through: %v", err)
	}
	cancel() // a canceled request does not count
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	leaving, leave := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer leave()
	if _, _, err := llmtest.Collect(leaving, guard, hello); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if text, _, err := llmtest.Collect(t.Context(), guard, hello); text != "up" || err != nil {
		t.Errorf("text %q, error %v", text, err)
	}
}

func TestOtherFailuresDoNotCount(t *testing.T) {
	t.Parallel()
	for _, a := range []act{
		{err: failing(provider.KindContextLength)}, {err: failing(provider.KindRefused)}, {err: failing(provider.KindInvalid)},
		{err: errors.New("odd")}, {text: "half", err: failing(provider.KindInterrupted)},
	} {
		model := &play{name: "m", acts: []act{a}}
		guard := llm.NewGuard(model, llm.GuardOptions{Failures: 2})
		for range 5 {
			_, _, _ = llmtest.Collect(t.Context(), guard, hello)
		}
		if model.count() != 5 {
			t.Errorf("%v: the circuit is open after %d requests", a.err, model.count())
		}
	}
}
