package ratelimit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A clock is a clock that tests set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func dial(t *testing.T, url string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func allow(t *testing.T, l *ratelimit.Limiter, key string, perMinute int) ratelimit.Result {
	t.Helper()
	r, err := l.Allow(t.Context(), key, perMinute)
	if err != nil {
		t.Fatalf("Allow: %v", err)
	}
	return r
}

// Both ways of counting have the same contract.
func TestALimiterCountsKeysSeparately(t *testing.T) {
	t.Parallel()
	for name, redisURL := range map[string]string{"in process": "", "in Redis": testkit.Redis(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o ratelimit.Options
			if redisURL != "" {
				o.Redis = dial(t, redisURL)
				o.Timeout = 10 * time.Second // a slow machine must not fall back to local counts
			}
			l := ratelimit.New(o)
			for left := 4; left >= 0; left-- {
				r := allow(t, l, "a", 5)
				if !r.Allowed || r.Limit != 5 || r.Remaining != left || r.RetryAfter != 0 || !r.Reset.After(time.Now()) {
					t.Fatalf("with %d left: %+v", left, r)
				}
			}
			if r := allow(t, l, "a", 5); r.Allowed || r.Remaining != 0 || r.RetryAfter <= 0 || r.RetryAfter > 12*time.Second || r.Reset.After(time.Now().Add(61*time.Second)) {
				t.Errorf("over the limit: %+v", r)
			}
			if r := allow(t, l, "b", 5); !r.Allowed || r.Remaining != 4 {
				t.Errorf("another key: %+v", r)
			}
			for range 3 {
				r, err := l.Peek(t.Context(), "b", 5)
				if err != nil || r.Remaining != 4 || r.Limit != 5 {
					t.Errorf("Peek counts: %+v %v", r, err)
				}
			}
			for _, perMinute := range []int{1, 7, 60, 600, 1000, 7919} {
				key := fmt.Sprint("exact ", perMinute)
				if r := allow(t, l, key, perMinute); r.Remaining != perMinute-1 {
					t.Errorf("the first of %d: %+v", perMinute, r)
				}
			}
			for range 20 {
				if r := allow(t, l, "c", 0); !r.Allowed || r.Limit != 0 {
					t.Errorf("without a limit: %+v", r)
				}
			}
			if r := allow(t, l, "d", math.MaxInt32); !r.Allowed {
				t.Errorf("an enormous limit: %+v", r)
			}
		})
	}
}

func TestNodesShareTheCountsInRedis(t *testing.T) {
	t.Parallel()
	url := testkit.Redis(t)
	var allowed int
	var mu sync.Mutex
	var wait sync.WaitGroup
	for range 4 {
		l := ratelimit.New(ratelimit.Options{Redis: dial(t, url), Timeout: 10 * time.Second})
		wait.Go(func() {
			for range 20 {
				r, err := l.Allow(context.Background(), "shared", 10)
				if err != nil {
					t.Error(err)
				}
				if r.Allowed {
					mu.Lock()
					allowed++
					mu.Unlock()
				}
			}
		})
	}
	wait.Wait()
	if allowed < 10 || allowed > 12 { // one more comes back every six seconds
		t.Errorf("four nodes allowed %d of 80 at 10 a minute", allowed)
	}
}

func TestTheLimitIsRefilledEvenly(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := ratelimit.New(ratelimit.Options{Now: c.now})
	for range 60 {
		allow(t, l, "a", 60)
	}
	if r := allow(t, l, "a", 60); r.Allowed || r.RetryAfter != time.Second || !r.Reset.Equal(c.now().Add(time.Minute)) {
		t.Fatalf("used up: %+v", r)
	}
	c.advance(time.Second)
	if r := allow(t, l, "a", 60); !r.Allowed || r.Remaining != 0 {
		t.Errorf("a second later: %+v", r)
	}
	if r := allow(t, l, "a", 60); r.Allowed {
		t.Errorf("a second's second request: %+v", r)
	}
	c.advance(time.Hour)
	if r := allow(t, l, "a", 60); !r.Allowed || r.Remaining != 59 {
		t.Errorf("an hour later: %+v", r)
	}
}

