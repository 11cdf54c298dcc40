package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"net/http"
	"net/http/httptrace"

	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/eval/bench/synth"
)

// ChatOptions configures Chat.
type ChatOptions struct {
	Streams  int // visitors that ask at a time
	Rounds   int // of all visitors, one after the other
	Passages int // in the collection
	Model    ModelOptions
}

// ChatResult is the result of Chat.
type ChatResult struct {
	Machine    Machine         `json:"machine"`
	Text       Text            `json:"text"`
	Passages   int             `json:"passages"`
	Sequential ChatRound       `json:"alone"` // one visitor at a time
	Rounds     []ChatRound     `json:"rounds"`
	Concurrent int             `json:"answersAtOnce"` // the most active answers of the model
	Before     ServerReading   `json:"before"`
	Peak       ServerReading   `json:"peak"`
	After      ServerReading   `json:"after"`
	Postgres   PostgresReading `json:"postgres"`
}

// A ChatRound is a round of questions.
type ChatRound struct {
	Streams   int    `json:"streams"`
	Completed int    `json:"completed"`
	Errors    int    `json:"errors"`
	Error     string `json:"error,omitempty"` // the first one
	// Header is the time to the header of the response, FirstText the time to the
	// first text, and Overhead the part of FirstText that the model did not take.
	Header    Timing        `json:"began"`
	FirstText Timing        `json:"first"`
	Overhead  Timing        `json:"own"`
	Elapsed   time.Duration `json:"tookNanoseconds"`
}

// A ServerReading is the memory and the number of goroutines of a server.
type ServerReading struct {
	RSS        float64 `json:"rssBytes"`
	Heap       float64 `json:"heapBytes"`
	Goroutines float64 `json:"goroutines"`
}

// A PostgresReading has the highest values of PostgreSQL during the rounds.
type PostgresReading struct {
	Sessions           int           `json:"sessions"`
	LongestTransaction time.Duration `json:"longestTransactionNanoseconds"`
}

// Chat measures many answers at a time, with a slow model.
func Chat(ctx context.Context, s *Stack, text Text, o ChatOptions) (result *ChatResult, err error) {
	t, err := s.createTarget(ctx, collectionName)
	if err != nil {
		return nil, err
	}
	f := newFiller(s, t, text)
	if _, err := f.grow(ctx, o.Passages); err != nil {
		return nil, err
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	model, err := StartModel(ctx, o.Model)
	if err != nil {
		return nil, err
	}
	stopModel := sync.OnceValue(model.Stop)
	defer func() { err = errors.Join(err, stopModel()) }()
	s.Settings = append(s.Settings, "LLM_BASE_URL="+model.URL, "LLM_API_KEY=bench", "LLM_MODEL=bench", "LLM_MODELS=", "LLM_FALLBACK=")
	srv, err := s.startServer(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	v := &visitors{
		rest: &client.REST{BaseURL: srv.url, Key: t.key, Client: http.Client{Transport: &http.Transport{
			MaxIdleConnsPerHost: o.Streams, IdleConnTimeout: time.Minute,
		}}},
		questions: synth.Questions(text.pages, 600, seed),
	}
	defer v.rest.Client.CloseIdleConnections()
	result = &ChatResult{Text: text}
	_, result.Passages = f.stored()
	if err := result.measureRounds(ctx, s, srv, v, o); err != nil {
		return nil, err
	}
	result.Concurrent = model.Peak()
	// The goroutines of idle connections would hide those of streams.
	v.rest.Client.CloseIdleConnections()
	if err := stopModel(); err != nil {
		return nil, err
	}
	result.After, err = srv.waitStreams(ctx, result.Before)
	return result, err
}

// sequentialStreams is the number of answers that a single visitor asks for.
const sequentialStreams = 20

func (b *ChatResult) measureRounds(ctx context.Context, s *Stack, srv *server, v *visitors, o ChatOptions) (err error) {
	if warmup := v.ask(ctx, 1, 1); warmup.Errors > 0 {
		return fmt.Errorf("the first answer: %s", warmup.Error)
	}
	if err := s.Display.Step("one visitor at a time", func() error {
		b.Sequential = v.ask(ctx, sequentialStreams, 1)
		return ctx.Err()
	}); err != nil {
		return err
	}
	if b.Before, err = srv.reading(ctx); err != nil {
		return err
	}
	stop, err := sampleLoad(ctx, s.OwnerURL, srv)
	if err != nil {
		return err
	}
	for i := range o.Rounds {
		err = s.Display.Step(fmt.Sprintf("%d streams at once, round %d", o.Streams, i+1), func() error {
			b.Rounds = append(b.Rounds, v.ask(ctx, o.Streams, o.Streams))
			return ctx.Err()
		})
		if err != nil {
			break
		}
	}
	b.Peak, b.Postgres = stop()
	return err
}

// visitors ask the questions in turn.
type visitors struct {
	rest      *client.REST
	questions []string
	next      int // question
}

// A visit has the times of one answer.
type visit struct {
	header, firstText, overhead time.Duration
	err                         error
}

// ask asks n questions, so many at a time, and waits for all answers.
func (v *visitors) ask(ctx context.Context, n, concurrent int) ChatRound {
	start := time.Now()
	visits := make([]visit, n)
	var group sync.WaitGroup
	for worker := range concurrent {
		group.Go(func() {
			for i := worker; i < n; i += concurrent {
				visits[i] = v.visit(ctx, v.questions[(v.next+i)%len(v.questions)])
			}
		})
	}
	group.Wait()
	v.next += n
	return summarizeVisits(visits, time.Since(start))
}

// visit asks one question and reads the answer to its end.
func (v *visitors) visit(ctx context.Context, question string) visit {
	var one visit
	sent := time.Now()
	done := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { one.header = time.Since(sent) }})
	one.err = v.rest.Chat(ctx, question, func(event string, data []byte) error {
		switch event {
		case "content":
			if one.firstText == 0 {
				one.firstText = time.Since(sent)
				var content struct {
					Delta string `json:"delta"`
				}
				if err := json.Unmarshal(data, &content); err != nil {
					return fmt.Errorf("read the first text: %w", err)
				}
				modelTime, _ := strconv.ParseInt(strings.TrimSpace(content.Delta), 10, 64) // an answer without passages does not ask the model
				one.overhead = one.firstText - time.Duration(modelTime)
			}
		case "done":
			done = true
		case "error":
			return fmt.Errorf("the stream ended with an error: %s", data)
		}
		return nil
	})
	if one.err == nil && !done {
		one.err = errors.New("the answer has no end")
	}
	return one
}

