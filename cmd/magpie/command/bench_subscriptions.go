package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/eval/bench"
	"github.com/magpie-search/magpie/internal/humanize"
)

type benchSubscriptionsCommand struct {
	Count    int           `default:"2000" help:"Subscriptions that are open at once, each over a WebSocket of its own."`
	Sessions int           `default:"50" help:"Signed-in sessions that they belong to."`
	Events   int           `default:"20" help:"Events of each kind that all of them get."`
	Idle     time.Duration `default:"15s" help:"How long nothing happens, to measure what open subscriptions cost."`
	Keep     bool          `help:"Keep the data, in bench-subscriptions of the data folder."`
}

func (c *benchSubscriptionsCommand) check() error {
	switch {
	case c.Count < 1 || c.Sessions < 1 || c.Events < 1:
		return usagef("--count, --sessions and --events must be 1 or more")
	case c.Idle < time.Second:
		return usagef("--idle must be 1s or more")
	}
	return nil
}

// Run measures a Magpie that it starts, and deletes its data at the end.
func (c benchSubscriptionsCommand) Run(r *runtime) error {
	if err := c.check(); err != nil {
		return err
	}
	machine := bench.ThisMachine() // before the load of the benchmark
	var result *bench.SubscriptionResult
	if err := withBenchStack(r, "bench-subscriptions", c.Keep, func(s *bench.Stack) (err error) {
		result, err = bench.Subscriptions(r, s, bench.SubscriptionOptions{Count: c.Count, Sessions: c.Sessions, Events: c.Events, Idle: c.Idle})
		return err
	}); err != nil {
		return err
	}
	result.Machine = machine
	return r.console.Result(result, func() { printSubscriptions(r.console, result) })
}

func printSubscriptions(c *console.Console, b *bench.SubscriptionResult) {
	m := b.Machine
	c.Printf("%s, %s, load before %.1f\n", strings.TrimSpace(m.Processor+" "+m.System), humanize.Count(m.Cores, "core"), m.Load)
	c.Printf("%s, opened in %s\n", humanize.Count(b.Count, "subscription"), humanize.Duration(b.Opening))
	rows := [][]string{}
	for _, reading := range []struct {
		when string
		bench.SubscriptionReading
	}{{"before", b.Before}, {"open", b.Open}, {"closed", b.After}} {
		rows = append(rows, []string{
			reading.when, mebibytes(reading.RSS), mebibytes(reading.Heap), mebibytes(reading.Stacks), fmt.Sprintf("%.0f", reading.Goroutines),
		})
	}
	kibibytes := func(open, before float64) string { return fmt.Sprintf("%.1f KiB", (open-before)/float64(b.Count)/1024) }
	rows = append(rows, []string{
		"each", kibibytes(b.Open.RSS, b.Before.RSS), kibibytes(b.Open.Heap, b.Before.Heap), kibibytes(b.Open.Stacks, b.Before.Stacks),
		fmt.Sprintf("%.2f", (b.Open.Goroutines-b.Before.Goroutines)/float64(b.Count)),
	})
	c.Table([]string{"SERVER", "RSS", "LIVE HEAP", "STACKS", "GOROUTINES"}, rows, "")
	c.Printf("idle: %.2f%% of one core\n", 100*b.IdleCPU)
	rows = [][]string{}
	for _, kind := range b.Kinds {
		rows = append(rows, []string{
			kind.What, fmt.Sprint(kind.Receivers), quantileCell(kind.Each), humanize.Milliseconds(kind.LastP50) + " / " + humanize.Milliseconds(kind.LastMax),
		})
	}
	c.Table([]string{"EVENT", "RECEIVERS", "EACH P50 / P99", "THE LAST ONE P50 / MOST"}, rows, "")
	c.Printf("sign-out: %s of the session closed, the last one after %s\n", humanize.Count(b.Closed, "subscription"), humanize.Milliseconds(b.SignOut))
}
