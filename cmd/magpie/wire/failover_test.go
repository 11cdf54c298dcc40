package wire_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/cmd/magpie/wire"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/devstack"
	"github.com/magpie-search/magpie/internal/live/journal"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit"
)

const (
	// recoveryLimit bounds the time from the appointment of a new master until clients
	// work with it. With the library's default it would be a minute in a Cluster.
	recoveryLimit = 10 * time.Second
	// hungLimit is the same for a master that hangs. Clients wait for its answers before
	// they look for another one.
	hungLimit = 15 * time.Second
	// answerLimit is the time in which a sent message or task must arrive.
	answerLimit = time.Second
	// steady is the number of successes in a row that show a recovery.
	steady = 5

	newsChannel = "magpie:syncjobs"
)

var errNotReceived = errors.New("it was not received")

// A probe tries in short intervals what processes do with Redis.
type probe struct {
	name string
	try  func(ctx context.Context, n int) error

	mu       sync.Mutex
	outcomes []outcome
}

type outcome struct {
	began time.Time
	took  time.Duration
	err   error
}

func (p *probe) run(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for n := 1; ; n++ {
		began := time.Now()
		limited, cancel := context.WithTimeout(ctx, 3*time.Second) // as for the queue of syncs
		err := p.try(limited, n)
		cancel()
		p.mu.Lock()
		p.outcomes = append(p.outcomes, outcome{began, time.Since(began), err})
		p.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// since returns the outcomes of the tries that began after a time.
func (p *probe) since(t time.Time) []outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := slices.IndexFunc(p.outcomes, func(o outcome) bool { return o.began.After(t) })
	if first < 0 {
		return nil
	}
	return slices.Clone(p.outcomes[first:])
}

// works reports whether the last tries since a time succeeded.
func (p *probe) works(since time.Time) bool {
	last := p.since(since)
	return len(last) >= steady && !slices.ContainsFunc(last[len(last)-steady:], func(o outcome) bool { return o.err != nil })
}

// recovery returns the number of failed tries since a time, the time until the last one
// ended, and the longest try.
func (p *probe) recovery(since time.Time) (failed, all int, last, longest time.Duration) {
	outcomes := p.since(since)
	for _, o := range outcomes {
		longest = max(longest, o.took)
		if o.err != nil {
			failed, last = failed+1, o.began.Add(o.took).Sub(since)
		}
	}
	return failed, len(outcomes), last, longest
}

// await polls for the arrival of what a probe sent.
func await(ctx context.Context, arrived func() bool) error {
	limited, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	for tick := time.NewTicker(2 * time.Millisecond); !arrived(); {
		select {
		case <-tick.C:
		case <-limited.Done():
			tick.Stop()
			return errNotReceived
		}
	}
	return nil
}

// seen holds the numbers or ids that arrived.
type seen struct{ values sync.Map }

func (s *seen) add(v any)      { s.values.Store(v, true) }
func (s *seen) has(v any) bool { _, ok := s.values.Load(v); return ok }

// The queue, news, signals and rate limits of two processes work again soon after a new
// master was appointed: that of the queue, and in a Cluster also that of the news. They stay
// with it when the old one comes back, which hung or was killed.
func TestClientsOutliveAMasterOfRedis(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) *devstack.RedisGroup{"cluster": testkit.RedisCluster, "sentinels": testkit.RedisSentinels} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			group := start(t)
			l := startLoad(t, group)
			keys := []string{"asynq:{" + queue.Queue + "}:pending"}
			if name == "cluster" {
				keys = append(keys, newsChannel)
				if l.master(t, keys[0]) == l.master(t, keys[1]) {
					t.Fatal("the queue and the news have the same master")
				}
			}
			hung := keys
			if testing.Short() {
				hung = keys[:1] // the answers have the same master as the queue
			}
			for _, key := range hung {
				old, appointed := l.replaceMaster(t, "hung", key, hungLimit, group.Hang)
				l.comeBack(t, old, key, appointed, name == "sentinels")
			}
			for _, key := range keys {
				l.replaceMaster(t, "killed", key, recoveryLimit, group.Kill)
			}
		})
	}
}

// A load is the probes of two processes that use a group.
type load struct {
	group  *devstack.RedisGroup
	probes []*probe
	// queued is when each task was put into the queue, and delivered the tasks that arrived.
	queued    sync.Map
	delivered seen
}

