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

// Concurrency is how many tasks a worker of this process runs at once.
func (a *App) Concurrency() int {
	if a.Config.WorkerConcurrency > 0 {
		return a.Config.WorkerConcurrency
	}
	return max(2, runtime.GOMAXPROCS(0))
}

// Worker makes the worker side of the application; its Run may be called once.
func (a *App) Worker() *worker.Worker {
	window := a.Config.IdempotencyWindow
	if window == 0 {
		window = -1 // to the engine 0 is its default
	}
	dispatcher := inbound.NewDispatcher(a.DB.Pool, a.Jobs, inbound.Options{Now: a.now, Log: a.Log})
	engine := syncer.New(a.DB.Ent, a.Jobs, a.Kinds, a.Secrets, a.Models, a.Index, a.Parser, syncer.Options{
		MaxBytes: int64(a.Config.UploadLimit), Window: window, Log: a.Log, Now: a.now, Grants: a.Grants, States: state.New(a.DB.Pool), Deliveries: dispatcher,
		Pacer: a.Pacer, Schemas: attached.NewCatalog(a.DB.Pool, a.now), Groups: a.Principals, ReadersEvery: a.Config.PermissionsRefresh,
		Ingest: ingest.Options{Limits: document.Limits{MaxBytes: int(a.Config.UploadLimit)}},
	})
	vectors := reembed.New(a.Index, a.Models, reembed.Options{Now: a.now, Log: a.Log})
	hooks := subscribe.New(a.DB.Ent, a.DB.Pool, a.Kinds, a.Secrets, engine, subscribe.Options{BaseURL: a.Config.PublicURL(), Now: a.now, Log: a.Log})
	return worker.New(a.Redis, a.Jobs, engine, vectors, worker.Options{
		Concurrency: a.Concurrency(), Shutdown: a.Config.ShutdownTimeout, Stale: a.Config.WorkerLostAfter, Log: a.Log,
		Maintain: a.maintain, Purge: purge.New(a.Index, a.Files, purge.Options{Hooks: hooks, Now: a.now, Log: a.Log}), Permissions: engine,
		Inbound: dispatcher, Subscriptions: hooks,
	})
}

// maintain forgets what the query log, the audit log, conversations, the history of
// syncs and deleted documents have kept long enough, and looks after the search indexes.
func (a *App) maintain(ctx context.Context) error {
	swept, err := a.analytics.Sweep(ctx)
	if swept > 0 {
		a.Log.InfoContext(ctx, "old rows of the query log were removed", "rows", swept)
	}
	forgotten, failed := a.Chat.Forget(ctx, a.Config.ConversationRetention.Duration())
	if forgotten > 0 {
		a.Log.InfoContext(ctx, "old conversations were removed", "conversations", forgotten)
	}
	if kept := a.Config.AuditRetention.Duration(); kept > 0 {
		trimmed, failed := audit.Sweep(ctx, a.DB.Ent, a.now().Add(-kept))
		if trimmed > 0 {
			a.Log.InfoContext(ctx, "old entries of the audit log were removed", "entries", trimmed)
		}
		err = errors.Join(err, failed)
	}
	indexes := a.BuildIndexes(ctx)
	if errors.Is(indexes, index.ErrBuilding) {
		indexes = nil // another worker is at it
	}
	return errors.Join(err, failed, a.trim(ctx), indexes)
}

// purgeAtOnce bounds what one round of upkeep takes of deleted documents.
const (
	purgeAtOnce = 200
	purgeRounds = 50
)

// trim ends what can be restored no longer, and forgets old jobs and plans.
func (a *App) trim(ctx context.Context) error {
	jobs, err := a.Jobs.Trim(viewer.With(ctx, viewer.System(uuid.Nil)), a.Config.SyncHistoryRetention.Duration())
	if jobs > 0 {
		a.Log.InfoContext(ctx, "old plans and sync jobs were removed", "jobs", jobs)
	}
	kept := a.Config.DeletedRetention.Duration()
	if kept <= 0 || err != nil {
		return err
	}
	purged := 0
	for range purgeRounds {
		n, err := a.Index.PurgeDeleted(ctx, a.now().Add(-kept), purgeAtOnce)
		if purged += n; err != nil || n == 0 {
			if purged > 0 {
				a.Log.InfoContext(ctx, "documents that were deleted long ago were removed", "documents", purged)
			}
			return err
		}
	}
	return nil // the next round goes on
}

// BuildIndexes builds the indexes of large collections by which PostgreSQL
// searches them, one after the other. It needs the owner's login, and only
// connects with it when there is something to build. index.ErrBuilding is
// returned while another process is at it.
//
// Indexes are most of what storing a passage costs. So collections of up to an
// eighth of SEARCH_MEMORY have none while all together take no more than three
// quarters of it: they are searched in memory, which they fill in seconds.
func (a *App) BuildIndexes(ctx context.Context) error {
	fit := int64(a.Config.SearchMemory) / resident.UsualPassage
	var owner *pgx.Conn
	for last := uuid.Nil; ; {
		collection, wanted, err := a.Index.NextIndexes(ctx, fit/8, fit/4*3)
		if err != nil || !wanted || collection == last {
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
		a.Log.InfoContext(ctx, "the search indexes of a large collection were built", "collection", collection, "took", time.Since(start))
	}
}
