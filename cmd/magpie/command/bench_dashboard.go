package command

import (
	"fmt"
	"strconv"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/eval/bench"
)

type benchDashboardCommand struct {
	Collections int     `default:"100" help:"Collections of the workspace."`
	Connectors  int     `default:"100" help:"Connectors of the workspace."`
	Documents   int     `default:"100000" help:"Documents of the workspace."`
	Clients     []int   `default:"1,8" help:"How many clients ask at once."`
	Seconds     float64 `default:"3" help:"How long they ask each query."`
	Keep        bool    `help:"Keep the data, in bench-dashboard of the data folder."`
}

func (c *benchDashboardCommand) check() error {
	switch {
	case c.Collections < 10 || c.Connectors < 10 || c.Documents < 100:
		return usagef("--collections and --connectors must be 10 or more, --documents 100 or more")
	case len(c.Clients) == 0 || c.Clients[0] < 1:
		return usagef("--clients must be 1 or more")
	case !(c.Seconds > 0):
		return usagef("--seconds must be more than 0")
	}
	return nil
}

// Run measures a Magpie that it starts, and deletes its data at the end.
func (c benchDashboardCommand) Run(r *runtime) error {
	if err := c.check(); err != nil {
		return err
	}
	machine := bench.ThisMachine() // before the load of the benchmark
	var result *bench.DashboardResult
	if err := withBenchStack(r, "bench-dashboard", c.Keep, func(s *bench.Stack) (err error) {
		result, err = bench.Dashboard(r, s, bench.DashboardOptions{
			Rows: bench.DashboardRows{
				Collections: c.Collections, Connectors: c.Connectors, Documents: c.Documents, Jobs: 20, Conversations: 500, Keys: 100, Entries: 10_000,
			},
			Clients: c.Clients, Duration: seconds(c.Seconds),
		})
		return err
	}); err != nil {
		return err
	}
	result.Machine = machine
	if err := r.console.Result(result, func() { printDashboard(r.console, result) }); err != nil {
		return err
	}
	return result.Failure()
}

func printDashboard(c *console.Console, b *bench.DashboardResult) {
	printMachine(c, b.Machine, bench.Text{})
	c.Printf("%d collections, %d connectors, %d documents; the clients run on the same machine as the server and PostgreSQL\n", b.Rows.Collections, b.Rows.Connectors, b.Rows.Documents)
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000) }
	rows := make([][]string, 0, len(b.Queries))
	for _, q := range b.Queries {
		for i := range q.Loads {
			l := &q.Loads[i]
			name, statements, kibibytes := "", "", ""
			if i == 0 {
				name, statements, kibibytes = q.Query, fmt.Sprintf("%.0f", q.Statements), fmt.Sprintf("%.1f", float64(q.Bytes)/1024)
			}
			rows = append(rows, []string{name, statements, kibibytes, strconv.Itoa(l.Clients), fmt.Sprintf("%.0f", l.PerSecond), ms(l.P50), ms(l.P99), strconv.Itoa(l.Errors)})
		}
	}
	c.Table([]string{"QUERY", "SQL", "KiB", "AT ONCE", "A SECOND", "P50 ms", "P99 ms", "ERRORS"}, rows, "")
}
