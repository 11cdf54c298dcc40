package command

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/client"
)

// agentsMemories are those that are everybody's: what an agent learnt with a
// person is shown to that person alone.
type agentsMemories struct {
	List   memoriesList   `cmd:"" default:"withargs" help:"List an agent's memories, or those near to a text."`
	Add    memoriesAdd    `cmd:"" help:"Give an agent something to keep."`
	Delete memoriesDelete `cmd:"" help:"Delete a memory."`
}

type memoryRow struct {
	ID         uuid.UUID  `json:"id"`
	Kind       string     `json:"kind"`
	Content    string     `json:"content"`
	Importance float64    `json:"importance"`
	Shared     bool       `json:"shared"`
	RecalledAt *time.Time `json:"recalledAt"`
	CreatedAt  time.Time  `json:"createdAt"`
	UpdatedAt  time.Time  `json:"updatedAt"`
	Score      *float64   `json:"score,omitempty"`
}

type memoriesList struct {
	Agent  string `arg:"" help:"Id or name of the agent."`
	Search string `help:"Only what is near to this text, the best first."`
	Kind   string `enum:",fact,preference,insight,procedure" default:"" help:"fact, preference, insight or procedure."`
	Limit  int    `default:"10" help:"The most memories of a search, 1 to 100."`
}

// Run lists the memories.
func (c memoriesList) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		agent, err := agentOf(r, api, c.Agent)
		if err != nil {
			return err
		}
		v := client.Variables{"agent": agent.ID}
		optional(v, "kind", strings.ToUpper(c.Kind))
		var rows []memoryRow
		if c.Search == "" {
			rows, err = client.List[memoryRow](r, api, "ListAgentMemories", v, 0)
		} else {
			v["query"], v["limit"] = c.Search, c.Limit
			rows, err = searchMemories(r, api, v)
		}
		if err != nil {
			return err
		}
		return r.console.Result(rows, func() {
			table := make([][]string, 0, len(rows))
			for _, row := range rows {
				score := "-"
				if row.Score != nil {
					score = strconv.FormatFloat(*row.Score, 'f', 2, 64)
				}
				table = append(table, []string{row.ID.String(), strings.ToLower(row.Kind), strconv.FormatFloat(row.Importance, 'f', 2, 64), score, row.Content})
			}
			r.console.Table([]string{"ID", "KIND", "IMPORTANCE", "SCORE", "CONTENT"}, table, "There is no such memory.")
		})
	})
}

func searchMemories(r *runtime, api *client.Client, v client.Variables) ([]memoryRow, error) {
	var answer struct {
		Found []struct {
			Memory memoryRow `json:"memory"`
			Score  float64   `json:"score"`
		} `json:"found"`
	}
	if err := api.Do(r, "SearchAgentMemories", v, &answer); err != nil {
		return nil, err
	}
	rows := make([]memoryRow, len(answer.Found))
	for i, f := range answer.Found {
		rows[i] = f.Memory
		rows[i].Score = &f.Score
	}
	return rows, nil
}

type memoriesAdd struct {
	Agent      string  `arg:"" help:"Id or name of the agent."`
	Content    string  `arg:"" help:"What it is to keep."`
	Kind       string  `enum:"fact,preference,insight,procedure" default:"fact" help:"fact, preference, insight or procedure."`
	Importance float64 `default:"0.5" help:"0 to 1; what has 0.8 or more is told in every run."`
}

// Run adds the memory.
func (c memoriesAdd) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		agent, err := agentOf(r, api, c.Agent)
		if err != nil {
			return err
		}
		var answer struct {
			Memory memoryRow `json:"memory"`
		}
		if err := api.Do(r, "CreateAgentMemory", client.Variables{"agent": agent.ID, "input": client.Variables{
			"content": c.Content, "kind": strings.ToUpper(c.Kind), "importance": c.Importance, "shared": true,
		}}, &answer); err != nil {
			return err
		}
		return r.console.Result(answer.Memory, func() { r.console.Printf("%s\n", answer.Memory.ID) })
	})
}

type memoriesDelete struct {
	ID uuid.UUID `arg:"" help:"Id of the memory."`
}

// Run deletes the memory.
func (c memoriesDelete) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		if err := api.Do(r, "DeleteAgentMemory", client.Variables{"id": c.ID}, nil); err != nil {
			return err
		}
		return r.console.Result(map[string]uuid.UUID{"deleted": c.ID}, func() { r.console.Note("Deleted.") })
	})
}
