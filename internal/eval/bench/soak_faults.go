package bench

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/eval/bench/netfault"
)

// MinFaultInterval is the least time between two faults of a soak: each ends before the next.
const MinFaultInterval = 20 * time.Second

// recovery is the time after PostgreSQL was away within which searches are answered again.
const recovery = 10 * time.Second

// A SoakFault is a kind of fault and how often it happened.
type SoakFault struct {
	What  string `json:"what"`
	Count int    `json:"count"`
}

// soakFaults are what goes wrong around a soak: worker and servers reach their stores through
// proxies, and one server and the worker are killed now and then. The soak itself writes
// without a proxy, so that it knows the outcome of every write.
type soakFaults struct {
	stack           *Stack
	database, redis *netfault.Proxy
	worker          *process
	killed          *server // now and then; clients ask the other one meanwhile
	counts          []SoakFault

	ready atomic.Bool // killed is running

	mutex sync.Mutex
	// PostgreSQL was or is away, which is no fault of a search.
	away, back time.Time
}

// A fault lasts for a while.
type fault struct {
	what       string
	isAway     bool // PostgreSQL is
	lasts      time.Duration
	begin, end func(ctx context.Context) error
}

// openFaults leads the processes that the stack starts through proxies.
func openFaults(ctx context.Context, s *Stack) (_ *soakFaults, err error) {
	f := &soakFaults{stack: s}
	if f.database, err = netfault.Database(ctx, s.DatabaseURL); err != nil {
		return nil, err
	}
	if f.redis, err = netfault.Redis(ctx, s.RedisURL); err != nil {
		return nil, errors.Join(err, f.database.Close())
	}
	s.Settings = append(s.Settings, "DATABASE_URL="+f.database.URL(), "REDIS_URL="+f.redis.URL())
	return f, nil
}

func (f *soakFaults) close() error { return errors.Join(f.database.Close(), f.redis.Close()) }

// list returns the faults in turn.
func (f *soakFaults) list() []fault {
	at := func(name string, p *netfault.Proxy, lasts time.Duration, disturb func() error) fault {
		return fault{what: name, lasts: lasts, begin: func(context.Context) error { return disturb() }, end: p.Heal}
	}
	cut := func(p *netfault.Proxy) func() error { return func() error { p.Cut(); return nil } }
	slow := func(p *netfault.Proxy) func() error { return func() error { return p.Slow(50, 25) } }
	worker := fault{what: "the worker killed", lasts: time.Second, begin: f.killWorker, end: f.startWorker}
	databaseCut := at("PostgreSQL cut off", f.database, 5*time.Second, cut(f.database))
	databaseSilent := at("PostgreSQL silent", f.database, 10*time.Second, f.database.Silence)
	databaseCut.isAway, databaseSilent.isAway = true, true
	return []fault{
		worker,
		at("PostgreSQL slow", f.database, 15*time.Second, slow(f.database)),
		{what: "a server killed", lasts: time.Second, begin: f.killServer, end: f.startServer},
		at("Redis cut off", f.redis, 10*time.Second, cut(f.redis)),
		databaseCut,
		worker,
		at("Redis silent", f.redis, 15*time.Second, f.redis.Silence),
		databaseSilent,
		at("Redis slow", f.redis, 15*time.Second, slow(f.redis)),
	}
}

func (f *soakFaults) killWorker(context.Context) error { return f.worker.kill() }

func (f *soakFaults) startWorker(ctx context.Context) (err error) {
	f.worker, err = f.stack.startWorker(ctx)
	return err
}

func (f *soakFaults) killServer(context.Context) error {
	f.ready.Store(false)
	return f.killed.kill()
}

func (f *soakFaults) startServer(ctx context.Context) (err error) {
	if f.killed == nil {
		f.killed, err = f.stack.startServer(ctx)
	} else {
		err = f.stack.restart(ctx, f.killed)
	}
	f.ready.Store(err == nil)
	return err
}

// setAway records the beginning or the end of PostgreSQL's absence.
func (f *soakFaults) setAway(away bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if away {
		f.away, f.back = time.Now(), time.Time{}
	} else {
		f.back = time.Now()
	}
}

// excuses reports whether a search that was sent at a time and has failed now may fail.
func (f *soakFaults) excuses(sent time.Time) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return !f.away.IsZero() && (f.back.IsZero() || sent.Before(f.back.Add(recovery)))
}

// disturb makes one fault after the other. None begins so late that searches could not
// have recovered at the end of ctx.
func (s *soak) disturb(ctx context.Context) error {
	f := s.faults
	all := f.list()
	deadline, _ := ctx.Deadline()
	ticker := time.NewTicker(s.options.Faults)
	defer ticker.Stop()
	for turn := 0; ; turn++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		next := all[turn%len(all)]
		if time.Until(deadline) < next.lasts+recovery {
			return nil
		}
		if err := f.make(ctx, next); err != nil {
			return fmt.Errorf("%s: %w", next.what, err)
		}
		s.stack.Display.Note("%s for %s", next.what, next.lasts)
	}
}

// make makes a fault and ends it, whatever happens.
func (f *soakFaults) make(ctx context.Context, next fault) error {
	whole := context.WithoutCancel(ctx)
	if next.isAway {
		f.setAway(true)
		defer f.setAway(false)
	}
	err := next.begin(whole)
	if err == nil {
		f.count(next.what)
		timer := time.NewTimer(next.lasts)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return errors.Join(err, next.end(whole))
}

func (f *soakFaults) count(what string) {
	i := slices.IndexFunc(f.counts, func(c SoakFault) bool { return c.What == what })
	if i < 0 {
		i = len(f.counts)
		f.counts = append(f.counts, SoakFault{What: what})
	}
	f.counts[i].Count++
}

// ask sends a search. Half of them go to the server that is killed now and then; what that
// one cannot answer any more goes to the other, as behind a proxy.
func (s *soak) ask(ctx context.Context, turn int, body map[string]any) (client.PublicResults, error) {
	if s.faults == nil || turn%2 == 0 || !s.faults.ready.Load() {
		return s.rest.Search(ctx, body)
	}
	answer, err := s.second.Search(ctx, body)
	if _, isBroken := errors.AsType[*url.Error](err); isBroken && ctx.Err() == nil {
		return s.rest.Search(ctx, body)
	}
	return answer, err
}
