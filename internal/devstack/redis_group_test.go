package devstack_test

import (
	"context"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/devstack"
)

func TestAGroupOfRedisServersReplacesADeadMaster(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(context.Context) (*devstack.RedisGroup, error){
		"cluster": devstack.StartRedisCluster, "sentinels": devstack.StartRedisSentinels,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			group, err := start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := group.Stop(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			}()
			t.Logf("started in %s: %s", time.Since(begin).Round(time.Millisecond), group.URL)
			master := func() string {
				address, err := group.Master(t.Context(), "key")
				if err != nil {
					t.Fatal(err)
				}
				return address
			}
			first := master()
			begin = time.Now()
			if err := group.Kill(t.Context(), first); err != nil {
				t.Fatal(err)
			}
			wait(t, "another master", func() bool { return master() != first })
			t.Logf("another master after %s", time.Since(begin).Round(time.Millisecond))
			begin = time.Now()
			if err := group.Restart(t.Context(), first); err != nil {
				t.Fatal(err)
			}
			if again := master(); again == first {
				t.Error("the killed master is the master again")
			}
			t.Logf("the killed server is a replica after %s", time.Since(begin).Round(time.Millisecond))
			// Stop ends a server that hangs, too.
			if err := group.Hang(t.Context(), first); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// wait waits until a condition holds.
func wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}
