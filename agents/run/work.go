package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/agents/tools"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	"github.com/magpie-search/magpie/ent/message"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/live/journal"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
	"github.com/magpie-search/magpie/internal/request/requestid"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/tracing"
	"github.com/magpie-search/magpie/internal/viewer"
)

// work is a run in progress. It belongs to one goroutine.
type work struct {
	runs      *Runs
	row       *ent.AgentRun
	agent     *ent.Agent
	viewer    viewer.Viewer
	scope     viewer.Scope
	model     llm.ChatModel
	history   []llm.Message
	message   string
	active    *activeRun
	citations *chat.Citations
	journal   *journal.Writer
	outcome   loop.Outcome
	oversight Oversight
	content   int // characters of the answer's pieces so far
	// fragile runs end with their process: nobody could see how they go on.
	fragile bool

	// Of a run that continues.
	seq       int64 // of its last event; 0 for a run that this process has started
	state     loop.State
	decisions map[string]loop.Decision
}

// Limits of the memories of a run.
const (
	maxMemories   = 8
	recallTimeout = 3 * time.Second
)

// run executes the run and stores its end.
func (w *work) run(ctx context.Context) {
	ctx, span := tracing.Start(ctx, "invoke_agent", slog.String("gen_ai.operation.name", "invoke_agent"), slog.String("gen_ai.agent.id", w.agent.ID.String()),
		slog.String("magpie.run_id", w.row.ID.String()), slog.String(tracing.WorkspaceKey, w.row.WorkspaceID.String()))
	if w.citations == nil {
		w.citations = chat.NewCitations()
	}
	w.journal = w.runs.newJournal(w.row, max(w.seq, 1))
	failure := w.execute(ctx)
	span.Set(slog.Int("magpie.agent.steps", w.outcome.Iterations), slog.Int("magpie.agent.calls", w.outcome.ToolCalls), slog.Int("magpie.agent.waiting", len(w.outcome.Pending)))
	defer func() { span.End(failure) }()
	if failure == nil && len(w.outcome.Pending) > 0 {
		failure = w.suspend(ctx)
	}
	if failure != nil || len(w.outcome.Pending) == 0 {
		w.finish(ctx, failure)
	}
	w.runs.forget(w.active)
}

// execute runs the agent loop. It returns a panic as an error.
func (w *work) execute(ctx context.Context) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	r := w.runs
	runContext := tools.RunContext{Scope: w.scope, SourceNumber: func(h search.Hit) int { return w.citations.Add(h) }, Agent: w.agent.ID, Run: w.row.ID}
	if r.opt.Memories != nil && w.model != nil {
		runContext.Memories = r.opt.Memories
	}
	if r.opt.Oversight != nil {
		if w.oversight, err = r.opt.Oversight(ctx, w.row); err != nil {
			return endOr(ctx, fmt.Errorf("who decides about the run: %w", err))
		}
	}
	all, err := w.tools(ctx, runContext)
	if err != nil {
		return endOr(ctx, err)
	}
	task := loop.Task{
		ID: w.row.ID.String(), System: w.agent.SystemPrompt, History: w.history, Message: w.message, Model: w.model, Citer: w.citations,
		Tools: all, Memories: w.memories(ctx),
		Keeper: keeper{w}, State: w.state, Decisions: w.decisions, Granted: w.granted,
		FindQuotes: func(question string, hits []search.Hit) []loop.Quote {
			var out []loop.Quote
			for _, e := range chat.Excerpts(r.opt.Analyzer, question, hits) {
				out = append(out, loop.Quote{Text: e.Text, HitIndex: e.HitIndex, Block: e.Block})
			}
			return out
		},
	}
	// A run whose events cannot be stored is canceled.
	runCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stored := make(chan struct{})
	go func() {
		defer close(stored)
		if err := w.journal.Write(runCtx); err != nil {
			cancel(err)
		}
	}()
	if w.seq > 1 { // after run_start, which a run in the background has from its start
		err = w.journal.Add(TypeResumed, Resumed{ContentLength: w.content})
	}
	if err == nil {
		w.outcome, err = r.loop.Run(runCtx, task, w.record)
	}
	w.outcome.Answer = safetext.Storable(w.outcome.Answer)
	w.journal.Close()
	<-stored
	if storeErr := w.journal.Failure(); storeErr != nil && err == nil {
		err = storeErr
	}
	return err
}