// No pattern of requests passes more than a full burst and the refill.
func TestNoPatternOfRequestsBeatsTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := newClock()
		began := c.now()
		perMinute := rapid.IntRange(1, 1000).Draw(t, "per minute")
		l := ratelimit.New(ratelimit.Options{Now: c.now})
		allowed := 0
		for _, pause := range rapid.SliceOfN(rapid.IntRange(0, 20000), 1, 200).Draw(t, "pauses in ms") {
			c.advance(time.Duration(pause) * time.Millisecond)
			before, _ := l.Peek(context.Background(), "k", perMinute)
			r, err := l.Allow(context.Background(), "k", perMinute)
			if err != nil {
				t.Fatal(err)
			}
			if r.Allowed {
				allowed++
			}
			if r.Allowed != (before.Remaining > 0) {
				t.Fatalf("Peek said %d remain, Allow said %v", before.Remaining, r.Allowed)
			}
			if !r.Allowed {
				c.advance(r.RetryAfter)
				if again, _ := l.Allow(context.Background(), "k", perMinute); !again.Allowed {
					t.Fatalf("refused after waiting for RetryAfter = %v", r.RetryAfter)
				}
				allowed++
			}
			if most := float64(perMinute) + c.now().Sub(began).Minutes()*float64(perMinute)*1.0001 + 1; float64(allowed) > most {
				t.Fatalf("%d allowed, at most %f", allowed, most)
			}
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := ratelimit.New(ratelimit.Options{Now: c.now, MaxLocal: 100})
	for i := range 10_000 {
		allow(t, l, fmt.Sprint(i), 10)
		if n := l.Keys(); n > 100 {
			t.Fatalf("%d keys are kept", n)
		}
		if i%7 == 0 {
			c.advance(time.Second)
		}
	}
}

// A Redis that is unreachable or silent costs one timeout. The limit still holds, and
// the log has one line.
func TestWithoutRedisEachNodeCountsForItself(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]string{"away": filepath.Join(t.TempDir(), "nothing.sock"), "silent": silent(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			c := newClock()
			client := redis.NewClient(&redis.Options{Network: "unix", Addr: address})
			t.Cleanup(func() { _ = client.Close() })
			l := ratelimit.New(ratelimit.Options{Redis: client, Now: c.now, Timeout: 50 * time.Millisecond, Log: slog.New(slog.NewTextHandler(&log, nil))})
			began := time.Now()
			for i := range 200 {
				r := allow(t, l, "a", 5)
				if r.Allowed != (i < 5) {
					t.Fatalf("request %d: %+v", i, r)
				}
			}
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("200 requests took %v", took)
			}
			c.advance(2 * time.Second)
			allow(t, l, "a", 5)
			if n := strings.Count(log.String(), "lost redis"); n != 1 {
				t.Errorf("the log says it %d times:\n%s", n, &log)
			}
		})
	}
}

// silent returns the address of a server that accepts connections and never answers.
func silent(t *testing.T) string {
	t.Helper()
	address := filepath.Join(t.TempDir(), "silent.sock")
	listener, err := net.Listen("unix", address)
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		var held []net.Conn
		for {
			connection, err := listener.Accept()
			if err != nil {
				for _, c := range held {
					_ = c.Close()
				}
				return
			}
			held = append(held, connection)
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		wait.Wait()
	})
	return address
}

func TestRedisIsUsedAgainOnceItAnswers(t *testing.T) {
	t.Parallel()
	url := testkit.Redis(t)
	c := newClock()
	var log bytes.Buffer
	gate := &gate{}
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	options.Dialer, options.MaxRetries = gate.dial, -1
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	l := ratelimit.New(ratelimit.Options{Redis: client, Now: c.now, Timeout: 10 * time.Second, Log: slog.New(slog.NewTextHandler(&log, nil))})
	allow(t, l, "a", 5)
	gate.close(true)
	if r := allow(t, l, "a", 5); r.Remaining != 4 {
		t.Errorf("the node's own count: %+v", r)
	}
	gate.close(false)
	if r := allow(t, l, "a", 5); r.Remaining != 3 {
		t.Errorf("Redis is asked again too soon: %+v", r)
	}
	c.advance(time.Second)
	if r := allow(t, l, "a", 5); r.Remaining != 3 {
		t.Errorf("the shared count: %+v", r)
	}
	if !strings.Contains(log.String(), "has redis again") {
		t.Errorf("the log says %s", &log)
	}
}

