package run

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	"github.com/magpie-search/magpie/ent/conversation"
	"github.com/magpie-search/magpie/ent/message"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/viewer"
)

// MaxMessage is the longest message in characters.
const MaxMessage = 16_000

// Input is what a run is to do.
type Input struct {
	Agent   uuid.UUID
	Message string
	// Conversation continues an earlier one of the same person with the same agent; zero starts a new one.
	Conversation uuid.UUID
	// Admit is asked last, before anything is stored; its error is Start's. Nil admits.
	Admit func(context.Context) error
	// AtOnce ends the run as soon as nobody follows it, without the usual grace.
	AtOnce bool
}

// Start begins a run of the viewer in ctx, a signed-in person. When it returns, the run, its conversation and its first
// event are stored, and it goes on by itself, whatever becomes of ctx, until it ends or nobody follows it.
//
// Errors: invalid_request for the message, not_found for an agent or conversation that does not exist for this person,
// conflict while another run of the conversation is under way, rate_limited while too many runs are, unavailable once closed.
func (r *Runs) Start(ctx context.Context, in Input) (*ent.AgentRun, error) {
	if err := validate(in.Message); err != nil {
		return nil, err
	}
	v, ok := viewer.From(ctx)
	if !ok || v.Kind != viewer.KindSession {
		return nil, apierr.New(apierr.Unauthorized, "Session required")
	}
	ctx = ent.NewTxContext(ctx, nil) // a transaction that ctx may still name is not this one's
	agent, err := r.opt.Ent.Agent.Get(ctx, in.Agent)
	if ent.IsNotFound(err) {
		return nil, apierr.NotFound("Agent")
	}
	if err != nil {
		return nil, apierr.Wrap("run: read the agent", err)
	}
	reach, err := reachOf(v, agent)
	if err != nil {
		return nil, apierr.Wrap("run: reach", err)
	}
	history, err := r.history(ctx, v, agent.ID, in.Conversation)
	if err != nil {
		return nil, apierr.Wrap("run: conversation", err)
	}
	model := r.model(ctx, agent)
	w := &work{runs: r, agent: agent, viewer: v, reach: reach, model: model, history: history, message: in.Message}
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	if w.row, err = r.open(ctx, w, in); err != nil {
		cancel(nil)
		return nil, err
	}
	a := &active{id: w.row.ID, cancel: cancel, grace: r.opt.Grace}
	if in.AtOnce {
		a.grace = time.Millisecond
	}
	w.active = a
	r.mu.Lock()
	closed := r.closed
	if !closed {
		r.active[a.id] = a
		r.working.Add(1)
		r.abandon(a, r.opt.Grace)
	}
	r.mu.Unlock()
	if closed {
		cancel(errClosing)
		w.close(base, errClosing)
		return nil, apierr.New(apierr.Unavailable, "The server is shutting down; try again in a moment.")
	}
	go func() {
		defer r.working.Done()
		defer cancel(nil)
		w.run(base)
	}()
	return w.row, nil
}

func validate(text string) error {
	switch {
	case !utf8.ValidString(text):
		return apierr.Invalid("message", "must be valid UTF-8")
	case utf8.RuneCountInString(text) > MaxMessage:
		return apierr.Invalid("message", "must have at most "+strconv.Itoa(MaxMessage)+" characters")
	case strings.ContainsRune(text, 0):
		return apierr.Invalid("message", "must not contain the character U+0000")
	case !strings.ContainsFunc(text, func(c rune) bool { return unicode.IsGraphic(c) && !unicode.IsSpace(c) }):
		return apierr.Invalid("message", "must not be blank")
	}
	return nil
}

// reachOf is what the viewer reaches, narrowed to the agent's collections unless that may search all. Of collections
// that are gone nothing is found.
func reachOf(v viewer.Viewer, agent *ent.Agent) (viewer.Scope, error) {
	reach, err := v.Scope()
	if err != nil || agent.AllCollections {
		return reach, err
	}
	ids := agent.Collections
	if own, all := reach.Collections(); !all {
		ids = slices.DeleteFunc(slices.Clone(ids), func(id uuid.UUID) bool { return !slices.Contains(own, id) })
	}
	return reach.Narrow(ids...)
}

// model is the one the agent names, else the default; nil when none is configured.
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
	r.opt.Log.WarnContext(ctx, "an agent names a chat model that is not configured; the default is asked", slog.Any("agent", agent.ID))
	return model
}

// open stores the beginning of a run.
func (r *Runs) open(ctx context.Context, w *work, in Input) (*ent.AgentRun, error) {
	tx, err := r.opt.Ent.Tx(ctx)
	if err != nil {
		return nil, apierr.Wrap("run: begin", err)
	}
	row, err := r.begin(ctx, tx, w, in)
	if err != nil {
		_ = tx.Rollback() // the first error says more
		return nil, err
	}
	if err := tx.Commit(); err != nil {
		return nil, apierr.Wrap("run: store its beginning", err)
	}
	return row.Unwrap(), nil
}

