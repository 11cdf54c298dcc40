package command

import (
	"strconv"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/eval/bench"
	"github.com/magpie-search/magpie/internal/humanize"
)

type benchTenantsCommand struct {
	corpusFlags

	Workspaces  int     `default:"500" help:"How many workspaces search a little."`
	Collections int     `default:"4" help:"How many collections each of them has."`
	Passages    int     `default:"50" help:"Size of each collection, in passages."`
	Connectors  int     `default:"200" help:"How many of them have a small folder that is synced every 15 minutes."`
	Rate        float64 `default:"20" help:"How many searches a second they send together."`
	Clients     int     `default:"100" help:"How many clients of their neighbour search at once without a pause."`
	Files       int     `default:"100" help:"How many files each of the neighbour's ten folders has."`
	Seconds     float64 `default:"30" help:"How long each measurement takes."`
	Questions   int     `default:"600" help:"How many different questions are asked, at most."`
	Keep        bool    `help:"Keep the data, in bench-tenants of the data folder."`
}

func (c *benchTenantsCommand) check() error {
	switch {
	case c.Workspaces < 1 || c.Collections < 1:
		return usagef("--workspaces and --collections must be 1 or more")
	case c.Passages < 1 || c.Questions < 1:
		return usagef("--passages and --questions must be 1 or more")
	case c.Connectors < 0 || c.Connectors > c.Workspaces:
		return usagef("--connectors must be 0 to the number of workspaces")
	case c.Clients < 1 || c.Files < 1:
		return usagef("--clients and --files must be 1 or more")
	case !(c.Rate > 0 && c.Rate <= 10_000):
		return usagef("--rate must be more than 0, and 10000 at most")
	case !(c.Seconds > 0):
		return usagef("--seconds must be more than 0")
	}
	return nil
}

// Run measures a Magpie that it starts, and deletes its data at the end.
func (c benchTenantsCommand) Run(r *runtime) error {
	if err := c.check(); err != nil {
		return err
	}
	machine := bench.ThisMachine() // before the load of the benchmark
	text, err := c.read(r)
	if err != nil {
		return err
	}
	var result *bench.TenantsResult
	if err := withBenchStack(r, "bench-tenants", c.Keep, func(s *bench.Stack) error {
		result, err = bench.Tenants(r, s, text, bench.TenantsOptions{
			Workspaces: c.Workspaces, Collections: c.Collections, Passages: c.Passages, Connectors: c.Connectors, Rate: c.Rate,
			Clients: c.Clients, Files: c.Files, Duration: seconds(c.Seconds), Questions: c.Questions,
		})
		return err
	}); err != nil {
		return err
	}
	result.Machine = machine
	if err := r.console.Result(result, func() { printTenants(r.console, result) }); err != nil {
		return err
	}
	return result.Failure()
}

func printTenants(c *console.Console, b *bench.TenantsResult) {
	printMachine(c, b.Machine, b.Text)
	c.Printf("%s with %s and %s, made in %s. Clients, server, worker and PostgreSQL share the machine.\n", humanize.Count(b.Workspaces, "workspace"),
		humanize.Count(b.Collections, "collection"), humanize.Count(b.Passages, "passage"), humanize.Duration(b.Setup))
	c.Printf("%s with a small folder; %s of them were started beside the searches, as their schedules do.\n",
		humanize.Count(b.Connectors, "connector"), humanize.Count(b.Syncs, "sync"))
	row := func(what string, l bench.Latencies) []string { return append([]string{what}, latencyCells(l)...) }
	c.Table([]string{"SEARCHES OF", "SEARCHES/S", "P50 ms", "P95 ms", "P99 ms", "FOUND"}, [][]string{
		row("all others, quiet", b.Quiet), row("all others, beside the neighbour", b.Loud), row("the neighbour", b.Neighbour),
	}, "")
	if b.QuietSync.Calls > 0 {
		row := func(what string, l bench.Latencies) []string {
			return []string{what, strconv.Itoa(l.Calls), milliseconds(l.P50), milliseconds(l.Longest)}
		}
		c.Printf("\n")
		c.Table([]string{"SMALL SYNCS", "SYNCS", "P50 ms", "LONGEST ms"}, [][]string{row("quiet", b.QuietSync), row("beside the neighbour's", b.LoudSync)}, "")
		c.Printf("At least %s of the neighbour queued or running at the end of each; %d ended meanwhile.\n", humanize.Count(b.NeighbourOpen, "sync"), b.NeighbourSyncs)
	}
	c.Printf("\n")
	c.Table([]string{"MEMORY OF serve", "SIZE", "GROWTH"}, [][]string{
		{"collections, at most", mebibytes(b.Resident), ""},
		{"process, after its start", mebibytes(b.StartRSS), ""},
		{"process, before the neighbour", mebibytes(b.QuietRSS), mebibytes(b.QuietRSS - b.StartRSS)},
		{"process, at the end", mebibytes(b.RSS), mebibytes(b.RSS - b.QuietRSS)},
	}, "")
	c.Printf("\nbudgets\n")
	printBudgets(c, b.Budgets)
}
