package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/eval/bench"
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
		return errors.New("--streams, --rounds and --passages must be 1 or more")
	case c.Tokens < 1:
		return errors.New("--tokens must be 1 or more")
	case c.Think < 0 || c.Gap < 0:
		return errors.New("--think and --gap must be 0 or more")
	}
	return nil
}

// chatBench is what was measured.
type chatBench struct {
	Machine  bench.Machine   `json:"machine"`
	Text     benchText       `json:"text"`
	Passages int             `json:"passages"`
	Alone    chatRound       `json:"alone"` // one visitor at a time
	Rounds   []chatRound     `json:"rounds"`
	AtOnce   int             `json:"answersAtOnce"` // as the model saw it
	Before   chatReading     `json:"before"`
	Peak     chatReading     `json:"peak"`
	After    chatReading     `json:"after"`
	Postgres postgresReading `json:"postgres"`
}

// chatRound is one time that everybody asked.
type chatRound struct {
	Streams   int    `json:"streams"`
	Completed int    `json:"completed"`
	Errors    int    `json:"errors"`
	Error     string `json:"error,omitempty"` // the first of them
	// Began is from the request to the head of the response, First to the first text, and Own what of that was not the model's.
	Began timing        `json:"began"`
	First timing        `json:"first"`
	Own   timing        `json:"own"`
	Took  time.Duration `json:"tookNanoseconds"`
}

// chatReading is what the server needs.
type chatReading struct {
	RSS        float64 `json:"rssBytes"`
	Heap       float64 `json:"heapBytes"`
	Goroutines float64 `json:"goroutines"`
}

// postgresReading is what was seen of the server's sessions while it streamed.
type postgresReading struct {
	Sessions int           `json:"sessions"`                      // at most
	Longest  time.Duration `json:"longestTransactionNanoseconds"` // how old a transaction was, at most
}

// Run measures with a Magpie and a model of its own, whose data it deletes at the end.
func (c benchChatCommand) Run(r *runtime) error {
	if err := c.check(); err != nil {
		return err
	}
	machine := bench.ThisMachine() // before it is busy with this
	text, err := c.read(r)
	if err != nil {
		return err
	}
	b, err := openBenchStack(r, "bench-chat")
	var result *chatBench
	if err == nil {
		result, err = c.measure(r, b, text)
	}
	if err := errors.Join(err, b.close(r, c.Keep)); err != nil {
		return err
	}
	result.Machine, result.Text = machine, text
	if err := r.console.Result(result, func() { result.print(r.console, c.Think) }); err != nil {
		return err
	}
	return result.failure()
}

func (c *benchChatCommand) measure(r *runtime, b *benchStack, text benchText) (result *chatBench, err error) {
	target, err := b.target(r)
	if err != nil {
		return nil, err
	}
	filler := newFiller(b, target, text.pages)
	if _, err := filler.until(r, r.console, c.Passages); err != nil {
		return nil, err
	}
	if err := b.tidy(r); err != nil {
		return nil, err
	}
	model, err := bench.StartModel(r, bench.ModelOptions{Think: c.Think, Gap: c.Gap, Tokens: c.Tokens})
	if err != nil {
		return nil, err
	}
	stop := sync.OnceValue(model.Stop)
	defer func() { err = errors.Join(err, stop()) }()
	b.settings = append(b.settings, "LLM_BASE_URL="+model.URL, "LLM_API_KEY=bench", "LLM_MODEL=bench", "LLM_MODELS=", "LLM_FALLBACK=")
	server, err := b.serve(r)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	crowd := &chatCrowd{
		caller: &api{baseURL: server.url, key: target.key, client: http.Client{Transport: &http.Transport{
			MaxIdleConns: 0, MaxIdleConnsPerHost: c.Streams, IdleConnTimeout: time.Minute,
		}}},
		questions: bench.Questions(text.pages, 600, benchSeed),
	}
	defer crowd.caller.client.CloseIdleConnections()
	result = &chatBench{}
	_, result.Passages = filler.stored()
	if err := c.rounds(r, b, server, crowd, result); err != nil {
		return nil, err
	}
	result.AtOnce = model.Most()
	// The server keeps connections to the model for a while; they are not what is looked for.
	crowd.caller.client.CloseIdleConnections()
	if err := stop(); err != nil {
		return nil, err
	}
	result.After, err = server.settled(r, result.Before)
	return result, err
}

