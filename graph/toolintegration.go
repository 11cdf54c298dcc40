package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/integration/store"
	"github.com/magpie-search/magpie/agents/integration/webhook"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/ent"
	entagent "github.com/magpie-search/magpie/ent/agent"
	"github.com/magpie-search/magpie/ent/integrationtool"
	"github.com/magpie-search/magpie/ent/toolintegration"
	"github.com/magpie-search/magpie/graph/model"
)

// toolProviders describes the providers, so that forms can be drawn from it.
func toolProviders(providers []store.Listed) ([]*model.ToolProvider, error) {
	out := []*model.ToolProvider{}
	for _, p := range providers {
		made := &model.ToolProvider{
			Name: p.Name, Title: p.Title, Summary: p.Summary, Kind: p.Kind, Group: string(p.Group), Options: options(p.Config), Credentials: options(p.Credentials),
			Tools: []*model.ToolDescription{},
		}
		if p.Kind != toolintegration.KindPack {
			made.Group = "custom"
		}
		switch {
		case p.OAuth != nil:
			made.Oauth = &p.OAuth.Provider
		case p.Kind == toolintegration.KindMCP:
			made.Oauth = &p.Name // each server names its own
		}
		for _, t := range p.Tools {
			described := &model.ToolDescription{
				Name: t.Name, Title: t.Title, Description: t.Description, Risk: store.RiskOf(t.Risk), Policy: integrationtool.CallPolicy(strings.ToUpper(string(t.Risk.Default()))),
			}
			if err := json.Unmarshal(t.Schema, &described.Parameters); err != nil {
				return nil, fmt.Errorf("read the schema of %s: %w", p.FullName(t), err)
			}
			made.Tools = append(made.Tools, described)
		}
		out = append(out, made)
	}
	return out, nil
}

func toolIntegrationDraft(in model.CreateToolIntegrationInput) store.Draft {
	return store.Draft{
		Provider: in.Provider, Name: in.Name, Slug: orZero(in.Slug), Disabled: in.Enabled != nil && !*in.Enabled, Config: in.Config, Credentials: in.Credentials,
		Personal: orZero(in.OwnerScope) == toolintegration.OwnerScopePersonal, Shared: orZero(in.CredentialsOf) == toolintegration.CredentialsOfShared,
	}
}

func toolIntegrationChange(in model.UpdateToolIntegrationInput) store.Change {
	out := store.Change{Name: in.Name, Enabled: in.Enabled, Config: in.Config, Credentials: in.Credentials}
	if in.CredentialsOf != nil {
		shared := *in.CredentialsOf == toolintegration.CredentialsOfShared
		out.Shared = &shared
	}
	return out
}

func toolIntegrationTest(c store.Check, err error) (*model.ToolIntegrationTest, error) {
	if err != nil {
		return nil, err
	}
	return &model.ToolIntegrationTest{Ok: c.OK, Message: c.Message, NeedsAuth: c.NeedsAuth}, nil
}

func toolRefresh(row *ent.ToolIntegration, d store.Difference, err error) (*model.ToolRefresh, error) {
	if err != nil {
		return nil, err
	}
	return &model.ToolRefresh{Integration: row, Added: append([]string{}, d.Added...), Changed: append([]string{}, d.Changed...)}, nil
}

func toolChange(in model.ToolPolicyInput) store.ToolChange {
	return store.ToolChange{Enabled: in.Enabled, Policy: nullableField(in.Policy), Rules: listField(in.ArgumentRules), Timeout: in.Timeout}
}

func webhookTool(in model.WebhookToolInput) store.WebhookTool {
	out := store.WebhookTool{
		Name: in.Name, Title: orZero(in.Title), Description: in.Description, Schema: in.InputSchema, Timeout: orZero(in.Timeout),
		Endpoint: webhook.Endpoint{Method: in.Method, Path: in.Path, Query: in.Query, Body: in.Body, Result: orZero(in.Result)},
	}
	if in.Risk != nil {
		out.Risk = policy.Risk(strings.ToLower(string(*in.Risk)))
	}
	return out
}

func importRequest(in model.ImportToolsInput) store.ImportRequest {
	return store.ImportRequest{Spec: orZero(in.Spec), URL: orZero(in.URL), Operations: in.Operations, Preview: orZero(in.Preview)}
}

func toolImport(operations []store.Imported, skipped []string, err error) (*model.ToolImport, error) {
	if err != nil {
		return nil, err
	}
	out := &model.ToolImport{Operations: []*model.ImportedOperation{}, Skipped: append([]string{}, skipped...)}
	for _, o := range operations {
		out.Operations = append(out.Operations, &model.ImportedOperation{
			Name: o.Name, Title: o.Title, Description: o.Description, Method: o.Endpoint.Method, Path: o.Endpoint.Path, Risk: store.RiskOf(o.Risk),
			InputSchema: o.Schema, Exists: o.Exists,
		})
	}
	return out, nil
}

func toolTrial(t store.Trial, err error) (*model.ToolCallResult, error) {
	if err != nil {
		return nil, err
	}
	return &model.ToolCallResult{Ok: t.OK, Text: t.Text, Preview: unlessEmpty(t.Preview)}, nil
}

func (r *Resolver) loadAgentIntegrations(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID][]*ent.ToolIntegration, error) {
	rows, err := r.client(ctx).Agent.Query().Where(entagent.IDIn(ids...)).Select(entagent.FieldID, entagent.FieldTools).All(ctx)
	if err != nil {
		return nil, err
	}
	tools := map[uuid.UUID][]string{}
	for _, row := range rows {
		tools[row.ID] = row.Tools
	}
	return r.Integrations.OfAgents(ctx, tools)
}