// endOr returns what ended a run, of which everything fails that it does, or else the failure.
func endOr(ctx context.Context, failure error) error {
	if failure != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return failure
}

// tools returns the tools of the agent for the person of the run, with their policies.
func (w *work) tools(ctx context.Context, runContext tools.RunContext) ([]loop.Tool, error) {
	r := w.runs
	all := r.opt.Kit.Tools(runContext, w.agent.Tools)
	if r.opt.Integrations != nil {
		more, err := r.opt.Integrations.Tools(ctx, w.viewer, w.agent, w.row.ID)
		if err != nil {
			return nil, fmt.Errorf("read the tools of the agent's integrations: %w", err)
		}
		all = append(all, more...)
	}
	return w.guard(ctx, all)
}

// memories returns what the agent should know. A failure does not stop the run.
func (w *work) memories(ctx context.Context) []loop.Memory {
	if w.runs.opt.Memories == nil || w.model == nil || len(w.state) > 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, recallTimeout)
	defer cancel()
	items, err := w.runs.opt.Memories.Recall(ctx, w.agent.ID, w.message, maxMemories)
	if err != nil {
		w.runs.opt.Log.WarnContext(ctx, "agent memories not recalled", slog.Any("run", w.row.ID), slog.Any("error", err))
		return nil
	}
	out := make([]loop.Memory, len(items))
	for i, item := range items {
		out[i] = loop.Memory{Kind: string(item.Kind), Content: item.Content}
	}
	return out
}

// record stores an event of the loop.
func (w *work) record(e loop.Event) error {
	switch e := e.(type) {
	case loop.Iteration:
		return w.journal.Add(TypeIteration, Iteration{Number: e.Number, Status: string(e.Status)})
	case loop.ToolCall:
		return w.journal.Add(TypeToolCall, ToolCall{Tool: e.Tool, Params: e.Params, CallID: e.CallID})
	case loop.ToolResult:
		return w.journal.Add(TypeToolResult, ToolResult{Tool: e.Tool, Success: e.Success, CallID: e.CallID, Message: safetext.Storable(e.Message)})
	case loop.AuthRequired:
		data := AuthRequired{IntegrationID: e.Integration, Name: e.Name, CallID: e.CallID}
		if e.URL != "" {
			data.AuthorizationURL = &e.URL
		}
		return w.journal.Add(TypeAuth, data)
	case loop.Content:
		text := safetext.Storable(e.Text)
		w.content += utf8.RuneCountInString(text)
		return w.journal.AddText(text)
	}
	return fmt.Errorf("unknown event type %T", e)
}

// finish stores the end of the run: its final event, its result and the answer
// so far.
func (w *work) finish(ctx context.Context, failure error) {
	r := w.runs
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.opt.StoreTimeout)
	defer cancel()
	if errors.Is(failure, errEndedElsewhere) {
		return // its end is stored, or another process continues it
	}
	if errors.Is(failure, errShuttingDown) && !w.fragile {
		if err := w.handOver(ctx); err != nil { // a sweep finds it
			r.opt.Log.WarnContext(ctx, "run not handed over", slog.Any("run", w.row.ID), slog.Any("error", err))
		}
		return
	}
	status, shown := w.result(ctx, failure)
	if shown != nil {
		shown.RequestID = requestid.From(ctx)
	}
	err := w.storeEnd(ctx, status, shown)
	if err != nil && !errors.Is(err, errEndedElsewhere) {
		r.opt.Log.ErrorContext(ctx, "run end not stored", slog.Any("run", w.row.ID), slog.Any("error", err))
	}
	r.notifyFollowers(ctx, w.row.ID)
	if err == nil {
		r.ended(ctx, w.row)
	}
}

