package command

import (
	"fmt"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/eval/bench"
	"github.com/magpie-search/magpie/internal/humanize"
)

type benchLoadCommand struct {
	corpusFlags

	Clients   int     `default:"32" help:"How many clients search at once."`
	Seconds   float64 `default:"60" help:"How long they do."`
	Streams   int     `help:"Answers to stream at once after that; 0 leaves them out."`
	Passages  int     `default:"20000" help:"Size of the collection, in passages."`
	Questions int     `default:"600" help:"How many different questions are asked, at most."`
	URL       string  `placeholder:"URL" help:"A Magpie that runs already, instead of one of the bench's own."`
	Key       string  `placeholder:"KEY" help:"A secret key of it, without a rate limit."`
	Keep      bool    `help:"Keep the data, in bench-load of the data folder."`
}

func (c *benchLoadCommand) check() error {
	switch {
	case c.Clients < 1:
		return usagef("--clients must be 1 or more")
	case !(c.Seconds > 0):
		return usagef("--seconds must be more than 0")
	case c.Streams < 0:
		return usagef("--streams must be 0 or more")
	case c.Passages < 1 || c.Questions < 1:
		return usagef("--passages and --questions must be 1 or more")
	case (c.URL == "") != (c.Key == ""):
		return usagef("--url and --key belong together")
	}
	return nil
}

// Run measures a server that it starts, whose data it deletes at the end, or the
// server at --url. It fails after printing the result if the server failed.
func (c benchLoadCommand) Run(r *runtime) error {
	if err := c.check(); err != nil {
		return err
	}
	machine := bench.ThisMachine() // before the load of the benchmark
	text, err := c.read(r)
	if err != nil {
		return err
	}
	o := bench.LoadOptions{Clients: c.Clients, Duration: seconds(c.Seconds), Streams: c.Streams, Passages: c.Passages, Questions: c.Questions}
	var result *bench.LoadResult
	if c.URL != "" {
		result, err = bench.MeasureLoadOf(r, c.URL, c.Key, text, o)
	} else {
		err = withBenchStack(r, "bench-load", c.Keep, func(s *bench.Stack) error {
			result, err = bench.MeasureLoad(r, s, text, o)
			return err
		})
	}
	if err != nil {
		return err
	}
	result.Machine = machine
	if err := r.console.Result(result, func() { printLoad(r.console, result) }); err != nil {
		return err
	}
	return result.Failure()
}

func printLoad(c *console.Console, b *bench.LoadResult) {
	printMachine(c, b.Machine, b.Text)
	if b.URL != "" {
		c.Printf("%s, %s\n", b.URL, humanize.Count(b.Questions, "question"))
	} else {
		c.Printf("%s, %s; the clients run on the same machine as the server, in another process\n", humanize.Count(b.Passages, "passage"), humanize.Count(b.Questions, "question"))
	}
	row := func(what string, l *bench.Latencies, failed string) []string {
		return []string{what, fmt.Sprint(l.Clients), fmt.Sprint(l.Calls), fmt.Sprintf("%.0f", l.PerSecond),
			milliseconds(l.P50), milliseconds(l.P95), milliseconds(l.P99), milliseconds(l.Longest), failed}
	}
	rows := [][]string{row("searches", &b.Search, fmt.Sprint(b.Search.Errors))}
	if b.Streams != nil {
		first := row("answers, first event", b.FirstEvent, "")
		first[3] = ""
		rows = append(rows, first, row("answers, whole", b.Streams, fmt.Sprint(b.Streams.Errors)))
	}
	c.Table([]string{"WHAT", "AT ONCE", "CALLS", "A SECOND", "P50 ms", "P95 ms", "P99 ms", "LONGEST ms", "ERRORS"}, rows, "")
	if b.RSS > 0 {
		c.Printf("the server has %s of memory\n", mebibytes(b.RSS))
	}
}
