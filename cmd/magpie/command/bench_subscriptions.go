package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/eval/bench"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

type benchSubscriptionsCommand struct {
	Count    int           `default:"2000" help:"Subscriptions that are open at once, each over a WebSocket of its own."`
	Sessions int           `default:"50" help:"Signed-in sessions that they belong to."`
	Events   int           `default:"20" help:"Events of each kind that all of them are told."`
	Idle     time.Duration `default:"15s" help:"How long the open ones are left alone, to measure what that costs."`
	Keep     bool          `help:"Keep the data, in bench-subscriptions of the data folder."`
}

func (c *benchSubscriptionsCommand) check() error {
	switch {
	case c.Count < 1 || c.Sessions < 1 || c.Events < 1:
		return errors.New("--count, --sessions and --events must be 1 or more")
	case c.Idle < time.Second:
		return errors.New("--idle must be 1s or more")
	}
	return nil
}

// subscriptionBench is what was measured.
type subscriptionBench struct {
	Machine bench.Machine       `json:"machine"`
	Count   int                 `json:"count"`
	Opening time.Duration       `json:"openingNanoseconds"` // from the first to the last first event
	Before  subscriptionReading `json:"before"`
	Open    subscriptionReading `json:"open"`
	After   subscriptionReading `json:"after"`
	// IdleCPU is the share of one core that the server took while nothing happened.
	IdleCPU float64 `json:"idleCPU"`
	// Kinds are the times from a write to each receiver, and to the last one.
	Kinds []subscriptionKind `json:"kinds"`
	// SignOut is from a sign-out to the close of the session's last subscription.
	SignOut time.Duration `json:"signOutNanoseconds"`
	Ended   int           `json:"endedBySignOut"`
}

type subscriptionKind struct {
	What      string        `json:"what"`
	Receivers int           `json:"receivers"`
	Each      timing        `json:"each"`
	LastP50   time.Duration `json:"lastP50Nanoseconds"`
	LastMost  time.Duration `json:"lastMostNanoseconds"`
}

// subscriptionReading is what the server needs.
type subscriptionReading struct {
	RSS        float64 `json:"rssBytes"`
	Heap       float64 `json:"heapBytes"` // in use by objects, after a collection
	Stacks     float64 `json:"stackBytes"`
	Goroutines float64 `json:"goroutines"`
}

// Run measures with a Magpie of its own, whose data it deletes at the end.
func (c benchSubscriptionsCommand) Run(r *runtime) error {
	if err := c.check(); err != nil {
		return err
	}
	machine := bench.ThisMachine()
	b, err := openBenchStack(r, "bench-subscriptions")
	var result *subscriptionBench
	if err == nil {
		b.settings = append(b.settings, "SUBSCRIPTIONS_PER_PERSON=0", "SUBSCRIPTIONS_PER_PROCESS=0")
		result, err = c.measure(r, b)
	}
	if err := errors.Join(err, b.close(r, c.Keep)); err != nil {
		return err
	}
	result.Machine = machine
	return r.console.Result(result, func() { result.print(r.console) })
}

