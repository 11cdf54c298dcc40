package llm

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// defaultRetryWait is waited before the second try when the service does not say how long.
const defaultRetryWait = 500 * time.Millisecond

// try is one request to a service: what all protocols have in common.
type try struct {
	cfg     *Config
	request Request
	yield   func(Event, error) bool
	note    *provider.Note
	watch   *time.Timer

	text    strings.Builder
	calls   calls
	finish  Finish
	usage   *Usage // as the service told it so far
	started bool   // text was yielded
	stopped bool   // the consumer wants no more
}

// stream asks by a protocol's ask, which yields text by say, notes the usage it is told, and returns when the answer is
// complete or an error of package provider. There is one rule for all models: a request that fails before the first part
// of the answer in a way that may pass is tried once more, after the time that the service asks for, if that is not longer
// than MaxRetryWait.
func stream(ctx context.Context, cfg *Config, request Request, ask func(context.Context, *try) error) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var spent Usage // by tries that failed
		for number := 1; ; number++ {
			t := &try{cfg: cfg, request: request, yield: yield}
			err := t.run(ctx, ask)
			switch {
			case t.stopped:
				return
			case err == nil:
				t.complete(spent)
				return
			}
			err = withoutTools(err, request)
			if t.usage != nil {
				spent = spent.plus(*t.usage)
			}
			if wait, again := t.retry(ctx, err, number); again && cfg.Sleep(ctx, wait) == nil {
				continue
			}
			yield(Event{}, withSpent(err, spent))
			return
		}
	}
}

func (t *try) run(ctx context.Context, ask func(context.Context, *try) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, t.note = provider.WithNote(ctx)
	limit := t.cfg.FirstByteTimeout
	t.watch = time.AfterFunc(limit, func() {
		cancel(&provider.Error{Kind: provider.KindTimeout, Op: "chat", Message: "no answer in time"})
	})
	defer t.watch.Stop()
	return ask(ctx, t)
}

// heard stops the clock: what the consumer does with a part takes its own time.
func (t *try) heard() { t.watch.Stop() }

// listen starts the clock for the next part.
func (t *try) listen() { t.watch.Reset(t.cfg.IdleTimeout) }

// say yields text and reports whether the consumer wants more.
func (t *try) say(text string) bool {
	if text == "" {
		return true
	}
	t.started = true
	t.text.WriteString(text)
	t.stopped = !t.yield(Event{Text: text}, nil)
	return !t.stopped
}

// complete yields the calls and the end, with the usage counted where the service did not tell it.
func (t *try) complete(spent Usage) {
	made := t.calls.complete()
	for i := range made {
		if !t.yield(Event{Call: &made[i]}, nil) {
			return
		}
	}
	if t.usage == nil {
		t.usage = &Usage{
			PromptTokens:     t.cfg.Tokens.CountMessages(t.request.Messages) + t.cfg.Tokens.CountTools(t.request.Tools),
			CompletionTokens: t.cfg.Tokens.Count(t.text.String()),
		}
		for _, call := range made {
			t.usage.CompletionTokens += t.cfg.Tokens.countCall(call)
		}
	}
	t.yield(Event{Finish: t.finish, Usage: new(spent.plus(*t.usage))}, nil)
}

func (t *try) retry(ctx context.Context, err error, number int) (time.Duration, bool) {
	var failure *provider.Error
	if number > 1 || t.started || ctx.Err() != nil || !errors.As(err, &failure) || !failure.Retryable() || failure.Kind == provider.KindTimeout {
		return 0, false
	}
	wait := failure.RetryAfter()
	if wait == 0 {
		wait = defaultRetryWait
	}
	return wait, wait <= t.cfg.MaxRetryWait
}

// plus is the sum of two usages.
func (u Usage) plus(other Usage) Usage {
	return Usage{PromptTokens: u.PromptTokens + other.PromptTokens, CompletionTokens: u.CompletionTokens + other.CompletionTokens}
}

// withSpent notes in an error what the service reported for what came to nothing.
func withSpent(err error, spent Usage) error {
	var failure *provider.Error
	if spent == (Usage{}) || !errors.As(err, &failure) {
		return err
	}
	noted := *failure
	noted.PromptTokens, noted.CompletionTokens = spent.PromptTokens, spent.CompletionTokens
	return &noted
}

// Spent is the usage that services reported for a request that failed; zero when they reported none.
func Spent(err error) Usage {
	var failure *provider.Error
	if !errors.As(err, &failure) {
		return Usage{}
	}
	return Usage{PromptTokens: failure.PromptTokens, CompletionTokens: failure.CompletionTokens}
}
