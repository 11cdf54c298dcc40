package devstack_test

import (
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/devstack"
)

func TestStartWithIdleStopDoesNotWaitForItsWatcher(t *testing.T) {
	t.Parallel()
	o := options(t, folder(t))
	o.WithoutRedis, o.IdleStop = true, 15*time.Minute
	begin := time.Now()
	stack := start(t, o)
	if stack.RedisURL != "" {
		t.Errorf("a stack without Redis has the URL %s", stack.RedisURL)
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("Start took %s", took)
	}
	query(t, stack.DatabaseURL, "SELECT 'answers'")
	if err := devstack.Shutdown(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}