func summarizeVisits(visits []visit, elapsed time.Duration) ChatRound {
	round := ChatRound{Streams: len(visits), Elapsed: elapsed}
	var headers, firstTexts, overheads []time.Duration
	for _, v := range visits {
		if v.err != nil {
			round.Errors++
			if round.Error == "" {
				round.Error = v.err.Error()
			}
			continue
		}
		round.Completed++
		headers, firstTexts, overheads = append(headers, v.header), append(firstTexts, v.firstText), append(overheads, v.overhead)
	}
	if round.Completed > 0 {
		round.Header, round.FirstText = timingOf("head of the response", headers), timingOf("first text", firstTexts)
		round.Overhead = timingOf("first text beyond the model", overheads)
	}
	return round
}

// Failure returns an error if a stream failed.
func (b *ChatResult) Failure() error {
	for _, round := range slices.Concat([]ChatRound{b.Sequential}, b.Rounds) {
		if round.Errors > 0 {
			return fmt.Errorf("%d of %d streams failed, the first: %s", round.Errors, round.Streams, round.Error)
		}
	}
	return nil
}

func (s *server) reading(ctx context.Context) (ServerReading, error) {
	metrics, err := s.metrics(ctx)
	if err != nil {
		return ServerReading{}, err
	}
	return ServerReading{RSS: metrics.RSS(), Heap: metrics.LiveHeap(), Goroutines: metrics["go_goroutines"]}, nil
}

const (
	sampleInterval = 100 * time.Millisecond
	streamTimeout  = 20 * time.Second
	// extraGoroutines may remain after the streams, for idle connections.
	extraGoroutines = 50
)

// waitStreams waits until the goroutines of the streams have ended, at most for
// streamTimeout, and returns the last reading.
func (s *server) waitStreams(ctx context.Context, before ServerReading) (ServerReading, error) {
	ticker := time.NewTicker(sampleInterval)
	defer ticker.Stop()
	for start := time.Now(); ; {
		now, err := s.reading(ctx)
		if err != nil || now.Goroutines <= before.Goroutines+extraGoroutines || time.Since(start) > streamTimeout {
			return now, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return now, fmt.Errorf("wait for the end of the streams: %w", context.Cause(ctx))
		}
	}
}

// sampleLoad samples a server and its database until the caller calls stop, which
// returns the highest values.
func sampleLoad(ctx context.Context, ownerURL string, srv *server) (stop func() (ServerReading, PostgresReading), err error) {
	owner, err := pgx.Connect(ctx, ownerURL)
	if err != nil {
		return nil, fmt.Errorf("connect as the owner: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var peak ServerReading
	var postgres PostgresReading
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = owner.Close(context.WithoutCancel(ctx)) }()
		ticker := time.NewTicker(sampleInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if now, err := srv.reading(ctx); err == nil {
				peak = ServerReading{RSS: max(peak.RSS, now.RSS), Heap: max(peak.Heap, now.Heap), Goroutines: max(peak.Goroutines, now.Goroutines)}
			}
			var sessions int
			var age float64
			err := owner.QueryRow(ctx, `select count(*), coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::float8
				from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`).Scan(&sessions, &age)
			if err == nil {
				postgres.Sessions = max(postgres.Sessions, sessions)
				postgres.LongestTransaction = max(postgres.LongestTransaction, time.Duration(age*float64(time.Second)))
			}
		}
	}()
	return func() (ServerReading, PostgresReading) {
		cancel()
		<-done
		return peak, postgres
	}, nil
}
