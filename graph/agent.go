package graph

import (
	"context"

	"entgo.io/contrib/entgql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/catalog"
	"github.com/magpie-search/magpie/agents/memory"
	"github.com/magpie-search/magpie/agents/template"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentmemory"
	"github.com/magpie-search/magpie/graph/model"
)

func newAgent(in model.CreateAgentInput) catalog.Input {
	return catalog.Input{
		Name: in.Name, Description: in.Description, SystemPrompt: in.SystemPrompt, Tools: in.Tools, Collections: in.Collections,
		All: in.AllCollections, StartMessage: in.StartMessage, Model: in.Model, ToolPolicy: in.ToolPolicy,
	}
}

func agentChange(in model.UpdateAgentInput) catalog.Change {
	return catalog.Change{
		Name: field(in.Name), SystemPrompt: field(in.SystemPrompt), All: field(in.AllCollections),
		Description: nullableField(in.Description), StartMessage: nullableField(in.StartMessage), Model: nullableField(in.Model),
		Tools: nullableField(in.Tools), Collections: nullableField(in.Collections), ToolPolicy: nullableField(in.ToolPolicy),
	}
}

// existingCollections returns the collections of an agent that still exist. All
// agents of an answer need one statement.
func existingCollections(ctx context.Context, ids []uuid.UUID) ([]uuid.UUID, error) {
	names := loadersOf(ctx).collectionName
	seeAll(ids, func(id uuid.UUID) uuid.UUID { return id }, names)
	out := make([]uuid.UUID, 0, len(ids))
	for _, id := range ids {
		name, err := names.Load(ctx, id)
		if err != nil {
			return nil, err
		}
		if name != "" { // names are never empty
			out = append(out, id)
		}
	}
	return out, nil
}

func (r *Resolver) agentTools(ctx context.Context) ([]*catalog.Tool, error) {
	all := r.Agents.Tools()
	more, err := r.Integrations.AgentTools(ctx)
	if err != nil {
		return nil, err
	}
	all = append(all, more...)
	tools := make([]*catalog.Tool, len(all))
	for i := range all {
		tools[i] = &all[i]
	}
	return tools, nil
}

func (r *Resolver) agentTemplates(ctx context.Context, category *string, after cursor, first *int) (*model.AgentTemplateConnection, error) {
	from := uuid.Nil
	if after != nil {
		from = after.ID
	}
	page, err := r.Templates.List(ctx, orZero(category), from, *first)
	if err != nil {
		return nil, err
	}
	out := &model.AgentTemplateConnection{
		Edges: make([]*model.AgentTemplateEdge, len(page.Templates)), TotalCount: page.Total,
		PageInfo: &entgql.PageInfo[uuid.UUID]{HasNextPage: page.HasMore, HasPreviousPage: after != nil},
	}
	for i, t := range page.Templates {
		out.Edges[i] = &model.AgentTemplateEdge{Node: t, Cursor: entgql.Cursor[uuid.UUID]{ID: t.ID}}
	}
	if n := len(out.Edges); n > 0 {
		out.PageInfo.StartCursor, out.PageInfo.EndCursor = &out.Edges[0].Cursor, &out.Edges[n-1].Cursor
	}
	return out, nil
}

func newTemplate(in model.CreateAgentTemplateInput) template.Input {
	return template.Input{
		FromAgent: in.FromAgent, Name: in.Name, Description: in.Description, Category: in.Category, Prompt: in.SystemPrompt,
		StartMessage: in.StartMessage, Tools: in.Tools,
	}
}

func templateChange(in model.UpdateAgentTemplateInput) template.Change {
	return template.Change{
		Name: field(in.Name), Category: field(in.Category), Prompt: field(in.SystemPrompt),
		Description: nullableField(in.Description), StartMessage: nullableField(in.StartMessage), Tools: nullableField(in.Tools),
	}
}

func overrides(in *model.CreateAgentFromTemplateInput) template.Overrides {
	if in == nil {
		return template.Overrides{}
	}
	return template.Overrides{
		Name: in.Name, Description: in.Description, Prompt: in.SystemPrompt, StartMessage: in.StartMessage, Model: in.Model,
		Tools: in.Tools, Collections: in.Collections, All: in.AllCollections,
	}
}

func (r *Resolver) agentMemories(ctx context.Context, agent uuid.UUID, kind *agentmemory.Kind) (*ent.AgentMemoryQuery, error) {
	query := r.client(ctx).AgentMemory.Query().Where(agentmemory.AgentID(agent))
	if kind != nil {
		query.Where(agentmemory.KindEQ(*kind))
	}
	_, err := r.Agents.Get(ctx, agent)
	return query, err
}

func (r *Resolver) searchMemories(ctx context.Context, agent uuid.UUID, query string, kind *agentmemory.Kind, limit *int) ([]*model.FoundAgentMemory, error) {
	hits, err := r.Memories.Search(ctx, agent, query, memory.Kind(orZero(kind)), orDefault(limit, memory.DefaultResults))
	if err != nil {
		return nil, err
	}
	found := make([]*model.FoundAgentMemory, len(hits))
	for i, h := range hits {
		found[i] = &model.FoundAgentMemory{Memory: h.Memory, Score: h.Score}
	}
	return found, nil
}

func newMemory(in model.CreateAgentMemoryInput) memory.Input {
	return memory.Input{Kind: memory.Kind(orZero(in.Kind)), Content: in.Content, Importance: in.Importance, Shared: in.Shared}
}

func memoryChange(in model.UpdateAgentMemoryInput) memory.Change {
	return memory.Change{Kind: (*memory.Kind)(in.Kind), Content: in.Content, Importance: in.Importance}
}

// memoryOwner returns the agent that a memory must belong to: the zero id for any,
// and the greatest id, which no agent has, for the zero id of a request.
func memoryOwner(id *uuid.UUID) uuid.UUID {
	if namesNothing(id) {
		return uuid.Max
	}
	return orZero(id)
}
