package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/eval/bench/synth"
)

// LoadOptions configures MeasureLoad and MeasureLoadOf.
type LoadOptions struct {
	Clients   int           // that search at a time
	Duration  time.Duration // of the searches
	Streams   int           // answers to stream at a time afterwards; 0 leaves them out
	Passages  int           // in the collection of MeasureLoad
	Questions int           // the most different questions
}

// LoadResult is the result of MeasureLoad and MeasureLoadOf.
type LoadResult struct {
	Machine   Machine   `json:"machine"`
	Text      Text      `json:"text"`
	URL       string    `json:"url,omitempty"` // of a server that was running before
	Passages  int       `json:"passages,omitempty"`
	Questions int       `json:"questions"`
	Search    Latencies `json:"search"`
	// FirstEvent and Streams are the times to the first event and to the end of the
	// answers. They are nil without streams.
	FirstEvent *Latencies `json:"streamsFirstEvent,omitempty"`
	Streams    *Latencies `json:"streams,omitempty"`
	// RSS is the memory of the server at the end; 0 is unknown.
	RSS float64 `json:"rssBytes,omitempty"`
}

// MeasureLoad fills a collection and measures how a server of the stack answers
// many clients.
func MeasureLoad(ctx context.Context, s *Stack, text Text, o LoadOptions) (result *LoadResult, err error) {
	questions, err := text.questions(o.Questions)
	if err != nil {
		return nil, err
	}
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
	srv, err := s.startServer(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	result = &LoadResult{Text: text, Questions: len(questions)}
	_, result.Passages = f.stored()
	return result, result.measure(ctx, srv, t.key, questions, o)
}

// MeasureLoadOf measures how the server at an address answers many clients, which
// use a secret key without a rate limit.
func MeasureLoadOf(ctx context.Context, url, key string, text Text, o LoadOptions) (*LoadResult, error) {
	questions, err := text.questions(o.Questions)
	if err != nil {
		return nil, err
	}
	srv := &server{url: strings.TrimRight(url, "/"), client: newHTTPClient(max(o.Clients, o.Streams))}
	defer srv.client.CloseIdleConnections()
	result := &LoadResult{Text: text, URL: url, Questions: len(questions)}
	return result, result.measure(ctx, srv, key, questions, o)
}

func (b *LoadResult) measure(ctx context.Context, srv *server, key string, questions []string, o LoadOptions) error {
	rest := srv.rest(key)
	ask, err := searches(rest, questions, synth.Filter{})
	if err != nil {
		return err
	}
	if l := Load(ctx, min(o.Clients, 2), min(o.Duration/10, 5*time.Second), ask); l.Errors > 0 {
		return fmt.Errorf("warm up: %s", l.Error)
	}
	b.Search = Load(ctx, o.Clients, o.Duration, ask)
	if o.Streams > 0 {
		b.stream(ctx, rest, o.Streams, questions)
	}
	if metrics, err := srv.metrics(ctx); err == nil { // a server elsewhere may refuse
		b.RSS = metrics.RSS()
	}
	return ctx.Err()
}

// stream asks for so many answers at a time and reads each to its end.
func (b *LoadResult) stream(ctx context.Context, rest *client.REST, streams int, questions []string) {
	firstEvents := make([]time.Duration, streams) // by turn, which is different in each goroutine
	whole := Load(ctx, streams, 0, func(ctx context.Context, turn int) (int, error) {
		start, events, last := time.Now(), 0, ""
		err := rest.Chat(ctx, questions[turn%len(questions)]+"?", func(event string, _ []byte) error {
			if events++; events == 1 {
				firstEvents[turn] = time.Since(start)
			}
			last = event
			return nil
		})
		if err == nil && last != "done" {
			err = fmt.Errorf("the answer ended with the event %q", last)
		}
		return events, err
	})
	durations := make([]time.Duration, 0, streams)
	for _, d := range firstEvents {
		if d > 0 {
			durations = append(durations, d)
		}
	}
	first := Summarize(durations)
	first.Clients = streams
	b.FirstEvent, b.Streams = &first, &whole
}

// Failure returns an error if the server failed to answer.
func (b *LoadResult) Failure() error {
	if b.Search.Errors > 0 {
		return fmt.Errorf("searches: %w", b.Search.failure())
	}
	if b.Streams != nil && b.Streams.Errors > 0 {
		return fmt.Errorf("streams: %w", b.Streams.failure())
	}
	return nil
}