// handOver stores the events so far and leaves the run to a worker.
func (w *work) handOver(ctx context.Context) error {
	r := w.runs
	err := transaction.In(ctx, r.opt.Ent, func(ctx context.Context, client *ent.Client) error {
		if seq, entries := w.journal.Unstored(); len(entries) > 0 {
			if err := events.Insert(ctx, client, streamOf(w.row), seq+1, entries); err != nil {
				return err
			}
		}
		_, err := client.ExecContext(ctx, "update agent_runs set status = 'QUEUED', updated_at = now() where id = $1::uuid and attempt = $2::bigint and status = 'RUNNING'",
			w.row.ID.String(), w.row.Attempt)
		return err
	})
	if err == nil {
		r.notifyFollowers(ctx, w.row.ID)
		r.enqueue(ctx, w.row.WorkspaceID, w.row.ID, w.row.Attempt)
	}
	return err
}

func (w *work) storeEnd(ctx context.Context, status agentrun.Status, shown *Failure) error {
	return transaction.In(ctx, w.runs.opt.Ent, func(ctx context.Context, client *ent.Client) error {
		return w.writeEnd(ctx, client, status, shown)
	})
}

func (w *work) writeEnd(ctx context.Context, client *ent.Client, status agentrun.Status, shown *Failure) error {
	last := journal.Entry{Type: TypeComplete}
	var cited []chat.Source
	if w.citations != nil {
		cited = w.citations.Sources()
	}
	usage := w.outcome.Usage
	var err error
	if shown != nil {
		last.Type = TypeError
		last.Data, err = json.Marshal(shown)
	} else {
		last.Data, err = json.Marshal(Complete{Sources: sourcesOf(cited), Usage: Usage{
			TotalTokens: usage.TotalTokens(), PromptTokens: usage.PromptTokens, CompletionTokens: usage.CompletionTokens,
		}})
	}
	if err != nil {
		return fmt.Errorf("encode the final event: %w", err)
	}
	seq := int64(1)
	entries := []journal.Entry{last}
	if w.journal != nil {
		var unstored []journal.Entry
		seq, unstored = w.journal.Unstored()
		entries = append(unstored, last)
	}
	if err := events.Insert(ctx, client, streamOf(w.row), seq+1, entries); err != nil {
		return err
	}
	now := w.runs.opt.Now()
	update := w.counters(client.AgentRun.UpdateOneID(w.row.ID)).SetStatus(status).SetFinishedAt(now).SetUpdatedAt(now).ClearWaitingSince()
	if shown != nil {
		update.SetError(shown.Message)
	}
	if err := update.Exec(ctx); err != nil {
		return fmt.Errorf("store the result: %w", err)
	}
	// A run that has ended does not continue.
	if _, err := client.ExecContext(ctx, "delete from agent_run_states where run_id = $1::uuid", w.row.ID.String()); err != nil {
		return fmt.Errorf("remove the state: %w", err)
	}
	if strings.TrimSpace(w.outcome.Answer) == "" {
		return nil
	}
	err = client.Message.Create().SetConversationID(w.row.ConversationID).SetSubjectID(w.viewer.Subject).SetRole(message.RoleAssistant).
		SetContent(w.outcome.Answer).SetSources(chat.StoredSources(cited)).SetRunID(w.row.ID).
		SetPromptTokens(usage.PromptTokens).SetCompletionTokens(usage.CompletionTokens).SetCreatedAt(now).SetUpdatedAt(now).Exec(ctx)
	if err != nil {
		return fmt.Errorf("store the answer: %w", err)
	}
	return nil
}

// counters sets what the run has made so far.
func (w *work) counters(update *ent.AgentRunUpdateOne) *ent.AgentRunUpdateOne {
	o := &w.outcome
	return update.SetAnswer(o.Answer).SetIterations(o.Iterations).SetToolCalls(o.ToolCalls).
		SetPromptTokens(o.Usage.PromptTokens).SetCompletionTokens(o.Usage.CompletionTokens)
}

