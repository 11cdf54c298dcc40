package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/client"
)

type automationsCommand struct {
	List    automationsList    `cmd:"" default:"1" help:"List the automations."`
	Show    automationsShow    `cmd:"" help:"Show an automation."`
	Create  automationsCreate  `cmd:"" help:"Make an automation from a file or a template."`
	Run     automationsRun     `cmd:"" help:"Start a run of an automation now."`
	Runs    automationsRuns    `cmd:"" help:"List what automations did and skipped."`
	Replay  automationsReplay  `cmd:"" help:"Start a run with the event of an old one."`
	Enable  automationsEnable  `cmd:"" help:"Switch an automation on."`
	Disable automationsDisable `cmd:"" help:"Switch an automation off."`
	Delete  automationsDelete  `cmd:"" help:"Delete an automation with its runs."`
}

type automationRow struct {
	ID             uuid.UUID        `json:"id"`
	Name           string           `json:"name"`
	Description    *string          `json:"description"`
	Enabled        bool             `json:"enabled"`
	Agent          uuid.UUID        `json:"agentId"`
	Owner          uuid.UUID        `json:"ownerId"`
	RunAs          string           `json:"runAs"`
	Instructions   string           `json:"instructions"`
	Kind           string           `json:"kind"`
	Trigger        map[string]any   `json:"trigger"`
	Conditions     []map[string]any `json:"conditions"`
	Approval       map[string]any   `json:"approval"`
	Delivery       []map[string]any `json:"delivery"`
	Limits         map[string]any   `json:"limits"`
	DedupeKey      string           `json:"dedupeKey"`
	FailureCount   int              `json:"failureCount"`
	DisabledReason *string          `json:"disabledReason"`
	NextRunAt      *time.Time       `json:"nextRunAt"`
	LastRunAt      *time.Time       `json:"lastRunAt"`
	CreatedAt      time.Time        `json:"createdAt"`
	UpdatedAt      time.Time        `json:"updatedAt"`
}

// state is "on", or "off" with the reason.
func (a automationRow) state() string {
	switch {
	case a.Enabled:
		return "on"
	case a.DisabledReason != nil:
		return "off: " + *a.DisabledReason
	default:
		return "off"
	}
}

type automationRunRow struct {
	ID         uuid.UUID `json:"id"`
	Automation uuid.UUID `json:"automationId"`
	Title      string    `json:"title"`
	Status     string    `json:"status"`
	Reason     *string   `json:"reason"`
	ErrorClass *string   `json:"errorClass"`
	Output     *string   `json:"output"`
	Deliveries []struct {
		Kind   string  `json:"kind"`
		Status string  `json:"status"`
		Target *string `json:"target"`
		Error  *string `json:"error"`
	} `json:"deliveries"`
	Tokens     int        `json:"tokens"`
	Retries    int        `json:"retries"`
	StartedAt  *time.Time `json:"startedAt"`
	FinishedAt *time.Time `json:"finishedAt"`
	CreatedAt  time.Time  `json:"createdAt"`
}

type automationsList struct{}

// Run lists the automations.
func (automationsList) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		rows, err := client.List[automationRow](r, api, "ListAutomations", nil, 0)
		if err != nil {
			return err
		}
		return r.console.Result(rows, func() {
			table := make([][]string, 0, len(rows))
			for _, row := range rows {
				table = append(table, []string{row.ID.String(), row.Name, strings.ToLower(row.Kind), strings.ToLower(row.RunAs), moment(row.LastRunAt), moment(row.NextRunAt), row.state()})
			}
			r.console.Table([]string{"ID", "NAME", "TRIGGER", "RUNS AS", "LAST RUN", "NEXT RUN", "STATE"}, table,
				"There is no automation yet; make one with `magpie automations create --template mail_answerer --agent AGENT`.")
		})
	})
}

type automationsShow struct {
	Automation string `arg:"" help:"Id or name."`
}

// Run shows the automation.
func (c automationsShow) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		row, err := automationOf(r, api, c.Automation)
		if err != nil {
			return err
		}
		return r.console.Result(row, func() {
			r.console.Pairs([2]string{"id", row.ID.String()}, [2]string{"name", row.Name}, [2]string{"description", text(row.Description)}, [2]string{"state", row.state()},
				[2]string{"agent", row.Agent.String()}, [2]string{"runs as", strings.ToLower(row.RunAs)}, [2]string{"trigger", strings.ToLower(row.Kind) + " " + compact(row.Trigger)},
				[2]string{"conditions", compact(row.Conditions)}, [2]string{"approval", compact(row.Approval)}, [2]string{"delivery", compact(row.Delivery)},
				[2]string{"limits", compact(row.Limits)}, [2]string{"last run", moment(row.LastRunAt)}, [2]string{"next run", moment(row.NextRunAt)})
			r.console.Printf("\n%s\n", row.Instructions)
		})
	})
}