// aloneStreams is how many answers one visitor asks for, one after the other.
const aloneStreams = 20

func (c *benchChatCommand) rounds(r *runtime, b *benchStack, server *benchServer, crowd *chatCrowd, result *chatBench) (err error) {
	if warm := crowd.round(r, 1); warm.Errors > 0 {
		return fmt.Errorf("the first answer: %s", warm.Error)
	}
	if err := r.console.Step("one visitor at a time", func() error {
		result.Alone = crowd.alone(r, aloneStreams)
		return r.Err()
	}); err != nil {
		return err
	}
	if result.Before, err = server.reading(r); err != nil {
		return err
	}
	watch, err := c.watch(r, b, server)
	if err != nil {
		return err
	}
	for i := range c.Rounds {
		err = r.console.Step(fmt.Sprintf("%d streams at once, round %d", c.Streams, i+1), func() error {
			result.Rounds = append(result.Rounds, crowd.round(r, c.Streams))
			return r.Err()
		})
		if err != nil {
			break
		}
	}
	result.Peak, result.Postgres = watch()
	return err
}

// chatCrowd are the visitors.
type chatCrowd struct {
	caller    *api
	questions []string
	asked     int
}

// told is what one visitor saw.
type told struct {
	began, first, own time.Duration
	err               error
}

// alone asks one after the other.
func (c *chatCrowd) alone(ctx context.Context, times int) chatRound {
	began := time.Now()
	list := make([]told, times)
	for i := range list {
		list[i] = c.visit(ctx, c.questions[(c.asked+i)%len(c.questions)])
	}
	c.asked += times
	return sumUp(list, time.Since(began))
}

// round lets everybody ask at once and waits for all.
func (c *chatCrowd) round(ctx context.Context, streams int) chatRound {
	began := time.Now()
	list := make([]told, streams)
	var visitors sync.WaitGroup
	for i := range list {
		visitors.Go(func() { list[i] = c.visit(ctx, c.questions[(c.asked+i)%len(c.questions)]) })
	}
	visitors.Wait()
	c.asked += streams
	return sumUp(list, time.Since(began))
}

// visit asks one question and reads the answer to its end.
func (c *chatCrowd) visit(ctx context.Context, question string) told {
	var t told
	sent := time.Now()
	done := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { t.began = time.Since(sent) }})
	t.err = c.caller.chat(ctx, question, func(event string, data []byte) error {
		switch event {
		case "content":
			if t.first == 0 {
				t.first = time.Since(sent)
				var content struct {
					Delta string `json:"delta"`
				}
				if err := json.Unmarshal(data, &content); err != nil {
					return fmt.Errorf("read the first text: %w", err)
				}
				took, _ := strconv.ParseInt(strings.TrimSpace(content.Delta), 10, 64) // what nothing was found for has no model's time
				t.own = t.first - time.Duration(took)
			}
		case "done":
			done = true
		case "error":
			return fmt.Errorf("the stream told of an error: %s", data)
		}
		return nil
	})
	if t.err == nil && !done {
		t.err = errors.New("the answer has no end")
	}
	return t
}

func sumUp(list []told, took time.Duration) chatRound {
	round := chatRound{Streams: len(list), Took: took}
	var began, first, own []time.Duration
	for _, t := range list {
		if t.err != nil {
			round.Errors++
			if round.Error == "" {
				round.Error = t.err.Error()
			}
			continue
		}
		round.Completed++
		began, first, own = append(began, t.began), append(first, t.first), append(own, t.own)
	}
	if round.Completed > 0 {
		round.Began, round.First = quantiles("head of the response", began), quantiles("first text", first)
		round.Own = quantiles("first text beyond the model", own)
	}
	return round
}

// failure is why the bench did not go well; nil when it did.
func (b *chatBench) failure() error {
	for _, round := range slices.Concat([]chatRound{b.Alone}, b.Rounds) {
		if round.Errors > 0 {
			return fmt.Errorf("%d of %d streams failed, the first: %s", round.Errors, round.Streams, round.Error)
		}
	}
	return nil
}

