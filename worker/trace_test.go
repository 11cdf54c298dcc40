package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/hibiken/asynq"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/testkit/collector"
	"github.com/magpie-search/magpie/internal/tracing"
	"github.com/magpie-search/magpie/worker"
)

// lines keeps what is logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// The trace of what queued a task goes on in the worker, and the log of a failure names
// it. The payload has nothing of it, so that older workers understand the task.
func TestATaskContinuesTheTraceThatQueuedIt(t *testing.T) {
	t.Parallel()
	tracer, spans := collector.Record(t)
	var log lines
	f := newFixture(t, func(context.Context) error { return errors.New("away") }, func(o *worker.Options) {
		o.Tracer, o.Log = tracer, slog.New(tracing.LogHandler(slog.NewTextHandler(&log, nil)))
	})
	ctx, request := tracer.Begin(t.Context(), "request", tracing.Root{Kind: tracing.Server})
	traced, untraced := queue.Sync{JobID: gid.New(gid.SyncJob)}, queue.Sync{JobID: gid.New(gid.SyncJob)}
	f.must(f.queue.Enqueue(ctx, traced))
	f.must(f.queue.Enqueue(t.Context(), untraced))
	request.End(nil)
	info, err := asynq.NewInspectorFromRedisClient(f.redis).GetTaskInfo(queue.Queue, traced.ID())
	f.must(err)
	payload, err := json.Marshal(traced)
	f.must(err)
	if !bytes.Equal(info.Payload, payload) || !strings.Contains(info.Headers["traceparent"], request.TraceID()) {
		t.Errorf("payload %s, headers %v", info.Payload, info.Headers)
	}
	stop := f.run()
	testkit.WaitFor(t, "the log of both failures", func() bool { return strings.Count(log.String(), "task failed") >= 2 })
	stop()
	all := spans()
	send := collector.Find(t, all, "send sync")
	var own, others int
	for _, s := range all {
		switch {
		case s.Name != "process sync":
		case s.Attributes["messaging.message.id"] == untraced.ID():
			if others++; s.Trace == request.TraceID() || s.Parent != "" {
				t.Errorf("a task that was queued without a trace: %+v", s)
			}
		default:
			if own++; s.Trace != request.TraceID() || s.Parent != send.ID || !s.Failed || s.Kind != "consumer" {
				t.Errorf("%+v", s)
			}
		}
	}
	if own == 0 || others == 0 || !strings.Contains(log.String(), "trace_id="+request.TraceID()) {
		t.Errorf("%d and %d spans; %s", own, others, log.String())
	}
}
