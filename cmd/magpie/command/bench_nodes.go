package command

import (
	"fmt"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/eval/bench"
	"github.com/magpie-search/magpie/internal/humanize"
)

type benchNodesCommand struct {
	corpusFlags

	Processes   int     `default:"3" help:"How many servers share the searches."`
	Collections int     `default:"12" help:"How many collections are searched."`
	Passages    int     `default:"5000" help:"Size of each collection, in passages."`
	Clients     int     `default:"8" help:"How many clients search at once."`
	Seconds     float64 `default:"10" help:"How long each measurement takes."`
	Questions   int     `default:"600" help:"How many different questions are asked, at most."`
	Keep        bool    `help:"Keep the data, in bench-nodes of the data folder."`
}

func (c *benchNodesCommand) check() error {
	switch {
	case c.Processes < 1 || c.Collections < 1:
		return usagef("--processes and --collections must be 1 or more")
	case c.Passages < 1 || c.Questions < 1:
		return usagef("--passages and --questions must be 1 or more")
	case c.Clients < 1:
		return usagef("--clients must be 1 or more")
	case !(c.Seconds > 0):
		return usagef("--seconds must be more than 0")
	}
	return nil
}

// Run measures servers that it starts, and deletes their data at the end.
func (c benchNodesCommand) Run(r *runtime) error {
	if err := c.check(); err != nil {
		return err
	}
	machine := bench.ThisMachine() // before the load of the benchmark
	text, err := c.read(r)
	if err != nil {
		return err
	}
	var result *bench.NodesResult
	if err := withBenchStack(r, "bench-nodes", c.Keep, func(s *bench.Stack) error {
		result, err = bench.Nodes(r, s, text, bench.NodesOptions{
			Processes: c.Processes, Collections: c.Collections, Passages: c.Passages, Clients: c.Clients, Duration: seconds(c.Seconds), Questions: c.Questions,
		})
		return err
	}); err != nil {
		return err
	}
	result.Machine = machine
	return r.console.Result(result, func() { printNodes(r.console, result) })
}

func printNodes(c *console.Console, b *bench.NodesResult) {
	printMachine(c, b.Machine, b.Text)
	c.Printf("%s in %s, %s. The clients, the servers and PostgreSQL share the machine.\n",
		humanize.Count(b.Passages, "passage"), humanize.Count(b.Collections, "collection"), humanize.Count(b.Questions, "question"))
	for i := range b.Runs {
		run := &b.Runs[i]
		c.Printf("\n%s, SEARCH_MEMORY=%s: %s of collections in memory\n", run.Routing, run.Memory, mebibytes(run.Resident()))
		c.Table([]string{"CLIENTS", "SEARCHES/S", "P50 ms", "P95 ms", "P99 ms", "FOUND"},
			[][]string{append([]string{fmt.Sprint(run.Search.Clients)}, latencyCells(run.Search)...)}, "")
		rows := make([][]string, 0, len(run.Nodes))
		for k, n := range run.Nodes {
			rows = append(rows, []string{fmt.Sprint(k + 1), fmt.Sprint(n.Collections), mebibytes(n.Resident), mebibytes(n.RSS), fmt.Sprint(n.Loads), fmt.Sprint(n.Evictions)})
		}
		c.Table([]string{"SERVER", "COLLECTIONS", "THEIR MEMORY", "PROCESS", "LOADS", "EVICTIONS"}, rows, "")
	}
}