// A gate makes connections fail while it is closed.
type gate struct {
	mu     sync.Mutex
	closed bool
}

func (g *gate) close(closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = closed
}

func (g *gate) err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return errors.New("the gate is closed")
	}
	return nil
}

func (g *gate) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if err := g.err(); err != nil {
		return nil, err
	}
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, network, address)
	return gated{connection, g}, err
}

// A gated is a connection through a gate.
type gated struct {
	net.Conn
	gate *gate
}

func (g gated) Write(b []byte) (int, error) {
	if err := g.gate.err(); err != nil {
		return 0, err
	}
	return g.Conn.Write(b)
}

func TestAnEndedContextIsAnError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ratelimit.New(ratelimit.Options{}).Allow(ctx, "a", 5); !errors.Is(err, context.Canceled) {
		t.Errorf("Allow: %v", err)
	}
}

func TestResetRestoresTheFullLimit(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]*ratelimit.Limiter{
		"in Redis":        ratelimit.New(ratelimit.Options{Redis: dial(t, testkit.Redis(t)), Prefix: "forget:"}),
		"in this process": ratelimit.New(ratelimit.Options{}),
	} {
		for range 3 {
			allow(t, l, "a", 3)
		}
		if r := allow(t, l, "a", 3); r.Allowed {
			t.Errorf("%s: over the limit %+v", name, r)
		}
		l.Reset(t.Context(), "b")
		if r := allow(t, l, "a", 3); r.Allowed {
			t.Errorf("%s: after the reset of another key %+v", name, r)
		}
		l.Reset(t.Context(), "a")
		if r := allow(t, l, "a", 3); !r.Allowed || r.Remaining != 2 {
			t.Errorf("%s: after its reset %+v", name, r)
		}
	}
}

func TestTheContextCarriesTheClient(t *testing.T) {
	t.Parallel()
	if got := ratelimit.ClientOf(t.Context()); got != "unknown" {
		t.Errorf("without one: %s", got)
	}
	if got := ratelimit.ClientOf(ratelimit.WithClient(t.Context(), "10.1.2.3")); got != "10.1.2.3" {
		t.Errorf("with one: %s", got)
	}
}

func TestRefundsAreLimited(t *testing.T) {
	t.Parallel()
	for name, redisURL := range map[string]string{"in process": "", "in Redis": testkit.Redis(t)} {
		var o ratelimit.Options
		if redisURL != "" {
			o.Redis, o.Timeout = dial(t, redisURL), 10*time.Second
		}
		l := ratelimit.New(o)
		take := func(want bool) {
			t.Helper()
			if r, err := l.AllowIn(t.Context(), "a", 3, time.Hour); err != nil || r.Allowed != want || !want && r.RetryAfter > 20*time.Minute {
				t.Fatalf("%s: %+v %v", name, r, err)
			}
		}
		for range 10 {
			take(true)
			l.RefundIn(t.Context(), "a", 3, time.Hour)
		}
		l.RefundIn(t.Context(), "a", 3, time.Hour) // one too many
		for _, want := range []bool{true, true, true, false, false} {
			take(want)
		}
		l.RefundIn(t.Context(), "a", 3, time.Hour)
		if r, err := l.PeekIn(t.Context(), "a", 3, time.Hour); err != nil || r.Remaining != 1 {
			t.Errorf("%s: %+v %v", name, r, err)
		}
		take(true)
		take(false)
	}
}

func TestAllowOnceHoldsWithoutRedis(t *testing.T) {
	t.Parallel()
	client := dial(t, testkit.Redis(t))
	l := ratelimit.New(ratelimit.Options{Redis: client, Timeout: 10 * time.Second})
	other := ratelimit.New(ratelimit.Options{Redis: client, Timeout: 10 * time.Second})
	once := func(l *ratelimit.Limiter, key string, want bool) {
		t.Helper()
		if got, err := l.AllowOnce(t.Context(), key, time.Hour); err != nil || got != want {
			t.Errorf("%s: %v %v", key, got, err)
		}
	}
	once(l, "a", true)
	once(l, "a", false)
	once(other, "a", false)
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	once(l, "a", false) // Redis lost the key
	l.ResetOnce(t.Context(), "a", time.Hour)
	once(l, "a", true)
	once(l, "a", false)
	once(other, "a", false)
}
