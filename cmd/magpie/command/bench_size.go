package command

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/eval/bench"
	"github.com/magpie-search/magpie/internal/humanize"
)

type benchSizeCommand struct {
	corpusFlags

	Passages  []int   `default:"100000,500000" help:"Sizes of the collection, in passages, in ascending order."`
	Clients   []int   `default:"1,8" help:"How many clients ask at once."`
	Seconds   float64 `default:"10" help:"How long each measurement of searches takes."`
	Questions int     `default:"600" help:"How many different questions are asked, at most."`
	Changes   int     `default:"2000" help:"How many documents are changed at each size."`
	Memory    string  `placeholder:"SIZE" help:"PostgreSQL's maintenance_work_mem while search indexes are built, such as 2GB."`
	Keep      bool    `help:"Keep the data, in bench-size of the data folder."`
}

func (c *benchSizeCommand) check() error {
	switch {
	case len(c.Passages) == 0 || slices.Min(c.Passages) < 1:
		return usagef("--passages must be 1 or more")
	case !slices.IsSorted(c.Passages):
		return usagef("--passages must be in ascending order: the collection grows from one to the next")
	case len(c.Clients) == 0 || slices.Min(c.Clients) < 1:
		return usagef("--clients must be 1 or more")
	case !(c.Seconds > 0):
		return usagef("--seconds must be more than 0")
	case c.Questions < 1 || c.Changes < 1:
		return usagef("--questions and --changes must be 1 or more")
	}
	return nil
}

// Run measures a Magpie that it starts, and deletes its data at the end.
func (c benchSizeCommand) Run(r *runtime) error {
	if err := c.check(); err != nil {
		return err
	}
	machine := bench.ThisMachine() // before the load of the benchmark
	text, err := c.read(r)
	if err != nil {
		return err
	}
	var result *bench.SizeResult
	if err := withBenchStack(r, "bench-size", c.Keep, func(s *bench.Stack) error {
		result, err = bench.Size(r, s, text, bench.SizeOptions{
			Passages: c.Passages, Clients: c.Clients, Duration: seconds(c.Seconds), Questions: c.Questions, Changes: c.Changes, Memory: c.Memory,
		})
		return err
	}); err != nil {
		return err
	}
	result.Machine = machine
	return r.console.Result(result, func() { printSizes(r.console, result) })
}

func printSizes(c *console.Console, b *bench.SizeResult) {
	printMachine(c, b.Machine, b.Text)
	settings := make([]string, 0, len(b.Settings))
	for _, name := range slices.Sorted(maps.Keys(b.Settings)) {
		settings = append(settings, name+" "+b.Settings[name])
	}
	c.Printf("%s; PostgreSQL: %s\n", b.Model, strings.Join(settings, ", "))
	for _, s := range b.Steps {
		printSizeStep(c, s)
	}
}

func printSizeStep(c *console.Console, s *bench.SizeStep) {
	perPassage := func(bytes int64) string { return fmt.Sprintf("%.0f", float64(bytes)/float64(s.Passages)) }
	c.Printf("\n%s in %s, load before %.1f\n", humanize.Count(s.Passages, "passage"), humanize.Count(s.Documents, "document"), s.Load)
	c.Pairs(
		[2]string{"size", humanize.Bytes(s.Bytes()) + ", " + perPassage(s.Bytes()) + " bytes a passage"},
		[2]string{"writes", fmt.Sprintf("%.0f passages/s without search indexes, %.0f replaced/s with them", s.Written, s.Changed)},
		[2]string{"search indexes", "built in " + humanize.Duration(s.Build)},
		[2]string{"vacuum", fmt.Sprintf("%s after the writes, %s with search indexes after %s had been replaced", humanize.Duration(s.VacuumNew),
			humanize.Duration(s.VacuumChanged), humanize.Count(s.Replaced, "passage"))},
	)
	rows := make([][]string, 0, len(s.Tables))
	for _, t := range s.Tables {
		rows = append(rows, []string{
			t.Name, humanize.Bytes(t.Heap), humanize.Bytes(t.Toast), humanize.Bytes(t.Keys), humanize.Bytes(t.Vectors), humanize.Bytes(t.Lexemes), perPassage(t.Bytes()),
		})
	}
	c.Table([]string{"TABLE", "ROWS", "TOAST", "KEYS", "VECTORS", "LEXEMES", "BYTES A PASSAGE"}, rows, "")
	rows = make([][]string, 0, len(s.Searches))
	for _, l := range s.Searches {
		rows = append(rows, append([]string{fmt.Sprint(l.Clients)}, latencyCells(l)...))
	}
	c.Table([]string{"CLIENTS", "SEARCHES/S", "P50 ms", "P95 ms", "P99 ms", "FOUND"}, rows, "")
}
