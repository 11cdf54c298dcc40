package run

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	entapproval "github.com/magpie-search/magpie/ent/approval"
	"github.com/magpie-search/magpie/internal/live/journal"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Approvals keeps what people are asked and what they decide; approval.Store
// implements it.
type Approvals interface {
	Create(ctx context.Context, client *ent.Client, run *ent.AgentRun, requests []approval.Request) ([]*ent.Approval, error)
	OfRun(ctx context.Context, client *ent.Client, run *ent.AgentRun) ([]*ent.Approval, error)
	CancelRun(ctx context.Context, client *ent.Client, run *ent.AgentRun) error
	// Expire ends the approvals whose time is over and returns the runs that can go
	// on.
	Expire(ctx context.Context) ([]uuid.UUID, error)
	Granted(ctx context.Context, run *ent.AgentRun, tool string) (bool, error)
}

// Oversight names the people who decide about the calls of a run. The zero value
// leaves the decision to its person.
type Oversight struct {
	Approvers []uuid.UUID
	Role      viewer.Role // who has it, or more, may decide, too; empty for nobody
	// OthersOnly keeps the person of the run from deciding.
	OthersOnly bool
	Channel    *approval.Channel
	Expiry     time.Duration
	// Acting is a policy of all acting calls besides their own.
	Acting policy.Policy
}

// suspend stores what the run waits for, and frees the process.
func (w *work) suspend(ctx context.Context) error {
	r := w.runs
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.opt.StoreTimeout)
	defer cancel()
	requests := make([]approval.Request, len(w.outcome.Pending))
	for i, p := range w.outcome.Pending {
		requests[i] = w.request(p)
	}
	open := 0
	err := transaction.In(ctx, r.opt.Ent, func(ctx context.Context, client *ent.Client) error {
		approvals, err := r.opt.Approvals.Create(ctx, client, w.row, requests)
		if err != nil {
			return fmt.Errorf("ask: %w", err)
		}
		seq, entries := w.journal.Unstored()
		for i, a := range approvals {
			if a.Status != entapproval.StatusPending {
				continue // decided before the process died that asked
			}
			open++
			event, err := json.Marshal(ApprovalRequired{
				ApprovalID: a.ID, CallID: w.outcome.Pending[i].CallID, Tool: a.Tool, Kind: string(a.Kind), Risk: string(a.Risk), Title: a.Title, Preview: a.Preview,
				Options: a.Options, ExpiresAt: a.ExpiresAt,
			})
			if err != nil {
				return fmt.Errorf("encode an event: %w", err)
			}
			entries = append(entries, journal.Entry{Type: TypeApproval, Data: event})
		}
		status := agentrun.StatusQueued
		if open > 0 {
			status = agentrun.StatusWaiting
			waiting, err := json.Marshal(Waiting{Approvals: open})
			if err != nil {
				return fmt.Errorf("encode an event: %w", err)
			}
			entries = append(entries, journal.Entry{Type: TypeWaiting, Data: waiting})
		}
		if len(entries) > 0 {
			if err := events.Insert(ctx, client, streamOf(w.row), seq+1, entries); err != nil {
				return err
			}
		}
		if err := w.saveState(ctx, client, w.outcome.State); err != nil {
			return err
		}
		now := r.opt.Now()
		update := w.counters(client.AgentRun.UpdateOneID(w.row.ID)).SetStatus(status).SetUpdatedAt(now)
		if open > 0 {
			update.SetWaitingSince(now)
		}
		if err := update.Exec(ctx); err != nil {
			return fmt.Errorf("store that the run waits: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if open == 0 {
		r.enqueue(ctx, w.row.WorkspaceID, w.row.ID, w.row.Attempt)
	}
	r.notifyFollowers(ctx, w.row.ID)
	return nil
}

// request returns the question to people about a call.
func (w *work) request(p loop.Pending) approval.Request {
	o := w.oversight
	request := approval.Request{
		CallID: p.ID, Tool: p.Tool, Risk: p.Risk, Title: p.Preview.Title, Preview: p.Preview.Text, Reason: p.Reason, Arguments: p.Arguments,
		Configuration: p.ToolHash, Kind: entapproval.KindConsent,
		Approvers: o.Approvers, Role: o.Role, OthersOnly: o.OthersOnly, Channel: o.Channel, Expiry: o.Expiry,
	}
	switch {
	case p.Question != nil:
		request.Kind, request.Title, request.Options = entapproval.KindQuestion, p.Question.Text, p.Question.Options
		request.Preview = p.Question.Text
	case p.Unknown:
		request.Kind = entapproval.KindUnknownEffect
	}
	return request
}

// decisions returns what people decided about the calls of a run. What was approved
// runs with the very arguments that the approval holds.
func (r *Runs) decisions(ctx context.Context, row *ent.AgentRun) (map[string]loop.Decision, error) {
	approvals, err := r.opt.Approvals.OfRun(ctx, r.opt.Ent, row)
	if err != nil {
		return nil, fmt.Errorf("read what was decided: %w", err)
	}
	out := make(map[string]loop.Decision, len(approvals))
	for _, a := range approvals {
		d := loop.Decision{}
		if a.Comment != nil {
			d.Comment = *a.Comment
		}
		switch a.Status {
		case entapproval.StatusPending:
			continue
		case entapproval.StatusApproved:
			d.Verdict, d.Arguments = loop.Approved, json.RawMessage(a.Arguments)
			if approval.Hash(d.Arguments) != a.ArgumentsHash {
				d = loop.Decision{Verdict: loop.Rejected, Comment: "The stored arguments are not those that were approved."}
			}
		case entapproval.StatusEdited:
			d.Verdict = loop.Rejected
			if a.EditedArguments != nil {
				d.Verdict, d.Arguments = loop.Approved, json.RawMessage(*a.EditedArguments)
			}
		case entapproval.StatusAnswered:
			d.Verdict = loop.Answered
			if a.Answer != nil {
				d.Answer = *a.Answer
			}
		case entapproval.StatusExpired:
			d.Verdict = loop.Expired
		default:
			d.Verdict = loop.Rejected
		}
		out[a.CallID] = d
	}
	return out, nil
}
