package command

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/humanize"
)

type statusCommand struct{}

// statusRow is which Magpie commands operate, and how it is.
type statusRow struct {
	// URL is empty for a Magpie whose stores are reached.
	URL       string     `json:"url,omitempty"`
	Profile   string     `json:"profile,omitempty"`
	User      string     `json:"user,omitempty"`
	Role      string     `json:"role,omitempty"`
	Workspace string     `json:"workspace,omitempty"`
	System    *systemRow `json:"system"` // nil if the caller may not see it
	// Changing are the collections that change their embedding model.
	Changing []client.Collection `json:"changing,omitempty"`
}

type systemRow struct {
	Version       string    `json:"version"`
	StartedAt     time.Time `json:"startedAt"`
	SchemaVersion int64     `json:"schemaVersion"`
	Restricted    bool      `json:"restricted"`
	Services      []struct {
		Name      string `json:"name"`
		Version   string `json:"version"`
		Reachable bool   `json:"reachable"`
	} `json:"services"`
	Workers []struct {
		ID          string    `json:"id"`
		StartedAt   time.Time `json:"startedAt"`
		Status      string    `json:"status"`
		Concurrency int       `json:"concurrency"`
		Running     []struct {
			Name      string    `json:"name"`
			StartedAt time.Time `json:"startedAt"`
		} `json:"running"`
	} `json:"workers"`
	Queues []struct {
		Name          string  `json:"name"`
		Pending       int     `json:"pending"`
		Active        int     `json:"active"`
		Scheduled     int     `json:"scheduled"`
		Retry         int     `json:"retry"`
		Archived      int     `json:"archived"`
		OldestSeconds float64 `json:"oldestSeconds"`
	} `json:"queues"`
	Models []struct {
		Kind        string `json:"kind"`
		Name        string `json:"name"`
		Failing     bool   `json:"failing"`
		LastFailure *struct {
			At     time.Time `json:"at"`
			Reason string    `json:"reason"`
		} `json:"lastFailure"`
	} `json:"models"`
	Warnings []struct {
		Code   string `json:"code"`
		Text   string `json:"text"`
		Action string `json:"action"`
	} `json:"warnings"`
}

// Run shows the Magpie that other commands would operate with the same flags and settings.
func (statusCommand) Run(r *runtime) error {
	to, err := r.remote()
	if err != nil {
		return err
	}
	var row statusRow
	if to == nil {
		err = r.inWorkspace(func(app *wire.App, workspace uuid.UUID) error {
			api, err := newClient(app, workspace)
			if err != nil {
				return err
			}
			if row.Workspace, err = workspaceName(r, app, workspace); err != nil {
				return err
			}
			return row.readSystem(r, api)
		})
	} else {
		row.URL, row.Profile = to.url, to.profile
		err = r.over(*to, func(api *client.Client, _ string) error {
			me, err := r.me(api)
			if err != nil {
				return err
			}
			if me != nil {
				row.User, row.Role, row.Workspace = me.User.Email, strings.ToLower(me.Role), me.Workspace.Name
			}
			return row.readSystem(r, api)
		})
	}
	if err != nil {
		return err
	}
	return r.console.Result(row, func() { row.print(r) })
}

func workspaceName(r *runtime, app *wire.App, id uuid.UUID) (string, error) {
	all, err := app.People.Workspaces(r)
	for _, row := range all {
		if row.ID == id {
			return row.Name, err
		}
	}
	return id.String(), err
}

// readSystem reads the changes of models and the state of the system. It leaves out what the
// caller may not see.
func (s *statusRow) readSystem(r *runtime, api *client.Client) error {
	rows, err := client.List[client.Collection](r, api, "ListCollections", nil, 0)
	if err == nil {
		s.Changing = slices.DeleteFunc(rows, func(row client.Collection) bool { return row.NextModel == nil })
		err = readChanges(r, api, s.Changing)
	}
	if err != nil && !hasCode(err, apierr.Forbidden) {
		return err
	}
	var got struct{ System systemRow }
	err = api.Do(r, "SystemState", nil, &got)
	if hasCode(err, apierr.Forbidden) {
		return nil
	}
	if err == nil {
		s.System = &got.System
	}
	return err
}

func (s *statusRow) print(r *runtime) {
	where := "the stores of DATABASE_URL and REDIS_URL, or of the data folder"
	if s.URL != "" {
		where = s.URL
	}
	pairs := [][2]string{{"magpie", where}}
	add := func(name, value string) {
		if value != "" {
			pairs = append(pairs, [2]string{name, value})
		}
	}
	add("profile", s.Profile)
	add("workspace", s.Workspace)
	add("you", strings.TrimSuffix(strings.TrimPrefix(s.User+", "+s.Role, ", "), ", "))
	if x := s.System; x != nil {
		add("version", x.Version)
		add("schema", fmt.Sprint(x.SchemaVersion))
		for _, service := range x.Services {
			state := service.Version
			if !service.Reachable {
				state = "cannot be reached"
			}
			add(service.Name, state)
		}
		if !x.Restricted {
			running := 0
			for _, worker := range x.Workers {
				running += len(worker.Running)
			}
			add("workers", fmt.Sprintf("%s, %s running", humanize.Count(len(x.Workers), "worker"), humanize.Count(running, "task")))
		}
		for _, queue := range x.Queues {
			if waiting := queue.Pending + queue.Active + queue.Scheduled + queue.Retry; waiting+queue.Archived > 0 {
				add("queue "+queue.Name, fmt.Sprintf("%d pending, %d active, %d scheduled, %d retried, %d given up",
					queue.Pending, queue.Active, queue.Scheduled, queue.Retry, queue.Archived))
			}
		}
		for _, model := range x.Models {
			state := ""
			if model.Failing {
				state = " (failing)"
			}
			add(model.Kind+" model", model.Name+state)
		}
	}
	r.console.Pairs(pairs...)
	r.noteChanges(s.Changing)
	if s.System == nil {
		r.console.Note("Its state is shown to administrators, and to their tokens with the group settings.")
		return
	}
	for _, warning := range s.System.Warnings {
		r.console.Warn("%s: %s %s", strings.ToLower(warning.Code), warning.Text, warning.Action)
	}
}
