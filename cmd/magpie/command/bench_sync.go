package command

import (
	"fmt"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/eval/bench"
	"github.com/magpie-search/magpie/internal/humanize"
)

type benchSyncCommand struct {
	Objects int  `default:"10000" help:"Objects in the bucket."`
	Repeat  int  `default:"3" help:"How often they are synced again."`
	Keep    bool `help:"Keep the data."`
}

// Run measures a Magpie that it starts, and deletes its data at the end.
func (c benchSyncCommand) Run(r *runtime) error {
	if c.Objects < 1 || c.Repeat < 1 {
		return usagef("--objects and --repeat must be 1 or more")
	}
	machine := bench.ThisMachine() // before the load of the benchmark
	var result *bench.SyncResult
	if err := withBenchStack(r, "bench-sync", c.Keep, func(s *bench.Stack) (err error) {
		result, err = bench.Sync(r, s, bench.SyncOptions{Objects: c.Objects, Repeats: c.Repeat, Networks: devNetworks})
		return err
	}); err != nil {
		return err
	}
	result.Machine = machine
	return r.console.Result(result, func() { printSync(r.console, result) })
}

func printSync(c *console.Console, b *bench.SyncResult) {
	rows := [][]string{{"first sync", humanize.Duration(b.First), fmt.Sprintf("%.0f objects/s", float64(b.Objects)/b.First.Seconds())}}
	for _, d := range b.Repeats {
		rows = append(rows, []string{"nothing new", humanize.Duration(d), fmt.Sprintf("%.0f objects/s", float64(b.Objects)/d.Seconds())})
	}
	c.Table([]string{fmt.Sprintf("%d OBJECTS", b.Objects), "", ""}, rows, "")
	c.Printf("%d objects were fetched by the syncs that found nothing new; the budget of 10,000 is %s.\n", b.Fetched, humanize.Duration(bench.SyncBudget))
}
