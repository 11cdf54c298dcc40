package automation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/automationrun"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

const (
	// maxTries bounds the tries of a delivery that had no effect.
	maxTries = 5
	// maxDelivered is the maximum length of a delivered text in bytes, maxTitle that of
	// its title.
	maxDelivered = 100_000
	maxTitle     = 500
)

// approve asks about the deliveries that need a person, and reads the decisions.
func (w *work) approve(ctx context.Context) error {
	entries, err := decodeEntries(w.row)
	if err != nil {
		return err
	}
	of, err := w.agentRun(ctx)
	if errors.Is(err, errGone) {
		return w.fail(ctx, automationrun.ErrorClassAgent, "the run of the agent was deleted")
	}
	if err != nil {
		return err
	}
	decided, err := w.engine.Approvals.Decisions(ctx, of)
	if err != nil {
		return fmt.Errorf("read decisions: %w", err)
	}
	var questions []Question
	waiting := false
	for i := range entries {
		one := &entries[i]
		if one.Status != statusPending && (one.Status != statusUnknown || one.Settled) {
			continue
		}
		q := w.question(ctx, i, *one)
		at := slices.IndexFunc(decided, func(d Decision) bool { return d.Call == q.Call && d.Unknown == q.Unknown })
		if at < 0 {
			questions = append(questions, q)
			waiting = true
			continue
		}
		if again := w.apply(one, decided[at]); again {
			questions = append(questions, w.question(ctx, i, *one))
		}
		waiting = waiting || one.Status == statusPending || one.Status == statusUnknown && !one.Settled
	}
	if len(questions) > 0 {
		return w.ask(ctx, of, entries, questions)
	}
	if waiting {
		return w.engine.later(ctx, w.row, w.engine.Poll, nil)
	}
	return w.decided(ctx, entries)
}

// ask stores questions in the transaction in which the run begins to wait.
func (w *work) ask(ctx context.Context, of *ent.AgentRun, entries []entry, questions []Question) error {
	err := transaction.In(ctx, w.client(), func(ctx context.Context, client *ent.Client) error {
		err := saveWith(ctx, client, w.row, w.engine.now(), func(u *ent.AutomationRunUpdate) {
			u.SetStatus(automationrun.StatusWaiting).SetWaitingSince(w.engine.now()).SetReason("a person must decide about the delivery of the answer").
				SetDeliveries(encodeEntries(entries)).SetDueAt(w.engine.now().Add(w.engine.Poll))
		})
		if err != nil {
			return err
		}
		return w.engine.Approvals.Ask(ctx, client, of, questions)
	})
	if err != nil {
		return fmt.Errorf("ask about deliveries: %w", err)
	}
	return nil
}

func (w *work) question(ctx context.Context, i int, one entry) Question {
	text, err := json.Marshal(one.Arguments)
	if err != nil {
		text = json.RawMessage("{}") // a struct of texts always encodes
	}
	q := Question{
		Call: one.Call, Tool: deliverPrefix + one.Kind, Title: title(one), Risk: Delivery{Kind: one.Kind}.risk(), Arguments: text, Approval: withOwner(w.automation, w.settings.Approval),
		Preview: "**" + one.Arguments.Title + "**\n\n" + one.Arguments.Text,
	}
	if inspector, calls := w.engine.Deliverers[one.Kind].(Inspector); calls {
		if inspection, err := inspector.Inspect(ctx, w.job(i, one)); err == nil { // without it, the text is shown
			q.Preview = inspection.Preview
		}
	}
	if one.Escalated {
		q.Call += "-escalated"
		q.Approvers = w.settings.Approval.EscalateTo
	}
	if one.Status == statusUnknown {
		q.Unknown = true
		q.Call = fmt.Sprintf("%s-try-%d", one.Call, one.Tries)
		q.Title = "Was it sent? " + q.Title
		q.Preview = "Magpie was interrupted while it did this, and does not know whether it arrived. Approve to do it again; reject to leave it.\n\n" + q.Preview
	}
	return q
}

func title(one entry) string {
	switch one.Kind {
	case ReplyEmail:
		return "Reply to " + one.Target
	case SlackMessage:
		return "Post in " + one.Target
	case Comment:
		return "Comment on " + one.Target
	default:
		return "Store a document in " + one.Target
	}
}

// apply applies a decision. again says that somebody else must be asked.
func (w *work) apply(one *entry, d Decision) (again bool) {
	if d.Unknown {
		switch d.Status {
		case "APPROVED", "EDITED":
			one.Status = statusApproved
		case "REJECTED", "EXPIRED", "CANCELED":
			one.Settled = true
		}
		return false
	}
	switch d.Status {
	case "APPROVED":
		one.Status = statusApproved
	case "EDITED":
		edited, err := one.Arguments.edited(d.Arguments)
		if err != nil { // the approval does not take such arguments
			one.Status, one.Error = statusRejected, "the edited text cannot be used"
			return false
		}
		one.Status, one.Arguments = statusApproved, edited
	case "REJECTED":
		one.Status, one.Error = statusRejected, truncated(d.Comment, 300)
	case "CANCELED":
		one.Status, one.Error = statusRejected, "the question was withdrawn"
	case "EXPIRED":
		return w.expire(one)
	}
	return false
}

