package graph

import (
	"context"
	"encoding/json"
	"strings"

	"entgo.io/contrib/entgql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/ent"
	entapproval "github.com/magpie-search/magpie/ent/approval"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/patch"
	"github.com/magpie-search/magpie/internal/viewer"
)

// newestApprovals is the default order of approvals.
func newestApprovals(order []*ent.ApprovalOrder) []*ent.ApprovalOrder {
	if len(order) > 0 {
		return order
	}
	return []*ent.ApprovalOrder{{Direction: entgql.OrderDirectionDesc, Field: ent.ApprovalOrderFieldCreatedAt}}
}

func (r *Resolver) approvals(ctx context.Context, status []entapproval.Status, mine *bool, run *uuid.UUID) (*ent.ApprovalQuery, error) {
	if namesNothing(run) {
		return nil, apierr.NotFound("Run")
	}
	return r.Approvals.List(ctx, approval.Filter{Statuses: status, Mine: orZero(mine), Run: orZero(run)})
}

func (r *Resolver) decideApproval(ctx context.Context, in model.DecideApprovalInput) (*ent.Approval, error) {
	d := approval.Decision{
		Action: approval.Action(strings.ToLower(string(in.Action))), Comment: orZero(in.Comment), Answer: orZero(in.Answer),
		Confirm: orZero(in.Confirm), ExpectedHash: orZero(in.ArgumentsHash),
	}
	if in.Remember != nil {
		d.Remember = approval.Remember(strings.ToLower(string(*in.Remember)))
	}
	if in.Arguments != nil {
		text, err := json.Marshal(in.Arguments)
		if err != nil {
			return nil, apierr.Invalid("arguments", "must be a JSON object")
		}
		d.Arguments = text
	}
	via := entapproval.DecidedViaDashboard
	if isStored(ctx) {
		via = entapproval.DecidedViaAPI
	}
	return r.Approvals.Decide(ctx, in.ID, d, via)
}

func (r *Resolver) approvalChanged(ctx context.Context, id *uuid.UUID, mine *bool, after *string) (<-chan *model.ApprovalEvent, error) {
	if namesNothing(id) {
		return nil, apierr.NotFound("Approval")
	}
	changes, err := r.Approvals.Watch(ctx, approval.Filter{Mine: orZero(mine)}, orZero(id), orZero(after))
	if err != nil {
		return nil, err
	}
	return relay(ctx, changes, func(c approval.Change) *model.ApprovalEvent {
		return &model.ApprovalEvent{Cursor: c.Cursor, Approval: c.Approval}
	}, func() {}), nil
}

func mayDecide(ctx context.Context, row *ent.Approval) bool {
	v, _ := viewer.From(ctx)
	return approval.MayDecide(v, row)
}

func approvalSettings(s approval.Settings, err error) (*model.ApprovalSettings, error) {
	if err != nil {
		return nil, err
	}
	out := &model.ApprovalSettings{}
	if out.ToolPolicy, err = policyMap(s.ToolPolicy); err != nil {
		return nil, err
	}
	if s.Channel != nil {
		out.SlackIntegrationID, out.SlackChannel = &s.Channel.Integration, &s.Channel.Name
	}
	return out, nil
}

// policyMap returns a stored policy.
func policyMap(text json.RawMessage) (map[string]any, error) {
	out := map[string]any{}
	if len(text) == 0 {
		return out, nil
	}
	return out, apierr.Wrap("read a tool policy", json.Unmarshal(text, &out))
}

func (r *Resolver) updateApprovalSettings(ctx context.Context, in model.ApprovalSettingsInput) (*model.ApprovalSettings, error) {
	c := approval.SettingsChange{ToolPolicy: nullableField(in.ToolPolicy)}
	integration, channel := nullableField(in.SlackIntegrationID), nullableField(in.SlackChannel)
	if namesNothing(integration.Value) {
		return nil, apierr.NotFound("Integration")
	}
	if integration.Given || channel.Given {
		c.Channel = patch.Field[*approval.Channel]{Given: true}
		if integration.Value != nil || channel.Value != nil {
			c.Channel.Value = &approval.Channel{Integration: orZero(integration.Value), Name: orZero(channel.Value)}
		}
	}
	return approvalSettings(r.Approvals.UpdateSettings(ctx, c))
}

func (r *Resolver) toolGrants(ctx context.Context, agent uuid.UUID) (*ent.ToolGrantQuery, error) {
	_, err := r.Agents.Get(ctx, agent)
	return r.Approvals.Grants(ctx, agent), err
}
