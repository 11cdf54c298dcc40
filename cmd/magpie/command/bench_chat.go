package command

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/eval/bench"
	"github.com/magpie-search/magpie/internal/humanize"
)

type benchChatCommand struct {
	corpusFlags

	Streams  int           `default:"500" help:"How many visitors ask at once."`
	Rounds   int           `default:"3" help:"How often they do, one round after the other."`
	Passages int           `default:"5000" help:"Passages in the collection, about."`
	Think    time.Duration `default:"500ms" help:"The model's time to its first token."`
	Gap      time.Duration `default:"20ms" help:"The model's time between two tokens."`
	Tokens   int           `default:"150" help:"Tokens of an answer."`
	Keep     bool          `help:"Keep the data, in bench-chat of the data folder."`
}

func (c *benchChatCommand) check() error {
	switch {
	case c.Streams < 1 || c.Rounds < 1 || c.Passages < 1:
		return usagef("--streams, --rounds and --passages must be 1 or more")
	case c.Tokens < 1:
		return usagef("--tokens must be 1 or more")
	case c.Think < 0 || c.Gap < 0:
		return usagef("--think and --gap must be 0 or more")
	}
	return nil
}

// Run measures a Magpie with a slow model, both of which it starts, and deletes
// the data at the end.
func (c benchChatCommand) Run(r *runtime) error {
	if err := c.check(); err != nil {
		return err
	}
	machine := bench.ThisMachine() // before the load of the benchmark
	text, err := c.read(r)
	if err != nil {
		return err
	}
	var result *bench.ChatResult
	if err := withBenchStack(r, "bench-chat", c.Keep, func(s *bench.Stack) error {
		result, err = bench.Chat(r, s, text, bench.ChatOptions{
			Streams: c.Streams, Rounds: c.Rounds, Passages: c.Passages, Model: bench.ModelOptions{Think: c.Think, Gap: c.Gap, Tokens: c.Tokens},
		})
		return err
	}); err != nil {
		return err
	}
	result.Machine = machine
	if err := r.console.Result(result, func() { printChat(r.console, result, c.Think) }); err != nil {
		return err
	}
	return result.Failure()
}

func printChat(c *console.Console, b *bench.ChatResult, think time.Duration) {
	printMachine(c, b.Machine, b.Text)
	c.Printf("%s; the model takes %s for its first token; %d answers were under way at once\n", humanize.Count(b.Passages, "passage"), think, b.Concurrent)
	rows := [][]string{}
	for i, round := range slices.Concat([]bench.ChatRound{b.Sequential}, b.Rounds) {
		name := fmt.Sprintf("round %d", i)
		if i == 0 {
			name = "one at a time"
		}
		rows = append(rows, []string{
			name, strconv.Itoa(round.Streams), strconv.Itoa(round.Completed), strconv.Itoa(round.Errors),
			quantileCell(round.Header), quantileCell(round.FirstText), quantileCell(round.Overhead), humanize.Duration(round.Elapsed),
		})
	}
	c.Table([]string{"", "STREAMS", "COMPLETE", "ERRORS", "HEAD P50 / P99", "FIRST TEXT P50 / P99", "BEYOND THE MODEL P50 / P99", "TOOK"}, rows, "")
	rows = [][]string{}
	for _, reading := range []struct {
		when string
		bench.ServerReading
	}{{"before", b.Before}, {"at most", b.Peak}, {"after", b.After}} {
		rows = append(rows, []string{reading.when, mebibytes(reading.RSS), mebibytes(reading.Heap), fmt.Sprintf("%.0f", reading.Goroutines)})
	}
	c.Table([]string{"SERVER", "RSS", "LIVE HEAP", "GOROUTINES"}, rows, "")
	c.Printf("PostgreSQL: %s at most, the longest transaction %s\n", humanize.Count(b.Postgres.Sessions, "session"), humanize.Milliseconds(b.Postgres.LongestTransaction))
}

// quantileCell formats two quantiles as one cell of a table.
func quantileCell(t bench.Timing) string {
	return humanize.Milliseconds(t.P50) + " / " + humanize.Milliseconds(t.P99)
}