// compact returns a value as JSON on one line.
func compact(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(out)
}

type automationsCreate struct {
	File        string `arg:"" optional:"" type:"path" help:"File with the automation as JSON, as the API takes it; - for the input."`
	Template    string `help:"Template to make it from: mail_answerer, ticket_triage or meeting_notes."`
	Name        string `help:"Name; that of the template when left out."`
	Agent       string `help:"Agent that runs (id or name)."`
	Integration string `placeholder:"ID" help:"Id of the inbound integration whose events start it; any when left out."`
	Collection  string `help:"Collection (id or name) where a template stores its documents."`
	Service     bool   `help:"Run as the service member instead of the owner."`
	Disabled    bool   `help:"Leave it switched off."`
}

// Run makes the automation.
func (c automationsCreate) Run(r *runtime) error {
	if (c.File == "") == (c.Template == "") {
		return usagef("give a file or --template")
	}
	return r.operate(func(api *client.Client) error {
		input, err := c.input(r, api)
		if err != nil {
			return err
		}
		var answer struct {
			Automation automationRow `json:"automation"`
		}
		if err := api.Do(r, "CreateAutomation", client.Variables{"input": input}, &answer); err != nil {
			return err
		}
		return r.console.Result(answer.Automation, func() { r.console.Printf("%s\n", answer.Automation.ID) })
	})
}

func (c automationsCreate) input(r *runtime, api *client.Client) (client.Variables, error) {
	input := client.Variables{}
	if c.File != "" {
		content, err := r.readText(c.File)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(content), &input); err != nil {
			return nil, fmt.Errorf("the file is no JSON object: %w", err)
		}
	} else if err := c.fromTemplate(r, api, input); err != nil {
		return nil, err
	}
	if kind, ok := input["kind"].(string); ok {
		input["kind"] = strings.ToUpper(kind)
	}
	optional(input, "name", c.Name)
	if c.Agent != "" {
		row, err := agentOf(r, api, c.Agent)
		if err != nil {
			return nil, err
		}
		input["agentId"] = row.ID
	}
	if input["agentId"] == nil {
		return nil, usagef("give the agent: --agent, or agentId in the file")
	}
	if c.Service {
		input["runAs"] = "SERVICE"
	}
	if c.Disabled {
		input["enabled"] = false
	}
	return input, nil
}

func (c automationsCreate) fromTemplate(r *runtime, api *client.Client, input client.Variables) error {
	var answer struct {
		Templates []struct {
			Name         string           `json:"name"`
			Title        string           `json:"title"`
			Description  string           `json:"description"`
			Kind         string           `json:"kind"`
			Instructions string           `json:"instructions"`
			Trigger      map[string]any   `json:"trigger"`
			Conditions   []map[string]any `json:"conditions"`
			Approval     map[string]any   `json:"approval"`
			Delivery     []map[string]any `json:"delivery"`
			Limits       map[string]any   `json:"limits"`
		} `json:"templates"`
	}
	if err := api.Do(r, "ListAutomationTemplates", nil, &answer); err != nil {
		return err
	}
	var names []string
	for _, t := range answer.Templates {
		names = append(names, t.Name)
		if t.Name != c.Template {
			continue
		}
		if c.Integration != "" {
			t.Trigger["integrationId"] = c.Integration
		}
		for _, d := range t.Delivery {
			if d["kind"] != "document" {
				continue
			}
			if c.Collection == "" {
				return errors.New("this template stores documents; give --collection")
			}
			ids, err := collectionIDs(r, api, []string{c.Collection})
			if err != nil {
				return err
			}
			d["collectionId"] = ids[0]
		}
		input["name"], input["description"], input["kind"], input["instructions"] = t.Title, t.Description, t.Kind, t.Instructions
		input["trigger"], input["conditions"], input["approval"], input["delivery"], input["limits"] = t.Trigger, t.Conditions, t.Approval, t.Delivery, t.Limits
		return nil
	}
	return fmt.Errorf("there is no template %q; there are %s", c.Template, strings.Join(names, ", "))
}

type automationsRun struct {
	Automation string `arg:"" help:"Id or name."`
	Payload    string `help:"JSON object that stands for the event."`
}

