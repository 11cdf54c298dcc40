package run

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	"github.com/magpie-search/magpie/ent/conversation"
	"github.com/magpie-search/magpie/ent/message"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/live/journal"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// MaxMessage is the maximum length of a message in characters.
const MaxMessage = 16_000

// Input describes a run to start.
type Input struct {
	Agent   uuid.UUID
	Message string
	// Conversation continues a conversation of the same person with the same
	// agent. The zero value starts a new one.
	Conversation uuid.UUID
	// Admit is called last, before anything is stored. Its error is returned by
	// Start. Nil admits every run.
	Admit func(context.Context) error
	// NoGracePeriod cancels the run as soon as it has no follower, and when the
	// process closes.
	NoGracePeriod bool
	// Background leaves the run to a worker. It needs no follower.
	Background bool
}

// Start starts a run for the viewer in ctx, a signed-in person. When Start
// returns, the run, its conversation and its first event are stored. The run
// continues after the end of ctx, until it ends or has no follower for the
// grace period.
//
// Errors: invalid_request for the message; not_found if this person has no such
// agent or conversation; conflict if another run of the conversation is in
// progress; rate_limited if too many runs are; unavailable after Close.
func (r *Runs) Start(ctx context.Context, in Input) (*ent.AgentRun, error) {
	if err := validate(in.Message); err != nil {
		return nil, err
	}
	v, ok := viewer.From(ctx)
	if !ok || v.Kind != viewer.KindSession {
		return nil, apierr.New(apierr.Unauthorized, "Session required")
	}
	ctx = ent.NewTxContext(ctx, nil) // the run outlives a transaction of ctx
	agent, err := r.opt.Ent.Agent.Get(ctx, in.Agent)
	if ent.IsNotFound(err) {
		return nil, apierr.NotFound("Agent")
	}
	if err != nil {
		return nil, apierr.Wrap("run: read the agent", err)
	}
	scope, err := scopeOf(v, agent)
	if err != nil {
		return nil, apierr.Wrap("run: scope", err)
	}
	history, err := r.history(ctx, v, agent.ID, in.Conversation, uuid.Nil)
	if err != nil {
		return nil, apierr.Wrap("run: conversation", err)
	}
	model := r.model(ctx, agent)
	w := &work{runs: r, agent: agent, viewer: v, scope: scope, model: model, history: history, message: in.Message}
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	if w.row, err = r.createRun(ctx, w, in); err != nil {
		cancel(nil)
		return nil, err
	}
	if in.Background {
		cancel(nil)
		r.enqueue(ctx, w.row.WorkspaceID, w.row.ID, w.row.Attempt)
		return w.row, nil
	}
	a := &activeRun{id: w.row.ID, attempt: w.row.Attempt, cancel: cancel, gracePeriod: r.opt.GracePeriod}
	if in.NoGracePeriod {
		a.gracePeriod = time.Millisecond
		w.fragile = true
	}
	w.active = a
	r.mu.Lock()
	closed := r.closed
	if !closed {
		r.active[a.id] = a
		r.goroutines.Add(1)
		r.scheduleCancel(a, r.opt.GracePeriod)
	}
	r.mu.Unlock()
	if closed {
		cancel(errShuttingDown)
		w.fragile = true
		w.finish(base, errShuttingDown)
		return nil, apierr.New(apierr.Unavailable, "The server is shutting down; try again in a moment.")
	}
	go func() {
		defer r.goroutines.Done()
		defer cancel(nil)
		w.run(base)
	}()
	return w.row, nil
}

func validate(text string) error {
	if err := check.Length("message", text, MaxMessage); err != nil {
		return err
	}
	if !strings.ContainsFunc(text, func(c rune) bool { return unicode.IsGraphic(c) && !unicode.IsSpace(c) }) {
		return apierr.Invalid("message", "must not be blank")
	}
	return nil
}

// scopeOf returns the viewer's scope, narrowed to the agent's collections
// unless the agent may search all. Deleted collections match nothing.
func scopeOf(v viewer.Viewer, agent *ent.Agent) (viewer.Scope, error) {
	scope, err := v.Scope()
	if err != nil || agent.AllCollections {
		return scope, err
	}
	ids := agent.Collections
	if allowed, all := scope.Collections(); !all {
		ids = slices.DeleteFunc(slices.Clone(ids), func(id uuid.UUID) bool { return !slices.Contains(allowed, id) })
	}
	return scope.Narrow(ids...)
}

