package chat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/chat/quote"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/request/requestid"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/tracing"
	"github.com/magpie-search/magpie/internal/viewer"
)

// The causes of a failed answer.
var (
	errShuttingDown  = errors.New("the chat is closing")
	errTimeout       = errors.New("the answer took too long")
	errEmptyAnswer   = errors.New("the model wrote nothing")
	errAnswerTooLong = errors.New("the model writes without end")
)

// modelError wraps an error of the model or its provider.
type modelError struct{ error }

func (e modelError) Unwrap() error { return e.error }

// answer is one answer in progress. It belongs to one goroutine.
type answer struct {
	chat         *Chat
	viewer       viewer.Viewer
	scope        viewer.Scope
	collection   uuid.UUID // of scope, or zero if there is no single one
	conversation conversationState
	question     string
	events       chan<- Event

	text      strings.Builder
	citations *citationRewriter
	usage     Usage
	followUps []string
}

// run makes the answer and stores it. readerCtx is the context of the reader of
// the events. workCtx is derived from it, and Close can end it.
func (a *answer) run(readerCtx, workCtx context.Context) {
	workCtx, cancel := context.WithTimeoutCause(workCtx, a.chat.opt.AnswerTimeout, errTimeout)
	defer cancel()
	workCtx, span := tracing.Start(workCtx, "chat answer", slog.String("gen_ai.conversation.id", a.conversation.id.String()), slog.String(tracing.WorkspaceKey, a.viewer.Workspace.String()))
	err := a.callSafely(workCtx, a.produce)
	defer func() {
		span.Set(slog.Int("magpie.chat.sources", len(a.sources())))
		span.End(err)
	}()
	if storeErr := a.storeAnswer(readerCtx); storeErr != nil {
		a.log(workCtx, slog.LevelError, "answer not stored", storeErr)
	}
	if err == nil {
		err = a.callSafely(workCtx, a.sendClosing)
	}
	if err != nil {
		a.sendFailure(readerCtx, workCtx, err)
	}
}

// callSafely calls do and returns a panic as an error, because hostile text
// must not stop the process.
func (a *answer) callSafely(ctx context.Context, do func(context.Context) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return do(ctx)
}

// produce sends the Start event and the text of the answer.
func (a *answer) produce(ctx context.Context) error {
	if err := a.send(ctx, Start{Conversation: a.conversation.id, Collection: a.collection}); err != nil {
		return err
	}
	model := a.chatModel(ctx)
	recap := a.startRecap(ctx, model)
	defer recap.stop()
	standalone, err := a.standaloneQuestion(ctx, model)
	if err != nil {
		return err
	}
	if model == nil {
		return a.answerFromQuotes(ctx, standalone)
	}
	found, err := a.findPassages(ctx, standalone, min(a.chat.opt.MinScore, secondaryMinScore))
	if err != nil {
		return err
	}
	if hits := found.Hits; len(hits) > 0 && hits[0].Score >= a.chat.opt.MinScore {
		return a.answerFromModel(ctx, model, standalone, hits, recap)
	}
	return a.answerNothingFound(ctx, found.Hits)
}

// secondaryMinScore is the score that passages beside the best one need. Most of
// them answer only a part of the question, or say more about its subject.
const secondaryMinScore = 0.001

// chatModel returns the model that the viewer's key names, or the default, or
// nil if none is configured.
func (a *answer) chatModel(ctx context.Context) llm.ChatModel {
	model, found := a.chat.models.Lookup(a.viewer.ChatModel)
	if found {
		return model
	}
	model, found = a.chat.models.Default()
	if !found {
		return nil
	}
	a.log(ctx, slog.LevelWarn, "key's chat model not configured, using the default", nil)
	return model
}

// findPassages searches for passages to answer from.
func (a *answer) findPassages(ctx context.Context, text string, minScore float64) (*search.Results, error) {
	return a.search(ctx, search.Query{Text: text, Limit: a.chat.opt.Passages, MinScore: minScore, Collapse: true})
}

func (a *answer) search(ctx context.Context, q search.Query) (*search.Results, error) {
	ctx, span := tracing.Start(ctx, "chat retrieval")
	results, err := a.chat.search.Search(ctx, a.scope, q)
	span.End(err)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	return results, nil
}

