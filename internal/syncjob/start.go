package syncjob

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

const (
	maxFilterPaths = 10_000
	maxPathBytes   = 1024
	enqueueLimit   = 3 * time.Second
)

// StartOptions describe the job to start.
type StartOptions struct {
	// Mode is auto if empty.
	Mode entjob.Mode
	// ForceFull is the old form of the mode full. It overrides Mode.
	ForceFull bool
	// FileFilter has the paths to sync. It is required with the mode incremental,
	// optional with auto, and ignored with full.
	FileFilter []string
	// Plan makes the job a plan of such a sync.
	Plan bool
	// Target is the job whose deletions a restoration restores.
	Target uuid.UUID
	// Cause is manual if empty.
	Cause entjob.Cause
	// Warnings are the first warnings of the job.
	Warnings []string
}

// ParseMode parses a mode of the API: full, incremental or auto, ignoring case; empty
// means auto. The error is an invalid sync_mode.
func ParseMode(text string) (entjob.Mode, error) {
	switch mode := entjob.Mode(strings.ToUpper(text)); mode {
	case "":
		return entjob.ModeAuto, nil
	case entjob.ModeAuto, entjob.ModeFull, entjob.ModeIncremental:
		return mode, nil
	default:
		return "", apierr.Invalid("sync_mode", "must be full, incremental or auto")
	}
}

// Syncs reports whether a job of a mode is a sync, and not a plan, a refresh of
// permissions, a deletion or a restoration.
func Syncs(m entjob.Mode) bool {
	return m == entjob.ModeAuto || m == entjob.ModeFull || m == entjob.ModeIncremental
}

// needsSource reports whether a job of a mode reads the source.
func needsSource(m entjob.Mode) bool { return m != entjob.ModeDelete && m != entjob.ModeRestore }

// resolve applies the rules of the modes.
func (o StartOptions) resolve() (StartOptions, error) {
	if o.Mode == "" {
		o.Mode = entjob.ModeAuto
	}
	if err := entjob.ModeValidator(o.Mode); err != nil {
		return o, apierr.Invalid("sync_mode", "must be full, incremental or auto")
	}
	if o.Cause == "" {
		o.Cause = entjob.CauseManual
	}
	if o.ForceFull {
		o.Mode = entjob.ModeFull
	}
	if o.Mode == entjob.ModeFull || !Syncs(o.Mode) {
		o.FileFilter = nil
		return o, nil
	}
	filter, err := cleanFilter(o.FileFilter)
	if err != nil {
		return o, err
	}
	if o.Mode == entjob.ModeIncremental && len(filter) == 0 {
		return o, apierr.Invalid("file_filter", "an incremental sync needs the paths to look at; name some, or use the mode auto")
	}
	o.FileFilter = filter
	return o, nil
}

func cleanFilter(paths []string) ([]string, error) {
	if len(paths) > maxFilterPaths {
		return nil, apierr.Invalid("file_filter", fmt.Sprintf("has %d paths, at most %d are allowed; use the mode auto without a filter instead", len(paths), maxFilterPaths))
	}
	var filter []string
	seen := make(map[string]bool, len(paths))
	for at, path := range paths {
		path = strings.TrimLeft(path, "/")
		switch {
		case path == "":
			return nil, apierr.Invalid("file_filter", fmt.Sprintf("path %d is empty", at+1))
		case len(path) > maxPathBytes:
			return nil, apierr.Invalid("file_filter", fmt.Sprintf("path %d is longer than %d bytes", at+1, maxPathBytes))
		case !utf8.ValidString(path) || strings.ContainsRune(path, 0):
			return nil, apierr.Invalid("file_filter", fmt.Sprintf("path %d is no proper text", at+1))
		}
		if !seen[path] {
			seen[path] = true
			filter = append(filter, path)
		}
	}
	return filter, nil
}

