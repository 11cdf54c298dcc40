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

// maxCollections bounds an agent's list.
const maxCollections = 1000

// New is what an agent is made of.
type New struct {
	Name         string
	Description  *string
	SystemPrompt string
	Tools        []string
	// Collections are those that it may search, none of them when empty; nil with
	// All nil or true is all.
	Collections  []uuid.UUID
	All          *bool
	StartMessage *string
	Model        *string
}

// Change is what is to be different about an agent. Nil clears a setting that
// need not be there.
type Change struct {
	Name, SystemPrompt               patch.Field[string]
	Description, StartMessage, Model patch.Field[*string]
	Tools                            patch.Field[[]string]
	Collections                      patch.Field[[]uuid.UUID] // nil is all
	All                              patch.Field[bool]
}

// Options change what a catalog does.
type Options struct {
	// Models names the configured chat models, the default first.
	Models func() []string
	// Parameters is the JSON Schema of a tool's parameters; nil when it is not known.
	Parameters func(tool string) map[string]any
}

// Catalog keeps agents. It is safe for concurrent use and has no goroutines.
type Catalog struct {
	ent *ent.Client
	o   Options
}

// NewCatalog returns the agents of a database.
func NewCatalog(client *ent.Client, o Options) *Catalog { return &Catalog{ent: client, o: o} }

// Tools lists all tools with their parameters.
func (c *Catalog) Tools() []Tool {
	all := Tools()
	if c.o.Parameters != nil {
		for i := range all {
			all[i].Parameters = c.o.Parameters(all[i].Name)
		}
	}
	return all
}

// Get reads an agent of the viewer's workspace.
func (c *Catalog) Get(ctx context.Context, id uuid.UUID) (*ent.Agent, error) {
	row, err := transaction.Client(ctx, c.ent).Agent.Get(ctx, id)
	return found(row, err)
}

// Create makes an agent in the viewer's workspace. Collections that the viewer
// cannot see are not found.
func (c *Catalog) Create(ctx context.Context, in New) (*ent.Agent, error) {
	p := plan{name: in.Name, prompt: in.SystemPrompt, description: in.Description, greeting: in.StartMessage, model: in.Model, tools: in.Tools, all: true}
	if err := p.reach(patch.Field[[]uuid.UUID]{Given: in.Collections != nil, Value: in.Collections}, patch.SetIfNotNil(in.All)); err != nil {
		return nil, err
	}
	for _, check := range []func() error{p.checkName, p.checkDescription, p.checkPrompt, p.checkTools, p.checkGreeting,
		func() error { return c.checkModel(&p) }, func() error { return c.checkCollections(ctx, &p) }} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	row, err := transaction.Client(ctx, c.ent).Agent.Create().
		SetName(p.name).SetNillableDescription(p.description).SetSystemPrompt(p.prompt).SetTools(list(p.tools)).
		SetCollections(list(p.collections)).SetAllCollections(p.all).
		SetNillableStartMessage(p.greeting).SetNillableModel(p.model).Save(ctx)
	if err != nil {
		return nil, fmt.Errorf("store the agent: %w", err)
	}
	return row, nil
}

