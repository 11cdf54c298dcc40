package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/humanize"
	"github.com/magpie-search/magpie/internal/index"
)

// SubscriptionOptions configures Subscriptions.
type SubscriptionOptions struct {
	Count    int           // subscriptions, each over its own WebSocket
	Sessions int           // signed-in sessions that share the subscriptions
	Events   int           // of each kind
	Idle     time.Duration // without events, to measure the cost of open subscriptions
}

// SubscriptionResult is the result of Subscriptions.
type SubscriptionResult struct {
	Machine Machine             `json:"machine"`
	Count   int                 `json:"count"`
	Opening time.Duration       `json:"openingNanoseconds"` // until all had their first event
	Before  SubscriptionReading `json:"before"`
	Open    SubscriptionReading `json:"open"`
	After   SubscriptionReading `json:"after"`
	// IdleCPU is the share of one core that the server used without events.
	IdleCPU float64           `json:"idleCPU"`
	Kinds   []SubscriptionLag `json:"kinds"`
	// SignOut is the time from a sign-out to the close of the session's last
	// subscription.
	SignOut time.Duration `json:"signOutNanoseconds"`
	Closed  int           `json:"endedBySignOut"`
}

// A SubscriptionLag has the times from a write until each receiver, and until the
// last receiver, had the event.
type SubscriptionLag struct {
	What      string        `json:"what"`
	Receivers int           `json:"receivers"`
	Each      Timing        `json:"each"`
	LastP50   time.Duration `json:"lastP50Nanoseconds"`
	LastMax   time.Duration `json:"lastMostNanoseconds"`
}

// A SubscriptionReading is the memory and the number of goroutines of the server.
type SubscriptionReading struct {
	RSS        float64 `json:"rssBytes"`
	Heap       float64 `json:"heapBytes"` // live objects
	Stacks     float64 `json:"stackBytes"`
	Goroutines float64 `json:"goroutines"`
}

