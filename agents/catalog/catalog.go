package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agent"
	"github.com/magpie-search/magpie/ent/collection"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/patch"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

// maxCollections bounds the collections that an agent names.
const maxCollections = 1000

// Input describes an agent to create.
type Input struct {
	Name         string
	Description  *string
	SystemPrompt string
	Tools        []string
	// Collections are the collections that the agent may search; an empty list
	// means none. If Collections is nil and All is nil or true, the agent
	// searches all.
	Collections  []uuid.UUID
	All          *bool
	StartMessage *string
	Model        *string
	// ToolPolicy is a policy.Set.
	ToolPolicy map[string]any
}

// Change holds the changes to an agent. A nil value clears an optional setting.
type Change struct {
	Name, SystemPrompt               patch.Field[string]
	Description, StartMessage, Model patch.Field[*string]
	Tools                            patch.Field[[]string]
	Collections                      patch.Field[[]uuid.UUID] // nil means all
	All                              patch.Field[bool]
	ToolPolicy                       patch.Field[map[string]any] // nil means the empty policy
}

// Integrations have further tools; store.Store implements it.
type Integrations interface {
	// UnknownTool returns the position of the first name, such as jira.search, that no
	// integration which the viewer sees has; -1 if there is none.
	UnknownTool(ctx context.Context, names []string) (int, error)
}

// Options configure a Catalog.
type Options struct {
	// Integrations have tools beside the built-in ones. Nil means that there are none.
	Integrations Integrations
	// Models returns the names of the configured chat models, the default
	// first.
	Models func() []string
	// Parameters returns the JSON Schema of a tool's parameters, or nil if it
	// is not known.
	Parameters func(tool string) map[string]any
}

// Catalog manages agents. It is safe for concurrent use and has no goroutines.
type Catalog struct {
	ent *ent.Client
	opt Options
}

// NewCatalog returns a catalog of the agents in a database.
func NewCatalog(client *ent.Client, o Options) *Catalog { return &Catalog{ent: client, opt: o} }

// Tools returns all tools with their parameters.
func (c *Catalog) Tools() []Tool {
	all := Tools()
	if c.opt.Parameters != nil {
		for i := range all {
			all[i].Parameters = c.opt.Parameters(all[i].Name)
		}
	}
	return all
}

// Get returns an agent of the viewer's workspace.
func (c *Catalog) Get(ctx context.Context, id uuid.UUID) (*ent.Agent, error) {
	row, err := transaction.Client(ctx, c.ent).Agent.Get(ctx, id)
	return agentOrError(row, err)
}

// Create makes an agent in the viewer's workspace. A collection that the viewer
// cannot see is not found.
func (c *Catalog) Create(ctx context.Context, in Input) (*ent.Agent, error) {
	p := settings{name: in.Name, prompt: in.SystemPrompt, description: in.Description, startMessage: in.StartMessage, model: in.Model, tools: in.Tools, toolPolicy: in.ToolPolicy, all: true}
	if err := p.setCollections(patch.Field[[]uuid.UUID]{Given: in.Collections != nil, Value: in.Collections}, patch.SetIfNotNil(in.All)); err != nil {
		return nil, err
	}
	for _, check := range []func() error{p.checkName, p.checkDescription, p.checkPrompt, p.checkTools, p.checkStartMessage, p.checkToolPolicy,
		func() error { return c.checkIntegrations(ctx, p.tools) }, func() error { return c.checkModel(&p) }, func() error { return c.checkCollections(ctx, &p) }} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	row, err := transaction.Client(ctx, c.ent).Agent.Create().
		SetName(p.name).SetNillableDescription(p.description).SetSystemPrompt(p.prompt).SetTools(nonNil(p.tools)).
		SetCollections(nonNil(p.collections)).SetAllCollections(p.all).
		SetNillableStartMessage(p.startMessage).SetNillableModel(p.model).SetToolPolicy(p.policyText).Save(ctx)
	if err != nil {
		return nil, fmt.Errorf("store the agent: %w", err)
	}
	return row, nil
}

