package approval

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/approval"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Action is a person's answer to an approval.
type Action string

// The actions.
const (
	Approve Action = "approve" // the call is made as it is
	Edit    Action = "edit"    // the call is made with other arguments
	Reject  Action = "reject"  // the call is not made; a question is not answered
	Answer  Action = "answer"  // a question is answered
)

// Remember says for how long consent holds.
type Remember string

// The times that consent can hold. Empty means Once.
const (
	Once            Remember = "once"
	ForRun          Remember = "run"
	ForConversation Remember = "conversation"
	ForAgent        Remember = "agent" // for everybody; editors only
)

// A Decision is an Action with its details.
type Decision struct {
	Action  Action
	Comment string
	// Arguments are those of Edit. Approve with arguments is Edit.
	Arguments json.RawMessage
	Answer    string   // of Answer
	Remember  Remember // of Approve
	// Confirm is the name of the tool, which a person types to approve a deletion.
	Confirm string
	// ExpectedHash is the hash of the arguments that the person has seen. Empty means
	// that it is not compared.
	ExpectedHash string
}

// Decide stores the decision of the viewer about an approval. Of all decisions about an
// approval, one succeeds. When no approval of the run is pending any more, a waiting
// run is put into the queue in the same transaction and resumed after it.
//
// Errors: not_found if the viewer may not see the approval; forbidden if others decide;
// conflict, with who decided and when, if it was decided, has expired or was canceled,
// or if the arguments have another hash; invalid_request for the decision.
func (s *Store) Decide(ctx context.Context, id uuid.UUID, d Decision, via approval.DecidedVia) (*ent.Approval, error) {
	if err := s.checkTool(ctx, id, d); err != nil {
		return nil, err
	}
	var decided *ent.Approval
	err := transaction.In(ctx, s.opt.Ent, func(ctx context.Context, client *ent.Client) error {
		row, err := client.Approval.Get(ctx, id)
		if err != nil {
			return lookup.Error("Approval", err)
		}
		v, _ := viewer.From(ctx)
		if !MayDecide(v, row) {
			return apierr.New(apierr.Forbidden, "Others decide about this: the person for whom the agent acts may not")
		}
		// Two decisions about one run must see each other.
		if err := lockRun(ctx, client, row.RunID); err != nil {
			return err
		}
		if row, err = client.Approval.Get(ctx, id); err != nil { // as it is under the lock
			return lookup.Error("Approval", err)
		}
		if err := s.checkOpen(ctx, client, row); err != nil {
			return err
		}
		if err := checkDecision(v, row, &d); err != nil {
			return err
		}
		if decided, err = s.store(ctx, client, row, d, v.Subject, via); err != nil {
			return err
		}
		return s.queue(ctx, client, row.WorkspaceID, row.RunID)
	})
	if err != nil {
		return nil, err
	}
	return transaction.Detach(ctx, decided), nil
}

// checkTool checks other arguments by the tool of an approval, outside of the
// transaction. It leaves to that what else is wrong with a decision.
func (s *Store) checkTool(ctx context.Context, id uuid.UUID, d Decision) error {
	if s.opt.Validate == nil || len(d.Arguments) == 0 || d.Action != Edit && d.Action != Approve {
		return nil
	}
	row, err := transaction.Client(ctx, s.opt.Ent).Approval.Get(ctx, id)
	if err != nil {
		return lookup.Error("Approval", err)
	}
	v, _ := viewer.From(ctx)
	if !MayDecide(v, row) || row.Status != approval.StatusPending || checkEdited(row, d.Arguments) != nil {
		return nil
	}
	return s.opt.Validate(ctx, row, d.Arguments)
}

// MayDecide reports whether a viewer who sees an approval may decide about it.
func MayDecide(v viewer.Viewer, row *ent.Approval) bool {
	switch {
	case v.Kind != viewer.KindSession || v.Subject == uuid.Nil || v.Workspace != row.WorkspaceID:
		return false
	case v.Subject == row.SubjectID:
		return row.SelfApproval
	case slices.Contains(row.ApproverIds, v.Subject):
		return true
	default:
		return row.ApproverRole != nil && v.Role.AtLeast(viewer.Role(strings.ToLower(string(*row.ApproverRole))))
	}
}

// lockRun makes other decisions about the run wait until the transaction ends.
func lockRun(ctx context.Context, client *ent.Client, run uuid.UUID) error {
	_, err := client.ExecContext(ctx, "select from agent_runs where id = $1::text::uuid for no key update", run.String())
	return apierr.Wrap("lock the run of an approval", err)
}