// Subscriptions measures thousands of open subscriptions: their memory, their idle
// cost and the delay of events.
func Subscriptions(ctx context.Context, s *Stack, o SubscriptionOptions) (result *SubscriptionResult, err error) {
	t, err := s.createTarget(ctx, collectionName)
	if err != nil {
		return nil, err
	}
	job, err := s.StartJob(ctx, t.connector)
	if err != nil {
		return nil, fmt.Errorf("start a sync: %w", err)
	}
	s.Settings = append(s.Settings, "SUBSCRIPTIONS_PER_PERSON=0", "SUBSCRIPTIONS_PER_PROCESS=0")
	srv, err := s.startServer(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	clients := &subscribers{url: "ws" + strings.TrimPrefix(srv.url, "http") + "/graphql"}
	defer clients.close()
	if err := s.Display.Step(humanize.Count(o.Sessions, "session")+" are opened", func() error {
		return clients.signIn(ctx, srv, s.Admin, o.Sessions)
	}); err != nil {
		return nil, err
	}
	result = &SubscriptionResult{Count: o.Count}
	if result.Before, err = srv.restingReading(ctx); err != nil {
		return nil, err
	}
	if err := s.Display.Step(humanize.Count(o.Count, "subscription")+" are opened", func() error {
		start := time.Now()
		defer func() { result.Opening = time.Since(start) }()
		return clients.open(ctx, o.Count, []subscription{
			{"sync progress", "subscription($i: ID!) { syncProgress(jobId: $i) { status attempt revision } }", job},
			{"syncs of a connector", "subscription($i: ID!) { connectorSync(connectorId: $i) { job { id: jobId attempt revision } } }", t.connector},
			{"documents", "subscription($i: ID!) { documentStatus(collectionId: $i) { cursor documents { id status title } } }", t.collection},
		})
	}); err != nil {
		return nil, err
	}
	if result.Open, err = srv.restingReading(ctx); err != nil {
		return nil, err
	}
	if err := s.Display.Step("nothing happens for "+o.Idle.String(), func() error {
		result.IdleCPU, err = srv.idleCPU(ctx, o.Idle)
		return err
	}); err != nil {
		return nil, err
	}
	if err := s.Display.Step(humanize.Count(o.Events, "event")+" of each kind", func() error {
		return result.measureLags(ctx, s, clients, t, job, o.Events)
	}); err != nil {
		return nil, err
	}
	if err := s.Display.Step("a session is signed out", func() error {
		result.Closed, result.SignOut, err = clients.signOut(ctx, srv)
		return err
	}); err != nil {
		return nil, err
	}
	clients.close()
	result.After, err = srv.restingReading(ctx)
	return result, err
}

// measureLags measures the delay of events of a job and of documents.
func (b *SubscriptionResult) measureLags(ctx context.Context, s *Stack, clients *subscribers, t target, job uuid.UUID, events int) error {
	for _, kind := range []struct {
		what          string
		subscriptions []int // indexes of the kinds that get the event
		write         func(round int) error
	}{
		{"a job's change, to who watches the job or its connector", []int{0, 1}, func(round int) error {
			return s.ClaimJob(ctx, job, round)
		}},
		{"a stored document, to who watches its collection", []int{2}, func(round int) error {
			_, err := s.Index.Put(ctx, s.Scope, index.Fence{}, &index.Record{
				Connector: t.connector, Collection: t.collection, SourceID: fmt.Sprintf("bench-%d", round),
				Path: "bench.md", Title: "Bench", Hash: fmt.Append(nil, round),
			})
			return err
		}},
	} {
		lag := SubscriptionLag{What: kind.what}
		var each, last []time.Duration
		for round := range events {
			lags, err := clients.measureEvent(ctx, kind.subscriptions, func() error { return kind.write(round) })
			if err != nil {
				return fmt.Errorf("%s: %w", kind.what, err)
			}
			lag.Receivers = len(lags)
			longest := time.Duration(0)
			for _, d := range lags {
				longest = max(longest, d)
			}
			each, last = append(each, lags...), append(last, longest)
		}
		if len(each) == 0 {
			continue // fewer subscriptions than kinds
		}
		lag.Each = timingOf("received", each)
		lag.LastP50 = timingOf("last", last).P50
		lag.LastMax = Quantile(last, 1) // timingOf sorted it
		b.Kinds = append(b.Kinds, lag)
	}
	return nil
}

// minCollections is the number of garbage collections before a reading. Each
// collection also shrinks stacks.
const minCollections = 4

// restingReading returns a reading after some garbage collections. Requests make
// an idle server collect.
func (s *server) restingReading(ctx context.Context) (reading SubscriptionReading, err error) {
	m, err := s.metrics(ctx)
	if err != nil {
		return reading, err
	}
	const collections = "go_gc_duration_seconds_count"
	for target := m[collections] + minCollections; m[collections] < target; {
		var group sync.WaitGroup
		var failed atomic.Pointer[error]
		for range 4 {
			group.Go(func() {
				for range 250 {
					if _, err := s.graphql(ctx, "", "{ __typename }", nil); err != nil {
						failed.Store(&err)
						return
					}
				}
			})
		}
		group.Wait()
		if err := failed.Load(); err != nil {
			return reading, *err
		}
		if m, err = s.metrics(ctx); err != nil {
			return reading, err
		}
	}
	return SubscriptionReading{
		RSS: m.RSS(), Heap: m.LiveHeap(), Stacks: m["go_memstats_stack_inuse_bytes"], Goroutines: m["go_goroutines"],
	}, nil
}

// idleCPU returns the share of one core that the server uses during a pause.
func (s *server) idleCPU(ctx context.Context, pause time.Duration) (float64, error) {
	before, err := s.metrics(ctx)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return 0, fmt.Errorf("measure the idle server: %w", context.Cause(ctx))
	}
	after, err := s.metrics(ctx)
	const name = "process_cpu_seconds_total"
	return (after[name] - before[name]) / time.Since(start).Seconds(), err
}