// expire applies what the automation does when nobody decides in time.
func (w *work) expire(one *entry) (again bool) {
	risk := Delivery{Kind: one.Kind}.risk()
	switch a := w.settings.Approval; {
	case a.OnTimeout == OnTimeoutApprove && risk != policy.Send && risk != policy.Delete:
		one.Status = statusApproved
	case a.OnTimeout == OnTimeoutEscalate && !one.Escalated:
		one.Escalated = true
		return true
	default:
		one.Status, one.Error = statusExpired, "nobody decided in time"
	}
	return false
}

// decided goes on when no delivery waits for a person.
func (w *work) decided(ctx context.Context, entries []entry) error {
	has := func(status string) bool {
		return slices.ContainsFunc(entries, func(o entry) bool { return o.Status == status })
	}
	store := func(u *ent.AutomationRunUpdate) { u.SetDeliveries(encodeEntries(entries)) }
	if has(statusApproved) || has(statusDone) || has(statusFailed) || has(statusUnknown) {
		return w.engine.later(ctx, w.row, 0, func(u *ent.AutomationRunUpdate) {
			u.SetStep(automationrun.StepDelivery).SetStatus(automationrun.StatusRunning).ClearWaitingSince().ClearReason()
			store(u)
		})
	}
	if has(statusExpired) {
		return w.engine.finish(ctx, w.row, automationrun.StatusExpired, "nobody decided in time", store)
	}
	reason := "a person rejected the answer"
	for _, one := range entries {
		if one.Error != "" {
			reason += ": " + one.Error
			break
		}
	}
	return w.engine.finish(ctx, w.row, automationrun.StatusRejected, reason, store)
}

// deliver makes the deliveries, one after the other. Each is marked as started before,
// so that it happens at most once: one that a crash has interrupted is unknown, and a
// person decides, unless it may be repeated.
func (w *work) deliver(ctx context.Context) error {
	entries, err := decodeEntries(w.row)
	if err != nil {
		return err
	}
	if len(entries) > len(w.settings.Delivery) {
		return w.fail(ctx, automationrun.ErrorClassDelivery, "the deliveries of the automation were changed meanwhile")
	}
	store := func(u *ent.AutomationRunUpdate) { u.SetDeliveries(encodeEntries(entries)) }
	kept := context.WithoutCancel(ctx) // what has happened is stored even when the worker stops
	for i := range entries {
		one := &entries[i]
		d := w.engine.Deliverers[one.Kind]
		switch {
		case d == nil && (one.Status == statusPending || one.Status == statusApproved):
			one.Status, one.Error = statusFailed, "this kind of delivery is not set up here"
			continue
		case one.Kind != w.settings.Delivery[i].Kind && one.Status != statusDone:
			return w.fail(ctx, automationrun.ErrorClassDelivery, "the deliveries of the automation were changed meanwhile")
		case one.Status == statusStarted && (d == nil || !d.Repeatable()):
			one.Status = statusUnknown
			continue
		case one.Status != statusPending && one.Status != statusApproved && one.Status != statusStarted:
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err() // nothing of it has begun
		}
		before := one.Status
		one.Status, one.Tries = statusStarted, one.Tries+1
		if err := w.engine.save(ctx, w.row, store); err != nil {
			return err
		}
		delay := w.result(ctx, one, before, d.Deliver(ctx, w.job(i, *one)))
		if delay > 0 {
			return w.engine.later(kept, w.row, delay, store)
		}
		if err := w.engine.save(kept, w.row, store); err != nil {
			return err
		}
	}
	return w.delivered(kept, entries, store)
}

// result stores how a delivery ended. It returns after how long it is tried again.
func (w *work) result(ctx context.Context, one *entry, before string, err error) time.Duration {
	if err == nil {
		one.Status, one.Error = statusDone, ""
		return 0
	}
	w.engine.log.WarnContext(ctx, "delivery of an automation failed", slog.Any("run", w.row.ID), slog.String("kind", one.Kind), slog.Int("try", one.Tries), slog.Any("error", err))
	refused, known := errors.AsType[*NotSent](err)
	switch {
	case !known:
		one.Status, one.Error = statusUnknown, "it was interrupted"
	case refused.Later && one.Tries < maxTries:
		one.Status, one.Error = before, truncated(refused.Reason, 300)
		return max(15*time.Second<<min(one.Tries, 8), refused.After)
	default:
		one.Status, one.Error = statusFailed, truncated(refused.Reason, 300)
	}
	return 0
}

// delivered ends a run whose deliveries are over, or asks about unknown ones.
func (w *work) delivered(ctx context.Context, entries []entry, store func(*ent.AutomationRunUpdate)) error {
	failed, rejected, unknown := "", 0, false
	for _, one := range entries {
		switch {
		case one.Status == statusUnknown && !one.Settled:
			return w.engine.later(ctx, w.row, 0, func(u *ent.AutomationRunUpdate) {
				u.SetStep(automationrun.StepApproval)
				store(u)
			})
		case one.Status == statusUnknown:
			unknown = true
		case one.Status == statusFailed:
			failed = one.Kind + ": " + one.Error
		case one.Status == statusRejected || one.Status == statusExpired:
			rejected++
		}
	}
	switch {
	case failed != "":
		if err := w.engine.save(ctx, w.row, store); err != nil {
			return err
		}
		return w.fail(ctx, automationrun.ErrorClassDelivery, failed)
	case unknown:
		return w.engine.succeed(ctx, w.row, w.automation, "a delivery may or may not have arrived", store)
	case rejected > 0:
		return w.engine.succeed(ctx, w.row, w.automation, fmt.Sprintf("%d of %d deliveries were not approved", rejected, len(entries)), store)
	default:
		return w.engine.succeed(ctx, w.row, w.automation, "", store)
	}
}
