package command

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/humanize"
)

type syncPlan struct {
	Connector string   `arg:"" help:"Id or name."`
	Mode      string   `enum:"auto,full,incremental" default:"auto" help:"auto, full or incremental."`
	File      []string `sep:"none" help:"Path to sync, with incremental; can be given many times."`
	Action    []string `default:"add,modify,compare,fail,delete,quarantine" help:"Which items to list: add, modify, compare, unchanged, skip, fail, delete, quarantine or keep."`
	Limit     int      `default:"200" help:"Most items to list; 0 lists all."`
}

// Run makes a plan and shows it.
func (c syncPlan) Run(r *runtime) error {
	return r.withConnector(c.Connector, func(api *client.Client, id uuid.UUID) error {
		input := client.Variables{"syncMode": c.Mode}
		if len(c.File) > 0 {
			input["fileFilter"] = c.File
		}
		var started struct {
			Job client.Job `json:"job"`
		}
		if err := api.Do(r, "PlanSync", client.Variables{"connector": id, "input": input}, &started); err != nil {
			return err
		}
		job, err := api.Watch(r, started.Job.ID, reporter{r.console})
		if err != nil {
			return err
		}
		if job.Status != "COMPLETED" {
			return fmt.Errorf("the plan is %s: %s", strings.ToLower(job.Status), text(job.Error))
		}
		var answer struct {
			Plan client.Plan `json:"plan"`
		}
		if err := api.Do(r, "GetPlan", client.Variables{"job": job.ID}, &answer); err != nil {
			return err
		}
		actions := make([]string, len(c.Action))
		for i, action := range c.Action {
			actions[i] = strings.ToUpper(action)
		}
		plan := answer.Plan
		plan.Items, err = client.ListFrom(r, api, "ListPlan", client.Variables{"job": job.ID, "action": actions}, c.Limit,
			func(p *client.PlanItems) *client.Connection[client.PlanItem] { return &p.Plan.Page })
		if err != nil {
			return err
		}
		return r.console.Result(plan, func() { printPlan(r.console, plan) })
	})
}

func printPlan(c *console.Console, p client.Plan) {
	table := make([][]string, 0, len(p.Items))
	for _, item := range p.Items {
		table = append(table, []string{strings.ToLower(item.Action), item.Path, text(item.Reason)})
	}
	c.Table([]string{"ACTION", "PATH", "WHY"}, table, "A sync would change nothing.")
	n := p.Counts
	c.Printf("to add %d, to modify %d, to compare %d, to delete %d; unchanged %d, skipped %d, failing %d, kept %d\n",
		n.Added, n.Modified, n.Compared, n.Deleted, n.Unchanged, n.Skipped, n.Failed, n.Kept)
	if g := p.Guard; g != nil && g.Blocked && n.Quarantined > 0 {
		c.Warn("%d of %d documents are missing, more than %d%%: a sync would put %d into quarantine and delete none.", g.Missing, g.Existing, g.Threshold, n.Quarantined)
	}
	for _, warning := range p.Job.Warnings {
		c.Warn("warning: %s", warning)
	}
}

type syncQuarantine struct {
	Connector string `arg:"" help:"Id or name of the connector."`
	Approve   bool   `xor:"decision" help:"Delete the documents in quarantine."`
	Dismiss   bool   `xor:"decision" help:"Keep them."`
	Limit     int    `default:"200" help:"Most documents to list; 0 lists all."`
}

