package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/tools"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	"github.com/magpie-search/magpie/ent/message"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

// work is one run under way. It belongs to one goroutine.
type work struct {
	runs    *Runs
	row     *ent.AgentRun
	agent   *ent.Agent
	viewer  viewer.Viewer
	reach   viewer.Scope
	model   llm.ChatModel
	history []llm.Message
	message string
	active  *active
	cites   *chat.Citations
	journal *journal
	outcome loop.Outcome
}

// withoutCitations is the text of an earlier answer without its marks.
func withoutCitations(text string) string { return chat.WithoutCitations(text) }

// recalled is how many memories a run is told at most, and recallTime how long they are looked for.
const (
	recalled   = 8
	recallTime = 3 * time.Second
)

// run does the work and stores its end.
func (w *work) run(ctx context.Context) {
	w.cites = chat.NewCitations()
	w.journal = newJournal(w.runs, w.row)
	failure := w.safely(ctx)
	w.close(ctx, failure)
	r := w.runs
	r.mu.Lock()
	w.active.ended = true
	if w.active.timer != nil {
		w.active.timer.Stop()
	}
	delete(r.active, w.row.ID)
	r.mu.Unlock()
}

// safely turns a panic into an error.
func (w *work) safely(ctx context.Context) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	r := w.runs
	desk := tools.RunContext{Scope: w.reach, SourceNumber: func(h search.Hit) int { return w.cites.Add(h) }, Agent: w.agent.ID, Run: w.row.ID}
	if r.opt.Memories != nil && w.model != nil {
		desk.Memories = r.opt.Memories
	}
	task := loop.Task{
		System: w.agent.SystemPrompt, History: w.history, Message: w.message, Model: w.model, Citer: w.cites,
		Tools: r.opt.Kit.Tools(desk, w.agent.Tools), Memories: w.memories(ctx),
		FindQuotes: func(question string, hits []search.Hit) []loop.Quote {
			var out []loop.Quote
			for _, e := range chat.Excerpts(r.opt.Analyzer, question, hits) {
				out = append(out, loop.Quote{Text: e.Text, HitIndex: e.Hit, Block: e.Whole})
			}
			return out
		},
	}
	// What cannot be written down any more is not worth going on with.
	working, give := context.WithCancelCause(ctx)
	defer give(nil)
	written := make(chan struct{})
	go func() {
		defer close(written)
		if err := w.journal.write(working); err != nil {
			give(err)
		}
	}()
	w.outcome, err = r.loop.Run(working, task, w.tell)
	w.outcome.Answer = clean(w.outcome.Answer)
	w.journal.close()
	<-written
	if failed := w.journal.failure(); failed != nil && err == nil {
		err = failed
	}
	return err
}

// memories is what the agent should know; that they cannot be found is no reason not to run.
func (w *work) memories(ctx context.Context) []loop.Memory {
	if w.runs.opt.Memories == nil || w.model == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, recallTime)
	defer cancel()
	items, err := w.runs.opt.Memories.Recall(ctx, w.agent.ID, w.message, recalled)
	if err != nil {
		w.runs.opt.Log.WarnContext(ctx, "an agent runs without its memories", slog.Any("run", w.row.ID), slog.Any("error", err))
		return nil
	}
	out := make([]loop.Memory, len(items))
	for i, item := range items {
		out[i] = loop.Memory{Kind: string(item.Kind), Content: item.Content}
	}
	return out
}

// tell writes an event of the loop down.
func (w *work) tell(e loop.Event) error {
	switch e := e.(type) {
	case loop.Iteration:
		return w.journal.add(TypeIteration, Iteration{Number: e.Number, Status: string(e.Status)})
	case loop.ToolCall:
		return w.journal.add(TypeToolCall, ToolCall{Tool: e.Tool, Params: e.Params, CallID: e.CallID})
	case loop.ToolResult:
		return w.journal.add(TypeToolResult, ToolResult{Tool: e.Tool, Success: e.Success, CallID: e.CallID, Message: clean(e.Message)})
	case loop.Content:
		return w.journal.say(clean(e.Text))
	}
	return fmt.Errorf("an event of the unknown type %T", e)
}

// close stores the end of the run: its last event, what it came to, and the answer as far as it got.
func (w *work) close(ctx context.Context, failure error) {
	r := w.runs
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.opt.Store)
	defer cancel()
	status, told := w.verdict(ctx, failure)
	if errors.Is(failure, errElsewhere) {
		return // and its end is stored
	}
	err := w.store(ctx, status, told)
	if err != nil && !errors.Is(err, errElsewhere) {
		r.opt.Log.ErrorContext(ctx, "the end of a run was not stored; it will be found by its heartbeat", slog.Any("run", w.row.ID), slog.Any("error", err))
	}
	r.tellAll(ctx, w.row.ID)
}

