package automation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/ent"
	entapproval "github.com/magpie-search/magpie/ent/approval"
	"github.com/magpie-search/magpie/internal/apierr"
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

// CheckArguments checks what a person writes in place of the arguments of a delivery.
// known is false for an approval of something else, such as a call of an agent. The error
// is apierr.InvalidRequest and names the argument.
func CheckArguments(a *ent.Approval, given json.RawMessage) (known bool, err error) {
	if a.ConfigurationHash != "" || !strings.HasPrefix(a.Tool, deliverPrefix) { // every call of an agent has a hash of its tool
		return false, nil
	}
	var old Arguments
	if err := json.Unmarshal([]byte(a.Arguments), &old); err != nil {
		return true, fmt.Errorf("read the arguments of a delivery: %w", err)
	}
	_, err = old.edited(given)
	return true, err
}

// deliverPrefix begins the names of deliveries in approvals.
const deliverPrefix = "deliver."

// edited returns the arguments with what a person has written. The target stays.
func (a Arguments) edited(given json.RawMessage) (Arguments, error) {
	var out Arguments
	d := json.NewDecoder(bytes.NewReader(given))
	d.DisallowUnknownFields()
	if d.Decode(&out) != nil {
		return a, apierr.Invalid("arguments", "must have title and text, and nothing else that is new")
	}
	switch {
	case out.To != "" && out.To != a.To:
		return a, apierr.Invalid("arguments.to", "cannot be changed: the automation says where the answer goes")
	case strings.TrimSpace(out.Text) == "" || len(out.Text) > maxDelivered:
		return a, apierr.Invalid("arguments.text", fmt.Sprintf("must have 1 to %d bytes", maxDelivered))
	case len(out.Title) > maxTitle || strings.ContainsAny(out.Title, "\r\n"):
		return a, apierr.Invalid("arguments.title", fmt.Sprintf("must be one line of at most %d bytes", maxTitle))
	}
	out.To = a.To
	if strings.TrimSpace(out.Title) == "" {
		out.Title = a.Title
	}
	return out, nil
}
