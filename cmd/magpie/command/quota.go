package command

import (
	"fmt"
	"strconv"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/viewer"
)

type quotaCommand struct {
	Show quotaShow `cmd:"" default:"1" help:"Show what a workspace has used of its queries this month."`
	Set  quotaSet  `cmd:"" help:"Set how many queries a month a workspace may make."`
}

type quotaShow struct{}

// Run shows the usage of a workspace.
func (quotaShow) Run(r *runtime) error {
	return r.ofWorkspace(func(app *wire.App, scope viewer.Scope) error { return r.showUsage(app, scope) })
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
	return r.ofWorkspace(func(app *wire.App, scope viewer.Scope) error {
		if err := app.Quota.SetLimit(r, scope, limit); err != nil {
			return err
		}
		return r.showUsage(app, scope)
	})
}

// ofWorkspace does something to the chosen workspace that is the operator's
// business, and of none of its members.
func (r *runtime) ofWorkspace(do func(*wire.App, viewer.Scope) error) error {
	return r.open(func(app *wire.App) error {
		id, err := chooseWorkspace(r, app.DB.Ent, r.Workspace)
		if err != nil {
			return err
		}
		scope, err := viewer.System(id).Scope()
		if err != nil {
			return fmt.Errorf("reach the workspace: %w", err)
		}
		return do(app, scope)
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

func (r *runtime) showUsage(app *wire.App, scope viewer.Scope) error {
	u, err := app.Quota.Usage(r, scope)
	if err != nil {
		return err
	}
	row := usageRow{PeriodStart: u.Start, PeriodEnd: u.End, Queries: u.Queries}
	limit, remaining := "none", "-"
	if u.Limit > 0 {
		left := u.Remaining()
		row.Limit, row.Remaining = &u.Limit, &left
		limit, remaining = strconv.FormatInt(u.Limit, 10), strconv.FormatInt(left, 10)
	}
	return r.console.Result(row, func() {
		r.console.Pairs([2]string{"month (UTC)", u.Start.Format("2006-01")}, [2]string{"queries", strconv.FormatInt(u.Queries, 10)},
			[2]string{"limit", limit}, [2]string{"remaining", remaining}, [2]string{"begins anew", u.End.Format(time.DateOnly)})
	})
}
