package wire_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/testkit"
)

func TestRedisAddressForms(t *testing.T) {
	t.Parallel()
	for address, check := range map[string]func(redis.UniversalClient) bool{
		"redis://user:pass@host:6379/2": func(c redis.UniversalClient) bool {
			one, ok := c.(*redis.Client)
			return ok && one.Options().Addr == "host:6379" && one.Options().DB == 2 && one.Options().Username == "user"
		},
		"rediss://host": func(c redis.UniversalClient) bool {
			one, ok := c.(*redis.Client)
			return ok && one.Options().TLSConfig != nil
		},
		"unix:///run/redis.sock?db=1": func(c redis.UniversalClient) bool {
			one, ok := c.(*redis.Client)
			return ok && one.Options().Network == "unix" && one.Options().Addr == "/run/redis.sock" && one.Options().DB == 1
		},
		"redis+sentinel://user:pass@one,[::1]:5/3?master=main": func(c redis.UniversalClient) bool {
			one, ok := c.(*redis.Client)
			return ok && one.Options().DB == 3 && one.Options().Password == "pass"
		},
		"rediss+cluster://one,two:7000": func(c redis.UniversalClient) bool {
			cluster, ok := c.(*redis.ClusterClient)
			return ok && strings.Join(cluster.Options().Addrs, " ") == "one:6379 two:7000" && cluster.Options().TLSConfig != nil &&
				cluster.Options().ClusterStateReloadInterval == time.Second && cluster.Options().ContextTimeoutEnabled
		},
	} {
		client, err := wire.Redis(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if !check(client) {
			t.Errorf("%s: made %#v", address, client)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestErrorsOfRedisAddressesHaveNoPassword(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"redis://:hunter2@host/notanumber", "redis+sentinel://:hunter2@host", "redis+sentinel://:hunter2@host,,x?master=m",
		"redis+cluster://:hunter2@host/1", "redis+cluster://:hunter2@host?master=m", "redis+pigeon://:hunter2@host",
		"redis+sentinel://:hunter2@host/x?master=m", "redis://:hunter2@[::1",
	} {
		_, err := wire.Redis(address)
		if err == nil || !strings.HasPrefix(err.Error(), "REDIS_URL: ") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestAClientConnectsToAUnixSocket(t *testing.T) {
	t.Parallel()
	client, err := wire.Redis(testkit.Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
}

// A client retries several times. Without the pause of the dialer, each command would
// wait for seconds.
func TestCommandsDoNotWaitForAMissingRedis(t *testing.T) {
	t.Parallel()
	client, err := wire.Redis("unix://" + filepath.Join(t.TempDir(), "redis.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	began := time.Now()
	for range 10 {
		if err := client.Ping(t.Context()).Err(); err == nil || !strings.Contains(err.Error(), "redis.sock") {
			t.Errorf("a missing Redis answered: %v", err)
		}
	}
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("10 commands took %v", took)
	}
}