// Update applies a change. It does not validate unchanged settings, because a
// model or collection may have been removed since it was chosen.
func (c *Catalog) Update(ctx context.Context, id uuid.UUID, change Change) (*ent.Agent, error) {
	var changed *ent.Agent
	err := transaction.In(ctx, c.ent, func(ctx context.Context, client *ent.Client) error {
		row, err := agentOrError(client.Agent.Query().Where(agent.ID(id)).ForUpdate().Only(ctx))
		if err != nil {
			return err
		}
		update, err := c.applyChange(ctx, client, row, change)
		if err != nil {
			return err
		}
		if changed, err = update.Save(ctx); err != nil {
			return fmt.Errorf("store the agent: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return transaction.Detach(ctx, changed), nil
}

func (c *Catalog) applyChange(ctx context.Context, client *ent.Client, row *ent.Agent, change Change) (*ent.AgentUpdateOne, error) {
	update := client.Agent.UpdateOne(row)
	p := settings{
		name: change.Name.Value, prompt: change.SystemPrompt.Value, description: change.Description.Value, startMessage: change.StartMessage.Value,
		model: change.Model.Value, tools: change.Tools.Value, collections: row.Collections, all: row.AllCollections,
		toolPolicy: change.ToolPolicy.Value,
	}
	if err := p.setCollections(change.Collections, change.All); err != nil {
		return nil, err
	}
	for _, step := range []struct {
		given bool
		check func() error
		write func()
	}{
		{change.Name.Given, p.checkName, func() { update.SetName(p.name) }},
		{change.Description.Given, p.checkDescription, func() { patch.SetOrClear(p.description, update.SetDescription, update.ClearDescription) }},
		{change.SystemPrompt.Given, p.checkPrompt, func() { update.SetSystemPrompt(p.prompt) }},
		{change.Tools.Given, func() error { return c.checkIntegrations(ctx, p.tools) }, func() {}},
		{change.Tools.Given, p.checkTools, func() { update.SetTools(nonNil(p.tools)) }},
		{change.StartMessage.Given, p.checkStartMessage, func() { patch.SetOrClear(p.startMessage, update.SetStartMessage, update.ClearStartMessage) }},
		{change.Model.Given, func() error { return c.checkModel(&p) }, func() { patch.SetOrClear(p.model, update.SetModel, update.ClearModel) }},
		{change.ToolPolicy.Given, p.checkToolPolicy, func() { update.SetToolPolicy(p.policyText) }},
		{change.Collections.Given, func() error { return c.checkCollections(ctx, &p) }, func() {}},
		{change.Collections.Given || change.All.Given, func() error { return nil }, func() {
			update.SetCollections(nonNil(p.collections)).SetAllCollections(p.all)
		}},
	} {
		if !step.given {
			continue
		}
		if err := step.check(); err != nil {
			return nil, err
		}
		step.write()
	}
	return update, nil
}

// Delete deletes an agent. The database deletes its memories, runs and
// conversations with it.
func (c *Catalog) Delete(ctx context.Context, id uuid.UUID) error {
	err := transaction.Client(ctx, c.ent).Agent.DeleteOneID(id).Exec(ctx)
	if ent.IsNotFound(err) {
		return apierr.NotFound("Agent")
	}
	if err != nil {
		return fmt.Errorf("delete the agent: %w", err)
	}
	return nil
}

// visibleCollections returns those of ids that the viewer can see, in their
// order.
func visibleCollections(ctx context.Context, client *ent.Client, ids []uuid.UUID) ([]uuid.UUID, error) {
	if len(ids) == 0 {
		return []uuid.UUID{}, nil
	}
	visible, err := client.Collection.Query().Where(collection.IDIn(ids...)).IDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("query the agent's collections: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id uuid.UUID) bool { return !slices.Contains(visible, id) }), nil
}

// checkModel checks that the chosen model is configured.
func (c *Catalog) checkModel(p *settings) (err error) {
	if p.model, err = check.Optional("model", p.model, check.MaxName); err != nil || p.model == nil {
		return err
	}
	var names []string
	if c.opt.Models != nil {
		names = c.opt.Models()
	}
	switch {
	case len(names) == 0:
		return apierr.Invalid("model", "names a chat model, and none is configured")
	case !slices.Contains(names, *p.model):
		return apierr.Invalid("model", "must be one of "+strings.Join(names, ", "))
	}
	return nil
}

// checkIntegrations checks that the named tools of integrations exist.
func (c *Catalog) checkIntegrations(ctx context.Context, names []string) error {
	var further []string
	var positions []int
	for i, name := range names {
		if IsIntegrationTool(name) {
			further, positions = append(further, name), append(positions, i)
		}
	}
	if len(further) == 0 {
		return nil
	}
	unknown := 0
	if c.opt.Integrations != nil {
		var err error
		if unknown, err = c.opt.Integrations.UnknownTool(ctx, further); err != nil {
			return fmt.Errorf("look for the agent's tools: %w", err)
		}
	}
	if unknown >= 0 {
		return apierr.Invalid(fmt.Sprintf("tools[%d]", positions[unknown]), "is no tool of an integration; agentTools lists them")
	}
	return nil
}

func (c *Catalog) checkCollections(ctx context.Context, p *settings) error {
	if len(p.collections) > maxCollections {
		return apierr.Invalid("collections", fmt.Sprintf("must name at most %d collections; allCollections is for more", maxCollections))
	}
	visible, err := visibleCollections(ctx, transaction.Client(ctx, c.ent), p.collections)
	if err != nil {
		return err
	}
	if len(visible) != len(p.collections) {
		return apierr.NotFound("Collection")
	}
	return nil
}

func agentOrError(row *ent.Agent, err error) (*ent.Agent, error) {
	switch {
	case ent.IsNotFound(err):
		return nil, apierr.NotFound("Agent")
	case err != nil:
		return nil, fmt.Errorf("read the agent: %w", err)
	}
	return row, nil
}

// nonNil returns v, or an empty slice if v is nil: the database stores an empty
// list as an empty array.
func nonNil[T any](v []T) []T {
	if v == nil {
		return []T{}
	}
	return v
}
