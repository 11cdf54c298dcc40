package llm

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// defaultRetryWait is the delay of a retry if the service does not ask for one.
const defaultRetryWait = 500 * time.Millisecond

// An attempt is one request to a service, independent of the protocol.
type attempt struct {
	cfg     *Config
	request Request
	yield   func(Event, error) bool
	note    *provider.Note
	timer   *time.Timer // cancels the request when no part arrives in time

	text    strings.Builder
	calls   calls
	finish  Finish
	usage   *Usage // nil until the service has sent it
	started bool   // text was yielded
	stopped bool   // the consumer has stopped reading
}

// stream returns the events of an answer. ask makes one request in the protocol of a service: it yields the text, sets the
// usage, and returns nil for a complete answer or an error of package provider. A request that fails with a temporary
// error before the first part of the answer is retried once, after the time that the service asks for, unless that is
// longer than MaxRetryWait.
func stream(ctx context.Context, cfg *Config, request Request, ask func(context.Context, *attempt) error) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var spent Usage // of failed attempts
		for number := 1; ; number++ {
			a := &attempt{cfg: cfg, request: request, yield: yield}
			err := a.run(ctx, ask)
			switch {
			case a.stopped:
				return
			case err == nil:
				a.complete(spent)
				return
			}
			err = noToolsError(err, request)
			if a.usage != nil {
				spent = spent.plus(*a.usage)
			}
			if wait, retry := a.retryDelay(ctx, err, number); retry && cfg.Sleep(ctx, wait) == nil {
				continue
			}
			yield(Event{}, withSpent(err, spent))
			return
		}
	}
}

func (a *attempt) run(ctx context.Context, ask func(context.Context, *attempt) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, a.note = provider.WithNote(ctx)
	limit := a.cfg.FirstByteTimeout
	a.timer = time.AfterFunc(limit, func() {
		cancel(&provider.Error{Kind: provider.KindTimeout, Op: "chat", Message: "no answer in time"})
	})
	defer a.timer.Stop()
	return ask(ctx, a)
}

// stopTimer stops the timer while the consumer handles a part.
func (a *attempt) stopTimer() { a.timer.Stop() }

// startTimer starts the timer for the next part.
func (a *attempt) startTimer() { a.timer.Reset(a.cfg.IdleTimeout) }

// yieldText yields text and reports whether the consumer reads on.
func (a *attempt) yieldText(text string) bool {
	if text == "" {
		return true
	}
	a.started = true
	a.text.WriteString(text)
	a.stopped = !a.yield(Event{Text: text}, nil)
	return !a.stopped
}

// complete yields the tool calls and the last event. It counts the usage if the service did not send it.
func (a *attempt) complete(spent Usage) {
	made := a.calls.complete()
	for i := range made {
		if !a.yield(Event{Call: &made[i]}, nil) {
			return
		}
	}
	if a.usage == nil {
		a.usage = &Usage{
			PromptTokens:     a.cfg.Tokens.CountMessages(a.request.Messages) + a.cfg.Tokens.CountTools(a.request.Tools),
			CompletionTokens: a.cfg.Tokens.Count(a.text.String()),
		}
		for _, call := range made {
			a.usage.CompletionTokens += a.cfg.Tokens.countCall(call)
		}
	}
	a.yield(Event{Finish: a.finish, Usage: new(spent.plus(*a.usage))}, nil)
}

func (a *attempt) retryDelay(ctx context.Context, err error, number int) (time.Duration, bool) {
	var failure *provider.Error
	if number > 1 || a.started || ctx.Err() != nil || !errors.As(err, &failure) || !failure.Retryable() || failure.Kind == provider.KindTimeout {
		return 0, false
	}
	wait := failure.RetryAfter()
	if wait == 0 {
		wait = defaultRetryWait
	}
	return wait, wait <= a.cfg.MaxRetryWait
}

// plus returns the sum of two usages.
func (u Usage) plus(other Usage) Usage {
	return Usage{PromptTokens: u.PromptTokens + other.PromptTokens, CompletionTokens: u.CompletionTokens + other.CompletionTokens}
}

// withSpent returns an error with the usage of the failed request.
func withSpent(err error, spent Usage) error {
	var failure *provider.Error
	if spent == (Usage{}) || !errors.As(err, &failure) {
		return err
	}
	wrapped := *failure
	wrapped.PromptTokens, wrapped.CompletionTokens = spent.PromptTokens, spent.CompletionTokens
	return &wrapped
}

// Spent returns the usage that services reported for a failed request, or zero.
func Spent(err error) Usage {
	var failure *provider.Error
	if !errors.As(err, &failure) {
		return Usage{}
	}
	return Usage{PromptTokens: failure.PromptTokens, CompletionTokens: failure.CompletionTokens}
}