// model returns the agent's chat model, or the default, or nil if none is
// configured.
func (r *Runs) model(ctx context.Context, agent *ent.Agent) llm.ChatModel {
	name := ""
	if agent.Model != nil {
		name = *agent.Model
	}
	model, found := r.opt.Models.Lookup(name)
	if found {
		return model
	}
	if model, found = r.opt.Models.Default(); !found {
		return nil
	}
	r.opt.Log.WarnContext(ctx, "agent's chat model not configured, using the default", slog.Any("agent", agent.ID))
	return model
}

// createRun stores the start of a run.
func (r *Runs) createRun(ctx context.Context, w *work, in Input) (*ent.AgentRun, error) {
	var row *ent.AgentRun
	err := transaction.In(ctx, r.opt.Ent, func(_ context.Context, client *ent.Client) (err error) {
		row, err = r.insertRun(ctx, client, w, in) // Admit must not use the transaction
		return err
	})
	if err != nil {
		return nil, err
	}
	return row.Unwrap(), nil
}

func (r *Runs) insertRun(ctx context.Context, client *ent.Client, w *work, in Input) (*ent.AgentRun, error) {
	// The lock makes the counts of checkLimits reliable.
	if _, err := client.ExecContext(ctx, "select pg_advisory_xact_lock(hashtextextended('magpie agent runs ' || $1::text, 0))", w.viewer.Workspace.String()); err != nil {
		return nil, apierr.Wrap("run: lock the workspace", err)
	}
	if err := r.checkLimits(ctx, client, w.viewer, in.Conversation); err != nil {
		return nil, err
	}
	if in.Admit != nil {
		if err := in.Admit(ctx); err != nil {
			return nil, err
		}
	}
	now := r.opt.Now()
	conversationID := in.Conversation
	if conversationID == uuid.Nil {
		created, err := client.Conversation.Create().SetSubjectID(w.viewer.Subject).SetAgentID(w.agent.ID).SetTitle(titleOf(in.Message)).
			SetCreatedAt(now).SetUpdatedAt(now).Save(ctx)
		if err != nil {
			return nil, apierr.Wrap("run: start a conversation", err)
		}
		conversationID = created.ID
	} else if err := client.Conversation.UpdateOneID(conversationID).SetUpdatedAt(now).Exec(ctx); err != nil {
		if ent.IsNotFound(err) { // deleted in the meantime
			return nil, apierr.NotFound("Conversation")
		}
		return nil, apierr.Wrap("run: update the conversation", err)
	}
	create := client.AgentRun.Create().SetSubjectID(w.viewer.Subject).SetAgentID(w.agent.ID).SetConversationID(conversationID).SetMessage(in.Message).
		SetCreatedAt(now).SetUpdatedAt(now)
	if w.model != nil {
		create.SetModel(w.model.Name())
	}
	if in.Background {
		create.SetBackground(true)
	}
	row, err := create.Save(ctx)
	if err != nil {
		return nil, apierr.Wrap("run: store it", err)
	}
	err = client.Message.Create().SetConversationID(conversationID).SetSubjectID(w.viewer.Subject).SetRole(message.RoleUser).SetContent(in.Message).SetRunID(row.ID).
		SetCreatedAt(now).SetUpdatedAt(now).Exec(ctx)
	if err != nil {
		return nil, apierr.Wrap("run: store the message", err)
	}
	first, err := json.Marshal(Start{RunID: row.ID, ConversationID: conversationID})
	if err != nil {
		return nil, apierr.Wrap("run: its first event", err)
	}
	if err := events.Insert(ctx, client, streamOf(row), 1, []journal.Entry{{Type: TypeStart, Data: first}}); err != nil || !in.Background {
		return row, err
	}
	row, err = row.Update().SetStatus(agentrun.StatusQueued).Save(ctx)
	return row, apierr.Wrap("run: queue it", err)
}

