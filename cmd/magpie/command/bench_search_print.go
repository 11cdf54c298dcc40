package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/eval/bench"
)

// budget is a line of the design's budgets.
type budget struct {
	What     string `json:"what"`
	Budget   string `json:"budget"`
	Measured string `json:"measured"`
	// Verdict is met, NOT MET, or unknown where the server does not tell.
	Verdict string `json:"verdict"`
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "NOT MET"
}

// budgetSize is the size in passages that the budgets of latency are for.
const budgetSize = 100_000

// Budgets of the design, on two cores.
const (
	budgetP50         = 3 * time.Millisecond
	budgetP99         = 10 * time.Millisecond
	budgetIngest      = 3000
	budgetPerPassage  = 1.2 * 1024
	budgetStart       = time.Second
	budgetFilterSlack = 1.1 // what two measurements of one thing differ by
)

// judge compares what was measured with the budgets, at the measured size that
// is nearest to theirs.
func (b *searchBench) judge() []budget {
	size := b.Sizes[0]
	for _, other := range b.Sizes {
		if abs(other.Passages-budgetSize) < abs(size.Passages-budgetSize) {
			size = other
		}
	}
	at := fmt.Sprintf(" (%d passages)", size.Passages)
	var out []budget
	if all := size.of("none"); all != nil {
		out = append(out, budget{
			What: "search over HTTP with API key" + at + ", " + console.Count(all.Clients, "client") + ", p50 / p99", Budget: "3 / 10 ms",
			Measured: fine(all.Magpie.P50) + " / " + fine(all.Magpie.P99), Verdict: verdict(all.Magpie.P50 <= budgetP50 && all.Magpie.P99 <= budgetP99),
		})
		if few := size.of("5 %"); few != nil {
			out = append(out, budget{
				What: "same, filtered to 5 %, p50", Budget: "not slower", Measured: fine(few.Magpie.P50),
				Verdict: verdict(float64(few.Magpie.P50) <= budgetFilterSlack*float64(all.Magpie.P50)),
			})
		}
	}
	out = append(out, budget{
		What: "ingest, Markdown to searchable" + at, Budget: "3000 passages/s", Measured: fmt.Sprintf("%.0f passages/s", size.Ingest),
		Verdict: verdict(size.Ingest >= budgetIngest),
	})
	memory := budget{What: "resident memory" + at, Budget: "1.2 KB a passage", Measured: "not told by the server", Verdict: "unknown"}
	if perPassage := size.Memory.ResidentPerPassage; perPassage > 0 {
		memory.Measured, memory.Verdict = fmt.Sprintf("%.2f KB a passage", perPassage/1024), verdict(perPassage <= budgetPerPassage)
	}
	return append(out, memory, budget{
		What: "start of serve to ready, schema current", Budget: "1 s", Measured: console.Duration(size.Cold.Ready), Verdict: verdict(size.Cold.Ready <= budgetStart),
	})
}

// of is the measurement of a filter with the fewest clients.
func (s *sizeBench) of(filter string) *comparison {
	var fewest *comparison
	for i := range s.Searches {
		if c := &s.Searches[i]; c.Filter == filter && (fewest == nil || c.Clients < fewest.Clients) {
			fewest = c
		}
	}
	return fewest
}

func abs(n int) int { return max(n, -n) }

func (b *searchBench) print(c *console.Console) {
	describeMachine(c, b.Machine, b.Text)
	c.Printf("%s, %s\n", console.Count(b.Asked, "question"), b.Model)
	c.Printf("POST /v1/docs/search with a secret key, limit %d, min_score %.1f, highlights. The clients run on the same machine as the server,\n", benchLimit, benchMinScore)
	c.Printf("in another process, and take their share of its cores.\n")
	if b.Baseline != "" {
		c.Printf("baseline: %s.\n", strings.ReplaceAll(b.Baseline, "; ", ";\n  "))
		c.Printf("It is asked over PostgreSQL's protocol by this process, embedding the question included: no HTTP, no key, no highlights, no min_score,\n")
		c.Printf("which is in its favour. It runs on the same PostgreSQL, after Magpie has been stopped.\n")
	}
	for _, size := range b.Sizes {
		size.print(c)
	}
	c.Printf("\nbudgets (of a machine with 2 cores)\n")
	rows := make([][]string, 0, len(b.Budgets))
	for _, line := range b.Budgets {
		rows = append(rows, []string{line.What, line.Budget, line.Measured, line.Verdict})
	}
	c.Table([]string{"WHAT", "BUDGET", "MEASURED", ""}, rows, "")
}