// Start queues a job of a connector that the viewer may see. A connector has one
// open job at most: while a sync is open, Start returns it in place of another
// sync, whatever the mode. An open job of another kind is returned only for an
// equal one. Jobs for retries and webhooks never join an open job. Everything else
// is a conflict, as is a connector that is disabled or paused. The task is queued
// after the commit. If that fails, the sweeper queues it. The errors are apierr.
func (j *Jobs) Start(ctx context.Context, connectorID uuid.UUID, o StartOptions) (*ent.SyncJob, error) {
	o, err := o.resolve()
	if err != nil {
		return nil, err
	}
	client := transaction.Client(ctx, j.client)
	connector, err := client.Connector.Get(ctx, connectorID)
	switch {
	case ent.IsNotFound(err):
		return nil, apierr.NotFound("Connector")
	case err != nil:
		return nil, apierr.Wrap("read the connector to sync", err)
	case !connector.Enabled && needsSource(o.Mode):
		return nil, apierr.New(apierr.Conflict, "The connector is disabled; enable it before you sync it.")
	case isSuspended(connector):
		return nil, apierr.New(apierr.Conflict, "The connector is paused; resume it before you sync it.")
	}
	var job *ent.SyncJob
	err = transaction.In(ctx, j.client, func(ctx context.Context, client *ent.Client) error {
		// A connector has one open job at most. The lock keeps two starts from both
		// finding none.
		if _, err := client.ExecContext(ctx, "select pg_advisory_xact_lock(hashtextextended($1, 0))", "sync job "+connectorID.String()); err != nil {
			return apierr.Wrap("lock the jobs of the connector", err)
		}
		open, ok, err := openJob(ctx, client, connectorID)
		if err != nil {
			return err
		}
		if ok {
			job, err = joinOpen(open, o)
			return err
		}
		job, err = j.insert(ctx, client, connector, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return transaction.Detach(ctx, job), nil
}

// openJob returns the open job of a connector; ok is false if there is none.
func openJob(ctx context.Context, client *ent.Client, connectorID uuid.UUID) (job *ent.SyncJob, ok bool, err error) {
	rows, err := client.SyncJob.Query().
		Where(entjob.ConnectorID(connectorID), entjob.StatusIn(openStatuses()...)).
		Limit(1).All(ctx)
	if err != nil || len(rows) == 0 {
		return nil, false, apierr.Wrap("look for an open sync job", err)
	}
	return rows[0], true, nil
}

// joinOpen returns the open job if it does what o asks for, and a conflict
// otherwise.
func joinOpen(open *ent.SyncJob, o StartOptions) (*ent.SyncJob, error) {
	if o.Cause != entjob.CauseRetry && o.Cause != entjob.CauseWebhook && o.sameAs(open) {
		return open, nil
	}
	var what string
	switch open.Mode {
	case entjob.ModePermissions:
		what = "The connector's permissions are being refreshed"
	case entjob.ModePlan:
		what = "A sync of the connector is being planned"
	case entjob.ModeDelete:
		what = "Documents of the connector are being deleted"
	case entjob.ModeRestore:
		what = "Documents of the connector are being restored"
	default:
		what = "The connector is being synced"
	}
	return nil, apierr.New(apierr.Conflict, what+"; try again when that job has ended.")
}

// sameAs reports whether an open job does what o asks for. Any open sync does for a
// sync.
func (o StartOptions) sameAs(open *ent.SyncJob) bool {
	switch {
	case Syncs(open.Mode):
		return Syncs(o.Mode) && !o.Plan
	case open.Mode == entjob.ModePlan:
		return o.Plan && open.PlannedMode != nil && string(*open.PlannedMode) == string(o.Mode) && slices.Equal(open.FileFilter, o.FileFilter)
	case open.Mode == entjob.ModeRestore:
		return o.Mode == open.Mode && open.TargetJobID != nil && *open.TargetJobID == o.Target
	default:
		return o.Mode == open.Mode
	}
}

// insert stores a job. A worker gets its task after the commit.
func (j *Jobs) insert(ctx context.Context, client *ent.Client, connector *ent.Connector, o StartOptions) (*ent.SyncJob, error) {
	now := j.now()
	create := client.SyncJob.Create().
		SetConnectorID(connector.ID).
		SetWorkspaceID(connector.WorkspaceID).
		SetMode(o.mode()).
		SetCause(o.Cause).
		SetWarnings(append([]string{}, o.Warnings...)).
		SetHeartbeatAt(now).
		SetTurnAt(now).
		SetCreatedAt(now).
		SetUpdatedAt(now)
	if len(o.FileFilter) > 0 {
		create.SetFileFilter(slices.Clone(o.FileFilter))
	}
	if o.Plan {
		create.SetPlannedMode(entjob.PlannedMode(o.Mode))
	}
	if o.Target != uuid.Nil {
		create.SetTargetJobID(o.Target)
	}
	row, err := create.Save(ctx)
	if err != nil {
		return nil, apierr.Wrap("write the sync job", err)
	}
	transaction.AfterCommit(ctx, func(ctx context.Context) {
		j.enqueue(ctx, row)
		j.publish(ctx, Event{Snapshot: SnapshotOf(row)})
	})
	return row, nil
}

// mode returns the mode of the job.
func (o StartOptions) mode() entjob.Mode {
	if o.Plan {
		return entjob.ModePlan
	}
	return o.Mode
}

// enqueue queues the task of a job. A failure is only logged, since the sweeper
// finds jobs without a task.
func (j *Jobs) enqueue(ctx context.Context, row *ent.SyncJob) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), enqueueLimit)
	defer cancel()
	if err := j.queue.Enqueue(ctx, queue.Sync{JobID: row.ID, Attempt: row.Attempt}); err != nil {
		j.log.WarnContext(ctx, "sync job not queued, left to the sweeper", slog.Any("job", row.ID), slog.Any("error", err))
	}
}