func (l *load) master(t *testing.T, key string) string {
	t.Helper()
	address, err := l.group.Master(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// replaceMaster makes the master of a key fail, checks that all probes recover within the
// limit, and returns the address of the old master and when the new one was appointed.
func (l *load) replaceMaster(t *testing.T, how, key string, limit time.Duration, fail func(context.Context, string) error) (old string, appointed time.Time) {
	t.Helper()
	old = l.master(t, key)
	failed := time.Now()
	if err := fail(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	testkit.WaitFor(t, "a new master", func() bool { return l.master(t, key) != old })
	appointed = time.Now()
	t.Logf("%s: the master of %s; its replica was master after %s", how, key, appointed.Sub(failed).Round(10*time.Millisecond))
	for _, p := range l.probes {
		testkit.WaitWithin(t, time.Until(appointed.Add(limit)), p.name+" with the new master", func() bool { return p.works(appointed) })
	}
	for _, p := range l.probes {
		failures, all, last, longest := p.recovery(failed)
		t.Logf("%s: %s: %d of %d failed, the last one %s after the failure; the longest took %s", how, p.name, failures, all,
			last.Round(10*time.Millisecond), longest.Round(time.Millisecond))
		if p.name == "rate limits" && (failures > 0 || longest > 2*time.Second) {
			t.Errorf("%d requests were not counted, the longest count took %s", failures, longest)
		}
	}
	return old, appointed
}

// comeBack continues the old master of a key, which hung. It checks that the old master
// becomes a replica, that all probes work with the new one, and that all tasks arrive that
// were queued since its appointment. With Sentinels, the old master believes for some
// seconds that it is still one; then no client may use it.
func (l *load) comeBack(t *testing.T, old, key string, appointed time.Time, withSentinels bool) {
	t.Helper()
	began, present := time.Now(), l.master(t, key)
	if err := l.group.Continue(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	before := scripts(t, old)
	if err := l.group.AwaitReplica(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if after := scripts(t, old); withSentinels && after != before {
		t.Errorf("the old master ran scripts of tasks or limits: %s, then %s", before, after)
	}
	replica := time.Now()
	t.Logf("the old master was a replica after %s", replica.Sub(began).Round(10*time.Millisecond))
	for _, p := range l.probes {
		testkit.WaitFor(t, p.name, func() bool { return p.works(replica) })
		failures, all, _, longest := p.recovery(began)
		t.Logf("%s: %d of %d failed meanwhile; the longest took %s", p.name, failures, all, longest.Round(time.Millisecond))
	}
	if now := l.master(t, key); now != present {
		t.Errorf("the master is %s, not %s", now, present)
	}
	count := 0
	l.queued.Range(func(task, at any) bool {
		if at.(time.Time).After(appointed) {
			testkit.WaitFor(t, "a task that the new master took", func() bool { return l.delivered.has(task) })
			count++
		}
		return true
	})
	t.Logf("all %d tasks arrived", count)
}

// scripts returns the number of scripts that the server with an address ran, in a line of
// its statistics.
func scripts(t *testing.T, address string) string {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: address})
	info, err := client.Info(t.Context(), "commandstats").Result()
	if err = errors.Join(err, client.Close()); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(info) {
		if strings.HasPrefix(line, "cmdstat_evalsha:") {
			calls, _, _ := strings.Cut(line, ",")
			return calls
		}
	}
	return ""
}

// startLoad starts the probes between two clients, which stand for two processes, and
// returns when all of them work.
func startLoad(t *testing.T, group *devstack.RedisGroup) *load {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	sender, receiver := open(t, group.URL), open(t, group.URL)

	l := &load{group: group}
	server := asynq.NewServerFromRedisClient(receiver, asynq.Config{
		Queues: map[string]int{queue.Queue: 1}, TaskCheckInterval: 20 * time.Millisecond, LogLevel: asynq.FatalLevel,
	})
	if err := server.Start(asynq.HandlerFunc(func(ctx context.Context, _ *asynq.Task) error {
		id, _ := asynq.GetTaskID(ctx)
		l.delivered.add(id)
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)

	publisher, listener := syncjob.NewRedisBus(t.Context(), sender, log), syncjob.NewRedisBus(t.Context(), receiver, log)
	job := uuid.New()
	news := listener.Subscribe(job)
	signals := &seen{}
	stop := journal.NewRedisBus(receiver, "magpie:answers", log).Subscribe(t.Context(), func(s journal.Signal) { signals.add(s.Stream) })
	t.Cleanup(func() {
		stop()
		news.Close()
		if err := errors.Join(publisher.Close(), listener.Close()); err != nil {
			t.Error(err)
		}
	})

	enqueuer, limiter, bus := queue.NewAsynq(sender), ratelimit.New(ratelimit.Options{Redis: sender}), journal.NewRedisBus(sender, "magpie:answers", log)
	enqueue := func(ctx context.Context, task queue.Task) error {
		began := time.Now()
		err := enqueuer.Enqueue(ctx, task)
		if err == nil {
			l.queued.Store(task.ID(), began)
		}
		return err
	}
	l.probes = []*probe{
		{name: "enqueued tasks", try: func(ctx context.Context, n int) error {
			return enqueue(ctx, queue.Sync{JobID: job, Attempt: -n})
		}},
		{name: "delivered tasks", try: func(ctx context.Context, n int) error {
			task := queue.Sync{JobID: job, Attempt: n}
			if err := enqueue(ctx, task); err != nil {
				return err
			}
			return await(ctx, func() bool { return l.delivered.has(task.ID()) })
		}},
		{name: "requests to stop a sync", try: func(ctx context.Context, n int) error {
			err := publisher.Publish(ctx, syncjob.Event{Snapshot: syncjob.Snapshot{Job: job, Status: entjob.StatusRunning, Revision: n, Canceling: true}})
			if err != nil {
				return err
			}
			return await(ctx, func() bool { s, ok := news.Latest(); return ok && s.Revision >= n && s.Canceling })
		}},
		{name: "signals of streams", try: func(ctx context.Context, _ int) error {
			signal := journal.Signal{Stream: uuid.New(), Kind: journal.SignalCancel}
			if err := bus.Publish(ctx, signal); err != nil {
				return err
			}
			return await(ctx, func() bool { return signals.has(signal.Stream) })
		}},
		{name: "rate limits", try: func(ctx context.Context, n int) error {
			r, err := limiter.Allow(ctx, fmt.Sprintf("key-%d", n%30), 600) // keys of all masters
			if err == nil && !r.Allowed {
				err = errors.New("a request below the limit was refused")
			}
			return err
		}},
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, p := range l.probes {
		running.Go(func() { p.run(ctx) })
	}
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	began := time.Now()
	for _, p := range l.probes {
		testkit.WaitFor(t, p.name, func() bool { return p.works(began) })
	}
	return l
}

func open(t *testing.T, url string) redis.UniversalClient {
	t.Helper()
	client, err := wire.Redis(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}