// Run lists the documents in quarantine, or decides on them.
func (c syncQuarantine) Run(r *runtime) error {
	return r.withConnector(c.Connector, func(api *client.Client, id uuid.UUID) error {
		switch {
		case c.Approve:
			return r.runJob(api, "ApproveDeletion", client.Variables{"connector": id})
		case c.Dismiss:
			var answer struct {
				Dismissed struct {
					Documents int `json:"documents"`
				} `json:"dismissed"`
			}
			if err := api.Do(r, "DismissDeletion", client.Variables{"connector": id}, &answer); err != nil {
				return err
			}
			return r.console.Result(answer.Dismissed, func() { r.console.Printf("%d documents are kept\n", answer.Dismissed.Documents) })
		}
		var answer struct {
			Connector struct {
				Pending *client.Quarantine `json:"pending"`
			} `json:"connector"`
		}
		if err := api.Do(r, "GetQuarantine", client.Variables{"connector": id}, &answer); err != nil {
			return err
		}
		pending := answer.Connector.Pending
		if pending == nil {
			return r.console.Result(pending, func() { r.console.Printf("nothing is in quarantine\n") })
		}
		var err error
		if pending.Listed, err = client.List[client.DocumentRef](r, api, "ListQuarantine", client.Variables{"connector": id}, c.Limit); err != nil {
			return err
		}
		return r.console.Result(pending, func() {
			table := make([][]string, 0, len(pending.Listed))
			for _, d := range pending.Listed {
				table = append(table, []string{d.ID.String(), d.Path, d.Title})
			}
			r.console.Table([]string{"ID", "PATH", "TITLE"}, table, "")
			r.console.Printf("%d of %d documents wait since %s; --approve deletes them, --dismiss keeps them\n", pending.Documents, pending.Existing, moment(&pending.Since))
		})
	})
}

type syncRestore struct {
	Connector string    `arg:"" help:"Id or name of the connector."`
	Job       uuid.UUID `xor:"what" help:"Bring back all that this job deleted."`
	Document  uuid.UUID `xor:"what" help:"Bring back this document."`
}

// Run brings back what was deleted.
func (c syncRestore) Run(r *runtime) error {
	if c.Job == uuid.Nil && c.Document == uuid.Nil {
		return errors.New("say what to restore: --job or --document")
	}
	return r.withConnector(c.Connector, func(api *client.Client, id uuid.UUID) error {
		if c.Job != uuid.Nil {
			return r.runJob(api, "RestoreDeletions", client.Variables{"connector": id, "job": c.Job})
		}
		var answer struct {
			Document client.DocumentRef `json:"document"`
		}
		if err := api.Do(r, "RestoreDocument", client.Variables{"connector": id, "document": c.Document}, &answer); err != nil {
			return err
		}
		return r.console.Result(answer.Document, func() { r.console.Printf("%s is back\n", answer.Document.Path) })
	})
}

// runJob starts a job and watches it to its end.
func (r *runtime) runJob(api *client.Client, operation string, v client.Variables) error {
	var answer struct {
		Job client.Job `json:"job"`
	}
	if err := api.Do(r, operation, v, &answer); err != nil {
		return err
	}
	job, err := api.Watch(r, answer.Job.ID, reporter{r.console})
	if err != nil {
		return err
	}
	return r.showJob(job)
}

type syncStats struct {
	Connector string `arg:"" help:"Id or name of the connector."`
}

// Run shows how fresh a connector is and how its syncs went.
func (c syncStats) Run(r *runtime) error {
	return r.withConnector(c.Connector, func(api *client.Client, id uuid.UUID) error {
		var answer struct {
			Connector client.SyncStats `json:"connector"`
		}
		if err := api.Do(r, "ConnectorStats", client.Variables{"connector": id}, &answer); err != nil {
			return err
		}
		row := answer.Connector
		return r.console.Result(row, func() {
			f, h := row.Freshness, row.History
			r.console.Table([]string{"CHANGES OF THE LAST", "STORED", "P50", "P95", "MAX"}, [][]string{
				append([]string{"24 hours", strconv.Itoa(f.LastDay.Changes)}, lagColumns(f.LastDay)...),
				append([]string{"7 days", strconv.Itoa(f.LastWeek.Changes)}, lagColumns(f.LastWeek)...),
			}, "")
			r.console.Printf("waiting: %d, the oldest since %s\n", f.Waiting, moment(f.OldestWaiting))
			r.console.Printf("syncs of 30 days: %d, of which %d completed, %d partly failed, %d failed, %d were canceled; last success %s, last failure %s\n",
				h.Total, h.Completed, h.Partial, h.Failed, h.Canceled, moment(h.LastSuccess), moment(h.LastFailure))
		})
	})
}

// lagColumns returns the quantiles of lags as columns.
func lagColumns(w client.Lags) []string {
	out := make([]string, 0, 3)
	for _, v := range []*float64{w.P50, w.P95, w.Max} {
		if v == nil {
			out = append(out, "-")
			continue
		}
		out = append(out, humanize.Duration(time.Duration(*v*float64(time.Second))))
	}
	return out
}
