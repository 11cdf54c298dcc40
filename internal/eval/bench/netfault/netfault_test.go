package netfault_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/internal/eval/bench/netfault"
	"github.com/magpie-search/magpie/internal/testkit"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	databaseURL, redisURL := testkit.Database(t).OwnerURL, testkit.Redis(t)
	database, err := netfault.Database(t.Context(), databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = database.Close() })
	store, err := netfault.Redis(t.Context(), redisURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	options, err := redis.ParseURL(store.URL())
	if err != nil {
		t.Fatal(err)
	}
	options.ContextTimeoutEnabled, options.MaxRetries = true, -1
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })

	for name, c := range map[string]struct {
		proxy *netfault.Proxy
		ask   func(context.Context) error
	}{
		"PostgreSQL": {database, func(ctx context.Context) error {
			conn, err := pgx.Connect(ctx, database.URL())
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
			return conn.Ping(ctx)
		}},
		"Redis": {store, func(ctx context.Context) error { return client.Ping(ctx).Err() }},
	} {
		t.Run(name, func(t *testing.T) { testProxy(t, c.proxy, c.ask) })
	}
}

func testProxy(t *testing.T, p *netfault.Proxy, ask func(context.Context) error) {
	t.Helper()
	heal := func() {
		t.Helper()
		if err := p.Heal(t.Context()); err != nil {
			t.Fatal(err)
		}
		// A connection from before may be in the pool.
		testkit.WaitFor(t, "the store to answer", func() bool { return ask(t.Context()) == nil })
	}
	heal() // of nothing

	p.Cut()
	if err := ask(t.Context()); err == nil {
		t.Error("a store that is cut off answers")
	}
	heal()

	if err := p.Silence(); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := ask(short); !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
		t.Errorf("a silent store: %v", err)
	}
	heal()

	if err := p.Slow(100, 0); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := ask(t.Context()); err != nil || time.Since(start) < 100*time.Millisecond {
		t.Errorf("a slow store answers after %s, %v", time.Since(start), err)
	}
	heal()
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}
