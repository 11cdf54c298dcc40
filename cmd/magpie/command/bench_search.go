package command

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/eval/bench"
	"github.com/magpie-search/magpie/internal/humanize"
)

type benchSearchCommand struct {
	corpusFlags

	Passages   []int      `default:"10000,100000,500000" help:"Sizes of the collection, in passages, in ascending order."`
	Clients    []int      `default:"1,8,32" help:"How many clients ask at once."`
	Seconds    float64    `default:"5" help:"How long each measurement takes."`
	Questions  int        `default:"600" help:"How many different questions are asked, at most."`
	Tier       bench.Tier `enum:"memory,postgresql,engine" default:"memory" help:"Where the collection is searched: in memory as far as it fits, in PostgreSQL, or by candidates of the search engine of ENGINE_URL, with PostgreSQL measured before."`
	NoBaseline bool       `help:"Leave pgvector with ts_rank_cd out."`
	UnderSync  bool       `help:"Measure the smallest size only, without a baseline: quiet, and while a worker syncs all documents."`
	Rounds     int        `default:"5" help:"Pairs of measurements with --under-sync, of which the medians count."`
	Keep       bool       `help:"Keep the data, in bench-search of the data folder."`
}

func (c *benchSearchCommand) check() error {
	switch {
	case len(c.Passages) == 0 || slices.Min(c.Passages) < 1:
		return usagef("--passages must be 1 or more")
	case !slices.IsSorted(c.Passages):
		return usagef("--passages must be in ascending order: the collection grows from one to the next")
	case len(c.Clients) == 0 || slices.Min(c.Clients) < 1:
		return usagef("--clients must be 1 or more")
	case !(c.Seconds > 0):
		return usagef("--seconds must be more than 0")
	case c.Questions < 1:
		return usagef("--questions must be 1 or more")
	case c.Rounds < 1:
		return usagef("--rounds must be 1 or more")
	case c.UnderSync && c.Tier != bench.TierMemory:
		return usagef("--under-sync measures --tier memory only")
	}
	return nil
}

// Run measures a Magpie that it starts, and deletes its data at the end.
func (c benchSearchCommand) Run(r *runtime) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.Tier == bench.TierEngine {
		s, err := r.benchSettings(nil)
		if err != nil {
			return err
		}
		if len(s.EngineURLs()) == 0 {
			return usagef("--tier engine needs the nodes of a search engine in ENGINE_URL")
		}
	}
	machine := bench.ThisMachine() // before the load of the benchmark
	text, err := c.read(r)
	if err != nil {
		return err
	}
	for _, folder := range text.Folders {
		r.console.Note("text from %s", folder)
	}
	o := bench.SearchOptions{
		Passages: c.Passages, Clients: c.Clients, Duration: seconds(c.Seconds), Questions: c.Questions, Baseline: !c.NoBaseline, Rounds: c.Rounds,
		Tiers: []bench.Tier{c.Tier},
	}
	if c.Tier == bench.TierEngine {
		o.Tiers = []bench.Tier{bench.TierPostgreSQL, bench.TierEngine}
	}
	if c.UnderSync {
		var result *bench.UnderSyncResult
		if err := withBenchStack(r, "bench-search", c.Keep, func(s *bench.Stack) error {
			result, err = bench.SearchUnderSync(r, s, text, o)
			return err
		}); err != nil {
			return err
		}
		result.Machine = machine
		return r.console.Result(result, func() { printUnderSync(r.console, result) })
	}
	var result *bench.SearchResult
	settings := map[string]string{}
	if c.Tier != bench.TierMemory {
		settings["SEARCH_MEMORY"] = "0"
	}
	if err := withBenchStackOf(r, "bench-search", settings, c.Keep, func(s *bench.Stack) error {
		result, err = bench.Search(r, s, text, o)
		return err
	}); err != nil {
		return err
	}
	result.Machine = machine
	return r.console.Result(result, func() { printSearch(r.console, result) })
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func printSearch(c *console.Console, b *bench.SearchResult) {
	printMachine(c, b.Machine, b.Text)
	c.Printf("%s, %s\n", humanize.Count(b.Questions, "question"), b.Model)
	c.Printf("POST /v1/docs/search with a secret key, limit %d, min_score %.1f, highlights. The clients run on the same machine as the server,\n", bench.SearchLimit, bench.SearchMinScore)
	c.Printf("in another process, and take their share of its cores.\n")
	if b.Baseline != "" {
		c.Printf("baseline: %s.\n", strings.ReplaceAll(b.Baseline, "; ", ";\n  "))
		c.Printf("It is asked over PostgreSQL's protocol by this process, embedding the question included: no HTTP, no key, no highlights, no min_score,\n")
		c.Printf("which is in its favour. It runs on the same PostgreSQL, after Magpie has been stopped.\n")
	}
	for _, size := range b.Sizes {
		printSize(c, size)
	}
	c.Printf("\nbudgets (of a machine with 2 cores)\n")
	printBudgets(c, b.Budgets)
}

func printBudgets(c *console.Console, budgets []bench.Budget) {
	rows := make([][]string, 0, len(budgets))
	for _, b := range budgets {
		rows = append(rows, []string{b.What, b.Budget, b.Measured, b.Verdict})
	}
	c.Table([]string{"WHAT", "BUDGET", "MEASURED", ""}, rows, "")
}