func (c *benchSubscriptionsCommand) measure(r *runtime, b *benchStack) (result *subscriptionBench, err error) {
	target, err := b.target(r)
	if err != nil {
		return nil, err
	}
	workspace, err := b.scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("start a sync: %w", err)
	}
	job, err := b.app.Jobs.Start(viewer.With(r, viewer.System(workspace)), target.connector, syncjob.StartOptions{})
	if err != nil {
		return nil, fmt.Errorf("start a sync: %w", err)
	}
	server, err := b.serve(r)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	crowd := &subscribers{url: "ws" + strings.TrimPrefix(server.url, "http") + "/graphql"}
	defer crowd.close()
	if err := r.console.Step(console.Count(c.Sessions, "session")+" are opened", func() error {
		return crowd.signIn(r, b, server, c.Sessions)
	}); err != nil {
		return nil, err
	}
	result = &subscriptionBench{Count: c.Count}
	if result.Before, err = server.resting(r); err != nil {
		return nil, err
	}
	if err := r.console.Step(console.Count(c.Count, "subscription")+" are opened", func() error {
		began := time.Now()
		defer func() { result.Opening = time.Since(began) }()
		return crowd.open(r, c.Count, []subscription{
			{"sync progress", "subscription($i: ID!) { syncProgress(jobId: $i) { status attempt revision } }", job.ID},
			{"syncs of a connector", "subscription($i: ID!) { connectorSync(connectorId: $i) { job { id: jobId attempt revision } } }", target.connector},
			{"documents", "subscription($i: ID!) { documentStatus(collectionId: $i) { cursor documents { id status title } } }", target.collection},
		})
	}); err != nil {
		return nil, err
	}
	if result.Open, err = server.resting(r); err != nil {
		return nil, err
	}
	if err := r.console.Step("nothing happens for "+c.Idle.String(), func() error {
		result.IdleCPU, err = server.idle(r, c.Idle)
		return err
	}); err != nil {
		return nil, err
	}
	if err := r.console.Step(console.Count(c.Events, "event")+" of each kind", func() error {
		return c.tell(r, b, crowd, target, job.ID, result)
	}); err != nil {
		return nil, err
	}
	if err := r.console.Step("a session is signed out", func() error {
		result.Ended, result.SignOut, err = crowd.signOut(r, server)
		return err
	}); err != nil {
		return nil, err
	}
	crowd.close()
	result.After, err = server.resting(r)
	return result, err
}

// tell lets all subscribers hear of attempts at a job, and of documents.
func (c *benchSubscriptionsCommand) tell(r *runtime, b *benchStack, crowd *subscribers, target benchTarget, job uuid.UUID, result *subscriptionBench) error {
	for _, what := range []struct {
		name  string
		kinds []int
		do    func(round int) error
	}{
		{"a job's change, to who watches the job or its connector", []int{0, 1}, func(round int) error {
			_, err := b.app.Jobs.Claim(r, queue.Sync{JobID: job, Attempt: round})
			return err
		}},
		{"a stored document, to who watches its collection", []int{2}, func(round int) error {
			_, err := b.app.Index.Put(r, b.scope, index.Fence{}, &index.Record{
				Connector: target.connector, Collection: target.collection, SourceID: fmt.Sprintf("bench-%d", round),
				Path: "bench.md", Title: "Bench", Hash: fmt.Append(nil, round),
			})
			return err
		}},
	} {
		kind := subscriptionKind{What: what.name}
		var each, last []time.Duration
		for round := range c.Events {
			taken, err := crowd.round(r, what.kinds, func() error { return what.do(round) })
			if err != nil {
				return fmt.Errorf("%s: %w", what.name, err)
			}
			kind.Receivers = len(taken)
			longest := time.Duration(0)
			for _, t := range taken {
				longest = max(longest, t)
			}
			each, last = append(each, taken...), append(last, longest)
		}
		if len(each) == 0 {
			continue // fewer subscriptions than kinds
		}
		kind.Each = quantiles("received", each)
		kind.LastP50 = quantiles("last", last).P50
		kind.LastMost = last[len(last)-1] // they are sorted by now
		result.Kinds = append(result.Kinds, kind)
	}
	return nil
}

