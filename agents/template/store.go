package template

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/catalog"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agenttemplate"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/patch"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

// Limits of a workspace's own templates.
const (
	MaxPerWorkspace = 500
	maxCategory     = 100 // characters
)

// defaultCategory is the category of a template that names none.
const defaultCategory = "custom"

// Store reads and changes templates and makes agents from them. It is safe for
// concurrent use.
type Store struct {
	ent     *ent.Client
	agents  *catalog.Catalog
	builtin []*Template
}

// NewStore returns a store of the built-in templates and those in a database.
func NewStore(client *ent.Client, agents *catalog.Catalog) *Store {
	return &Store{ent: client, agents: agents, builtin: Builtin()}
}

// Page is one page of a list of templates.
type Page struct {
	Templates []*Template
	Total     int  // number of templates on all pages
	HasMore   bool // templates follow this page
}

// List returns the first templates after an id, in the order of their ids: the
// built-in ones first, then the workspace's own by age. If category is not
// empty, only templates of that category are listed.
func (s *Store) List(ctx context.Context, category string, after uuid.UUID, first int) (Page, error) {
	category = strings.ToLower(strings.TrimSpace(category))
	var page Page
	for _, t := range s.builtin {
		if category != "" && t.Category != category {
			continue
		}
		page.Total++
		if slices.Compare(t.ID[:], after[:]) > 0 {
			page.Templates = append(page.Templates, clone(t))
		}
	}
	query := transaction.Client(ctx, s.ent).AgentTemplate.Query()
	if category != "" {
		query.Where(agenttemplate.Category(category))
	}
	count, err := query.Clone().Count(ctx)
	if err != nil {
		return Page{}, fmt.Errorf("count the templates: %w", err)
	}
	page.Total += count
	if missing := first + 1 - len(page.Templates); missing > 0 {
		rows, err := query.Where(agenttemplate.IDGT(after)).Order(agenttemplate.ByID()).Limit(missing).All(ctx)
		if err != nil {
			return Page{}, fmt.Errorf("list the templates: %w", err)
		}
		for _, row := range rows {
			page.Templates = append(page.Templates, fromRow(row))
		}
	}
	if page.HasMore = len(page.Templates) > first; page.HasMore {
		page.Templates = page.Templates[:first]
	}
	return page, nil
}

// Get returns one template.
func (s *Store) Get(ctx context.Context, id uuid.UUID) (*Template, error) {
	if t := s.findBuiltin(id); t != nil {
		return clone(t), nil
	}
	row, err := transaction.Client(ctx, s.ent).AgentTemplate.Get(ctx, id)
	if err != nil {
		return nil, mapError("read", err)
	}
	return fromRow(row), nil
}

// Input describes a template to create. If FromAgent names an agent, the
// agent's settings replace those that are nil.
type Input struct {
	FromAgent                                         *uuid.UUID
	Name, Description, Category, Prompt, StartMessage *string
	Tools                                             []string
}

// Create makes a template of the workspace.
func (s *Store) Create(ctx context.Context, in Input) (*Template, error) {
	if in.FromAgent != nil {
		agent, err := s.agents.Get(ctx, *in.FromAgent)
		if err != nil {
			return nil, err
		}
		in.Name, in.Prompt = firstNonNil(in.Name, &agent.Name), firstNonNil(in.Prompt, &agent.SystemPrompt)
		in.Description, in.StartMessage = firstNonNil(in.Description, agent.Description), firstNonNil(in.StartMessage, agent.StartMessage)
		if in.Tools == nil {
			in.Tools = agent.Tools
		}
	}
	client := transaction.Client(ctx, s.ent)
	create, err := applyChange(client.AgentTemplate.Create(), Change{
		Name: patch.Set(valueOrZero(in.Name)), Description: patch.Set(in.Description), Category: patch.Set(orDefault(in.Category)), Prompt: patch.Set(valueOrZero(in.Prompt)),
		Tools: patch.Set(in.Tools), StartMessage: patch.Set(in.StartMessage),
	})
	if err != nil {
		return nil, err
	}
	count, err := client.AgentTemplate.Query().Count(ctx)
	if err != nil {
		return nil, fmt.Errorf("count the templates: %w", err)
	}
	if count >= MaxPerWorkspace {
		return nil, apierr.New(apierr.Conflict, fmt.Sprintf("The workspace has %d templates of its own, which is the most; delete one first", count))
	}
	row, err := create.Save(ctx)
	if err != nil {
		return nil, fmt.Errorf("store the template: %w", err)
	}
	return fromRow(row), nil
}