func describeMachine(c *console.Console, m bench.Machine, text benchText) {
	c.Printf("%s", strings.TrimSpace(m.Processor+" "+m.System)+", "+console.Count(m.Cores, "core"))
	if m.Memory > 0 {
		c.Printf(", %.1f GiB of memory", float64(m.Memory)/(1<<30))
	}
	c.Printf(", load before %.1f\ngenerated from %s\n", m.Load, strings.Join(text.Folders, ",\n  "))
}

func (s *sizeBench) print(c *console.Console) {
	c.Printf("\n%s in %s (%d with a text that another has, %s left out)\n", console.Count(s.Passages, "passage"), console.Count(s.Documents, "document"),
		s.Duplicates, console.Count(s.LeftOut, "document"))
	pairs := [][2]string{
		{"ingest", fmt.Sprintf("%.0f passages/s (%d, parsed, cut, embedded and stored)", s.Ingest, s.Added)},
		{"vacuum, indexes", console.Duration(s.Tidy)},
		{"server", "ready after " + console.Duration(s.Cold.Ready)},
		{"cold load", "first query " + console.Duration(s.Cold.FirstQuery) + ", collection in memory " + s.Cold.resident()},
		{"memory", s.Memory.describe()},
		{"catch-up", fmt.Sprintf("%s (%s) changed in %s, found %s after the last commit", console.Count(s.CatchUp.Documents, "document"),
			console.Count(s.CatchUp.Passages, "passage"), console.Duration(s.CatchUp.Writing), console.Duration(s.CatchUp.Seen))},
	}
	if s.BaselineCopy > 0 {
		pairs = append(pairs, [2]string{"baseline", fmt.Sprintf("filled in %s (parsing and embedding included), indexed in %s",
			console.Duration(s.BaselineCopy), console.Duration(s.BaselineIndex))})
	}
	c.Pairs(pairs...)
	header := []string{"FILTER", "SHARE", "CLIENTS", "SEARCHES/S", "P50 ms", "P95 ms", "P99 ms", "FOUND"}
	if s.BaselineCopy > 0 {
		header = append(header, "BASELINE/S", "P50 ms", "P95 ms", "P99 ms", "FOUND", "TIMES AS MANY/S", "P50 RATIO", "P99 RATIO")
	}
	rows := make([][]string, 0, len(s.Searches))
	for _, m := range s.Searches {
		row := append([]string{m.Filter, fmt.Sprintf("%.2f %%", 100*m.Share), fmt.Sprint(m.Clients)}, cells(m.Magpie)...)
		if base := m.Baseline; base != nil {
			row = append(append(row, cells(*base)...), ratio(m.Magpie.PerSecond, base.PerSecond),
				ratio(float64(base.P50), float64(m.Magpie.P50)), ratio(float64(base.P99), float64(m.Magpie.P99)))
		}
		rows = append(rows, row)
	}
	c.Table(header, rows, "")
}

func (s coldStart) resident() string {
	if s.Resident == nil {
		return "not told by the server"
	}
	return "after " + console.Duration(*s.Resident)
}

func (m searchMemory) describe() string {
	grown := fmt.Sprintf("the process grew by %.1f MiB to %.1f MiB (%.2f KB a passage)", m.Grown/(1<<20), m.RSS/(1<<20), m.GrownPerPassage/1024)
	if m.ResidentPerPassage == 0 {
		return grown
	}
	return fmt.Sprintf("%.1f MiB resident, %.2f KB a passage; %s", m.Resident/(1<<20), m.ResidentPerPassage/1024, grown)
}

// cells are the figures of one measurement.
func cells(l bench.Latencies) []string {
	ms := func(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d.Microseconds())/1000) }
	return []string{fmt.Sprintf("%.0f", l.PerSecond), ms(l.P50), ms(l.P95), ms(l.P99), fmt.Sprintf("%.1f", l.Found)}
}

func ratio(more, less float64) string {
	if less == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", more/less)
}