// checkLimits returns an error if another run would exceed a limit.
func (r *Runs) checkLimits(ctx context.Context, client *ent.Client, v viewer.Viewer, conversationID uuid.UUID) error {
	var workspace, person, same int
	rows, err := client.QueryContext(ctx, `select count(*) filter (where started), count(*) filter (where started and subject_id = $2::uuid),
			count(*) filter (where conversation_id = $3::uuid)
		from (select *, status = 'RUNNING' and not background as started from agent_runs where workspace_id = $1::uuid and status in ('QUEUED', 'RUNNING', 'WAITING')) r`, v.Workspace.String(), v.Subject.String(), conversationID.String())
	if err != nil {
		return apierr.Wrap("run: count runs", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := rows.Scan(&workspace, &person, &same); err != nil {
			return apierr.Wrap("run: count runs", err)
		}
	}
	switch err := rows.Err(); {
	case err != nil:
		return apierr.Wrap("run: count runs", err)
	case same > 0:
		return apierr.New(apierr.Conflict, "A run of this conversation is under way or waits for an approval; wait for its end or cancel it.")
	case person >= r.opt.MaxPerPerson:
		return tooManyRuns(fmt.Sprintf("You have %d runs under way, which is the most at once; wait for one to end.", person))
	case workspace >= r.opt.MaxPerWorkspace:
		return tooManyRuns(fmt.Sprintf("The workspace has %d runs under way, which is the most at once; try again in a moment.", workspace))
	}
	return nil
}

func tooManyRuns(message string) error {
	e := apierr.New(apierr.RateLimited, message)
	e.RetryAfter = 5 * time.Second
	return e
}

// maxHistory is how many earlier messages of a conversation the model sees.
const maxHistory = 30

// history returns the earlier messages of a conversation of this person with
// this agent, but for those of a run. The zero id is a new conversation.
func (r *Runs) history(ctx context.Context, v viewer.Viewer, agent, id, but uuid.UUID) ([]llm.Message, error) {
	if id == uuid.Nil {
		return nil, nil
	}
	found, err := r.opt.Ent.Conversation.Query().
		Where(conversation.ID(id), conversation.SubjectID(v.Subject), conversation.AgentID(agent)).Exist(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the conversation: %w", err)
	}
	if !found {
		return nil, apierr.NotFound("Conversation")
	}
	rows, err := r.opt.Ent.Message.Query().Where(message.ConversationID(id), message.Or(message.RunIDIsNil(), message.RunIDNEQ(but))).
		Order(ent.Desc(message.FieldCreatedAt, message.FieldID)).Limit(maxHistory).Select(message.FieldRole, message.FieldContent).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the messages: %w", err)
	}
	slices.Reverse(rows)
	return toModelMessages(rows), nil
}

// toModelMessages returns the messages of a conversation with alternating
// roles, as many models require: an unanswered question is joined with the
// next.
func toModelMessages(rows []*ent.Message) []llm.Message {
	var out []llm.Message
	for _, row := range rows {
		m := llm.Message{Role: llm.RoleUser, Content: row.Content}
		if row.Role == message.RoleAssistant {
			m = llm.Message{Role: llm.RoleAssistant, Content: chat.StripCitations(row.Content)}
		}
		switch last := len(out) - 1; {
		case last < 0 && m.Role == llm.RoleAssistant: // the question is not among the messages
		case last >= 0 && out[last].Role == m.Role:
			out[last].Content += "\n\n" + m.Content
		default:
			out = append(out, m)
		}
	}
	if last := len(out) - 1; last >= 0 && out[last].Role == llm.RoleUser {
		out = append(out, llm.Message{Role: llm.RoleAssistant, Content: "(I was interrupted before I could answer.)"})
	}
	return out
}

// titleOf returns a title for a conversation from its first message.
func titleOf(text string) string {
	return safetext.Truncate(strings.Join(strings.Fields(text), " "), 80)
}

// IsOpen reports whether a run has not ended.
func IsOpen(row *ent.AgentRun) bool {
	return row.Status == agentrun.StatusRunning || row.Status == agentrun.StatusQueued || row.Status == agentrun.StatusWaiting
}