func (w *work) store(ctx context.Context, status agentrun.Status, told *Failure) error {
	r := w.runs
	tx, err := r.opt.Ent.Tx(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	if err := w.end(ctx, tx, status, told); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

func (w *work) end(ctx context.Context, tx *ent.Tx, status agentrun.Status, told *Failure) error {
	last := draft{kind: TypeComplete}
	var cited []chat.Source
	if w.cites != nil {
		cited = w.cites.Sources()
	}
	usage := w.outcome.Usage
	var err error
	if told != nil {
		last.kind = TypeError
		last.data, err = json.Marshal(told)
	} else {
		last.data, err = json.Marshal(Complete{Sources: sourcesOf(cited), Usage: Usage{
			TotalTokens: usage.TotalTokens(), PromptTokens: usage.PromptTokens, CompletionTokens: usage.CompletionTokens,
		}})
	}
	if err != nil {
		return fmt.Errorf("write the last event: %w", err)
	}
	seq := int64(1)
	rest := []draft{last}
	if w.journal != nil {
		var left []draft
		seq, left = w.journal.left()
		rest = append(left, last)
	}
	if err := insert(ctx, tx, w.row, seq+1, rest); err != nil {
		return err
	}
	now := w.runs.opt.Now()
	update := tx.AgentRun.UpdateOneID(w.row.ID).SetStatus(status).SetAnswer(w.outcome.Answer).SetIterations(w.outcome.Iterations).
		SetToolCalls(w.outcome.ToolCalls).SetPromptTokens(usage.PromptTokens).SetCompletionTokens(usage.CompletionTokens).
		SetFinishedAt(now).SetUpdatedAt(now)
	if told != nil {
		update.SetError(told.Message)
	}
	if err := update.Exec(ctx); err != nil {
		return fmt.Errorf("store the outcome: %w", err)
	}
	if strings.TrimSpace(w.outcome.Answer) == "" {
		return nil
	}
	list := make([]map[string]any, len(cited))
	for i, s := range cited {
		list[i] = map[string]any{"id": s.ID.String(), "title": s.Title, "url": s.URL}
	}
	err = tx.Message.Create().SetConversationID(w.row.ConversationID).SetSubjectID(w.viewer.Subject).SetRole(message.RoleAssistant).
		SetContent(w.outcome.Answer).SetSources(list).SetRunID(w.row.ID).
		SetPromptTokens(usage.PromptTokens).SetCompletionTokens(usage.CompletionTokens).SetCreatedAt(now).SetUpdatedAt(now).Exec(ctx)
	if err != nil {
		return fmt.Errorf("store the answer: %w", err)
	}
	return nil
}

// verdict is how a run ended, and what people are told of a failure; the cause goes to the log.
func (w *work) verdict(ctx context.Context, failure error) (agentrun.Status, *Failure) {
	var model *loop.ModelError
	switch {
	case failure == nil:
		return agentrun.StatusCompleted, nil
	case errors.Is(failure, errCanceled):
		return agentrun.StatusCanceled, &Failure{apierr.Unavailable, "The run was canceled."}
	case errors.Is(failure, errAbandoned):
		return agentrun.StatusCanceled, &Failure{apierr.Unavailable, "The run was ended, since nobody followed it any more."}
	case errors.Is(failure, errClosing):
		return agentrun.StatusFailed, &Failure{apierr.Unavailable, "The server is shutting down; run it again in a moment."}
	case errors.Is(failure, loop.ErrTimeout):
		return agentrun.StatusFailed, &Failure{apierr.Unavailable, "The run took too long and was ended."}
	case errors.As(failure, &model):
		w.runs.opt.Log.WarnContext(ctx, "a run failed by its chat model", slog.Any("run", w.row.ID), slog.Any("error", failure))
		return agentrun.StatusFailed, &Failure{apierr.Unavailable, modelFailure(failure)}
	}
	w.runs.opt.Log.ErrorContext(ctx, "a run failed", slog.Any("run", w.row.ID), slog.Any("error", failure))
	e := apierr.From(failure)
	if e.Code == apierr.Internal {
		return agentrun.StatusFailed, &Failure{apierr.Internal, "Something went wrong on our side."}
	}
	return agentrun.StatusFailed, &Failure{e.Code, e.Message}
}

func modelFailure(err error) string {
	switch {
	case provider.IsKind(err, provider.KindNoTools):
		return "The agent's chat model cannot call tools. Choose another model for the agent, or take its tools away."
	case provider.IsKind(err, provider.KindContextLength):
		return "This is more than the agent's chat model can read at once. Start a new conversation or shorten the message."
	case provider.IsKind(err, provider.KindRefused):
		return "The chat model refused to answer this."
	case provider.IsKind(err, provider.KindRateLimited):
		return "The chat model is asked too often at the moment. Try again in a while."
	default:
		return "The chat model did not answer. Try again in a moment."
	}
}
