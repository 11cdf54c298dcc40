package automation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/agents/run"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	"github.com/magpie-search/magpie/ent/automation"
	"github.com/magpie-search/magpie/ent/automationrun"
	"github.com/magpie-search/magpie/ent/message"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// work is one step of a run. It belongs to one goroutine.
type work struct {
	engine     *Engine
	row        *ent.AutomationRun
	automation *ent.Automation
	settings   Settings
	occurrence Occurrence
}

func (w *work) client() *ent.Client { return w.engine.Store.opt.Ent }

func (w *work) fail(ctx context.Context, class automationrun.ErrorClass, reason string) error {
	return w.engine.fail(ctx, w.row, w.automation, class, reason)
}

// start starts the agent. The conversation of the agent run is stored first: a worker
// that finds it with a run knows that the one before it got this far.
func (w *work) start(ctx context.Context) error {
	e := w.engine
	agent, err := w.client().Agent.Get(ctx, w.automation.AgentID)
	if err != nil {
		return fmt.Errorf("read the agent: %w", err)
	}
	if w.automation.RunAs == automation.RunAsService && agent.AllCollections {
		return w.fail(ctx, automationrun.ErrorClassRights, "the agent has no collections of its own any more, which a run of the service member needs")
	}
	v, err := e.subject(ctx, w.automation)
	if errors.Is(err, errNoMember) {
		return w.fail(ctx, automationrun.ErrorClassRights, err.Error())
	}
	if err != nil {
		return err
	}
	if w.row.ConversationID == nil {
		if err := w.converse(ctx, v); err != nil {
			return err
		}
	}
	of, err := w.client().AgentRun.Query().Where(agentrun.ConversationID(*w.row.ConversationID)).First(ctx)
	if ent.IsNotFound(err) {
		of, err = e.Runner.Start(e.as(ctx, v), run.Input{
			Agent: agent.ID, Conversation: *w.row.ConversationID, Message: w.message(), Admit: w.admit, Background: true,
		})
	}
	if err != nil {
		return w.notStarted(ctx, err)
	}
	return e.later(ctx, w.row, e.Poll, func(u *ent.AutomationRunUpdate) {
		u.SetAgentRunID(of.ID).SetStep(automationrun.StepAgent).SetStatus(automationrun.StatusRunning).SetStartedAt(e.now()).ClearReason()
	})
}

// converse stores the conversation of the agent run.
func (w *work) converse(ctx context.Context, v viewer.Viewer) error {
	var id uuid.UUID
	err := transaction.In(ctx, w.client(), func(ctx context.Context, client *ent.Client) error {
		c, err := client.Conversation.Create().SetSubjectID(v.Subject).SetAgentID(w.automation.AgentID).
			SetTitle(safetext.Truncate(safetext.Line(w.automation.Name+": "+w.row.Title), 80)).Save(viewer.With(ctx, v))
		if err != nil {
			return fmt.Errorf("start a conversation: %w", err)
		}
		id = c.ID
		return saveWith(ctx, client, w.row, w.engine.now(), func(u *ent.AutomationRunUpdate) { u.SetConversationID(id).SetSubjectID(v.Subject) })
	})
	if err == nil {
		w.row.ConversationID, w.row.SubjectID = &id, &v.Subject
	}
	return err
}

// admit is called under the lock that starts of agent runs hold. It refuses the start
// if another worker has taken the run since.
func (w *work) admit(ctx context.Context) error {
	ctx = viewer.With(ctx, viewer.System(w.row.WorkspaceID))
	mine, err := w.client().AutomationRun.Query().
		Where(automationrun.ID(w.row.ID), automationrun.Attempts(w.row.Attempts), automationrun.FinishedAtIsNil()).Exist(ctx)
	if err != nil {
		return fmt.Errorf("check the run: %w", err)
	}
	started, err := w.client().AgentRun.Query().Where(agentrun.ConversationID(*w.row.ConversationID)).Exist(ctx)
	if err != nil {
		return fmt.Errorf("check the run: %w", err)
	}
	if !mine || started {
		return errTaken
	}
	return nil
}

// message returns what the agent is told.
func (w *work) message() string {
	text := strings.ReplaceAll(w.row.ID.String(), "-", "")
	out := Render(w.automation.Kind, w.automation.Instructions, w.occurrence.Data, text[len(text)-12:])
	for _, d := range w.settings.Delivery {
		switch d.Kind {
		case ReplyEmail:
			return out + "\n\nYour answer is sent as the reply to this mail. Write nothing but the text of the reply."
		case SlackMessage, Comment, Document:
			return out + "\n\nYour answer is published as it is. Write nothing but its text."
		}
	}
	return out
}

