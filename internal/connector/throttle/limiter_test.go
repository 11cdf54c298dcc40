package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/connector/throttle"
	"github.com/magpie-search/magpie/internal/testkit"
)

func client(t *testing.T, url string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(options)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func kind(perMinute, burst int) connectors.Kind {
	return connectors.Kind{
		Name: "wiki", RateLimit: connectors.RateLimit{PerMinute: perMinute, Burst: burst}, Webhook: &connectors.Webhook{Secret: "hook"},
		Options: []connectors.Option{{Name: "address", Format: connectors.FormatURL}, {Name: "space"}},
	}
}

func settings(address, space, token, hook string) connectors.Settings {
	return connectors.Settings{
		Config:      map[string]any{"address": address, "space": space},
		Credentials: map[string]string{"token": token, "hook": hook},
	}
}

// The limit is that of a minute, so high that the test is short.
func TestTwoProcessesShareALimit(t *testing.T) {
	t.Parallel()
	url := testkit.Redis(t)
	const perMinute, requests = 1200, 20 // one in 50 ms
	k := kind(perMinute, 2)
	var mu sync.Mutex
	var turns []time.Time
	var done sync.WaitGroup
	start := time.Now()
	for range 2 {
		limiter := throttle.New(throttle.Options{Redis: client(t, url)}).For(k, settings("https://a", "x", "t", "1"), nil)
		for range requests / 2 {
			done.Go(func() {
				if err := limiter.Wait(t.Context()); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				turns = append(turns, time.Now())
			})
		}
	}
	done.Wait()
	if took := time.Since(start); took < (requests-2)*50*time.Millisecond-20*time.Millisecond {
		t.Errorf("%d requests took %s", requests, took)
	}
}

func TestTheSameHostAndCredentialsShareALimiter(t *testing.T) {
	t.Parallel()
	p := throttle.New(throttle.Options{Redis: client(t, testkit.Redis(t)), MaxWait: time.Millisecond})
	k := kind(1, 1)
	take := func(s connectors.Settings, grant *uuid.UUID) bool {
		t.Helper()
		err := p.For(k, s, grant).Wait(t.Context())
		after, retryable := connectors.RetryAfterOf(err)
		if err != nil && (!retryable || after <= 0 || after > time.Minute) {
			t.Errorf("the refusal is %v", err)
		}
		return err == nil
	}
	first, second := uuid.New(), uuid.New()
	for _, c := range []struct {
		what  string
		s     connectors.Settings
		grant *uuid.UUID
		free  bool
	}{
		{"the first", settings("https://a", "x", "t", "1"), nil, true},
		{"another space and webhook secret", settings("https://a", "y", "t", "2"), nil, false},
		{"another host", settings("https://b", "x", "t", "1"), nil, true},
		{"other credentials", settings("https://a", "x", "u", "1"), nil, true},
		{"a grant", settings("https://a", "x", "t", "1"), &first, true},
		{"the same grant", settings("https://a", "x", "v", "1"), &first, false},
		{"another grant", settings("https://a", "x", "t", "1"), &second, true},
	} {
		if got := take(c.s, c.grant); got != c.free {
			t.Errorf("%s: free is %v", c.what, got)
		}
	}
}

func TestABurstIsAllowed(t *testing.T) {
	t.Parallel()
	p := throttle.New(throttle.Options{Redis: client(t, testkit.Redis(t)), MaxWait: time.Millisecond})
	limiter := p.For(kind(1, 5), settings("", "", "t", ""), nil)
	for i := range 6 {
		if err := limiter.Wait(t.Context()); (err == nil) != (i < 5) {
			t.Errorf("request %d: %v", i+1, err)
		}
	}
}

func TestAPauseAppliesToAllProcesses(t *testing.T) {
	t.Parallel()
	url := testkit.Redis(t)
	for _, perMinute := range []int{0, 6000} {
		s := settings("", "", fmt.Sprint(perMinute), "")
		one := throttle.New(throttle.Options{Redis: client(t, url)}).For(kind(perMinute, 1), s, nil)
		other := throttle.New(throttle.Options{Redis: client(t, url)}).For(kind(perMinute, 1), s, nil)
		if other.PausedFor(t.Context()) != 0 {
			t.Error("no request was made yet")
		}
		one.Pause(t.Context(), 30*time.Second)
		one.Pause(t.Context(), time.Second) // a shorter pause has no effect
		if pausedFor := other.PausedFor(t.Context()); pausedFor < 20*time.Second || pausedFor > 30*time.Second {
			t.Errorf("held for %s", pausedFor)
		}
		err := other.Wait(t.Context())
		if wait, ok := errors.AsType[*throttle.WaitError](err); !ok || wait.RetryAfter() < 20*time.Second {
			t.Errorf("a turn meanwhile: %v", err)
		}
	}
	limiter := throttle.New(throttle.Options{Redis: client(t, url)}).For(kind(0, 1), settings("", "", "short", ""), nil)
	limiter.Pause(t.Context(), 200*time.Millisecond)
	start := time.Now()
	if err := limiter.Wait(t.Context()); err != nil || time.Since(start) < 100*time.Millisecond {
		t.Errorf("a turn soon: %v after %s", err, time.Since(start))
	}
}

func TestRequestsContinueWithoutRedis(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]throttle.Options{
		"none": {}, "gone": {Redis: client(t, "unix:///nowhere/redis.sock")},
	} {
		o.MaxWait = time.Millisecond
		p := throttle.New(o)
		limiter := p.For(kind(1, 3), settings("", "", "t", ""), nil)
		for i := range 4 {
			if err := limiter.Wait(t.Context()); (err == nil) != (i < 3) {
				t.Errorf("%s: request %d: %v", name, i+1, err)
			}
		}
		pausedFor := p.For(kind(0, 1), settings("", "", "u", ""), nil)
		pausedFor.Pause(t.Context(), time.Minute)
		if pausedFor.PausedFor(t.Context()) < 50*time.Second || pausedFor.Wait(t.Context()) == nil {
			t.Errorf("%s: the pause of the platform is lost", name)
		}
	}
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	limiter := throttle.New(throttle.Options{Redis: client(t, testkit.Redis(t)), MaxWait: time.Hour}).For(kind(1, 1), settings("", "", "t", ""), nil)
	if err := limiter.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	why := errors.New("the job was canceled")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
	if err := limiter.Wait(ctx); !errors.Is(err, why) {
		t.Errorf("the wait ended with %v", err)
	}
	if err := limiter.Wait(ctx); !errors.Is(err, why) {
		t.Errorf("a turn afterwards: %v", err)
	}
}
