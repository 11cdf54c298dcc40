package automation

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/ent"
	entapproval "github.com/magpie-search/magpie/ent/approval"
	"github.com/magpie-search/magpie/internal/viewer"
)

// People asks people by approvals of the agent run whose answer is delivered.
type People struct {
	Ent       *ent.Client
	Approvals *approval.Store
}

var _ Approvals = People{}

// Ask stores approvals.
func (p People) Ask(ctx context.Context, client *ent.Client, of *ent.AgentRun, questions []Question) error {
	requests := make([]approval.Request, len(questions))
	for i, q := range questions {
		requests[i] = approval.Request{
			CallID: q.Call, Tool: q.Tool, ToolTitle: q.Tool, Kind: entapproval.KindConsent, Risk: q.Risk, Title: q.Title, Preview: q.Preview, Arguments: q.Arguments,
			Expiry: q.Approval.Timeout(), Approvers: q.approvers(), Role: viewer.Role(q.Approval.Role), Channel: q.Approval.channel(),
		}
		if q.Unknown {
			requests[i].Kind = entapproval.KindUnknownEffect
		}
	}
	if _, err := p.Approvals.Create(ctx, client, of, requests); err != nil {
		return fmt.Errorf("ask people: %w", err)
	}
	return nil
}

// approvers returns who may decide about a question.
func (q Question) approvers() []uuid.UUID {
	if len(q.Approvers) > 0 {
		return q.Approvers
	}
	return q.Approval.Approvers
}

// channel returns where questions are posted; nil for the workspace's channel.
func (a Approval) channel() *approval.Channel {
	if a.Channel != "slack" || a.SlackIntegration == nil {
		return nil
	}
	return &approval.Channel{Integration: *a.SlackIntegration, Name: a.SlackChannel}
}

// Decisions returns what people decided.
func (p People) Decisions(ctx context.Context, of *ent.AgentRun) ([]Decision, error) {
	rows, err := p.Approvals.OfRun(ctx, p.Ent, of)
	if err != nil {
		return nil, fmt.Errorf("read what people decided: %w", err)
	}
	out := make([]Decision, len(rows))
	for i, a := range rows {
		d := Decision{Call: a.CallID, Tool: a.Tool, Unknown: a.Kind == entapproval.KindUnknownEffect, Status: string(a.Status), Arguments: json.RawMessage(a.Arguments)}
		if a.EditedArguments != nil {
			d.Arguments = json.RawMessage(*a.EditedArguments)
		}
		if a.Comment != nil {
			d.Comment = *a.Comment
		}
		out[i] = d
	}
	return out, nil
}
