package syncer_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/worker"
	"github.com/magpie-search/magpie/worker/reembed"
	"github.com/magpie-search/magpie/worker/syncer"
)

// A model is an embedder that counts texts.
type model struct {
	mu    sync.Mutex
	texts int
	err   error
	// embedding, if set, is called before texts are embedded, with the number of
	// texts so far.
	embedding func(ctx context.Context, n int) error
}

func (*model) Model() string   { return "counting" }
func (*model) Dimensions() int { return 4 }

func (m *model) Embed(ctx context.Context, texts []string, _ embed.Purpose) ([][]float32, error) {
	m.mu.Lock()
	n, ask := m.texts, m.embedding
	m.mu.Unlock()
	if ask != nil {
		if err := ask(ctx, n); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return nil, m.err
	}
	m.texts += len(texts)
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, 4)
		vectors[i][len(text)%4] = 1
	}
	return vectors, nil
}

func (m *model) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

func (m *model) hook(embedding func(ctx context.Context, n int) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.embedding = embedding
}

// embedded returns the number of texts that were embedded since the last call.
func (m *model) embedded() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.texts
	m.texts = 0
	return n
}

// A clock is the real time plus what tests add.
type clock struct {
	mu  sync.Mutex
	add time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.add)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add += d
}

// A fixture is an installation with one connector on the script. It has no worker
// until work is called.
type fixture struct {
	testing.TB
	ctx    context.Context
	scope  viewer.Scope
	db     *store.DB
	index  *index.Store
	redis  *redis.Client
	bus    *syncjob.RedisBus
	jobs   *syncjob.Jobs
	box    *secret.Box
	script *script
	model  *model
	clock  *clock
	log    *slog.Logger
	row    *ent.Connector

	embedder   embed.Embedder       // replaces model
	others     []embed.Embedder     // further models
	substitute syncer.Index         // replaces index
	registry   *connectors.Registry // replaces that of the script
	options    syncer.Options
	worker     worker.Options
	times      syncjob.Times
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	return newFixtureOn(t, testkit.Database(t).AppURL, testkit.Redis(t))
}

func newFixtureOn(t testing.TB, databaseURL, redisURL string) *fixture {
	t.Helper()
	f := &fixture{TB: t, script: newScript(), model: &model{}, clock: &clock{}}
	f.log = slog.New(slog.NewTextHandler(t.Output(), nil))
	f.times = syncjob.Times{Poll: 50 * time.Millisecond, Heartbeat: 50 * time.Millisecond, Progress: 10 * time.Millisecond}
	f.worker = worker.Options{
		Concurrency: 4, SweepEvery: 50 * time.Millisecond, Stale: 2 * time.Second, ScheduleEvery: 50 * time.Millisecond,
		PollEvery: 10 * time.Millisecond, Log: f.log,
	}
	f.options = syncer.Options{RetryDelay: time.Millisecond, Now: f.clock.now, Log: f.log}
	var err error
	f.db, err = store.Open(t.Context(), databaseURL, 16)
	f.must(err)
	t.Cleanup(f.db.Close)
	f.redis, err = redisOf(redisURL)
	f.must(err)
	t.Cleanup(func() { _ = f.redis.Close() })
	f.bus = syncjob.NewRedisBus(t.Context(), f.redis, f.log)
	t.Cleanup(func() { _ = f.bus.Close() })
	f.jobs = f.newJobs(f.times)
	f.box, err = secret.NewBox(map[string][]byte{"k": make([]byte, secret.KeyBytes)}, "k")
	f.must(err)
	f.index = index.New(f.db.Pool, analysis.New())

	system := viewer.With(t.Context(), viewer.System(uuid.Nil))
	workspace, err := f.db.Ent.Workspace.Create().SetName("W").Save(system)
	f.must(err)
	owner := viewer.System(workspace.ID)
	f.ctx = viewer.With(t.Context(), owner)
	f.scope, err = owner.Scope()
	f.must(err)
	f.row = f.connector("scripted", nil)
	return f
}

func redisOf(url string) (*redis.Client, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	return redis.NewClient(options), nil
}

func (f *fixture) newJobs(times syncjob.Times) *syncjob.Jobs {
	jobs := syncjob.New(f.db.Ent, queue.NewAsynq(f.redis), f.bus, f.clock.now, syncjob.WithLog(f.log), syncjob.WithTimes(times))
	f.Cleanup(jobs.Close)
	return jobs
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) connector(kind string, config map[string]any) *ent.Connector {
	f.Helper()
	collection, err := f.db.Ent.Collection.Create().SetName("C").SetEmbeddingModel(f.modelName()).Save(f.ctx)
	f.must(err)
	create := f.db.Ent.Connector.Create().SetName("K").SetType(kind).SetCollection(collection)
	if config != nil {
		create.SetConfig(config)
	}
	row, err := create.Save(f.ctx)
	f.must(err)
	return row
}

func (f *fixture) modelName() string {
	if f.embedder != nil {
		return f.embedder.Model()
	}
	return f.model.Model()
}

func (f *fixture) models() *embed.Registry {
	f.Helper()
	var first embed.Embedder = f.model
	if f.embedder != nil {
		first = f.embedder
	}
	models, err := embed.NewRegistry(append([]embed.Embedder{first}, f.others...)...)
	f.must(err)
	return models
}

