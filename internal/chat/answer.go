package chat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Why an answer broke off.
var (
	errClosing  = errors.New("the chat is closing")
	errTooSlow  = errors.New("the answer took too long")
	errNoAnswer = errors.New("the model wrote nothing")
	errEndless  = errors.New("the model writes without end")
)

// modelError marks what the model or its provider did wrong.
type modelError struct{ error }

func (e modelError) Unwrap() error { return e.error }

// answer is one answer under way. It belongs to one goroutine.
type answer struct {
	chat     *Chat
	viewer   viewer.Viewer
	scope    viewer.Scope
	talk     talk
	question string
	events   chan<- Event

	said   strings.Builder
	cites  *citations
	usage  Usage
	follow []string
}

// run makes the answer and stores it. reader is the context of the one who reads the events, work a child of it that
// Close may end.
func (a *answer) run(reader, work context.Context) {
	work, cancel := context.WithTimeoutCause(work, a.chat.opt.AnswerTimeout, errTooSlow)
	defer cancel()
	err := a.safely(work, a.speak)
	if storing := a.store(reader); storing != nil {
		a.log(work, slog.LevelError, "an answer was not stored", storing)
	}
	if err == nil {
		err = a.safely(work, a.conclude)
	}
	if err != nil {
		a.fail(reader, work, err)
	}
}

// safely turns a panic into an error: hostile text must not take the process down.
func (a *answer) safely(ctx context.Context, do func(context.Context) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return do(ctx)
}

// speak sends the start and the text of the answer.
func (a *answer) speak(ctx context.Context) error {
	if err := a.send(ctx, Start{Conversation: a.talk.id}); err != nil {
		return err
	}
	model := a.model(ctx)
	past := a.lookBack(ctx, model)
	defer past.end()
	standalone, err := a.standalone(ctx, model)
	if err != nil {
		return err
	}
	hits, err := a.find(ctx, standalone, a.chat.opt.MinScore*companionShare)
	if err != nil {
		return err
	}
	switch {
	case len(hits) == 0 || hits[0].Score < a.chat.opt.MinScore:
		return a.giveUp(ctx, standalone, hits)
	case model == nil:
		return a.quote(ctx, standalone, hits)
	default:
		return a.write(ctx, model, standalone, hits, past)
	}
}

// companionShare of the score that the best passage must reach is enough for those that accompany it.
const companionShare = 0.5

// model is the one the viewer's key names, else the default; nil when none is configured.
func (a *answer) model(ctx context.Context) llm.ChatModel {
	model, found := a.chat.models.Lookup(a.viewer.ChatModel)
	if found {
		return model
	}
	model, found = a.chat.models.Default()
	if !found {
		return nil
	}
	a.log(ctx, slog.LevelWarn, "the key names a chat model that is not configured; the default answers", nil)
	return model
}

// find searches for passages to answer from.
func (a *answer) find(ctx context.Context, text string, minScore float64) ([]search.Hit, error) {
	return a.search(ctx, search.Query{Text: text, Limit: a.chat.opt.Passages, MinScore: minScore})
}

func (a *answer) search(ctx context.Context, q search.Query) ([]search.Hit, error) {
	results, err := a.chat.search.Search(ctx, a.scope, q)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	return results.Hits, nil
}

// room is how many tokens the prompt and the answer may have with a model.
func (a *answer) room(model llm.ChatModel) (asked, written int) {
	limits := llm.LimitsOf(model)
	written = min(a.chat.opt.AnswerTokens, limits.ContextWindow/3)
	if limits.MaxOutputTokens > 0 {
		written = min(written, limits.MaxOutputTokens)
	}
	// Models count differently: a quarter of what the window leaves stays free.
	return min(a.chat.opt.PromptTokens, (limits.ContextWindow-written)*3/4), written
}

// shortAnswer is what is left for an answer, in tokens, where a question alone fills the window.
const shortAnswer = 256