// round does something, and gives for each subscription of the kinds how long
// after its beginning they heard of it.
func (s *subscribers) round(ctx context.Context, kinds []int, do func() error) ([]time.Duration, error) {
	var waiting []*subscriber
	for _, one := range s.all {
		for _, kind := range kinds {
			if one.kind == kind {
				waiting = append(waiting, one)
			}
		}
	}
	for _, one := range waiting {
		one.drain()
	}
	if len(waiting) == 0 {
		return nil, nil
	}
	began := time.Now()
	if err := do(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	taken := make([]time.Duration, 0, len(waiting))
	for _, one := range waiting {
		select {
		case at := <-one.heard:
			taken = append(taken, at.Sub(began))
		case <-one.ended:
			return nil, fmt.Errorf("a subscription ended: %w", one.err)
		case <-ctx.Done():
			return nil, errors.New("an event did not come to everybody")
		}
	}
	return taken, nil
}

func (b *subscriptionBench) print(c *console.Console) {
	m := b.Machine
	c.Printf("%s, %s, load before %.1f\n", strings.TrimSpace(m.Processor+" "+m.System), console.Count(m.Cores, "core"), m.Load)
	c.Printf("%s, opened in %s\n", console.Count(b.Count, "subscription"), console.Duration(b.Opening))
	rows := [][]string{}
	for _, reading := range []struct {
		when string
		subscriptionReading
	}{{"before", b.Before}, {"open", b.Open}, {"closed", b.After}} {
		rows = append(rows, []string{
			reading.when, fmt.Sprintf("%.1f MiB", reading.RSS/(1<<20)), fmt.Sprintf("%.1f MiB", reading.Heap/(1<<20)),
			fmt.Sprintf("%.1f MiB", reading.Stacks/(1<<20)), fmt.Sprintf("%.0f", reading.Goroutines),
		})
	}
	n := float64(b.Count)
	rows = append(rows, []string{
		"each", fmt.Sprintf("%.1f KiB", (b.Open.RSS-b.Before.RSS)/n/1024), fmt.Sprintf("%.1f KiB", (b.Open.Heap-b.Before.Heap)/n/1024),
		fmt.Sprintf("%.1f KiB", (b.Open.Stacks-b.Before.Stacks)/n/1024), fmt.Sprintf("%.2f", (b.Open.Goroutines-b.Before.Goroutines)/n),
	})
	c.Table([]string{"SERVER", "RSS", "LIVE HEAP", "STACKS", "GOROUTINES"}, rows, "")
	c.Printf("idle: %.2f%% of one core\n", 100*b.IdleCPU)
	rows = [][]string{}
	for _, kind := range b.Kinds {
		rows = append(rows, []string{
			kind.What, fmt.Sprint(kind.Receivers), fine(kind.Each.P50) + " / " + fine(kind.Each.P99), fine(kind.LastP50) + " / " + fine(kind.LastMost),
		})
	}
	c.Table([]string{"EVENT", "RECEIVERS", "EACH P50 / P99", "THE LAST ONE P50 / MOST"}, rows, "")
	c.Printf("sign-out: %s of the session closed, the last one after %s\n", console.Count(b.Ended, "subscription"), fine(b.SignOut))
}

// collections is how many garbage collections must have passed for a reading to be
// of what is alive: stacks shrink with each.
const collections = 4

// resting reads what the server needs once garbage is gone. Nothing else makes
// an idle one collect: it is asked for trifles until it has.
func (s *benchServer) resting(ctx context.Context) (reading subscriptionReading, err error) {
	read := func() (bench.Metrics, error) { return bench.ReadMetrics(ctx, s.client, s.url) }
	m, err := read()
	if err != nil {
		return reading, err
	}
	for until := m["go_gc_duration_seconds_count"] + collections; m["go_gc_duration_seconds_count"] < until; {
		var asking sync.WaitGroup
		var failed atomic.Pointer[error]
		for range 4 {
			asking.Go(func() {
				for range 250 {
					if err := s.trifle(ctx); err != nil {
						failed.Store(&err)
						return
					}
				}
			})
		}
		asking.Wait()
		if err := failed.Load(); err != nil {
			return reading, *err
		}
		if m, err = read(); err != nil {
			return reading, err
		}
	}
	return subscriptionReading{
		RSS: m.RSS(), Heap: m.LiveHeap(), Stacks: m["go_memstats_stack_inuse_bytes"], Goroutines: m["go_goroutines"],
	}, nil
}

// idle is the share of one core that the server takes by itself.
func (s *benchServer) idle(ctx context.Context, pause time.Duration) (float64, error) {
	before, err := bench.ReadMetrics(ctx, s.client, s.url)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return 0, fmt.Errorf("leave the server alone: %w", context.Cause(ctx))
	}
	after, err := bench.ReadMetrics(ctx, s.client, s.url)
	const name = "process_cpu_seconds_total"
	return (after[name] - before[name]) / time.Since(began).Seconds(), err
}
