package command

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/client"
)

type agentsCommand struct {
	List      agentsList      `cmd:"" default:"1" help:"List the agents."`
	Create    agentsCreate    `cmd:"" help:"Make an agent, from scratch or from a template."`
	Show      agentsShow      `cmd:"" help:"Show an agent."`
	Run       agentsRun       `cmd:"" help:"Run an agent and read its answer."`
	Delete    agentsDelete    `cmd:"" help:"Delete an agent with its memories, runs and conversations."`
	Templates agentsTemplates `cmd:"" help:"List the templates of agents, or show one."`
	Memories  agentsMemories  `cmd:"" help:"What an agent keeps for everybody."`
}

type agentRow struct {
	ID             uuid.UUID   `json:"id"`
	Name           string      `json:"name"`
	Description    *string     `json:"description"`
	SystemPrompt   string      `json:"systemPrompt"`
	Tools          []string    `json:"tools"`
	Collections    []uuid.UUID `json:"collections"`
	AllCollections bool        `json:"allCollections"`
	StartMessage   *string     `json:"startMessage"`
	Model          *string     `json:"model"`
	CreatedAt      time.Time   `json:"createdAt"`
	UpdatedAt      time.Time   `json:"updatedAt"`
}

func (a agentRow) reach() string {
	if a.AllCollections {
		return "all collections"
	}
	return fmt.Sprintf("%d collections", len(a.Collections))
}

type agentsList struct{}

// Run lists the agents.
func (agentsList) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		rows, err := client.List[agentRow](r, api, "ListAgents", nil, 0)
		if err != nil {
			return err
		}
		return r.console.Result(rows, func() {
			table := make([][]string, 0, len(rows))
			for _, row := range rows {
				table = append(table, []string{row.ID.String(), row.Name, strings.Join(row.Tools, " "), row.reach(), moment(&row.CreatedAt)})
			}
			r.console.Table([]string{"ID", "NAME", "TOOLS", "REACH", "MADE"}, table,
				"There is no agent yet; make one with `magpie agents create NAME --template \"Research assistant\"`.")
		})
	})
}

type agentsCreate struct {
	Name        string   `arg:"" help:"Name of the agent."`
	Prompt      string   `help:"What it is told to be and to do."`
	PromptFile  string   `type:"path" placeholder:"FILE" help:"File with what it is told; - for the input."`
	Template    string   `help:"Template to make it from (id or name); what is given here stands in its place."`
	Description string   `help:"What it is for."`
	Tool        []string `help:"Tool that it may call, such as search_documents."`
	Collection  []string `help:"Collection that it may search (id or name); all when left out."`
	Greeting    string   `help:"How it greets."`
	Model       string   `help:"Chat model; the default one when left out."`
}

// Run makes the agent.
func (c agentsCreate) Run(r *runtime) error {
	if c.Prompt != "" && c.PromptFile != "" {
		return usagef("give --prompt or --prompt-file, not both")
	}
	prompt := c.Prompt
	if c.PromptFile != "" {
		read, err := r.readText(c.PromptFile)
		if err != nil {
			return err
		}
		prompt = read
	}
	if prompt == "" && c.Template == "" {
		return usagef("give --prompt, --prompt-file or --template")
	}
	return r.operate(func(api *client.Client) error {
		input := client.Variables{"name": c.Name}
		optional(input, "systemPrompt", prompt)
		optional(input, "description", c.Description)
		optional(input, "startMessage", c.Greeting)
		optional(input, "model", c.Model)
		if len(c.Tool) > 0 {
			input["tools"] = c.Tool
		}
		if len(c.Collection) > 0 {
			ids, err := collectionIDs(r, api, c.Collection)
			if err != nil {
				return err
			}
			input["collections"] = ids
		}
		operation, v := "CreateAgent", client.Variables{"input": input}
		if c.Template != "" {
			template, err := templateOf(r, api, c.Template)
			if err != nil {
				return err
			}
			operation, v["template"] = "CreateAgentFromTemplate", template.ID
		}
		var answer struct {
			Agent agentRow `json:"agent"`
		}
		if err := api.Do(r, operation, v, &answer); err != nil {
			return err
		}
		return r.console.Result(answer.Agent, func() { r.console.Printf("%s\n", answer.Agent.ID) })
	})
}

// readText reads a file, or the input for "-".
func (r *runtime) readText(name string) (string, error) {
	if strings.HasSuffix(name, string(os.PathSeparator)+"-") { // the parser makes paths absolute
		name = "-"
	}
	content, err := readInput(r, name)
	if err != nil {
		return "", fmt.Errorf("read the text: %w", err)
	}
	return string(content), nil
}

type agentsShow struct {
	Agent string `arg:"" help:"Id or name."`
}

