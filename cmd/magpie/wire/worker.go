package wire

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/audit"
	"github.com/magpie-search/magpie/internal/connector/attached"
	"github.com/magpie-search/magpie/internal/connector/inbound"
	"github.com/magpie-search/magpie/internal/connector/state"
	"github.com/magpie-search/magpie/internal/event/inbox"
	"github.com/magpie-search/magpie/internal/event/transcript"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/search/resident"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/worker"
	"github.com/magpie-search/magpie/worker/purge"
	"github.com/magpie-search/magpie/worker/reembed"
	"github.com/magpie-search/magpie/worker/subscribe"
	"github.com/magpie-search/magpie/worker/syncer"
)

// Concurrency returns the number of tasks that a worker runs at once.
func (a *App) Concurrency() int {
	if a.Config.WorkerConcurrency > 0 {
		return a.Config.WorkerConcurrency
	}
	return max(2, runtime.GOMAXPROCS(0))
}

// Worker returns the worker of the application. Its Run may be called once.
func (a *App) Worker() *worker.Worker {
	window := a.Config.IdempotencyWindow
	if window == 0 {
		window = -1 // 0 would be the default of the engine
	}
	dispatcher := inbound.NewDispatcher(a.DB.Pool, a.Jobs, inbound.Options{Now: a.now, Log: a.Log})
	engine := syncer.New(a.DB.Ent, a.Jobs, a.Kinds, a.Secrets, a.Models, a.Index, a.Parser, syncer.Options{
		MaxBytes: int64(a.Config.UploadLimit), Window: window, Log: a.Log, Now: a.now, Grants: a.Grants, States: state.New(a.DB.Pool), Deliveries: dispatcher,
		Limiters: a.Limiters, Schemas: attached.NewCatalog(a.DB.Pool, a.now), Groups: a.Principals, ReadersEvery: a.Config.PermissionsRefresh,
		Ingest: ingest.Options{Limits: document.Limits{MaxBytes: int(a.Config.UploadLimit)}},
	})
	transcripts := transcript.New(transcript.Options{Ent: a.DB.Ent, Index: a.Index, Parser: a.Parser, Models: a.Models, Now: a.now})
	vectors := reembed.New(a.Index, a.Models, reembed.Options{Now: a.now, Log: a.Log})
	hooks := subscribe.New(a.DB.Ent, a.DB.Pool, a.Kinds, a.Secrets, engine, subscribe.Options{BaseURL: a.Config.PublicURL(), Now: a.now, Log: a.Log})
	return worker.New(a.Redis, a.Jobs, engine, vectors, worker.Options{
		Concurrency: a.Concurrency(), Shutdown: a.Config.ShutdownTimeout, Stale: a.Config.WorkerLostAfter, Log: a.Log, Observe: a.Metrics.Task, Tracer: a.Tracer(),
		Maintain: a.maintain, Purge: purge.New(a.Index, a.Files, purge.Options{Hooks: hooks, Now: a.now, Log: a.Log}), Permissions: engine,
		Inbound: dispatcher, Subscriptions: hooks, EventSubscriptions: a.Events, Events: inbox.NewProcessor(a.Events, a.Automations, transcripts), Runs: a.Runs,
		Automations: a.automations(), Approvals: a.Slack, Tools: a.Integrations, Projection: a.projection(),
	})
}

// maintain removes expired rows of the query log, the audit log, conversations, the
// history of syncs and deleted documents, and builds missing search indexes.
func (a *App) maintain(ctx context.Context) error {
	removed, err := a.analytics.Sweep(ctx)
	if removed > 0 {
		a.Log.InfoContext(ctx, "expired query log removed", "rows", removed)
	}
	conversations, failed := a.Chat.Forget(ctx, a.Config.ConversationRetention.Duration())
	if conversations > 0 {
		a.Log.InfoContext(ctx, "expired conversations removed", "conversations", conversations)
	}
	if kept := a.Config.AuditRetention.Duration(); kept > 0 {
		entries, failed := audit.Sweep(ctx, a.DB.Ent, a.now().Add(-kept))
		if entries > 0 {
			a.Log.InfoContext(ctx, "expired audit log removed", "entries", entries)
		}
		err = errors.Join(err, failed)
	}
	swept, expired := a.Events.Sweep(ctx)
	if swept != (inbox.Swept{}) {
		a.Log.InfoContext(ctx, "expired events removed", "payloads", swept.Payloads, "events", swept.Events)
	}
	err = errors.Join(err, expired)
	runs, expired := a.Automations.Sweep(ctx)
	if runs > 0 {
		a.Log.InfoContext(ctx, "expired runs of automations removed", "runs", runs)
	}
	err = errors.Join(err, expired)
	indexes := a.BuildIndexes(ctx)
	if errors.Is(indexes, index.ErrBuilding) {
		indexes = nil // another worker builds them
	}
	return errors.Join(err, failed, a.removeExpired(ctx), indexes)
}

// Limits of the deleted documents that one call of removeExpired purges.
const (
	purgeBatch   = 200
	purgeBatches = 50
)

// removeExpired removes old jobs and plans, and purges deleted documents that can no
// longer be restored.
func (a *App) removeExpired(ctx context.Context) error {
	jobs, err := a.Jobs.Trim(viewer.With(ctx, viewer.System(uuid.Nil)), a.Config.SyncHistoryRetention.Duration())
	if jobs > 0 {
		a.Log.InfoContext(ctx, "expired sync jobs removed", "jobs", jobs)
	}
	kept := a.Config.DeletedRetention.Duration()
	if kept <= 0 || err != nil {
		return err
	}
	purged := 0
	for range purgeBatches {
		n, err := a.Index.PurgeDeleted(ctx, a.now().Add(-kept), purgeBatch)
		if purged += n; err != nil || n == 0 {
			if purged > 0 {
				a.Log.InfoContext(ctx, "deleted documents purged", "documents", purged)
			}
			return err
		}
	}
	return nil // the next call continues
}

// maxUnindexed is the size in passages up to which a collection is loaded in the seconds
// that a search waits for it (resident.CacheOptions.MaxWaitUnindexed), and PostgreSQL can
// scan it in time if it is not.
const maxUnindexed = 150_000

// BuildIndexes builds the missing search indexes of large collections, one after the
// other. It connects as the owner when there is an index to build. It returns
// index.ErrBuilding while another process builds them.
//
// Indexes are most of the cost of storing a passage. Therefore collections of up to
// an eighth of SEARCH_MEMORY have none while all of them together need at most three
// quarters of it: they are searched in memory, into which they are loaded in seconds.
// Larger ones than maxUnindexed have indexes whatever the memory.
func (a *App) BuildIndexes(ctx context.Context) error {
	fit := int64(a.Config.SearchMemory) / resident.TypicalPassageBytes
	var owner *pgx.Conn
	for last := uuid.Nil; ; {
		collection, found, err := a.Index.NextIndexes(ctx, min(fit/8, maxUnindexed), fit/4*3)
		if err != nil || !found || collection == last {
			return err
		}
		last = collection
		if owner == nil {
			if owner, err = pgx.Connect(ctx, a.Config.OwnerURL()); err != nil {
				return fmt.Errorf("build search indexes: connect as the owner (MIGRATE_DATABASE_URL): %w", err)
			}
			defer func() { _ = owner.Close(context.WithoutCancel(ctx)) }()
		}
		start := time.Now()
		if err := index.BuildIndexes(ctx, owner, collection); err != nil {
			return err
		}
		a.Log.InfoContext(ctx, "search indexes built", "collection", collection, "took", time.Since(start))
	}
}
