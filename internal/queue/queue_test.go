package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/testkit"
)

func connect(t *testing.T) (*redis.Client, *queue.Asynq) {
	t.Helper()
	options, err := redis.ParseURL(testkit.Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client, queue.NewAsynq(client)
}

func enqueue(t *testing.T, q *queue.Asynq, s queue.Sync) {
	t.Helper()
	if err := q.Enqueue(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

func waiting(t *testing.T, q *queue.Asynq, s queue.Sync) bool {
	t.Helper()
	is, err := q.Waiting(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return is
}

func TestATaskIDIsQueuedOnce(t *testing.T) {
	t.Parallel()
	client, q := connect(t)
	s := queue.Sync{JobID: gid.New(gid.SyncJob), Attempt: 3}
	if waiting(t, q, s) {
		t.Error("a task waits before it was queued")
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := q.Enqueue(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	enqueue(t, q, queue.Sync{JobID: s.JobID, Attempt: 4, Delay: time.Hour})
	info, err := asynq.NewInspectorFromRedisClient(client).GetQueueInfo(queue.Queue)
	if err != nil || info.Pending != 1 || info.Scheduled != 1 {
		t.Errorf("the queue is %+v, %v", info, err)
	}
	if !waiting(t, q, s) || !waiting(t, q, queue.Sync{JobID: s.JobID, Attempt: 4}) {
		t.Error("queued tasks do not wait")
	}
	list, err := asynq.NewInspectorFromRedisClient(client).ListPendingTasks(queue.Queue)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if want := "sync:" + s.JobID.String() + ":3"; list[0].ID != want || list[0].Type != queue.SyncName {
		t.Errorf("the task is %s %s", list[0].Type, list[0].ID)
	}
	if got, err := queue.DecodeSync(list[0].Payload); err != nil || got != s {
		t.Errorf("the payload %s reads as %v, %v", list[0].Payload, got, err)
	}
}

func TestAFlushedQueueAcceptsTasksAgain(t *testing.T) {
	t.Parallel()
	client, q := connect(t)
	s := queue.Sync{JobID: gid.New(gid.SyncJob)}
	enqueue(t, q, s)
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if waiting(t, q, s) {
		t.Error("a task waits after a flush")
	}
	enqueue(t, q, s)
	if !waiting(t, q, s) {
		t.Error("the queue is not registered again after a flush")
	}
}

func TestAnArchivedTaskIsQueuedAgain(t *testing.T) {
	t.Parallel()
	client, q := connect(t)
	s := queue.Sync{JobID: gid.New(gid.SyncJob)}
	enqueue(t, q, s)
	inspector := asynq.NewInspectorFromRedisClient(client)
	if err := inspector.ArchiveTask(queue.Queue, s.ID()); err != nil {
		t.Fatal(err)
	}
	if waiting(t, q, s) {
		t.Error("an archived task waits")
	}
	enqueue(t, q, s)
	if !waiting(t, q, s) {
		t.Error("it was not queued again")
	}
}

func TestEnqueueFailsWithoutRedis(t *testing.T) {
	t.Parallel()
	client, q := connect(t)
	_ = client.Close()
	s := queue.Sync{JobID: gid.New(gid.SyncJob)}
	if err := q.Enqueue(t.Context(), s); err == nil {
		t.Error("enqueued without Redis")
	}
	if _, err := q.Waiting(t.Context(), s); err == nil {
		t.Error("Waiting succeeded without Redis")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, q = connect(t)
	if err := q.Enqueue(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("with a canceled context: %v", err)
	}
}

func TestPayloadsHoldIDsOnly(t *testing.T) {
	t.Parallel()
	payload, err := json.Marshal(queue.Sync{JobID: uuid.MustParse("018f0000-0000-8008-8000-000000000001"), Attempt: 2, Delay: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"job_id":"018f0000-0000-8008-8000-000000000001","attempt":2}`; string(payload) != want {
		t.Errorf("the payload is %s", payload)
	}
}

func FuzzDecodeSync(f *testing.F) {
	f.Add([]byte(`{"job_id":"018f0000-0000-8008-8000-000000000001","attempt":2}`))
	f.Add([]byte(`{"job_id":"","attempt":-1}`))
	f.Add([]byte(`[]`))
	f.Add([]byte(``))
	f.Fuzz(func(t *testing.T, payload []byte) {
		s, err := queue.DecodeSync(payload)
		if err == nil && (s.JobID == uuid.Nil || s.Attempt < 0 || s.Delay != 0) {
			t.Errorf("%q reads as %v", payload, s)
		}
	})
}

func TestStatesCountTheTasksOfBothQueues(t *testing.T) {
	t.Parallel()
	_, q := connect(t)
	empty, err := q.States()
	if err != nil || len(empty) != 2 || *empty[0] != (queue.State{Name: queue.Queue}) || *empty[1] != (queue.State{Name: queue.Upkeep}) {
		t.Errorf("queues that were never used: %+v %v", empty, err)
	}
	enqueue(t, q, queue.Sync{JobID: gid.New(gid.SyncJob)})
	enqueue(t, q, queue.Sync{JobID: gid.New(gid.SyncJob)})
	found, err := q.States()
	if err != nil || found[0].Pending != 2 || found[0].Active != 0 || found[0].OldestSeconds < 0 || found[1].Pending != 0 {
		t.Errorf("two tasks: %+v %v", *found[0], err)
	}
	if workers, err := q.Workers(); err != nil || len(workers) != 0 {
		t.Errorf("without a worker: %+v %v", workers, err)
	}
}

func TestTheQueueKeepsWhyATaskFailed(t *testing.T) {
	t.Parallel()
	client, q := connect(t)
	task := queue.Reembed{Workspace: gid.New(gid.Workspace), Collection: gid.New(gid.Collection)}
	attempt := func() queue.Attempt {
		t.Helper()
		a, err := q.Attempt(t.Context(), task)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := attempt(); a != (queue.Attempt{}) {
		t.Errorf("before: %+v", a)
	}
	if err := q.Enqueue(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	failure := errors.New("a secret")
	began := make(chan error)
	server := asynq.NewServerFromRedisClient(client, asynq.Config{
		Queues: map[string]int{queue.Upkeep: 1}, TaskCheckInterval: 10 * time.Millisecond, DelayedTaskCheckInterval: 10 * time.Millisecond, LogLevel: asynq.FatalLevel,
		RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return time.Millisecond },
	})
	if err := server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { return <-began })); err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown()
	testkit.WaitFor(t, "the first try", func() bool { return attempt().Running })
	began <- fmt.Errorf("embed: %w", queue.Explain(failure, "The service took too long."))
	testkit.WaitFor(t, "the second try", func() bool { a := attempt(); return a.Running && !a.FailedAt.IsZero() })
	if a := attempt(); a.Reason != "The service took too long." {
		t.Errorf("after a failure: %+v", a)
	}
	began <- failure
	testkit.WaitFor(t, "the third try", func() bool { a := attempt(); return a.Running && a.Reason == "" })
	began <- nil
	testkit.WaitFor(t, "the end", func() bool { return attempt() == queue.Attempt{} })
	if !errors.Is(queue.Explain(failure, "x"), failure) {
		t.Error("the cause is lost")
	}
}
