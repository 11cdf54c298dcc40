package command

import (
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/viewer"
)

type quotaCommand struct {
	Show quotaShow `cmd:"" default:"1" help:"Show what a workspace has used of its queries this month."`
	Set  quotaSet  `cmd:"" help:"Set how many queries a month a workspace may make."`
}

type quotaShow struct{}

// Run shows the usage of a workspace.
func (quotaShow) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		var got struct{ Usage usageRow }
		if err := api.Do(r, "Usage", nil, &got); err != nil {
			return err
		}
		return r.showUsage(got.Usage)
	})
}

type quotaSet struct {
	Limit string `required:"" placeholder:"N|default" help:"Queries a month; 0 for no limit; default for the server's QUERY_LIMIT."`
}

// Run sets the limit of a workspace, and shows where it stands.
func (c quotaSet) Run(r *runtime) error {
	var limit *int64
	if c.Limit != "default" {
		n, err := strconv.ParseInt(c.Limit, 10, 64)
		if err != nil {
			return usagef("--limit must be a number, or default")
		}
		limit = &n
	}
	return r.inWorkspace(func(app *wire.App, workspace uuid.UUID) error {
		scope, err := viewer.System(workspace).Scope()
		if err != nil {
			return fmt.Errorf("reach the workspace: %w", err)
		}
		if err := app.Quota.SetLimit(r, scope, limit); err != nil {
			return err
		}
		api, err := newClient(app, workspace)
		if err != nil {
			return err
		}
		var got struct{ Usage usageRow }
		if err := api.Do(r, "Usage", nil, &got); err != nil {
			return err
		}
		return r.showUsage(got.Usage)
	})
}

// usageRow is a workspace's month as commands print it.
type usageRow struct {
	PeriodStart time.Time `json:"periodStart"`
	PeriodEnd   time.Time `json:"periodEnd"`
	Queries     int64     `json:"queries"`
	Limit       *int64    `json:"limit"`
	Remaining   *int64    `json:"remaining"`
}

func (r *runtime) showUsage(row usageRow) error {
	limit, remaining := "none", "-"
	if row.Limit != nil {
		limit = strconv.FormatInt(*row.Limit, 10)
	}
	if row.Remaining != nil {
		remaining = strconv.FormatInt(*row.Remaining, 10)
	}
	return r.console.Result(row, func() {
		r.console.Pairs([2]string{"month (UTC)", row.PeriodStart.UTC().Format("2006-01")}, [2]string{"queries", strconv.FormatInt(row.Queries, 10)},
			[2]string{"limit", limit}, [2]string{"remaining", remaining}, [2]string{"begins anew", row.PeriodEnd.UTC().Format(time.DateOnly)})
	})
}