// Update changes what is given. What stays is not checked anew: models and
// collections may have gone since they were named.
func (c *Catalog) Update(ctx context.Context, id uuid.UUID, change Change) (*ent.Agent, error) {
	var made *ent.Agent
	err := c.within(ctx, func(ctx context.Context, client *ent.Client) error {
		row, err := found(client.Agent.Query().Where(agent.ID(id)).ForUpdate().Only(ctx))
		if err != nil {
			return err
		}
		update, err := c.changed(ctx, client, row, change)
		if err != nil {
			return err
		}
		if made, err = update.Save(ctx); err != nil {
			return fmt.Errorf("store the agent: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

func (c *Catalog) changed(ctx context.Context, client *ent.Client, row *ent.Agent, change Change) (*ent.AgentUpdateOne, error) {
	update := client.Agent.UpdateOne(row)
	p := plan{
		name: change.Name.Value, prompt: change.SystemPrompt.Value, description: change.Description.Value, greeting: change.StartMessage.Value,
		model: change.Model.Value, tools: change.Tools.Value, collections: row.Collections, all: row.AllCollections,
	}
	if err := p.reach(change.Collections, change.All); err != nil {
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
		{change.Tools.Given, p.checkTools, func() { update.SetTools(list(p.tools)) }},
		{change.StartMessage.Given, p.checkGreeting, func() { patch.SetOrClear(p.greeting, update.SetStartMessage, update.ClearStartMessage) }},
		{change.Model.Given, func() error { return c.checkModel(&p) }, func() { patch.SetOrClear(p.model, update.SetModel, update.ClearModel) }},
		{change.Collections.Given, func() error { return c.checkCollections(ctx, &p) }, func() {}},
		{change.Collections.Given || change.All.Given, func() error { return nil }, func() {
			update.SetCollections(list(p.collections)).SetAllCollections(p.all)
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

// Delete ends an agent; the database's cascades take its memories, runs and
// conversations.
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

// Reach are the collections that an agent may search: all that the viewer
// reaches, or those of its list that still exist. A list of which nothing is
// left reaches nothing.
func (c *Catalog) Reach(ctx context.Context, row *ent.Agent) (collections []uuid.UUID, all bool, err error) {
	if row.AllCollections {
		return nil, true, nil
	}
	exist, err := existing(ctx, transaction.Client(ctx, c.ent), row.Collections)
	return exist, false, err
}

// existing keeps of some collections those that the viewer can see, in order.
func existing(ctx context.Context, client *ent.Client, ids []uuid.UUID) ([]uuid.UUID, error) {
	if len(ids) == 0 {
		return []uuid.UUID{}, nil
	}
	there, err := client.Collection.Query().Where(collection.IDIn(ids...)).IDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("look the agent's collections up: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id uuid.UUID) bool { return !slices.Contains(there, id) }), nil
}

// within does something in ctx's transaction, or one of its own.
func (c *Catalog) within(ctx context.Context, do func(context.Context, *ent.Client) error) error {
	if tx := ent.TxFromContext(ctx); tx != nil {
		return do(ctx, tx.Client())
	}
	tx, err := c.ent.Tx(ctx)
	if err != nil {
		return fmt.Errorf("change the agent: %w", err)
	}
	if err := do(ctx, tx.Client()); err != nil {
		_ = tx.Rollback() // the first error says more
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("change the agent: %w", err)
	}
	return nil
}

// checkModel lets an agent choose among the models that there are.
func (c *Catalog) checkModel(p *plan) (err error) {
	if p.model, err = check.Optional("model", p.model, check.MaxName); err != nil || p.model == nil {
		return err
	}
	var names []string
	if c.o.Models != nil {
		names = c.o.Models()
	}
	switch {
	case len(names) == 0:
		return apierr.Invalid("model", "names a chat model, and none is configured")
	case !slices.Contains(names, *p.model):
		return apierr.Invalid("model", "must be one of "+strings.Join(names, ", "))
	}
	return nil
}

func (c *Catalog) checkCollections(ctx context.Context, p *plan) error {
	if len(p.collections) > maxCollections {
		return apierr.Invalid("collections", fmt.Sprintf("must name at most %d collections; allCollections is for more", maxCollections))
	}
	exist, err := existing(ctx, transaction.Client(ctx, c.ent), p.collections)
	if err != nil {
		return err
	}
	if len(exist) != len(p.collections) {
		return apierr.NotFound("Collection")
	}
	return nil
}

func found(row *ent.Agent, err error) (*ent.Agent, error) {
	switch {
	case ent.IsNotFound(err):
		return nil, apierr.NotFound("Agent")
	case err != nil:
		return nil, fmt.Errorf("read the agent: %w", err)
	}
	return row, nil
}

// list is never nil, so that an empty list is stored as one.
func list[T any](v []T) []T {
	if v == nil {
		return []T{}
	}
	return v
}