func (r *Runs) begin(ctx context.Context, tx *ent.Tx, w *work, in Input) (*ent.AgentRun, error) {
	// One at a time in a workspace, so that the counts hold.
	if _, err := tx.ExecContext(ctx, "select pg_advisory_xact_lock(hashtextextended('magpie agent runs ' || $1::text, 0))", w.viewer.Workspace.String()); err != nil {
		return nil, apierr.Wrap("run: wait for one's turn", err)
	}
	if err := r.room(ctx, tx, w.viewer, in.Conversation); err != nil {
		return nil, err
	}
	if in.Admit != nil {
		if err := in.Admit(ctx); err != nil {
			return nil, err
		}
	}
	now := r.opt.Now()
	talk := in.Conversation
	if talk == uuid.Nil {
		created, err := tx.Conversation.Create().SetSubjectID(w.viewer.Subject).SetAgentID(w.agent.ID).SetTitle(titleOf(in.Message)).
			SetCreatedAt(now).SetUpdatedAt(now).Save(ctx)
		if err != nil {
			return nil, apierr.Wrap("run: start a conversation", err)
		}
		talk = created.ID
	} else if err := tx.Conversation.UpdateOneID(talk).SetUpdatedAt(now).Exec(ctx); err != nil {
		if ent.IsNotFound(err) { // deleted meanwhile
			return nil, apierr.NotFound("Conversation")
		}
		return nil, apierr.Wrap("run: touch the conversation", err)
	}
	create := tx.AgentRun.Create().SetSubjectID(w.viewer.Subject).SetAgentID(w.agent.ID).SetConversationID(talk).SetMessage(in.Message).
		SetCreatedAt(now).SetUpdatedAt(now)
	if w.model != nil {
		create.SetModel(w.model.Name())
	}
	row, err := create.Save(ctx)
	if err != nil {
		return nil, apierr.Wrap("run: store it", err)
	}
	err = tx.Message.Create().SetConversationID(talk).SetSubjectID(w.viewer.Subject).SetRole(message.RoleUser).SetContent(in.Message).SetRunID(row.ID).
		SetCreatedAt(now).SetUpdatedAt(now).Exec(ctx)
	if err != nil {
		return nil, apierr.Wrap("run: store the message", err)
	}
	first, err := json.Marshal(Start{RunID: row.ID, ConversationID: talk})
	if err != nil {
		return nil, apierr.Wrap("run: its first event", err)
	}
	return row, insert(ctx, tx, row, 1, []draft{{kind: TypeStart, data: first}})
}

// room refuses a run that would be one too many.
func (r *Runs) room(ctx context.Context, tx *ent.Tx, v viewer.Viewer, talk uuid.UUID) error {
	var workspace, person, same int
	rows, err := tx.QueryContext(ctx, `select count(*), count(*) filter (where subject_id = $2::uuid), count(*) filter (where conversation_id = $3::uuid)
		from agent_runs where workspace_id = $1::uuid and status = 'RUNNING'`, v.Workspace.String(), v.Subject.String(), talk.String())
	if err != nil {
		return apierr.Wrap("run: count what is running", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := rows.Scan(&workspace, &person, &same); err != nil {
			return apierr.Wrap("run: count what is running", err)
		}
	}
	switch err := rows.Err(); {
	case err != nil:
		return apierr.Wrap("run: count what is running", err)
	case same > 0:
		return apierr.New(apierr.Conflict, "A run of this conversation is under way; wait for its end or cancel it.")
	case person >= r.opt.PerPerson:
		return busy(fmt.Sprintf("You have %d runs under way, which is the most at once; wait for one to end.", person))
	case workspace >= r.opt.PerWorkspace:
		return busy(fmt.Sprintf("The workspace has %d runs under way, which is the most at once; try again in a moment.", workspace))
	}
	return nil
}

func busy(message string) error {
	e := apierr.New(apierr.RateLimited, message)
	e.RetryAfter = 5 * time.Second
	return e
}

// remembered is how many messages of a conversation a run looks back on at most.
const remembered = 30

// history reads a conversation of this person with this agent; the zero id is a new one.
func (r *Runs) history(ctx context.Context, v viewer.Viewer, agent, id uuid.UUID) ([]llm.Message, error) {
	if id == uuid.Nil {
		return nil, nil
	}
	found, err := r.opt.Ent.Conversation.Query().
		Where(conversation.ID(id), conversation.SubjectID(v.Subject), conversation.AgentID(agent)).Exist(ctx)
	if err != nil {
		return nil, fmt.Errorf("find it: %w", err)
	}
	if !found {
		return nil, apierr.NotFound("Conversation")
	}
	rows, err := r.opt.Ent.Message.Query().Where(message.ConversationID(id)).
		Order(ent.Desc(message.FieldCreatedAt, message.FieldID)).Limit(remembered).Select(message.FieldRole, message.FieldContent).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	slices.Reverse(rows)
	return turns(rows), nil
}

// turns are the messages of a conversation, an unanswered question joined with the next: many models refuse two of one role.
func turns(rows []*ent.Message) []llm.Message {
	var out []llm.Message
	for _, row := range rows {
		m := llm.Message{Role: llm.RoleUser, Content: row.Content}
		if row.Role == message.RoleAssistant {
			m = llm.Message{Role: llm.RoleAssistant, Content: withoutCitations(row.Content)}
		}
		switch last := len(out) - 1; {
		case last < 0 && m.Role == llm.RoleAssistant: // its question is too far back
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

// titleOf names a conversation after its first message.
func titleOf(text string) string {
	words := []rune(strings.Join(strings.Fields(text), " "))
	if len(words) > 80 {
		return strings.TrimSpace(string(words[:79])) + "…"
	}
	return string(words)
}

// Open reports whether a run has not ended.
func Open(row *ent.AgentRun) bool { return row.Status == agentrun.StatusRunning }
