package graph

import (
	"context"

	"entgo.io/contrib/entgql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/automation"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/patch"
)

func automationDraft(in model.CreateAutomationInput) automation.Draft {
	return automation.Draft{
		Name: in.Name, Instructions: in.Instructions, Description: in.Description, Disabled: in.Enabled != nil && !*in.Enabled, Agent: in.AgentID,
		RunAs: orZero(in.RunAs), Kind: in.Kind, Trigger: in.Trigger, Conditions: in.Conditions, Approval: in.Approval, Delivery: in.Delivery,
		Limits: in.Limits, DedupeKey: orZero(in.DedupeKey),
	}
}

func automationChange(in model.UpdateAutomationInput) automation.Change {
	c := automation.Change{
		Name: in.Name, Instructions: in.Instructions, DedupeKey: in.DedupeKey, Enabled: in.Enabled, Agent: in.AgentID, RunAs: in.RunAs, Kind: in.Kind,
		Trigger: in.Trigger, Approval: in.Approval, Limits: in.Limits, Conditions: in.Conditions, Delivery: in.Delivery,
	}
	if in.Description != nil {
		c.Description = patch.Set(in.Description)
	}
	return c
}

// newestRuns is the default order of the runs of automations.
func newestRuns(order []*ent.AutomationRunOrder) []*ent.AutomationRunOrder {
	if len(order) > 0 {
		return order
	}
	return []*ent.AutomationRunOrder{{Direction: entgql.OrderDirectionDesc, Field: ent.AutomationRunOrderFieldCreatedAt}}
}

func (r *Resolver) deleteAutomation(ctx context.Context, id uuid.UUID) (uuid.UUID, error) {
	return id, r.Automations.Delete(ctx, id)
}

// automationOutput returns the answer of a run to those who may see it.
func automationOutput(ctx context.Context, row *ent.AutomationRun) *string {
	if !automation.Sees(ctx, row) {
		return nil
	}
	return unlessEmpty(row.Answer)
}

func automationDeliveries(ctx context.Context, row *ent.AutomationRun) ([]*model.AutomationDelivery, error) {
	shown, err := automation.Deliveries(row)
	out := []*model.AutomationDelivery{}
	for _, d := range shown {
		one := &model.AutomationDelivery{Kind: d.Kind, Status: d.Status, Error: unlessEmpty(d.Error)}
		if automation.Sees(ctx, row) {
			one.Target = unlessEmpty(d.Target)
		}
		out = append(out, one)
	}
	return out, err
}

func automationTemplates() []*model.AutomationTemplate {
	var out []*model.AutomationTemplate
	for _, t := range automation.Templates() {
		out = append(out, &model.AutomationTemplate{
			Name: t.Name, Title: t.Title, Description: t.Description, Kind: t.Kind, Instructions: t.Instructions,
			Trigger: t.Trigger, Conditions: t.Conditions, Approval: t.Approval, Delivery: t.Delivery, Limits: t.Limits,
		})
	}
	return out
}
