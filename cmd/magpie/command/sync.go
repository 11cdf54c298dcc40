package command

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/humanize"
)

type syncCommand struct {
	Start  syncStart  `cmd:"" help:"Start a sync and watch it."`
	Status syncStatus `cmd:"" help:"Show a job, or the last jobs of a connector."`
	Watch  syncWatch  `cmd:"" help:"Watch a job until it ends."`
	Cancel syncCancel `cmd:"" help:"Ask a job to stop."`
	Items  syncItems  `cmd:"" help:"What syncs did with each item, and why."`

	Plan       syncPlan       `cmd:"" help:"Find out what a sync would do, and change nothing."`
	Quarantine syncQuarantine `cmd:"" help:"Show, approve or dismiss a deletion that waits for a decision."`
	Restore    syncRestore    `cmd:"" help:"Bring deleted documents back."`
	Stats      syncStats      `cmd:"" help:"Show how fresh a connector is and how its syncs went."`
}

type syncStart struct {
	Connector string   `arg:"" help:"Id or name."`
	Mode      string   `enum:"auto,full,incremental" default:"auto" help:"auto, full or incremental."`
	File      []string `sep:"none" help:"Path to sync, with incremental; can be given many times."`
	Detach    bool     `help:"Return at once."`
}

// Run starts the sync. Unless it is detached, a sync that fails is a failure.
func (c syncStart) Run(r *runtime) error {
	return r.withConnector(c.Connector, func(api *client.Client, id uuid.UUID) error {
		input := client.Variables{"syncMode": c.Mode}
		if len(c.File) > 0 {
			input["fileFilter"] = c.File
		}
		job, err := api.StartSync(r, id, input)
		if err != nil {
			return err
		}
		if !c.Detach {
			id := job.ID
			if job, err = api.Watch(r, id, reporter{r.console}); err != nil {
				if r.Err() != nil {
					r.console.Warn("The sync goes on without being watched; `magpie sync watch %s` watches it again.", id)
				}
				return err
			}
		}
		return r.showJob(job)
	})
}

// showJob prints a job; one that failed is the command's failure.
func (r *runtime) showJob(job client.Job) error {
	if err := r.console.Result(job, func() {
		r.console.Printf("%s  %s  %s\n", job.ID, strings.ToLower(job.Status), summary(job))
		for _, warning := range job.Warnings {
			r.console.Warn("warning: %s", warning)
		}
	}); err != nil {
		return err
	}
	if job.Status == "FAILED" {
		return fmt.Errorf("the sync failed: %s", text(job.Error))
	}
	return nil
}

// summary is what a job did, in one line.
func summary(job client.Job) string {
	s := job.Stats
	line := fmt.Sprintf("%d seen: %d added, %d modified, %d unchanged, %d deleted, %d skipped, %d failed",
		job.Progress.Collected, s.Added, s.Modified, s.Unchanged, s.Deleted, s.Skipped, s.Errors)
	if job.FinishedAt != nil {
		line += " in " + humanize.Duration(job.FinishedAt.Sub(job.StartedAt))
	}
	return line
}

type syncStatus struct {
	ID string `arg:"" name:"job|connector" help:"Id of a job, or id or name of a connector."`
}

// Run shows one job, or the last ones of a connector.
func (c syncStatus) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		var answer struct {
			Job client.Job `json:"job"`
		}
		if id, err := uuid.Parse(c.ID); err == nil {
			if err := api.Do(r, "GetSync", client.Variables{"job": id}, &answer); err == nil {
				return r.showJob(answer.Job)
			}
		}
		connector, err := connectorID(r, api, c.ID)
		if err != nil {
			return err
		}
		rows, err := client.List[client.Job](r, api, "ListSyncs", client.Variables{"connector": connector}, 20)
		if err != nil {
			return err
		}
		return r.console.Result(rows, func() {
			table := make([][]string, 0, len(rows))
			for _, job := range rows {
				table = append(table, []string{job.ID.String(), strings.ToLower(job.Status), strings.ToLower(job.Mode),
					moment(&job.StartedAt), summary(job), text(job.Error)})
			}
			r.console.Table([]string{"JOB", "STATUS", "MODE", "STARTED", "ITEMS", "ERROR"}, table, "This connector has not been synced yet.")
		})
	})
}

type syncWatch struct {
	Job uuid.UUID `arg:"" help:"Id of the job."`
}

// Run watches the job.
func (c syncWatch) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		job, err := api.Watch(r, c.Job, reporter{r.console})
		if err != nil {
			return err
		}
		return r.showJob(job)
	})
}

type syncCancel struct {
	Job uuid.UUID `arg:"" help:"Id of the job."`
}

// Run asks the job to stop.
func (c syncCancel) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		var answer struct {
			Job client.Job `json:"job"`
		}
		if err := api.Do(r, "CancelSync", client.Variables{"job": c.Job}, &answer); err != nil {
			return err
		}
		return r.showJob(answer.Job)
	})
}

type syncItems struct {
	Connector string    `arg:"" help:"Id or name of the connector."`
	Job       uuid.UUID `help:"Only items that this job saw last."`
	Status    []string  `help:"pending, indexed, unchanged, skipped, failed or deleted."`
	Limit     int       `default:"200" help:"Most items to show; 0 shows all."`
}

// Run lists the items.
func (c syncItems) Run(r *runtime) error {
	return r.withConnector(c.Connector, func(api *client.Client, id uuid.UUID) error {
		rows, err := api.Items(r, id, c.Job, c.Status, c.Limit)
		if err != nil {
			return err
		}
		return r.console.Result(rows, func() {
			table := make([][]string, 0, len(rows))
			for _, row := range rows {
				table = append(table, []string{strings.ToLower(row.Status), row.Path, text(row.Reason)})
			}
			r.console.Table([]string{"STATUS", "PATH", "WHY"}, table, "There are no such items.")
		})
	})
}
