package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/eval/bench"
	"github.com/magpie-search/magpie/internal/humanize"
)

type benchSoakCommand struct {
	corpusFlags

	Minutes  float64       `default:"10" help:"How long it takes, filling the collection not included."`
	Passages int           `default:"5000" help:"Passages in the collection, about, all the time."`
	Clients  int           `default:"4" help:"How many clients search at once, without a pause."`
	Writers  int           `default:"2" help:"How many writers change documents at once."`
	Writes   float64       `default:"40" help:"Documents that are changed, added and deleted a second, at most."`
	Report   time.Duration `default:"30s" help:"How often it reports."`
	Faults   time.Duration `default:"0s" help:"How often something breaks: a worker or a server is killed, PostgreSQL or Redis is slow, silent or away. 0 for never, at least 20s."`
	Growth   float64       `default:"0.1" help:"By what share the memory may be larger in the last third than in the middle third."`
	Keep     bool          `help:"Keep the data, in bench-soak of the data folder."`
}

func (c *benchSoakCommand) check() error {
	switch {
	case !(c.Minutes > 0):
		return usagef("--minutes must be more than 0")
	case c.Passages < 1 || c.Clients < 1 || c.Writers < 1:
		return usagef("--passages, --clients and --writers must be 1 or more")
	case !(c.Writes > 0):
		return usagef("--writes must be more than 0")
	case c.Report <= 0:
		return usagef("--report must be more than 0")
	case c.Faults != 0 && c.Faults < bench.MinFaultInterval:
		return usagef("--faults must be 0 or at least %s", bench.MinFaultInterval)
	case !(c.Growth >= 0):
		return usagef("--growth must be 0 or more")
	}
	return nil
}

// Run soaks a Magpie that it starts, and deletes its data at the end.
func (c benchSoakCommand) Run(r *runtime) error {
	if err := c.check(); err != nil {
		return err
	}
	machine := bench.ThisMachine() // before the load of the benchmark
	text, err := c.read(r)
	if err != nil {
		return err
	}
	var result *bench.SoakResult
	if err := withBenchStack(r, "bench-soak", c.Keep, func(s *bench.Stack) error {
		result, err = bench.Soak(r, s, text, bench.SoakOptions{
			Duration: time.Duration(c.Minutes * float64(time.Minute)), Passages: c.Passages, Clients: c.Clients,
			Writers: c.Writers, Writes: c.Writes, Interval: c.Report, MaxGrowth: c.Growth, Faults: c.Faults,
		})
		return err
	}); err != nil {
		return err
	}
	result.Machine = machine
	if err := r.console.Result(result, func() { printSoak(r.console, result) }); err != nil {
		return err
	}
	return result.Failure()
}

func printSoak(c *console.Console, r *bench.SoakResult) {
	printMachine(c, r.Machine, r.Text)
	c.Printf("%s in %s, %s\n", humanize.Count(r.Passages, "passage"), humanize.Count(r.Documents, "document"), r.Model)
	pairs := [][2]string{
		{"time", humanize.Duration(r.Elapsed)},
		{"searches", fmt.Sprintf("%d, %d failed, %d wrong", r.Searches, r.Errors, r.Wrong)},
		{"writes", fmt.Sprintf("%d changed, %d added, %d deleted, in %d syncs and one by one; %d checked at once", r.Changed, r.Added, r.Deleted, r.Syncs, r.Verified)},
	}
	if len(r.Faults) > 0 {
		all := make([]string, 0, len(r.Faults))
		for _, f := range r.Faults {
			all = append(all, fmt.Sprintf("%s (%d)", f.What, f.Count))
		}
		pairs = append(pairs, [2]string{"faults", strings.Join(all, ", ")},
			[2]string{"refused", fmt.Sprintf("%d searches while PostgreSQL was away, or at most 10 s later", r.Excused)})
	}
	c.Pairs(pairs...)
	rows := make([][]string, 0, len(r.Growth))
	for _, g := range r.Growth {
		rows = append(rows, []string{g.What, mebibytes(g.Middle), mebibytes(g.Last), map[bool]string{true: "flat", false: "GROWS"}[g.Flat]})
	}
	c.Table([]string{"MEMORY", "MIDDLE THIRD", "LAST THIRD", ""}, rows, "Memory was not read often enough.")
}