// write lets the model answer from the passages.
func (a *answer) write(ctx context.Context, model llm.ChatModel, standalone string, hits []search.Hit, past *lookBack) error {
	m := a.material(standalone, hits)
	if m.summary, m.history = past.wait(); ctx.Err() != nil {
		return context.Cause(ctx)
	}
	asked, written := a.room(model)
	p := newPrompt(m, asked, a.chat.opt.Tokens)
	if p.size > asked {
		written = max(shortAnswer, min(written, llm.LimitsOf(model).ContextWindow-p.size))
	}
	if p.cut {
		a.log(ctx, slog.LevelWarn, "the key's chat context does not fit into the prompt and was cut", nil)
	}
	a.cites = newCitations(p.passages)
	counted := false
	defer func() {
		if !counted { // broken off: the provider's count never came
			a.count(llm.Usage{PromptTokens: a.chat.opt.Tokens.CountMessages(p.messages), CompletionTokens: a.chat.opt.Tokens.Count(a.said.String())})
		}
	}()
	request := llm.Request{Messages: p.messages, MaxTokens: written, Temperature: answerTemperature}
	for event, err := range model.Stream(ctx, request) {
		if err != nil {
			if spent := llm.Spent(err); spent != (llm.Usage{}) {
				counted = true
				a.count(spent)
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return modelError{fmt.Errorf("write the answer: %w", err)}
		}
		if event.Usage != nil {
			counted = true
			a.count(*event.Usage)
		}
		if err := a.say(ctx, a.cites.write(event.Text)); err != nil {
			return err
		}
		if a.said.Len() > endless*a.chat.opt.AnswerTokens {
			return modelError{errEndless}
		}
	}
	if err := a.say(ctx, a.cites.flush()); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if strings.TrimSpace(a.said.String()) == "" {
		return modelError{errNoAnswer}
	}
	a.offer(ctx, languageFor(a.question, hits), hits, a.cites)
	return nil
}

// endless is how many bytes of an answer for each token that it may have show that its model does not keep to that.
const endless = 32

// answerTemperature keeps a model close to its passages.
const answerTemperature = 0.2

// quote answers with sentences of the documents.
func (a *answer) quote(ctx context.Context, standalone string, hits []search.Hit) error {
	a.cites = newCitations(hits)
	quotes := extract(a.chat.opt.Analyzer, a.question, standalone, hits)
	if len(quotes) == 0 {
		return a.giveUp(ctx, standalone, hits)
	}
	l := languageFor(a.question, hits)
	if err := a.say(ctx, l.quotesFollow()); err != nil {
		return err
	}
	for i, q := range quotes {
		separator := "\n\n"
		if i > 0 && !q.whole && !quotes[i-1].whole && quotes[i-1].hit == q.hit && quotes[i-1].block == q.block && quotes[i-1].order+1 == q.order {
			separator = " " // neighbours stay one paragraph
		}
		mark := " "
		if q.whole {
			mark = "\n\n" // behind a closing fence or a table row it would become part of it
		}
		if err := a.say(ctx, separator+q.text+mark+"["+strconv.Itoa(a.cites.source(q.hit))+"]"); err != nil {
			return err
		}
	}
	a.offer(ctx, l, hits, a.cites)
	return nil
}

// giveUp says that nothing was found, and offers what could be asked instead: about what is near, however far that is.
func (a *answer) giveUp(ctx context.Context, standalone string, near []search.Hit) error {
	if len(near) == 0 {
		var err error
		if near, err = a.find(ctx, standalone, 0); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			a.log(ctx, slog.LevelWarn, "no follow-ups were found", err)
		}
	}
	a.cites = newCitations(nil)
	l := languageFor(a.question, near)
	if err := a.say(ctx, l.nothingFound()); err != nil {
		return err
	}
	a.offer(ctx, l, near, a.cites)
	return nil
}