// notStarted decides what becomes of a run whose agent could not be started.
func (w *work) notStarted(ctx context.Context, err error) error {
	if errors.Is(err, errTaken) || ctx.Err() != nil {
		return err
	}
	failure := apierr.From(err)
	switch failure.Code {
	case apierr.RateLimited, apierr.Conflict:
		return w.engine.later(ctx, w.row, 20*time.Second, func(u *ent.AutomationRunUpdate) { u.SetReason("waits: " + truncated(failure.Message, 400)) })
	case apierr.Unavailable, apierr.Internal:
		if w.row.Attempts < 20 {
			w.engine.log.WarnContext(ctx, "agent of an automation not started, will try again", slog.Any("run", w.row.ID), slog.Any("error", err))
			return w.engine.later(ctx, w.row, time.Minute, nil)
		}
	}
	return w.fail(ctx, automationrun.ErrorClassAgent, "the agent could not be started: "+failure.Message)
}

func truncated(text string, limit int) string {
	return safetext.TruncateBytes(safetext.Line(text), limit)
}

// follow looks at the agent run.
func (w *work) follow(ctx context.Context) error {
	e := w.engine
	of, err := w.agentRun(ctx)
	if errors.Is(err, errGone) {
		return w.fail(ctx, automationrun.ErrorClassAgent, "the run of the agent was deleted")
	}
	if err != nil {
		return err
	}
	switch of.Status {
	case agentrun.StatusCompleted:
		return w.plan(ctx, of)
	case agentrun.StatusFailed:
		return w.retry(ctx, of)
	case agentrun.StatusCanceled:
		return e.finish(ctx, w.row, automationrun.StatusCanceled, "the run of the agent was canceled", func(u *ent.AutomationRunUpdate) { u.SetTokens(tokens(of)) })
	case agentrun.StatusWaiting:
		return e.later(ctx, w.row, e.Poll, func(u *ent.AutomationRunUpdate) {
			if w.row.Status != automationrun.StatusWaiting {
				u.SetStatus(automationrun.StatusWaiting).SetWaitingSince(e.now()).SetReason("a person must decide about a call of the agent")
			}
		})
	default:
		return e.later(ctx, w.row, e.Poll, func(u *ent.AutomationRunUpdate) {
			if w.row.Status != automationrun.StatusRunning {
				u.SetStatus(automationrun.StatusRunning).ClearWaitingSince().ClearReason()
			}
		})
	}
}

func tokens(of *ent.AgentRun) int { return of.PromptTokens + of.CompletionTokens }

func (w *work) agentRun(ctx context.Context) (*ent.AgentRun, error) {
	if w.row.AgentRunID == nil {
		return nil, errGone
	}
	of, err := w.client().AgentRun.Get(ctx, *w.row.AgentRunID)
	if ent.IsNotFound(err) {
		return nil, errGone
	}
	if err != nil {
		return nil, fmt.Errorf("read the run of the agent: %w", err)
	}
	return of, nil
}

// retry starts the agent again if its model was unavailable and it has not acted, three
// times within an hour.
func (w *work) retry(ctx context.Context, of *ent.AgentRun) error {
	reason := "the agent failed"
	if of.Error != nil {
		reason = *of.Error
	}
	unavailable, err := w.unavailable(ctx, of)
	if err != nil {
		return err
	}
	spent := w.row.Tokens + tokens(of)
	if !unavailable {
		w.row.Tokens = spent
		return w.failAgent(ctx, automationrun.ErrorClassAgent, reason, spent)
	}
	delays := retryDelays()
	if w.row.Retries >= len(delays) {
		return w.failAgent(ctx, automationrun.ErrorClassModelUnavailable, reason, spent)
	}
	return w.engine.later(ctx, w.row, delays[w.row.Retries], func(u *ent.AutomationRunUpdate) {
		u.SetStep(automationrun.StepStart).SetStatus(automationrun.StatusQueued).ClearConversationID().ClearAgentRunID().AddRetries(1).SetTokens(spent).
			SetReason(truncated("will be tried again: "+reason, 500))
	})
}

