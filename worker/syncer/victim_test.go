package syncer_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/worker"
	"github.com/magpie-search/magpie/worker/reembed"
	"github.com/magpie-search/magpie/worker/syncer"
)

// The steps of a sync at which a victim kills itself.
const (
	stepNever   = ""
	stepWalk    = "walk"    // after a page was read
	stepFetch   = "fetch"   // before an item is opened
	stepStore   = "store"   // before a document is stored
	stepStored  = "stored"  // after a document was stored
	stepDelete  = "delete"  // before documents are deleted
	stepDeleted = "deleted" // after documents were deleted
	stepChanges = "changes" // before a page of changes is read
	// The same for restorations.
	stepRestore  = "restore"
	stepRestored = "restored"
)

// A plan is the work of a victim and the step at which it dies.
type plan struct {
	Database, Redis string
	Items           int
	Stale           time.Duration // after which the job of a dead worker is taken over, 2 s if it is 0
	Source          string        // one of the contents below
	Step            string        // at which it dies
	At              int64         // the number of the visit at which it dies
}

// The contents of the source.
const (
	sourceWhole   = ""
	sourceChanged = "changed" // a tenth is missing, another tenth has changed
	sourceShrunk  = "shrunk"  // nine tenths are missing
)

// newWorld returns the source that all processes see.
func newWorld(items int, source string) *script {
	s := newScript()
	s.PageSize, s.FeedPageSize = 200, 8
	s.fill(items, "v1")
	switch source {
	case sourceWhole:
		return s
	case sourceShrunk:
		s.remove(names(0, items-items/10)...)
		return s
	}
	for i := range items / 10 {
		s.remove(fmt.Sprintf("doc-%04d.md", i))
		changed := items/2 + i
		s.set(fmt.Sprintf("doc-%04d.md", changed), "v2", fmt.Sprintf("# Document %d\n\nAnother version of document %d.\n", changed, changed))
	}
	return s
}

// A mortal counts the visits of a process to its step and kills it there.
type mortal struct {
	plan  plan
	count atomic.Int64
}

func (m *mortal) at(step string) {
	if step == m.plan.Step && m.count.Add(1) == m.plan.At {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until the signal arrives
	}
}

// A mortalIndex has the steps of storing and deleting.
type mortalIndex struct {
	syncer.Index

	of *mortal
}

func (m mortalIndex) Put(ctx context.Context, scope viewer.Scope, f index.Fence, r *index.Record) (index.Outcome, error) {
	m.of.at(stepStore)
	outcome, err := m.Index.Put(ctx, scope, f, r)
	m.of.at(stepStored)
	return outcome, err
}

func (m mortalIndex) SoftDelete(ctx context.Context, scope viewer.Scope, f index.Fence, documents []uuid.UUID) (int, error) {
	m.of.at(stepDelete)
	n, err := m.Index.SoftDelete(ctx, scope, f, documents)
	m.of.at(stepDeleted)
	return n, err
}

func (m mortalIndex) Restore(ctx context.Context, scope viewer.Scope, f index.Fence, documents []uuid.UUID) (int, error) {
	m.of.at(stepRestore)
	n, err := m.Index.Restore(ctx, scope, f, documents)
	m.of.at(stepRestored)
	return n, err
}

// runVictim works like `magpie worker` with short timeouts until it is killed or
// asked to stop.
func runVictim(text string) int {
	if err := work(text); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func work(text string) error {
	m := &mortal{}
	if err := json.Unmarshal([]byte(text), &m.plan); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	// The test holds the other end of the input; its end stops this process.
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	db, err := store.Open(ctx, m.plan.Database, 8)
	if err != nil {
		return err
	}
	defer db.Close()
	client, err := redisOf(m.plan.Redis)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	bus := syncjob.NewRedisBus(ctx, client, log)
	defer func() { _ = bus.Close() }()
	jobs := syncjob.New(db.Ent, queue.NewAsynq(client), bus, time.Now, syncjob.WithLog(log),
		syncjob.WithTimes(syncjob.Times{Heartbeat: 200 * time.Millisecond}))
	defer jobs.Close()
	source := newWorld(m.plan.Items, m.plan.Source)
	source.hooks(func(context.Context, string) error { m.at(stepWalk); return nil }, func(context.Context, string) error { m.at(stepFetch); return nil })
	source.BeforeChanges = func(context.Context, string) error { m.at(stepChanges); return nil }
	kinds, err := source.kinds()
	if err != nil {
		return err
	}
	models, err := embed.NewRegistry(embed.NewBuiltin())
	if err != nil {
		return err
	}
	box, err := secret.NewBox(map[string][]byte{"k": make([]byte, secret.KeyBytes)}, "k")
	if err != nil {
		return err
	}
	documents := index.New(db.Pool, analysis.New())
	engine := syncer.New(db.Ent, jobs, kinds, box, models, mortalIndex{documents, m}, parse.New(parse.Options{}), syncer.Options{
		SlicePages: 3, RetryDelay: 50 * time.Millisecond, Retries: 1000, Window: -1, Log: log,
	})
	w := worker.New(client, jobs, engine, reembed.New(documents, models, reembed.Options{Log: log}), worker.Options{
		Concurrency: 2, SweepEvery: 200 * time.Millisecond, Stale: cmp.Or(m.plan.Stale, 2*time.Second), PollEvery: 20 * time.Millisecond, Shutdown: 5 * time.Second, Log: log,
	})
	return w.Run(ctx)
}
