package command

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/console"
)

type planRow struct {
	Job    jobRow `json:"job"`
	Counts struct {
		Added       int `json:"added"`
		Modified    int `json:"modified"`
		Compared    int `json:"compared"`
		Unchanged   int `json:"unchanged"`
		Skipped     int `json:"skipped"`
		Failed      int `json:"failed"`
		Deleted     int `json:"deleted"`
		Quarantined int `json:"quarantined"`
		Kept        int `json:"kept"`
	} `json:"counts"`
	Guard *struct {
		Blocked   bool `json:"blocked"`
		Missing   int  `json:"missing"`
		Existing  int  `json:"existing"`
		Threshold int  `json:"threshold"`
	} `json:"guard"`
	Items []planItemRow `json:"items"`
}

type planItemRow struct {
	Path       string     `json:"path"`
	Action     string     `json:"action"`
	Reason     *string    `json:"reason"`
	Size       int64      `json:"size"`
	Version    string     `json:"version"`
	DocumentID *uuid.UUID `json:"documentID"`
}

// planPages is a page of a plan's items.
type planPages struct {
	Plan pages[planItemRow] `json:"syncPlan"`
}

type syncPlan struct {
	Connector string   `arg:"" help:"Id or name."`
	Mode      string   `enum:"auto,full,incremental" default:"auto" help:"auto, full or incremental."`
	File      []string `sep:"none" help:"Path to sync, with incremental; can be given many times."`
	Action    []string `default:"add,modify,compare,fail,delete,quarantine" help:"Which items to list: add, modify, compare, unchanged, skip, fail, delete, quarantine or keep."`
	Limit     int      `default:"200" help:"Most items to list; 0 lists all."`
}

// Run makes a plan and shows it.
func (c syncPlan) Run(r *runtime) error {
	return r.withConnector(c.Connector, func(s *session, id uuid.UUID) error {
		input := variables{"syncMode": c.Mode}
		if len(c.File) > 0 {
			input["fileFilter"] = c.File
		}
		var started struct {
			Job jobRow `json:"job"`
		}
		if err := s.do(r, "PlanSync", variables{"connector": id, "input": input}, &started); err != nil {
			return err
		}
		job, err := watch(r, r.console, s, started.Job.ID)
		if err != nil {
			return err
		}
		if job.Status != "COMPLETED" {
			return fmt.Errorf("the plan is %s: %s", strings.ToLower(job.Status), text(job.Error))
		}
		var answer struct {
			Plan planRow `json:"plan"`
		}
		if err := s.do(r, "GetPlan", variables{"job": job.ID}, &answer); err != nil {
			return err
		}
		actions := make([]string, len(c.Action))
		for i, action := range c.Action {
			actions[i] = strings.ToUpper(action)
		}
		plan := answer.Plan
		plan.Items, err = everyOf(r, s, "ListPlan", variables{"job": job.ID, "action": actions}, c.Limit,
			func(p *planPages) *connection[planItemRow] { return &p.Plan.Page })
		if err != nil {
			return err
		}
		return r.console.Result(plan, func() { plan.show(r.console) })
	})
}

