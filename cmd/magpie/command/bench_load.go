package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/eval/bench"
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

// loadBench is what was measured.
type loadBench struct {
	Machine  bench.Machine   `json:"machine"`
	Text     benchText       `json:"text"`
	URL      string          `json:"url,omitempty"` // of somebody else's Magpie
	Passages int             `json:"passages,omitempty"`
	Asked    int             `json:"questions"`
	Search   bench.Latencies `json:"search"`
	// First and Whole are the answers' first events and ends, when there were streams.
	First *bench.Latencies `json:"streamsFirstEvent,omitempty"`
	Whole *bench.Latencies `json:"streams,omitempty"`
	// Memory is the server's after all, in bytes; 0 when it does not tell.
	Memory float64 `json:"rssBytes,omitempty"`
}

func (c *benchLoadCommand) check() error {
	switch {
	case c.Clients < 1:
		return errors.New("--clients must be 1 or more")
	case !(c.Seconds > 0):
		return errors.New("--seconds must be more than 0")
	case c.Streams < 0:
		return errors.New("--streams must be 0 or more")
	case c.Passages < 1 || c.Questions < 1:
		return errors.New("--passages and --questions must be 1 or more")
	case (c.URL == "") != (c.Key == ""):
		return errors.New("--url and --key belong together")
	}
	return nil
}

// Run loads a server: its own, whose data it deletes at the end, or a given one.
// Errors of the server are the command's, once they are printed.
func (c benchLoadCommand) Run(r *runtime) error {
	if err := c.check(); err != nil {
		return err
	}
	machine := bench.ThisMachine() // before it is busy with this
	text, err := c.read(r)
	if err != nil {
		return err
	}
	result := &loadBench{Machine: machine, Text: text, URL: c.URL}
	questions := bench.Questions(text.pages, c.Questions, benchSeed)
	if result.Asked = len(questions); result.Asked == 0 {
		return errors.New("no question can be made of the text")
	}
	if c.URL != "" {
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: max(c.Clients, c.Streams, idleConnections)}}
		defer client.CloseIdleConnections()
		err = c.load(r, &benchServer{url: strings.TrimRight(c.URL, "/"), client: client}, c.Key, questions, result)
	} else {
		err = c.own(r, questions, result)
	}
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		return err
	}
	if err := r.console.Result(result, func() { result.print(r.console) }); err != nil {
		return err
	}
	return result.failure()
}

// own fills a Magpie and loads its server, which is a process of its own.
func (c *benchLoadCommand) own(r *runtime, questions []string, result *loadBench) (err error) {
	b, err := openBenchStack(r, "bench-load")
	defer func() { err = errors.Join(err, b.close(r, c.Keep)) }()
	if err != nil {
		return err
	}
	target, err := b.target(r)
	if err != nil {
		return err
	}
	filler := newFiller(b, target, result.Text.pages)
	if _, err := filler.until(r, r.console, c.Passages); err != nil {
		return err
	}
	_, result.Passages = filler.stored()
	if err := b.tidy(r); err != nil {
		return err
	}
	server, err := b.serve(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	return c.load(r, server, target.key, questions, result)
}

// load searches, first a little that is not counted, then streams answers.
func (c *benchLoadCommand) load(r *runtime, server *benchServer, key string, questions []string, result *loadBench) error {
	caller := newCaller(server, key)
	bodies := make([][]byte, len(questions))
	for i, question := range questions {
		body, err := json.Marshal(searchBody(question, benchMinScore, bench.Filter{}))
		if err != nil {
			return fmt.Errorf("write the question: %w", err)
		}
		bodies[i] = body
	}
	ask := func(ctx context.Context, turn int) (int, error) {
		content, err := caller.raw(ctx, bodies[turn%len(bodies)])
		return bytes.Count(content, []byte(`"document_id":`)), err
	}
	length := time.Duration(c.Seconds * float64(time.Second))
	if warm := bench.Load(r, min(c.Clients, 2), min(length/10, 5*time.Second), ask); warm.Errors > 0 {
		return fmt.Errorf("warm up: %s", warm.Error)
	}
	result.Search = bench.Load(r, c.Clients, length, ask)
	if c.Streams > 0 {
		result.stream(r, caller, c.Streams, questions)
	}
	if metrics, err := bench.ReadMetrics(r, server.client, server.url); err == nil { // others may not be told
		result.Memory = metrics.RSS()
	}
	return nil
}

// stream asks for so many answers at once and reads each to its end.
func (b *loadBench) stream(ctx context.Context, caller *api, streams int, questions []string) {
	first := make([]time.Duration, streams) // each stream writes its own
	whole := bench.Load(ctx, streams, 0, func(ctx context.Context, turn int) (int, error) {
		began, events, last := time.Now(), 0, ""
		err := caller.chat(ctx, questions[turn%len(questions)]+"?", func(event string, _ []byte) error {
			if events++; events == 1 {
				first[turn] = time.Since(began)
			}
			last = event
			return nil
		})
		if err == nil && last != "done" {
			err = fmt.Errorf("the answer ended with the event %q", last)
		}
		return events, err
	})
	began := make([]time.Duration, 0, streams)
	for _, taken := range first {
		if taken > 0 {
			began = append(began, taken)
		}
	}
	summary := bench.Summarise(began)
	summary.Clients = streams
	b.First, b.Whole = &summary, &whole
}

// failure is the error of a run in which the server made one.
func (b *loadBench) failure() error {
	if b.Search.Errors > 0 {
		return fmt.Errorf("%s of searches, the first: %s", console.Count(b.Search.Errors, "error"), b.Search.Error)
	}
	if b.Whole != nil && b.Whole.Errors > 0 {
		return fmt.Errorf("%s of streams, the first: %s", console.Count(b.Whole.Errors, "error"), b.Whole.Error)
	}
	return nil
}

func (b *loadBench) print(c *console.Console) {
	describeMachine(c, b.Machine, b.Text)
	if b.URL != "" {
		c.Printf("%s, %s\n", b.URL, console.Count(b.Asked, "question"))
	} else {
		c.Printf("%s, %s; the clients run on the same machine as the server, in another process\n", console.Count(b.Passages, "passage"), console.Count(b.Asked, "question"))
	}
	ms := func(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d.Microseconds())/1000) }
	row := func(what string, l *bench.Latencies, failed string) []string {
		return []string{what, fmt.Sprint(l.Clients), fmt.Sprint(l.Calls), fmt.Sprintf("%.0f", l.PerSecond), ms(l.P50), ms(l.P95), ms(l.P99), ms(l.Longest), failed}
	}
	rows := [][]string{row("searches", &b.Search, fmt.Sprint(b.Search.Errors))}
	if b.Whole != nil {
		first := row("answers, first event", b.First, "")
		first[3] = ""
		rows = append(rows, first, row("answers, whole", b.Whole, fmt.Sprint(b.Whole.Errors)))
	}
	c.Table([]string{"WHAT", "AT ONCE", "CALLS", "A SECOND", "P50 ms", "P95 ms", "P99 ms", "LONGEST ms", "ERRORS"}, rows, "")
	if b.Memory > 0 {
		c.Printf("the server has %.1f MiB of memory\n", b.Memory/(1<<20))
	}
}