func (b *chatBench) print(c *console.Console, think time.Duration) {
	describeMachine(c, b.Machine, b.Text)
	c.Printf("%s; the model takes %s for its first token; %d answers were under way at once\n", console.Count(b.Passages, "passage"), think, b.AtOnce)
	rows := [][]string{}
	for i, round := range slices.Concat([]chatRound{b.Alone}, b.Rounds) {
		name := fmt.Sprintf("round %d", i)
		if i == 0 {
			name = "one at a time"
		}
		rows = append(rows, []string{
			name, strconv.Itoa(round.Streams), strconv.Itoa(round.Completed), strconv.Itoa(round.Errors),
			fine(round.Began.P50) + " / " + fine(round.Began.P99), fine(round.First.P50) + " / " + fine(round.First.P99),
			fine(round.Own.P50) + " / " + fine(round.Own.P99), console.Duration(round.Took),
		})
	}
	c.Table([]string{"", "STREAMS", "COMPLETE", "ERRORS", "HEAD P50 / P99", "FIRST TEXT P50 / P99", "BEYOND THE MODEL P50 / P99", "TOOK"}, rows, "")
	rows = [][]string{}
	for _, reading := range []struct {
		when string
		chatReading
	}{{"before", b.Before}, {"at most", b.Peak}, {"after", b.After}} {
		rows = append(rows, []string{
			reading.when, fmt.Sprintf("%.1f MiB", reading.RSS/(1<<20)), fmt.Sprintf("%.1f MiB", reading.Heap/(1<<20)), fmt.Sprintf("%.0f", reading.Goroutines),
		})
	}
	c.Table([]string{"SERVER", "RSS", "LIVE HEAP", "GOROUTINES"}, rows, "")
	c.Printf("PostgreSQL: %s at most, the longest transaction %s\n", console.Count(b.Postgres.Sessions, "session"), fine(b.Postgres.Longest))
}

// reading asks the server what it needs.
func (s *benchServer) reading(ctx context.Context) (chatReading, error) {
	metrics, err := bench.ReadMetrics(ctx, s.client, s.url)
	if err != nil {
		return chatReading{}, err
	}
	return chatReading{RSS: metrics.RSS(), Heap: metrics.LiveHeap(), Goroutines: metrics["go_goroutines"]}, nil
}

const (
	chatSample     = 100 * time.Millisecond
	settlePatience = 20 * time.Second
	// spareGoroutines are those that may be there after a load and not before: of idle connections.
	spareGoroutines = 50
)

// settled waits until the goroutines of the streams have ended, or for as long as they may take to.
func (s *benchServer) settled(ctx context.Context, before chatReading) (chatReading, error) {
	ticker := time.NewTicker(chatSample)
	defer ticker.Stop()
	for began := time.Now(); ; {
		now, err := s.reading(ctx)
		if err != nil || now.Goroutines <= before.Goroutines+spareGoroutines || time.Since(began) > settlePatience {
			return now, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return now, fmt.Errorf("wait for the streams' ends: %w", context.Cause(ctx))
		}
	}
}

// watch samples the server and its database until the function it returns is called, which gives the most of everything.
func (c *benchChatCommand) watch(ctx context.Context, b *benchStack, server *benchServer) (func() (chatReading, postgresReading), error) {
	owner, err := pgx.Connect(ctx, b.services.OwnerURL)
	if err != nil {
		return nil, fmt.Errorf("connect as the owner: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var peak chatReading
	var sessions postgresReading
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { _ = owner.Close(context.WithoutCancel(ctx)) }()
		ticker := time.NewTicker(chatSample)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if now, err := server.reading(ctx); err == nil {
				peak = chatReading{RSS: max(peak.RSS, now.RSS), Heap: max(peak.Heap, now.Heap), Goroutines: max(peak.Goroutines, now.Goroutines)}
			}
			var count int
			var age float64
			err := owner.QueryRow(ctx, `select count(*), coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::float8
				from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`).Scan(&count, &age)
			if err == nil {
				sessions.Sessions = max(sessions.Sessions, count)
				sessions.Longest = max(sessions.Longest, time.Duration(age*float64(time.Second)))
			}
		}
	}()
	return func() (chatReading, postgresReading) {
		cancel()
		<-ended
		return peak, sessions
	}, nil
}