// guard makes calls as strict as the workspace, the agent and the run's oversight
// ask.
func (w *work) guard(ctx context.Context, all []loop.Tool) ([]loop.Tool, error) {
	sets, err := w.policySets(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		tool := all[i]
		name := cmp.Or(tool.PolicyName, tool.Name)
		all[i].Policy = func(arguments json.RawMessage) policy.Policy {
			call := policy.Call{Tool: name, Risk: tool.Risk, Own: tool.Risk.Default(), Arguments: arguments}
			if tool.Policy != nil {
				call.Own = cmp.Or(tool.Policy(arguments), call.Own)
			}
			if tool.Risk.Acts() {
				call.Integration = w.oversight.Acting
			}
			return policy.Decide(call, sets...)
		}
	}
	return all, nil
}

// policySets returns what the workspace and the agent say about tools.
func (w *work) policySets(ctx context.Context) ([]policy.Set, error) {
	workspace, err := w.runs.opt.Ent.Workspace.Get(viewer.With(ent.NewTxContext(ctx, nil), viewer.System(w.row.WorkspaceID)), w.row.WorkspaceID)
	if err != nil {
		return nil, fmt.Errorf("read the tool policy of the workspace: %w", err)
	}
	return []policy.Set{policy.StoredSet(workspace.ToolPolicy), policy.StoredSet(w.agent.ToolPolicy)}, nil
}

// granted reports whether a person has agreed in advance. Nothing is granted if others
// than the person decide, and no approval of a deletion grants later ones.
func (w *work) granted(ctx context.Context, tool string, _ json.RawMessage) bool {
	if w.oversight.OthersOnly || w.oversight.Acting != "" {
		return false
	}
	granted, err := w.runs.opt.Approvals.Granted(ctx, w.row, tool)
	if err != nil {
		w.runs.opt.Log.WarnContext(ctx, "grants of an agent not read, asking", slog.Any("run", w.row.ID), slog.Any("error", err))
		return false
	}
	return granted
}

// result returns how a run ended and what people see of a failure. It logs the
// cause.
func (w *work) result(ctx context.Context, failure error) (agentrun.Status, *Failure) {
	var model *loop.ModelError
	switch {
	case failure == nil:
		return agentrun.StatusCompleted, nil
	case errors.Is(failure, errCanceled):
		return agentrun.StatusCanceled, &Failure{Code: apierr.Unavailable, Message: "The run was canceled."}
	case errors.Is(failure, errAbandoned):
		return agentrun.StatusCanceled, &Failure{Code: apierr.Unavailable, Message: "The run was ended, since nobody followed it any more."}
	case errors.Is(failure, errShuttingDown):
		return agentrun.StatusFailed, &Failure{Code: apierr.Unavailable, Message: "The server is shutting down; run it again in a moment."}
	case errors.Is(failure, loop.ErrTimeout):
		return agentrun.StatusFailed, &Failure{Code: apierr.Unavailable, Message: "The run took too long and was ended."}
	case errors.As(failure, &model):
		w.runs.opt.Log.WarnContext(ctx, "agent run failed by its chat model", slog.Any("run", w.row.ID), slog.Any("error", failure))
		return agentrun.StatusFailed, &Failure{Code: apierr.Unavailable, Message: modelFailureMessage(failure)}
	}
	w.runs.opt.Log.ErrorContext(ctx, "agent run failed", slog.Any("run", w.row.ID), slog.Any("error", failure))
	e := apierr.From(failure)
	if e.Code == apierr.Internal {
		return agentrun.StatusFailed, &Failure{Code: apierr.Internal, Message: "Something went wrong on our side."}
	}
	return agentrun.StatusFailed, &Failure{Code: e.Code, Message: e.Message}
}

func modelFailureMessage(err error) string {
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