func (w *work) failAgent(ctx context.Context, class automationrun.ErrorClass, reason string, spent int) error {
	if err := w.engine.save(ctx, w.row, func(u *ent.AutomationRunUpdate) { u.SetTokens(spent) }); err != nil {
		return err
	}
	return w.fail(ctx, class, reason)
}

// unavailable reports whether an agent run failed by what may be better later, and has
// not acted: only then may it be repeated.
func (w *work) unavailable(ctx context.Context, of *ent.AgentRun) (bool, error) {
	var code string
	var effects int
	rows, err := w.client().QueryContext(ctx, `select coalesce((select data->>'code' from agent_run_events where run_id = $1::uuid and workspace_id = $2::uuid and type = 'error' order by seq desc limit 1), ''),
		(select count(*) from agent_run_effects where run_id = $1::uuid and workspace_id = $2::uuid)`, of.ID.String(), of.WorkspaceID.String())
	if err != nil {
		return false, fmt.Errorf("read how a run failed: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := rows.Scan(&code, &effects); err != nil {
			return false, fmt.Errorf("read how a run failed: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return false, fmt.Errorf("read how a run failed: %w", err)
	}
	return effects == 0 && (code == string(apierr.Unavailable) || code == string(apierr.RateLimited)), nil
}

// plan stores the answer and what is to be delivered.
func (w *work) plan(ctx context.Context, of *ent.AgentRun) error {
	e := w.engine
	spent := w.row.Tokens + tokens(of)
	if strings.TrimSpace(of.Answer) == "" {
		return w.failAgent(ctx, automationrun.ErrorClassAgent, "the agent gave no answer", spent)
	}
	if len(w.settings.Delivery) == 0 {
		return e.succeed(ctx, w.row, w.automation, "", func(u *ent.AutomationRunUpdate) { u.SetAnswer(of.Answer).SetTokens(spent) })
	}
	sources, err := w.sources(ctx, of)
	if err != nil {
		return err
	}
	var entries []entry
	asks := make([]bool, len(w.settings.Delivery))
	for i, d := range w.settings.Delivery {
		one := entry{Kind: d.Kind, Status: statusPending, Call: fmt.Sprintf("delivery-%d", i), Arguments: Arguments{Title: w.titleOf(d), Text: of.Answer + sources}}
		target, err := w.target(ctx, i, one)
		if err != nil {
			one.Status, one.Error = statusFailed, target
		}
		one.Target, one.Arguments.To = target, target
		if one.Status == statusPending {
			asks[i] = w.asks(ctx, i, &one)
		}
		entries = append(entries, one)
	}
	next := automationrun.StepDelivery
	if slices.Contains(asks, true) {
		next = automationrun.StepApproval
		for i := range entries {
			if entries[i].Status == statusPending && !asks[i] {
				entries[i].Status = statusApproved
			}
		}
	}
	return e.later(ctx, w.row, 0, func(u *ent.AutomationRunUpdate) {
		u.SetAnswer(of.Answer).SetTokens(spent).SetDeliveries(encodeEntries(entries)).SetStep(next).SetStatus(automationrun.StatusRunning).ClearWaitingSince().ClearReason()
	})
}

// asks reports whether a person must approve a delivery: by the automation, or by the
// policy of the tool that makes it. It marks one that the policy does not allow.
func (w *work) asks(ctx context.Context, i int, one *entry) bool {
	mode := w.settings.Approval.Mode
	inspector, calls := w.engine.Deliverers[one.Kind].(Inspector)
	if !calls {
		return mode == ModeAlways
	}
	inspection, err := inspector.Inspect(ctx, w.job(i, *one))
	refused, known := errors.AsType[*NotSent](err)
	switch {
	case known && !refused.Later:
		one.Status, one.Error = statusFailed, truncated(refused.Reason, 300)
		return false
	case err != nil: // it is looked at again when it is made
		w.engine.log.WarnContext(ctx, "delivery of an automation not inspected, asking", slog.Any("run", w.row.ID), slog.Any("error", err))
		return true
	case inspection.Policy == policy.Deny:
		one.Status, one.Error = statusFailed, "the rules of this workspace do not allow it"
		return false
	}
	return mode != ModeNone || inspection.Policy != policy.Allow
}

// target returns to whom a delivery goes or, with an error, why it cannot be made.
func (w *work) target(ctx context.Context, i int, one entry) (string, error) {
	d, found := w.engine.Deliverers[one.Kind]
	if !found {
		return "this kind of delivery is not set up here", errGone
	}
	target, err := d.Target(ctx, w.job(i, one))
	if err != nil {
		w.engine.log.WarnContext(ctx, "delivery of an automation impossible", slog.Any("run", w.row.ID), slog.String("kind", one.Kind), slog.Any("error", err))
		var refused *NotSent
		if errors.As(err, &refused) {
			return truncated(refused.Reason, 300), err
		}
		return "it cannot be made", err
	}
	return truncated(target, 300), nil
}

func (w *work) job(i int, one entry) Job {
	return Job{
		Key: fmt.Sprintf("%s-%d", w.row.ID, i), First: fmt.Sprintf("%s-%d", cmp.Or(w.occurrence.First, w.row.ID), i), Automation: w.automation,
		Occurrence: w.occurrence, Delivery: w.settings.Delivery[i], Arguments: one.Arguments,
		Subject: func(ctx context.Context) (viewer.Viewer, error) {
			v, err := w.engine.subject(ctx, w.automation)
			if err != nil {
				reason := "the member as whom the automation runs could not be read"
				if errors.Is(err, errNoMember) {
					reason = err.Error()
				}
				return v, &NotSent{Reason: reason, Later: !errors.Is(err, errNoMember), Cause: err}
			}
			return v, nil
		},
	}
}

func (w *work) titleOf(d Delivery) string {
	switch {
	case d.Subject != "":
		return d.Subject
	case d.Kind == ReplyEmail && w.occurrence.Mail != nil:
		subject := safetext.Line(w.occurrence.Mail.Subject)
		if !strings.HasPrefix(strings.ToLower(subject), "re:") {
			subject = "Re: " + subject
		}
		return safetext.Truncate(subject, 200)
	default:
		return w.automation.Name + ", " + w.row.CreatedAt.UTC().Format(time.DateOnly)
	}
}

// sources returns the list of cited documents that follows an answer; empty without any.
func (w *work) sources(ctx context.Context, of *ent.AgentRun) (string, error) {
	rows, err := w.client().Message.Query().Where(message.RunID(of.ID), message.RoleEQ(message.RoleAssistant)).All(ctx)
	if err != nil {
		return "", fmt.Errorf("read the sources of an answer: %w", err)
	}
	var out strings.Builder
	for _, m := range rows {
		for i, s := range m.Sources {
			title, _ := s["title"].(string)
			url, _ := s["url"].(string)
			if out.Len() == 0 {
				out.WriteString("\n\nSources:\n")
			}
			out.WriteString(strings.TrimRight(fmt.Sprintf("\n[%d] %s %s", i+1, safetext.Line(title), safetext.Line(url)), " "))
		}
	}
	return out.String(), nil
}

// The states of a delivery.
const (
	statusPending  = "pending"
	statusApproved = "approved"
	statusStarted  = "started"
	statusDone     = "done"
	statusFailed   = "failed"
	statusRejected = "rejected"
	statusExpired  = "expired"
	statusUnknown  = "unknown"
)

// entry is a delivery as the row of its run has it.
type entry struct {
	Kind      string    `json:"kind"`
	Status    string    `json:"status"`
	Target    string    `json:"target"`
	Error     string    `json:"error,omitempty"`
	Call      string    `json:"call"` // id of the question about it
	Tries     int       `json:"tries,omitempty"`
	Escalated bool      `json:"escalated,omitempty"`
	Settled   bool      `json:"settled,omitempty"` // of an unknown one: nobody is asked about it again
	Arguments Arguments `json:"arguments"`
}

func encodeEntries(entries []entry) []map[string]any {
	text, err := json.Marshal(entries)
	if err != nil {
		return nil // a struct of texts always encodes
	}
	var out []map[string]any
	if json.Unmarshal(text, &out) != nil {
		return nil
	}
	return out
}

func decodeEntries(row *ent.AutomationRun) ([]entry, error) {
	text, err := json.Marshal(row.Deliveries)
	if err != nil {
		return nil, fmt.Errorf("read the deliveries of a run: %w", err)
	}
	var out []entry
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("read the deliveries of a run: %w", err)
	}
	return out, nil
}

// Shown is a delivery for people.
type Shown struct{ Kind, Status, Target, Error string }

// Deliveries returns what became of the answer of a run.
func Deliveries(row *ent.AutomationRun) ([]Shown, error) {
	entries, err := decodeEntries(row)
	out := []Shown{}
	for _, one := range entries {
		out = append(out, Shown{Kind: one.Kind, Status: one.Status, Target: one.Target, Error: one.Error})
	}
	return out, err
}
