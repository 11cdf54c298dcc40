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

// The bounds of a workspace's own templates.
const (
	MaxOwn      = 500
	maxCategory = 100 // characters
)

// defaultCategory is that of a template that names none.
const defaultCategory = "custom"

// Store finds templates and makes agents of them. It is safe for concurrent use.
type Store struct {
	ent     *ent.Client
	agents  *catalog.Catalog
	builtin []*Template
}

// NewStore returns the templates of a database and the built-in ones.
func NewStore(client *ent.Client, agents *catalog.Catalog) *Store {
	return &Store{ent: client, agents: agents, builtin: Builtin()}
}

// Page is a part of the list of templates.
type Page struct {
	Templates []*Template
	Total     int  // templates on all pages
	More      bool // there are templates after these
}

// List gives templates in the order of their ids, which is the built-in ones
// first and then the workspace's own by age: those after an id, at most first.
// A category that is not empty keeps the others out.
func (s *Store) List(ctx context.Context, category string, after uuid.UUID, first int) (Page, error) {
	category = strings.ToLower(strings.TrimSpace(category))
	var page Page
	for _, t := range s.builtin {
		if category != "" && t.Category != category {
			continue
		}
		page.Total++
		if slices.Compare(t.ID[:], after[:]) > 0 {
			page.Templates = append(page.Templates, copied(t))
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
			page.Templates = append(page.Templates, own(row))
		}
	}
	if page.More = len(page.Templates) > first; page.More {
		page.Templates = page.Templates[:first]
	}
	return page, nil
}

// Get reads one template.
func (s *Store) Get(ctx context.Context, id uuid.UUID) (*Template, error) {
	if t := s.builtIn(id); t != nil {
		return copied(t), nil
	}
	row, err := transaction.Client(ctx, s.ent).AgentTemplate.Get(ctx, id)
	if err != nil {
		return nil, notFound("read", err)
	}
	return own(row), nil
}

// New is what a template is made of. From names an agent, of which everything
// is taken that is nil.
type New struct {
	From                                              *uuid.UUID
	Name, Description, Category, Prompt, StartMessage *string
	Tools                                             []string
}

// Create makes a template of the workspace's own.
func (s *Store) Create(ctx context.Context, in New) (*Template, error) {
	if in.From != nil {
		agent, err := s.agents.Get(ctx, *in.From)
		if err != nil {
			return nil, err
		}
		in.Name, in.Prompt = or(in.Name, &agent.Name), or(in.Prompt, &agent.SystemPrompt)
		in.Description, in.StartMessage = or(in.Description, agent.Description), or(in.StartMessage, agent.StartMessage)
		if in.Tools == nil {
			in.Tools = agent.Tools
		}
	}
	client := transaction.Client(ctx, s.ent)
	made, err := write(client.AgentTemplate.Create(), Change{
		Name: patch.Set(orEmpty(in.Name)), Description: patch.Set(in.Description), Category: patch.Set(orDefault(in.Category)), Prompt: patch.Set(orEmpty(in.Prompt)),
		Tools: patch.Set(in.Tools), StartMessage: patch.Set(in.StartMessage),
	})
	if err != nil {
		return nil, err
	}
	count, err := client.AgentTemplate.Query().Count(ctx)
	if err != nil {
		return nil, fmt.Errorf("count the templates: %w", err)
	}
	if count >= MaxOwn {
		return nil, apierr.New(apierr.Conflict, fmt.Sprintf("The workspace has %d templates of its own, which is the most; delete one first", count))
	}
	row, err := made.Save(ctx)
	if err != nil {
		return nil, fmt.Errorf("store the template: %w", err)
	}
	return own(row), nil
}

// Change is what is to be different about a template. Nil clears what need not
// be there.
type Change struct {
	Name, Category, Prompt    patch.Field[string]
	Description, StartMessage patch.Field[*string]
	Tools                     patch.Field[[]string]
}

// Update changes what is given of a template of the workspace's own.
func (s *Store) Update(ctx context.Context, id uuid.UUID, change Change) (*Template, error) {
	if s.builtIn(id) != nil {
		return nil, errBuiltin()
	}
	update, err := write(transaction.Client(ctx, s.ent).AgentTemplate.UpdateOneID(id), change)
	if err != nil {
		return nil, err
	}
	if change.StartMessage.Given && strings.TrimSpace(orEmpty(change.StartMessage.Value)) == "" {
		update.ClearStartMessage()
	}
	row, err := update.Save(ctx)
	if err != nil {
		return nil, notFound("store", err)
	}
	return own(row), nil
}

// Delete ends a template of the workspace's own. Agents made from it stay.
func (s *Store) Delete(ctx context.Context, id uuid.UUID) error {
	if s.builtIn(id) != nil {
		return errBuiltin()
	}
	if err := transaction.Client(ctx, s.ent).AgentTemplate.DeleteOneID(id).Exec(ctx); err != nil {
		return notFound("delete", err)
	}
	return nil
}

// Overrides stand in place of what a template says.
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
	return s.agents.Create(ctx, catalog.New{
		Name: *or(o.Name, &t.Name), Description: or(o.Description, &t.Description), SystemPrompt: *or(o.Prompt, &t.SystemPrompt),
		Tools: tools, Collections: o.Collections, All: o.All, StartMessage: or(o.StartMessage, t.StartMessage), Model: o.Model,
	})
}

func (s *Store) builtIn(id uuid.UUID) *Template {
	for _, t := range s.builtin {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// copied lets nobody change a template that everybody shares.
func copied(t *Template) *Template {
	out := *t
	out.Tools = slices.Clone(t.Tools)
	return &out
}

// writer is a create or an update.
type writer[W any] interface {
	SetName(string) W
	SetDescription(string) W
	SetCategory(string) W
	SetSystemPrompt(string) W
	SetTools([]string) W
	SetNillableStartMessage(*string) W
}

// write checks what is given and hands it to a create or an update. A start
// message that is nil is left for the caller to clear.
func write[W writer[W]](w W, c Change) (W, error) {
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
			w.SetDescription(orEmpty(text))
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
			text, err := check.Optional("startMessage", c.StartMessage.Value, catalog.MaxGreeting)
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

func notFound(what string, err error) error {
	if ent.IsNotFound(err) {
		return apierr.NotFound("Agent template")
	}
	return fmt.Errorf("%s the template: %w", what, err)
}

func or[T any](v, otherwise *T) *T {
	if v != nil {
		return v
	}
	return otherwise
}

func orEmpty(v *string) string {
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