// checkOpen returns a conflict unless an approval can be decided.
func (s *Store) checkOpen(ctx context.Context, client *ent.Client, row *ent.Approval) error {
	switch {
	case row.Status == approval.StatusExpired, row.Status == approval.StatusPending && !s.opt.Now().Before(row.ExpiresAt):
		return apierr.New(apierr.Conflict, "This expired at "+at(row.ExpiresAt))
	case row.Status == approval.StatusPending:
		return nil
	case row.Status == approval.StatusCanceled:
		return apierr.New(apierr.Conflict, "This was canceled at "+at(*cmp.Or(row.DecidedAt, &row.UpdatedAt))+", because the run ended or its agent changed")
	}
	name, err := deciderName(system(ctx, row.WorkspaceID), client, row)
	if err != nil {
		return err
	}
	return apierr.New(apierr.Conflict, fmt.Sprintf("%s has already %s this, at %s", name, strings.ToLower(string(row.Status)), at(*cmp.Or(row.DecidedAt, &row.UpdatedAt))))
}

func at(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// deciderName returns the name of the person who decided.
func deciderName(ctx context.Context, client *ent.Client, row *ent.Approval) (string, error) {
	if row.DecidedBy == nil {
		return "Magpie", nil
	}
	person, err := client.User.Query().Where(user.ID(*row.DecidedBy)).Only(ctx)
	switch {
	case ent.IsNotFound(err):
		return "A former member", nil
	case err != nil:
		return "", fmt.Errorf("read who decided: %w", err)
	default:
		return cmp.Or(person.Name, person.Email), nil
	}
}

// checkDecision checks a decision and normalizes it.
func checkDecision(v viewer.Viewer, row *ent.Approval, d *Decision) error {
	d.Remember = cmp.Or(d.Remember, Once)
	if d.Action == Approve && len(d.Arguments) > 0 {
		d.Action = Edit
	}
	if d.ExpectedHash != "" && d.ExpectedHash != row.ArgumentsHash {
		return apierr.New(apierr.Conflict, "The arguments are not those that you saw; read the approval again")
	}
	if d.Comment != "" {
		if err := check.Text("comment", d.Comment, maxComment); err != nil {
			return err
		}
	}
	question := row.Kind == approval.KindQuestion
	switch d.Action {
	case Reject:
	case Answer:
		if !question {
			return apierr.Invalid("action", "only questions are answered; approve or reject this")
		}
		if err := check.Text("answer", d.Answer, maxAnswer); err != nil {
			return err
		}
	case Approve, Edit:
		if question {
			return apierr.Invalid("action", "a question is answered or rejected")
		}
		if row.Risk == approval.RiskDelete && d.Confirm != row.Tool {
			return apierr.Invalid("confirm", "must be "+row.Tool+", the name of the tool, because the call deletes something")
		}
	default:
		return apierr.Invalid("action", "must be one of approve, edit, reject, answer")
	}
	if d.Action == Edit {
		if err := checkEdited(row, d.Arguments); err != nil {
			return err
		}
	} else if len(d.Arguments) > 0 {
		return apierr.Invalid("arguments", "are for the action edit only")
	}
	if d.Action != Answer && d.Answer != "" {
		return apierr.Invalid("answer", "is for the action answer only")
	}
	return checkRemember(v, row, d)
}

func checkEdited(row *ent.Approval, arguments json.RawMessage) error {
	switch {
	case row.Kind != approval.KindConsent:
		return apierr.Invalid("action", "only a call that was not made yet can be edited")
	case len(arguments) > maxArguments:
		return apierr.Invalid("arguments", fmt.Sprintf("must have at most %d bytes", maxArguments))
	case !isObject(arguments):
		return apierr.Invalid("arguments", "must be a JSON object")
	}
	return nil
}

func checkRemember(v viewer.Viewer, row *ent.Approval, d *Decision) error {
	switch d.Remember {
	case Once:
		return nil
	case ForRun, ForConversation, ForAgent:
	default:
		return apierr.Invalid("remember", "must be one of once, run, conversation, agent")
	}
	switch {
	case d.Action != Approve:
		return apierr.Invalid("remember", "only an approval as it is can be remembered")
	case row.Kind != approval.KindConsent || row.Risk == approval.RiskDelete:
		return apierr.Invalid("remember", "this is asked each time")
	case d.Remember == ForConversation && v.Subject != row.SubjectID:
		return apierr.New(apierr.Forbidden, "Only the person of a conversation allows a tool for the whole of it")
	case d.Remember == ForAgent && !v.Role.AtLeast(viewer.RoleEditor):
		return apierr.New(apierr.Forbidden, "Only editors allow a tool for all runs of an agent")
	}
	return nil
}

// store makes the transition of an approval.
func (s *Store) store(ctx context.Context, client *ent.Client, row *ent.Approval, d Decision, person uuid.UUID, via approval.DecidedVia) (*ent.Approval, error) {
	now := s.now()
	inside := system(ctx, row.WorkspaceID)
	update := client.Approval.Update().Where(approval.ID(row.ID), approval.StatusEQ(approval.StatusPending), approval.ExpiresAtGT(now)).
		SetStatus(statusOf(d.Action)).SetDecidedAt(now).SetDecidedBy(person).SetDecidedVia(via)
	if d.Comment != "" {
		update.SetComment(d.Comment)
	}
	if d.Action == Edit {
		update.SetEditedArguments(string(d.Arguments))
	}
	if d.Action == Answer {
		update.SetAnswer(d.Answer)
	}
	n, err := update.Save(inside)
	if err != nil {
		return nil, fmt.Errorf("store a decision: %w", err)
	}
	current, err := client.Approval.Get(inside, row.ID)
	if err != nil {
		return nil, lookup.Error("Approval", err)
	}
	if n == 0 {
		if err := s.checkOpen(ctx, client, current); err != nil {
			return nil, err
		}
		return nil, apierr.New(apierr.Conflict, "Somebody else decided at the same time; read the approval again")
	}
	if d.Remember != Once {
		if err := s.grant(inside, client, current, d.Remember, person); err != nil {
			return nil, err
		}
	}
	if err := replaceMessages(ctx, client, row.RunID, now); err != nil {
		return nil, err
	}
	s.announce(ctx)
	return current, nil
}

func statusOf(a Action) approval.Status {
	switch a {
	case Approve:
		return approval.StatusApproved
	case Edit:
		return approval.StatusEdited
	case Answer:
		return approval.StatusAnswered
	default:
		return approval.StatusRejected
	}
}

// queue puts a waiting run into the queue if none of its approvals is pending. The
// caller holds the lock of the run.
func (s *Store) queue(ctx context.Context, client *ent.Client, workspace, run uuid.UUID) error {
	result, err := client.ExecContext(ctx, `update agent_runs set status = 'QUEUED', updated_at = now() where id = $1::text::uuid and workspace_id = $2::text::uuid and status = 'WAITING'
		and not exists (select from approvals a where a.run_id = agent_runs.id and a.status = 'PENDING')`, run.String(), workspace.String())
	if err != nil {
		return fmt.Errorf("queue the run of an approval: %w", err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return fmt.Errorf("queue the run of an approval: %w", err)
	}
	if n > 0 && s.opt.Resume != nil {
		transaction.AfterCommit(ctx, func(ctx context.Context) { s.opt.Resume(ctx, run) })
	}
	return nil
}

// replaceMessages makes the posted messages of the approvals of a run that were decided
// at a time due, to show the outcome. Messages that were not posted need not be.
func replaceMessages(ctx context.Context, client *ent.Client, run uuid.UUID, decided time.Time) error {
	_, err := client.ExecContext(ctx, `update approvals set slack_due_at = case when slack_ts is not null then $2::timestamptz end, slack_attempts = 0
		where run_id = $1::text::uuid and decided_at = $2::timestamptz and slack_channel is not null`, run.String(), decided)
	return apierr.Wrap("replace the messages of approvals", err)
}

// Arguments returns the arguments with which an approved call is made.
func Arguments(row *ent.Approval) json.RawMessage {
	if row.Status == approval.StatusEdited && row.EditedArguments != nil {
		return json.RawMessage(*row.EditedArguments)
	}
	return json.RawMessage(row.Arguments)
}

// Expire ends pending approvals whose time is over, queues the runs that wait for
// nothing else, and returns those runs. It is safe to call in several processes at once.
func (s *Store) Expire(ctx context.Context) ([]uuid.UUID, error) {
	ctx = viewer.With(transaction.Outside(ctx), viewer.System(uuid.Nil))
	rows, err := s.opt.Ent.Approval.Query().Where(approval.StatusEQ(approval.StatusPending), approval.ExpiresAtLTE(s.opt.Now())).
		Order(ent.Asc(approval.FieldExpiresAt)).Limit(maxSwept).Select(approval.FieldID, approval.FieldWorkspaceID, approval.FieldRunID).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read expired approvals: %w", err)
	}
	var out []uuid.UUID
	for _, row := range rows {
		if slices.Contains(out, row.RunID) {
			continue
		}
		ended, err := s.expireRun(ctx, row)
		if err != nil {
			return out, err
		}
		if ended {
			out = append(out, row.RunID)
		}
	}
	return out, nil
}

// maxSwept bounds the approvals that one sweep ends.
const maxSwept = 500

// expireRun ends the expired approvals of a run and reports whether there were any.
func (s *Store) expireRun(ctx context.Context, row *ent.Approval) (bool, error) {
	var n int
	err := transaction.In(ctx, s.opt.Ent, func(ctx context.Context, client *ent.Client) error {
		if err := lockRun(ctx, client, row.RunID); err != nil {
			return err
		}
		now := s.now()
		var err error
		n, err = client.Approval.Update().Where(approval.RunID(row.RunID), approval.StatusEQ(approval.StatusPending), approval.ExpiresAtLTE(now)).
			SetStatus(approval.StatusExpired).SetDecidedAt(now).Save(system(ctx, row.WorkspaceID))
		if err != nil || n == 0 {
			return apierr.Wrap("expire approvals", err)
		}
		if err := replaceMessages(ctx, client, row.RunID, now); err != nil {
			return err
		}
		s.announce(ctx)
		return s.queue(ctx, client, row.WorkspaceID, row.RunID)
	})
	return n > 0, err
}