// tokenBudgets returns how many tokens the prompt and the answer may have with
// a model.
func (a *answer) tokenBudgets(model llm.ChatModel) (prompt, answer int) {
	prompt, answer = llm.LimitsOf(model).Split(a.chat.opt.AnswerTokens)
	return min(a.chat.opt.PromptTokens, prompt), answer
}

// minAnswerTokens is left for an answer if the question alone fills the window.
const minAnswerTokens = 256

// answerFromModel lets the model answer from the passages.
func (a *answer) answerFromModel(ctx context.Context, model llm.ChatModel, standalone string, hits []search.Hit, recap *recap) error {
	m := a.material(standalone, hits)
	if m.summary, m.history = recap.wait(); ctx.Err() != nil {
		return context.Cause(ctx)
	}
	promptTokens, answerTokens := a.tokenBudgets(model)
	p := newPrompt(m, promptTokens, a.chat.opt.Tokens)
	if p.size > promptTokens {
		answerTokens = max(minAnswerTokens, min(answerTokens, llm.LimitsOf(model).ContextWindow-p.size))
	}
	if p.operatorTruncated {
		a.log(ctx, slog.LevelWarn, "key's chat context truncated", nil)
	}
	a.citations = newCitationRewriter(p.passages)
	counted := false
	defer func() {
		if !counted { // the stream broke before the provider's count
			a.addUsage(llm.Usage{PromptTokens: a.chat.opt.Tokens.CountMessages(p.messages), CompletionTokens: a.chat.opt.Tokens.Count(a.text.String())})
		}
	}()
	request := llm.Request{Messages: p.messages, MaxTokens: answerTokens, Temperature: answerTemperature}
	for event, err := range model.Stream(ctx, request) {
		if err != nil {
			if spent := llm.Spent(err); spent != (llm.Usage{}) {
				counted = true
				a.addUsage(spent)
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return modelError{fmt.Errorf("write the answer: %w", err)}
		}
		if event.Usage != nil {
			counted = true
			a.addUsage(*event.Usage)
		}
		if err := a.sendText(ctx, a.citations.write(event.Text)); err != nil {
			return err
		}
		if a.text.Len() > maxBytesPerToken*a.chat.opt.AnswerTokens {
			return modelError{errAnswerTooLong}
		}
	}
	if err := a.sendText(ctx, a.citations.flush()); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if strings.TrimSpace(a.text.String()) == "" {
		return modelError{errEmptyAnswer}
	}
	a.chooseFollowUps(ctx, languageFor(a.question, hits), hits, a.citations)
	return nil
}

// maxBytesPerToken detects a model that ignores its token limit: an answer with
// more bytes per allowed token is cut off.
const maxBytesPerToken = 32

// answerTemperature keeps the answer close to the passages.
const answerTemperature = 0.2

// answerFromQuotes answers with sentences of the documents.
func (a *answer) answerFromQuotes(ctx context.Context, standalone string) error {
	found, err := a.findPassages(ctx, standalone, quote.MinScore)
	if err != nil {
		return err
	}
	hits := found.Hits
	question := quote.Question{Text: a.question, Standalone: standalone, Words: found.Words, Passages: found.Passages}
	if found.DidYouMean != "" && standalone == a.question {
		question.Text, question.Standalone = found.DidYouMean, found.DidYouMean
	}
	quotes := quote.Select(a.chat.opt.Analyzer, question, hits)
	if len(quotes) == 0 {
		return a.answerNothingFound(ctx, hits)
	}
	a.citations = newCitationRewriter(hits)
	l := languageFor(a.question, hits)
	if err := a.sendText(ctx, l.quotesIntro()); err != nil {
		return err
	}
	for _, q := range quotes {
		separator := "\n\n"
		if q.Continues {
			separator = " "
		}
		citationSeparator := " "
		if q.Block {
			citationSeparator = "\n\n" // on the last line it would become part of the table or the fence
		}
		text := escapeCitations(q.Text)
		if err := a.sendText(ctx, separator+text+citationSeparator+"["+strconv.Itoa(a.citations.sourceNumber(q.HitIndex))+"]"); err != nil {
			return err
		}
	}
	a.chooseFollowUps(ctx, l, hits, a.citations)
	return nil
}

// answerNothingFound says that nothing was found. It offers no follow-ups: they would be
// about other subjects.
func (a *answer) answerNothingFound(ctx context.Context, near []search.Hit) error {
	a.citations, a.followUps = newCitationRewriter(nil), []string{}
	return a.sendText(ctx, languageFor(a.question, near).nothingFoundText())
}

// chooseFollowUps keeps the candidates that the searched documents answer.
func (a *answer) chooseFollowUps(ctx context.Context, l language, hits []search.Hit, citations *citationRewriter) {
	used := make(map[int]bool)
	for i, hit := range hits {
		if citations.isCited(hit) {
			used[i] = true
		}
	}
	a.followUps = []string{}
	for _, f := range followUps(a.chat.opt.Analyzer, l, a.question, a.conversation.history, hits, used) {
		found, err := a.search(ctx, search.Query{Text: f.topic, Limit: 1, MinScore: a.chat.opt.MinScore})
		if err != nil {
			if ctx.Err() == nil {
				a.log(ctx, slog.LevelWarn, "follow-ups not searched", err)
			}
			return
		}
		if len(found.Hits) > 0 {
			a.followUps = append(a.followUps, f.question)
		}
		if len(a.followUps) == maxFollowUps {
			return
		}
	}
}

// sendClosing sends the events after the text.
func (a *answer) sendClosing(ctx context.Context) error {
	for _, event := range []Event{
		Sources{Sources: a.sources()}, FollowUp{Questions: a.followUps}, Done{Usage: a.usage, Conversation: a.conversation.id},
	} {
		if err := a.send(ctx, event); err != nil {
			return err
		}
	}
	return nil
}

func (a *answer) sources() []Source {
	if a.citations == nil || a.citations.sources == nil {
		return []Source{}
	}
	return a.citations.sources
}

func (a *answer) addUsage(u llm.Usage) {
	a.usage.PromptTokens += u.PromptTokens
	a.usage.CompletionTokens += u.CompletionTokens
}

// sendText sends a piece of the answer and adds it to the stored text.
func (a *answer) sendText(ctx context.Context, text string) error {
	text = strings.ReplaceAll(text, "\x00", "") // PostgreSQL does not accept NUL
	if text == "" {
		return nil
	}
	if err := a.send(ctx, Content{Delta: text}); err != nil {
		return err
	}
	a.text.WriteString(text)
	return nil
}

// send passes an event to the reader and waits until the reader takes it.
func (a *answer) send(ctx context.Context, event Event) error {
	if ctx.Err() != nil { // select would choose either if both are ready
		return context.Cause(ctx)
	}
	select {
	case a.events <- event:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// storeAnswer stores the text so far, even if the reader has left.
func (a *answer) storeAnswer(readerCtx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(readerCtx), a.chat.opt.StoreTimeout)
	defer cancel()
	return a.chat.insertAnswer(ctx, a.viewer, a.conversation.id, a.text.String(), a.sources(), a.usage)
}

// sendFailure sends Failed to a reader that is still there.
func (a *answer) sendFailure(readerCtx, workCtx context.Context, err error) {
	if readerCtx.Err() != nil {
		a.log(workCtx, slog.LevelDebug, "reader left before the answer was complete", nil)
		return
	}
	failed := Failed{Code: apierr.From(err).Code, Message: "The answer could not be completed. Please try again."}
	var modelErr modelError
	switch {
	case errors.Is(err, errShuttingDown):
		failed = Failed{Code: apierr.Unavailable, Message: "The server is shutting down; try again in a moment."}
	case errors.Is(err, errTimeout):
		failed = Failed{Code: apierr.Unavailable, Message: "The answer took too long. Please try again."}
	case errors.As(err, &modelErr):
		failed.Code = apierr.Unavailable
	}
	failed.RequestID = requestid.From(workCtx)
	a.log(workCtx, slog.LevelError, "answer failed", err)
	ctx, cancel := context.WithTimeout(readerCtx, a.chat.opt.StoreTimeout)
	defer cancel()
	_ = a.send(ctx, failed) // fails only without a reader
}

// log adds the ids of the conversation to a message. Log messages contain no
// text of questions or answers.
func (a *answer) log(ctx context.Context, level slog.Level, message string, err error) {
	attributes := []slog.Attr{
		slog.String("workspace", a.viewer.Workspace.String()),
		slog.String("subject", a.viewer.Subject.String()),
		slog.String("conversation", a.conversation.id.String()),
	}
	if err != nil {
		attributes = append(attributes, slog.Any("error", err))
	}
	a.chat.opt.Log.LogAttrs(ctx, level, message, attributes...)
}