func (p planRow) show(c *console.Console) {
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

type quarantineRow struct {
	Documents int       `json:"documents"`
	Since     time.Time `json:"since"`
	Job       uuid.UUID `json:"jobId"`
	Existing  int       `json:"existing"`
	Threshold int       `json:"threshold"`
	Listed    []struct {
		ID    uuid.UUID `json:"id"`
		Path  string    `json:"path"`
		Title string    `json:"title"`
	} `json:"listed"`
}

type syncQuarantine struct {
	Connector string `arg:"" help:"Id or name of the connector."`
	Approve   bool   `xor:"decision" help:"Delete the documents in quarantine."`
	Dismiss   bool   `xor:"decision" help:"Keep them."`
	Limit     int    `default:"200" help:"Most documents to list; 0 lists all."`
}

// Run lists the documents in quarantine, or decides on them.
func (c syncQuarantine) Run(r *runtime) error {
	return r.withConnector(c.Connector, func(s *session, id uuid.UUID) error {
		switch {
		case c.Approve:
			return r.runJob(s, "ApproveDeletion", variables{"connector": id})
		case c.Dismiss:
			var answer struct {
				Dismissed struct {
					Documents int `json:"documents"`
				} `json:"dismissed"`
			}
			if err := s.do(r, "DismissDeletion", variables{"connector": id}, &answer); err != nil {
				return err
			}
			return r.console.Result(answer.Dismissed, func() { r.console.Printf("%d documents are kept\n", answer.Dismissed.Documents) })
		}
		var answer struct {
			Connector struct {
				Pending *quarantineRow `json:"pending"`
			} `json:"connector"`
		}
		if err := s.do(r, "GetQuarantine", variables{"connector": id}, &answer); err != nil {
			return err
		}
		pending := answer.Connector.Pending
		if pending == nil {
			return r.console.Result(pending, func() { r.console.Printf("nothing is in quarantine\n") })
		}
		var err error
		if pending.Listed, err = every[struct {
			ID    uuid.UUID `json:"id"`
			Path  string    `json:"path"`
			Title string    `json:"title"`
		}](r, s, "ListQuarantine", variables{"connector": id}, c.Limit); err != nil {
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
	return r.withConnector(c.Connector, func(s *session, id uuid.UUID) error {
		if c.Job != uuid.Nil {
			return r.runJob(s, "RestoreDeletions", variables{"connector": id, "job": c.Job})
		}
		var answer struct {
			Document struct {
				ID    uuid.UUID `json:"id"`
				Path  string    `json:"path"`
				Title string    `json:"title"`
			} `json:"document"`
		}
		if err := s.do(r, "RestoreDocument", variables{"connector": id, "document": c.Document}, &answer); err != nil {
			return err
		}
		return r.console.Result(answer.Document, func() { r.console.Printf("%s is back\n", answer.Document.Path) })
	})
}

// runJob starts a job and watches it to its end.
func (r *runtime) runJob(s *session, operation string, v variables) error {
	var answer struct {
		Job jobRow `json:"job"`
	}
	if err := s.do(r, operation, v, &answer); err != nil {
		return err
	}
	job, err := watch(r, r.console, s, answer.Job.ID)
	if err != nil {
		return err
	}
	return r.showJob(job)
}

type windowRow struct {
	Changes int      `json:"changes"`
	P50     *float64 `json:"p50"`
	P95     *float64 `json:"p95"`
	Max     *float64 `json:"max"`
}

type statsRow struct {
	Freshness struct {
		LastDay       windowRow  `json:"lastDay"`
		LastWeek      windowRow  `json:"lastWeek"`
		OldestWaiting *time.Time `json:"oldestWaiting"`
		Waiting       int        `json:"waiting"`
	} `json:"freshness"`
	History struct {
		Total        int        `json:"total"`
		Completed    int        `json:"completed"`
		Partial      int        `json:"partial"`
		Failed       int        `json:"failed"`
		Canceled     int        `json:"canceled"`
		SuccessRate  *float64   `json:"successRate"`
		MeanDuration *float64   `json:"meanDuration"`
		BytesFetched int64      `json:"bytesFetched"`
		Pages        int        `json:"pages"`
		Retried      int        `json:"retried"`
		Added        int        `json:"added"`
		Modified     int        `json:"modified"`
		Deleted      int        `json:"deleted"`
		LastSuccess  *time.Time `json:"lastSuccess"`
		LastFailure  *time.Time `json:"lastFailure"`
	} `json:"history"`
}

type syncStats struct {
	Connector string `arg:"" help:"Id or name of the connector."`
}

// Run shows how fresh a connector is and how its syncs went.
func (c syncStats) Run(r *runtime) error {
	return r.withConnector(c.Connector, func(s *session, id uuid.UUID) error {
		var answer struct {
			Connector statsRow `json:"connector"`
		}
		if err := s.do(r, "ConnectorStats", variables{"connector": id}, &answer); err != nil {
			return err
		}
		row := answer.Connector
		return r.console.Result(row, func() {
			f, h := row.Freshness, row.History
			r.console.Table([]string{"CHANGES OF THE LAST", "STORED", "P50", "P95", "MAX"}, [][]string{
				append([]string{"24 hours", strconv.Itoa(f.LastDay.Changes)}, f.LastDay.lags()...),
				append([]string{"7 days", strconv.Itoa(f.LastWeek.Changes)}, f.LastWeek.lags()...),
			}, "")
			r.console.Printf("waiting: %d, the oldest since %s\n", f.Waiting, moment(f.OldestWaiting))
			r.console.Printf("syncs of 30 days: %d, of which %d completed, %d partly failed, %d failed, %d were canceled; last success %s, last failure %s\n",
				h.Total, h.Completed, h.Partial, h.Failed, h.Canceled, moment(h.LastSuccess), moment(h.LastFailure))
		})
	})
}

// lags are the quantiles as people read them.
func (w windowRow) lags() []string {
	out := make([]string, 0, 3)
	for _, v := range []*float64{w.P50, w.P95, w.Max} {
		if v == nil {
			out = append(out, "-")
			continue
		}
		out = append(out, console.Duration(time.Duration(*v*float64(time.Second))))
	}
	return out
}