// Run shows the agent.
func (c agentsShow) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		row, err := agentOf(r, api, c.Agent)
		if err != nil {
			return err
		}
		return r.console.Result(row, func() {
			reach := row.reach()
			if !row.AllCollections && len(row.Collections) > 0 {
				ids := make([]string, len(row.Collections))
				for i, id := range row.Collections {
					ids[i] = id.String()
				}
				reach = strings.Join(ids, " ")
			}
			r.console.Pairs([2]string{"id", row.ID.String()}, [2]string{"name", row.Name}, [2]string{"description", text(row.Description)},
				[2]string{"tools", strings.Join(row.Tools, " ")}, [2]string{"collections", reach}, [2]string{"chat model", text(row.Model)},
				[2]string{"greeting", text(row.StartMessage)}, [2]string{"made", moment(&row.CreatedAt)})
			r.console.Printf("\n%s\n", row.SystemPrompt)
		})
	})
}

type agentsDelete struct {
	Agent string `arg:"" help:"Id or name."`
	Yes   bool   `help:"Really delete it."`
}

// Run deletes the agent.
func (c agentsDelete) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		row, err := agentOf(r, api, c.Agent)
		if err != nil {
			return err
		}
		if !c.Yes {
			return fmt.Errorf("this deletes %q with its memories, runs and conversations; say it again with --yes", row.Name)
		}
		if err := api.Do(r, "DeleteAgent", client.Variables{"id": row.ID}, nil); err != nil {
			return err
		}
		return r.console.Result(map[string]uuid.UUID{"deleted": row.ID}, func() { r.console.Note("Deleted %s.", row.Name) })
	})
}

// agentOf finds an agent by its id or its name.
func agentOf(ctx context.Context, api *client.Client, nameOrID string) (agentRow, error) {
	id, err := uuid.Parse(nameOrID)
	if err != nil {
		rows, err := client.List[agentRow](ctx, api, "ListAgents", nil, 0)
		if err != nil {
			return agentRow{}, err
		}
		if id, err = byName("agent", nameOrID, "agents", rows, func(a agentRow) (string, uuid.UUID) { return a.Name, a.ID }); err != nil {
			return agentRow{}, err
		}
	}
	var answer struct {
		Agent agentRow `json:"agent"`
	}
	err = api.Do(ctx, "GetAgent", client.Variables{"id": id}, &answer)
	return answer.Agent, err
}

type templateRow struct {
	ID           uuid.UUID `json:"id"`
	Name         string    `json:"name"`
	Description  string    `json:"description"`
	Category     string    `json:"category"`
	SystemPrompt string    `json:"systemPrompt"`
	Tools        []string  `json:"tools"`
	StartMessage *string   `json:"startMessage"`
	BuiltIn      bool      `json:"builtIn"`
}

type agentsTemplates struct {
	Template string `arg:"" optional:"" help:"Id or name of the one to show."`
	Category string `help:"Only those of a category."`
}

// Run lists the templates, or shows one.
func (c agentsTemplates) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		if c.Template != "" {
			row, err := templateOf(r, api, c.Template)
			if err != nil {
				return err
			}
			return r.console.Result(row, func() {
				r.console.Pairs([2]string{"id", row.ID.String()}, [2]string{"name", row.Name}, [2]string{"description", row.Description},
					[2]string{"category", row.Category}, [2]string{"tools", strings.Join(row.Tools, " ")}, [2]string{"greeting", text(row.StartMessage)})
				r.console.Printf("\n%s\n", row.SystemPrompt)
			})
		}
		v := client.Variables{}
		optional(v, "category", c.Category)
		rows, err := client.List[templateRow](r, api, "ListAgentTemplates", v, 0)
		if err != nil {
			return err
		}
		return r.console.Result(rows, func() {
			table := make([][]string, 0, len(rows))
			for _, row := range rows {
				table = append(table, []string{row.ID.String(), row.Name, row.Category, row.Description})
			}
			r.console.Table([]string{"ID", "NAME", "CATEGORY", "DESCRIPTION"}, table, "There is no such template.")
		})
	})
}

// templateOf finds a template by its id or its name.
func templateOf(ctx context.Context, api *client.Client, nameOrID string) (templateRow, error) {
	rows, err := client.List[templateRow](ctx, api, "ListAgentTemplates", nil, 0)
	if err != nil {
		return templateRow{}, err
	}
	id, err := uuid.Parse(nameOrID)
	if err != nil {
		if id, err = byName("template", nameOrID, "agents templates", rows, func(t templateRow) (string, uuid.UUID) { return t.Name, t.ID }); err != nil {
			return templateRow{}, err
		}
	}
	for _, row := range rows {
		if row.ID == id {
			return row, nil
		}
	}
	return templateRow{}, fmt.Errorf("there is no template %s; `magpie agents templates` shows them", id)
}