// Change holds the changes to a template. A nil value clears an optional
// setting.
type Change struct {
	Name, Category, Prompt    patch.Field[string]
	Description, StartMessage patch.Field[*string]
	Tools                     patch.Field[[]string]
}

// Update applies a change to a template of the workspace.
func (s *Store) Update(ctx context.Context, id uuid.UUID, change Change) (*Template, error) {
	if s.findBuiltin(id) != nil {
		return nil, errBuiltin()
	}
	update, err := applyChange(transaction.Client(ctx, s.ent).AgentTemplate.UpdateOneID(id), change)
	if err != nil {
		return nil, err
	}
	if change.StartMessage.Given && strings.TrimSpace(valueOrZero(change.StartMessage.Value)) == "" {
		update.ClearStartMessage()
	}
	row, err := update.Save(ctx)
	if err != nil {
		return nil, mapError("store", err)
	}
	return fromRow(row), nil
}

// Delete deletes a template of the workspace. Agents made from it stay.
func (s *Store) Delete(ctx context.Context, id uuid.UUID) error {
	if s.findBuiltin(id) != nil {
		return errBuiltin()
	}
	if err := transaction.Client(ctx, s.ent).AgentTemplate.DeleteOneID(id).Exec(ctx); err != nil {
		return mapError("delete", err)
	}
	return nil
}

// Overrides replace settings of a template.
type Overrides struct {
	Name, Description, Prompt, StartMessage, Model *string
	Tools                                          []string
	Collections                                    []uuid.UUID
	All                                            *bool
}

// Instantiate makes an agent from a template.
func (s *Store) Instantiate(ctx context.Context, id uuid.UUID, o Overrides) (*ent.Agent, error) {
	t, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	tools := o.Tools
	if tools == nil {
		tools = t.Tools
	}
	return s.agents.Create(ctx, catalog.Input{
		Name: *firstNonNil(o.Name, &t.Name), Description: firstNonNil(o.Description, &t.Description), SystemPrompt: *firstNonNil(o.Prompt, &t.SystemPrompt),
		Tools: tools, Collections: o.Collections, All: o.All, StartMessage: firstNonNil(o.StartMessage, t.StartMessage), Model: o.Model,
	})
}

func (s *Store) findBuiltin(id uuid.UUID) *Template {
	for _, t := range s.builtin {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// clone returns a copy of t, so that callers cannot change a built-in template.
func clone(t *Template) *Template {
	out := *t
	out.Tools = slices.Clone(t.Tools)
	return &out
}

// writer is an ent create or update of a template.
type writer[W any] interface {
	SetName(string) W
	SetDescription(string) W
	SetCategory(string) W
	SetSystemPrompt(string) W
	SetTools([]string) W
	SetNillableStartMessage(*string) W
}

// applyChange validates a change and applies it to w. The caller clears a start
// message that is nil.
func applyChange[W writer[W]](w W, c Change) (W, error) {
	for _, step := range []struct {
		given bool
		do    func() error
	}{
		{c.Name.Given, func() error {
			name, err := check.Name("name", c.Name.Value)
			w.SetName(name)
			return err
		}},
		{c.Description.Given, func() error {
			text, err := check.Optional("description", c.Description.Value, check.MaxDescription)
			w.SetDescription(valueOrZero(text))
			return err
		}},
		{c.Category.Given, func() error {
			name, err := check.Label("category", c.Category.Value, maxCategory)
			w.SetCategory(strings.ToLower(name))
			return err
		}},
		{c.Prompt.Given, func() error {
			w.SetSystemPrompt(c.Prompt.Value)
			return check.Text("systemPrompt", c.Prompt.Value, catalog.MaxPrompt)
		}},
		{c.Tools.Given, func() error {
			w.SetTools(append([]string{}, c.Tools.Value...))
			return catalog.CheckTools(c.Tools.Value)
		}},
		{c.StartMessage.Given, func() error {
			text, err := check.Optional("startMessage", c.StartMessage.Value, catalog.MaxStartMessage)
			w.SetNillableStartMessage(text)
			return err
		}},
	} {
		if !step.given {
			continue
		}
		if err := step.do(); err != nil {
			return w, err
		}
	}
	return w, nil
}

func errBuiltin() error {
	return apierr.New(apierr.Conflict, "Built-in templates cannot be changed; make one of your own from it")
}

func mapError(verb string, err error) error {
	if ent.IsNotFound(err) {
		return apierr.NotFound("Agent template")
	}
	return fmt.Errorf("%s the template: %w", verb, err)
}

func firstNonNil[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

func valueOrZero(v *string) string {
	if v == nil {
		return ""
	}
	return *v
}

func orDefault(category *string) string {
	if category == nil {
		return defaultCategory
	}
	return *category
}