func printSize(c *console.Console, s *bench.SearchSize) {
	c.Printf("\n%s in %s (%d with a text that another has, %s left out), tier %s\n", humanize.Count(s.Passages, "passage"), humanize.Count(s.Documents, "document"),
		s.Duplicates, humanize.Count(s.LeftOut, "document"), s.Tier)
	resident := "not told by the server"
	if s.ColdStart.Resident != nil {
		resident = "after " + humanize.Duration(*s.ColdStart.Resident)
	}
	pairs := [][2]string{
		{"ingest", fmt.Sprintf("%.0f passages/s (%d, parsed, cut, embedded and stored)", s.Ingest, s.Added)},
		{"vacuum, indexes", humanize.Duration(s.Settling)},
		{"server", "ready after " + humanize.Duration(s.ColdStart.Ready)},
		{"cold load", "first query " + humanize.Duration(s.ColdStart.FirstQuery) + ", collection in memory " + resident},
		{"memory", formatMemory(s.Memory)},
		{"catch-up", fmt.Sprintf("%s (%s) changed in %s, found %s after the last commit", humanize.Count(s.CatchUp.Documents, "document"),
			humanize.Count(s.CatchUp.Passages, "passage"), humanize.Duration(s.CatchUp.Writing), humanize.Duration(s.CatchUp.Seen))},
	}
	if s.Projection > 0 {
		pairs = append(pairs, [2]string{"search engine", "has the collection in all replicas after " + humanize.Duration(s.Projection)})
	}
	if a := s.Agreement; a != nil {
		pairs = append(pairs, [2]string{"as PostgreSQL", fmt.Sprintf("%d of %d searches, one at a time, have the same first ten; %.2f %% of PostgreSQL's are found; it answered %d itself",
			a.Same, a.Searches, 100*a.Recall, a.Fallbacks)})
	}
	if s.BaselineCopy > 0 {
		pairs = append(pairs, [2]string{"baseline", fmt.Sprintf("filled in %s (parsing and embedding included), indexed in %s",
			humanize.Duration(s.BaselineCopy), humanize.Duration(s.BaselineIndex))})
	}
	c.Pairs(pairs...)
	header := []string{"FILTER", "SHARE", "CLIENTS", "SEARCHES/S", "P50 ms", "P95 ms", "P99 ms", "FOUND"}
	if s.Agreement != nil {
		header = append(header, "BY POSTGRESQL")
	}
	if s.BaselineCopy > 0 {
		header = append(header, "BASELINE/S", "P50 ms", "P95 ms", "P99 ms", "FOUND", "TIMES AS MANY/S", "P50 RATIO", "P99 RATIO")
	}
	rows := make([][]string, 0, len(s.Searches))
	for _, m := range s.Searches {
		row := append([]string{m.Filter, fmt.Sprintf("%.2f %%", 100*m.Share), fmt.Sprint(m.Clients)}, latencyCells(m.Magpie)...)
		if s.Agreement != nil {
			row = append(row, fmt.Sprintf("%.0f %%", 100*float64(m.Fallbacks)/float64(max(1, m.Magpie.Calls))))
		}
		if base := m.Baseline; base != nil {
			row = append(append(row, latencyCells(*base)...), formatRatio(m.Magpie.PerSecond, base.PerSecond),
				formatRatio(float64(base.P50), float64(m.Magpie.P50)), formatRatio(float64(base.P99), float64(m.Magpie.P99)))
		}
		rows = append(rows, row)
	}
	c.Table(header, rows, "")
}

func formatMemory(m bench.SearchMemory) string {
	growth := fmt.Sprintf("the process grew by %s to %s (%.2f KB a passage)", mebibytes(m.Growth), mebibytes(m.RSS), m.GrowthPerPassage/1024)
	if m.ResidentPerPassage == 0 {
		return growth
	}
	return fmt.Sprintf("%s resident, %.2f KB a passage; %s", mebibytes(m.Resident), m.ResidentPerPassage/1024, growth)
}

// milliseconds formats a duration without its unit, as a cell of a table.
func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d.Microseconds())/1000) }

// latencyCells returns the cells of one measurement.
func latencyCells(l bench.Latencies) []string {
	return []string{fmt.Sprintf("%.0f", l.PerSecond), milliseconds(l.P50), milliseconds(l.P95), milliseconds(l.P99), fmt.Sprintf("%.1f", l.Found)}
}

func formatRatio(a, b float64) string {
	if b == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", a/b)
}

func printUnderSync(c *console.Console, b *bench.UnderSyncResult) {
	printMachine(c, b.Machine, b.Text)
	c.Printf("%s in %s, %s, %s\n", humanize.Count(b.Passages, "passage"), humanize.Count(b.Files, "file"), humanize.Count(b.Questions, "question"), b.Model)
	c.Printf("Under sync, a worker syncs all files, each of which has changed. The clients, the server, the worker and PostgreSQL share the machine.\n")
	rows := make([][]string, 0, 2*len(b.Rounds))
	for i := range b.Rounds {
		r := &b.Rounds[i]
		rows = append(rows,
			append([]string{fmt.Sprint(r.Clients), "quiet", ""}, latencyCells(r.Quiet)...),
			append([]string{fmt.Sprint(r.Clients), "under sync", fmt.Sprintf("%.0f", r.Written)}, latencyCells(r.Busy)...))
	}
	c.Table([]string{"CLIENTS", "", "DOCUMENTS/S", "SEARCHES/S", "P50 ms", "P95 ms", "P99 ms", "FOUND"}, rows, "")
	c.Printf("\nmedians of the pairs\n")
	printBudgets(c, b.Budgets)
}