// offer chooses the follow-ups: those of the candidates that the searched documents answer.
func (a *answer) offer(ctx context.Context, l language, hits []search.Hit, cites *citations) {
	used := make(map[int]bool)
	for i, hit := range hits {
		if cites.cited(hit) {
			used[i] = true
		}
	}
	a.follow = []string{}
	for _, question := range followUps(a.chat.opt.Analyzer, l, a.question, a.talk.history, hits, used) {
		found, err := a.search(ctx, search.Query{Text: question, Limit: 1, MinScore: a.chat.opt.MinScore})
		if err != nil {
			if ctx.Err() == nil {
				a.log(ctx, slog.LevelWarn, "no follow-ups were found", err)
			}
			return
		}
		if len(found) > 0 {
			a.follow = append(a.follow, question)
		}
		if len(a.follow) == maxFollowUps {
			return
		}
	}
}

// conclude sends what comes after the text.
func (a *answer) conclude(ctx context.Context) error {
	for _, event := range []Event{
		Sources{Sources: a.sources()}, FollowUp{Questions: a.follow}, Done{Usage: a.usage, Conversation: a.talk.id},
	} {
		if err := a.send(ctx, event); err != nil {
			return err
		}
	}
	return nil
}

func (a *answer) sources() []Source {
	if a.cites == nil || a.cites.sources == nil {
		return []Source{}
	}
	return a.cites.sources
}

func (a *answer) count(u llm.Usage) {
	a.usage.PromptTokens += u.PromptTokens
	a.usage.CompletionTokens += u.CompletionTokens
}

// say sends a piece of the answer and remembers it.
func (a *answer) say(ctx context.Context, text string) error {
	text = strings.ReplaceAll(text, "\x00", "") // PostgreSQL has no place for it
	if text == "" {
		return nil
	}
	if err := a.send(ctx, Content{Delta: text}); err != nil {
		return err
	}
	a.said.WriteString(text)
	return nil
}

// send hands an event to the reader, who sets the pace.
func (a *answer) send(ctx context.Context, event Event) error {
	if ctx.Err() != nil { // select takes either when both are ready
		return context.Cause(ctx)
	}
	select {
	case a.events <- event:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// store keeps what was said, also when the reader has left.
func (a *answer) store(reader context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(reader), a.chat.opt.StoreTimeout)
	defer cancel()
	return a.chat.keep(ctx, a.viewer, a.talk.id, a.said.String(), a.sources(), a.usage)
}

// fail tells the reader, if there still is one, that the answer broke off.
func (a *answer) fail(reader, work context.Context, err error) {
	if reader.Err() != nil {
		a.log(work, slog.LevelDebug, "the reader left before the answer was complete", nil)
		return
	}
	failed := Failed{Code: apierr.From(err).Code, Message: "The answer could not be completed. Please try again."}
	var fromModel modelError
	switch {
	case errors.Is(err, errClosing):
		failed = Failed{Code: apierr.Unavailable, Message: "The server is shutting down; try again in a moment."}
	case errors.Is(err, errTooSlow):
		failed = Failed{Code: apierr.Unavailable, Message: "The answer took too long. Please try again."}
	case errors.As(err, &fromModel):
		failed.Code = apierr.Unavailable
	}
	a.log(work, slog.LevelError, "an answer broke off", err)
	ctx, cancel := context.WithTimeout(reader, a.chat.opt.StoreTimeout)
	defer cancel()
	_ = a.send(ctx, failed) // the reader left, or does not read: nobody is there to tell
}

// log writes with the ids that lead to the conversation, and never with what was said.
func (a *answer) log(ctx context.Context, level slog.Level, message string, err error) {
	attributes := []slog.Attr{
		slog.String("workspace", a.viewer.Workspace.String()),
		slog.String("subject", a.viewer.Subject.String()),
		slog.String("conversation", a.talk.id.String()),
	}
	if err != nil {
		attributes = append(attributes, slog.Any("error", err))
	}
	a.chat.opt.Log.LogAttrs(ctx, level, message, attributes...)
}
