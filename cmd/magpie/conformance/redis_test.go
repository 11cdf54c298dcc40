package conformance_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/internal/testkit"
)

// Redis falls silent in the middle and speaks again: the limit binds all the
// time, and nobody waits for it.
func TestTheLimitBindsWhileRedisIsSilent(t *testing.T) {
	t.Parallel()
	url := testkit.Redis(t)
	s := start(t, map[string]string{"REDIS_URL": url})
	k := s.key(t, map[string]any{"rateLimitPerMinute": 10})
	slowest := time.Duration(0)
	burst := func(what string) (allowed int) {
		t.Helper()
		for range 30 {
			a := s.get(t, "query=lighthouse", "X-Service-Key", k.Secret)
			switch a.status {
			case 200:
				allowed++
			case 429:
				refused(t, what, a, 429, "rate_limited", "Rate limit exceeded")
			default:
				t.Errorf("%s: %d %s", what, a.status, a.body)
			}
			slowest = max(slowest, a.took)
			if a.took > time.Minute {
				t.Errorf("%s: an answer took %v", what, a.took)
			}
		}
		return allowed
	}
	within := func(what string, allowed int) {
		t.Helper()
		if allowed < 10 || allowed > 20 { // ten, and what came back on a slow machine
			t.Errorf("%s: %d passed at 10 a minute", what, allowed)
		}
	}
	within("with Redis", burst("with Redis"))
	process, err := os.FindProcess(redisProcess(t, url))
	must(t, err)
	must(t, process.Signal(syscall.SIGSTOP))
	defer func() { _ = process.Signal(syscall.SIGCONT) }()
	began := time.Now()
	within("Redis silent", burst("Redis silent"))
	if took := time.Since(began); took > time.Minute {
		t.Errorf("30 requests took %v without Redis", took)
	}
	t.Logf("the slowest answer took %v", slowest)
	must(t, process.Signal(syscall.SIGCONT))
	// It counts there again: a new key's requests are seen by Redis.
	client := dial(t, url)
	eventually(t, func() (answer, bool) {
		fresh := s.key(t, map[string]any{"rateLimitPerMinute": 10})
		a := s.get(t, "query=lighthouse", "X-Service-Key", fresh.Secret)
		found, err := client.Keys(t.Context(), "*"+fresh.ID+"*").Result()
		return a, err == nil && len(found) > 0
	})
}

func dial(t *testing.T, url string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(url)
	must(t, err)
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// redisProcess is the process of a test's own Redis.
func redisProcess(t *testing.T, url string) int {
	t.Helper()
	info, err := dial(t, url).Info(t.Context(), "server").Result()
	must(t, err)
	for line := range strings.Lines(info) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "process_id:"); ok {
			n, err := strconv.Atoi(id)
			must(t, err)
			name, err := os.ReadFile(filepath.Join("/proc", id, "comm"))
			if err == nil && !bytes.Contains(name, []byte("redis")) {
				t.Fatalf("process %d is %s", n, name)
			}
			return n
		}
	}
	t.Fatalf("Redis does not tell its process: %s", info)
	return 0
}