// Run starts a run.
func (c automationsRun) Run(r *runtime) error {
	var payload map[string]any
	if c.Payload != "" {
		if err := json.Unmarshal([]byte(c.Payload), &payload); err != nil {
			return fmt.Errorf("--payload is no JSON object: %w", err)
		}
	}
	return r.operate(func(api *client.Client) error {
		row, err := automationOf(r, api, c.Automation)
		if err != nil {
			return err
		}
		return startRun(r, api, "RunAutomation", client.Variables{"id": row.ID, "payload": payload})
	})
}

func startRun(r *runtime, api *client.Client, operation string, v client.Variables) error {
	var answer struct {
		Run automationRunRow `json:"run"`
	}
	if err := api.Do(r, operation, v, &answer); err != nil {
		return err
	}
	return r.console.Result(answer.Run, func() { r.console.Printf("%s\n", answer.Run.ID) })
}

type automationsReplay struct {
	ID uuid.UUID `arg:"" name:"run" help:"Id of the run."`
}

// Run starts the run again.
func (c automationsReplay) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		return startRun(r, api, "ReplayAutomationRun", client.Variables{"id": c.ID})
	})
}

type automationsRuns struct {
	Automation string   `arg:"" optional:"" help:"Id or name; all automations when left out."`
	Status     []string `help:"Only runs with one of these states, such as skipped."`
	Limit      int      `default:"50" help:"How many, the newest first."`
}

// Run lists runs.
func (c automationsRuns) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		v := client.Variables{}
		if c.Automation != "" {
			row, err := automationOf(r, api, c.Automation)
			if err != nil {
				return err
			}
			v["id"] = row.ID
		}
		if len(c.Status) > 0 {
			var states []string
			for _, s := range c.Status {
				states = append(states, strings.ToUpper(s))
			}
			v["status"] = states
		}
		rows, err := client.List[automationRunRow](r, api, "ListAutomationRuns", v, c.Limit)
		if err != nil {
			return err
		}
		return r.console.Result(rows, func() {
			table := make([][]string, 0, len(rows))
			for _, row := range rows {
				table = append(table, []string{row.ID.String(), moment(&row.CreatedAt), strings.ToLower(row.Status), row.Title, text(row.Reason)})
			}
			r.console.Table([]string{"ID", "AT", "STATE", "EVENT", "REASON"}, table, "There is no such run yet.")
		})
	})
}

type automationsEnable struct {
	Automation string `arg:"" help:"Id or name."`
}

// Run switches the automation on.
func (c automationsEnable) Run(r *runtime) error { return switchAutomation(r, c.Automation, true) }

type automationsDisable struct {
	Automation string `arg:"" help:"Id or name."`
}

// Run switches the automation off.
func (c automationsDisable) Run(r *runtime) error { return switchAutomation(r, c.Automation, false) }

func switchAutomation(r *runtime, nameOrID string, enabled bool) error {
	return r.operate(func(api *client.Client) error {
		row, err := automationOf(r, api, nameOrID)
		if err != nil {
			return err
		}
		var answer struct {
			Automation automationRow `json:"automation"`
		}
		if err := api.Do(r, "UpdateAutomation", client.Variables{"id": row.ID, "input": client.Variables{"enabled": enabled}}, &answer); err != nil {
			return err
		}
		return r.console.Result(answer.Automation, func() { r.console.Note("%s is %s.", answer.Automation.Name, answer.Automation.state()) })
	})
}

type automationsDelete struct {
	Automation string `arg:"" help:"Id or name."`
	Yes        bool   `help:"Really delete it."`
}

// Run deletes the automation.
func (c automationsDelete) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		row, err := automationOf(r, api, c.Automation)
		if err != nil {
			return err
		}
		if !c.Yes {
			return fmt.Errorf("this deletes %q with its runs; say it again with --yes", row.Name)
		}
		if err := api.Do(r, "DeleteAutomation", client.Variables{"id": row.ID}, nil); err != nil {
			return err
		}
		return r.console.Result(map[string]uuid.UUID{"deleted": row.ID}, func() { r.console.Note("Deleted %s.", row.Name) })
	})
}

// automationOf finds an automation by its id or its name.
func automationOf(ctx context.Context, api *client.Client, nameOrID string) (automationRow, error) {
	rows, err := client.List[automationRow](ctx, api, "ListAutomations", nil, 0)
	if err != nil {
		return automationRow{}, err
	}
	id, err := uuid.Parse(nameOrID)
	if err != nil {
		if id, err = byName("automation", nameOrID, "automations", rows, func(a automationRow) (string, uuid.UUID) { return a.Name, a.ID }); err != nil {
			return automationRow{}, err
		}
	}
	if i := slices.IndexFunc(rows, func(a automationRow) bool { return a.ID == id }); i >= 0 {
		return rows[i], nil
	}
	return automationRow{}, fmt.Errorf("there is no automation %s", id)
}