func (f *fixture) engine(jobs *syncjob.Jobs) *syncer.Engine {
	f.Helper()
	kinds, err := f.script.kinds()
	f.must(err)
	if f.registry != nil {
		kinds = f.registry
	}
	var idx syncer.Index = f.index
	if f.substitute != nil {
		idx = f.substitute
	}
	return syncer.New(f.db.Ent, jobs, kinds, f.box, f.models(), idx, parse.New(parse.Options{}), f.options)
}

// work runs a worker until stop is called or the test ends.
func (f *fixture) work() (stop func()) {
	f.Helper()
	ctx, cancel := context.WithCancel(f.Context())
	w := worker.New(f.redis, f.jobs, f.engine(f.jobs), reembed.New(f.index, f.models(), reembed.Options{Log: f.log}), f.worker)
	var done sync.WaitGroup
	done.Go(func() {
		if err := w.Run(ctx); err != nil {
			f.Error(err)
		}
	})
	stop = func() {
		cancel()
		done.Wait()
	}
	f.Cleanup(stop)
	return stop
}

func (f *fixture) start(o syncjob.StartOptions) *ent.SyncJob {
	f.Helper()
	job, err := f.jobs.Start(f.ctx, f.row.ID, o)
	f.must(err)
	return job
}

// wait follows a job to its end.
func (f *fixture) wait(id uuid.UUID) *ent.SyncJob {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.ctx, 2*time.Minute)
	defer cancel()
	c, err := f.jobs.Watch(ctx, id)
	f.must(err)
	for range c {
	}
	if ctx.Err() != nil {
		f.Fatalf("the job does not end: %+v", f.job(id))
	}
	return f.job(id)
}

func (f *fixture) job(id uuid.UUID) *ent.SyncJob {
	f.Helper()
	job, err := f.jobs.Get(f.ctx, id)
	f.must(err)
	return job
}

// sync runs a sync to its end on a running worker.
func (f *fixture) sync(o syncjob.StartOptions) *ent.SyncJob {
	f.Helper()
	return f.wait(f.start(o).ID)
}

func auto() syncjob.StartOptions { return syncjob.StartOptions{} }

func full() syncjob.StartOptions { return syncjob.StartOptions{Mode: entjob.ModeFull} }

func incremental(paths ...string) syncjob.StartOptions {
	return syncjob.StartOptions{Mode: entjob.ModeIncremental, FileFilter: paths}
}

// expect checks the status and the counters of a job, except Parsed.
func (f *fixture) expect(job *ent.SyncJob, status entjob.Status, want syncjob.Counters) {
	f.Helper()
	got := syncjob.CountersOf(job)
	want.Parsed, want.Indexed = got.Parsed, want.Added+want.Modified
	if job.Status != status || got != want {
		message := ""
		if job.Error != nil {
			message = *job.Error
		}
		f.Errorf("the job is %s with %+v (%s)\nwant %s with %+v", job.Status, got, message, status, want)
	}
}

// documents returns the documents of the connector by path.
func (f *fixture) documents() map[string]*ent.Document {
	f.Helper()
	rows, err := f.db.Ent.Document.Query().Where(document.ConnectorID(f.row.ID)).All(f.ctx)
	f.must(err)
	documents := make(map[string]*ent.Document, len(rows))
	for _, row := range rows {
		if documents[row.Path] != nil {
			f.Errorf("two documents are at %s", row.Path)
		}
		documents[row.Path] = row
	}
	return documents
}

// live returns the number of documents that searches find.
func (f *fixture) live() int {
	f.Helper()
	n := 0
	for _, d := range f.documents() {
		if d.Status == document.StatusIndexed && d.DeletedAt == nil {
			n++
		}
	}
	stats, err := f.index.Stats(f.ctx, f.scope, []uuid.UUID{f.row.CollectionID})
	f.must(err)
	if got := stats[f.row.CollectionID].Documents; got != n {
		f.Errorf("the collection counts %d documents, there are %d", got, n)
	}
	return n
}

// ledger returns the ledger entries of the connector by path.
func (f *fixture) ledger() map[string]*ent.SyncItem {
	f.Helper()
	rows, err := f.db.Ent.SyncItem.Query().Where(syncitem.ConnectorID(f.row.ID)).All(f.ctx)
	f.must(err)
	items := make(map[string]*ent.SyncItem, len(rows))
	for _, row := range rows {
		items[row.Path] = row
	}
	return items
}

// expectEntry checks the ledger entry of an item; reason is a part of its reason.
func (f *fixture) expectEntry(path string, status syncitem.Status, reason string) {
	f.Helper()
	row := f.ledger()[path]
	switch {
	case row == nil:
		f.Errorf("%s has no ledger entry", path)
	case row.Status != status, reason == "" && row.Reason != nil, reason != "" && (row.Reason == nil || !strings.Contains(*row.Reason, reason)):
		got := "none"
		if row.Reason != nil {
			got = *row.Reason
		}
		f.Errorf("%s is %s with the reason %q, want %s with %q", path, row.Status, got, status, reason)
	}
}

func (f *fixture) text(path string) string {
	f.Helper()
	d := f.documents()[path]
	if d == nil {
		f.Fatalf("there is no document at %s", path)
		return ""
	}
	text, err := f.index.Content(f.ctx, f.scope, d.ID)
	f.must(err)
	return text
}
