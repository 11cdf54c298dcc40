package syncjob

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"magpie/ent"
	entjob "magpie/ent/syncjob"
	"magpie/internal/apierr"
	"magpie/internal/transaction"
	"magpie/worker/tasks"
)

const (
	maxFilterPaths = 10_000
	maxPathBytes   = 1024
	startTries     = 5
	enqueueLimit   = 3 * time.Second
)

// StartOptions say what kind of sync is wanted.
type StartOptions struct {
	// Mode is auto when empty.
	Mode entjob.Mode
	// ForceFull is the old name of the mode full and wins over Mode.
	ForceFull bool
	// FileFilter names the paths to sync: required with incremental, makes an
	// auto sync look at these only, and is ignored with full.
	FileFilter []string
	// Cause is manual when empty.
	Cause entjob.Cause
	// Warnings are those that the job begins with.
	Warnings []string
}

// ParseMode reads a mode as the interface writes it: full, incremental or
// auto, in any letter case; empty is auto. Anything else is an invalid sync_mode.
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
	if o.Mode == entjob.ModeFull || o.Mode == entjob.ModePermissions {
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

// Start queues a sync of a connector the viewer may see. While a sync of it is
// open that job is answered instead, whatever its mode; a refresh of permissions
// takes the place of no sync, nor a sync of a refresh, nor any job of a retry
// or of what a webhook told, so that these are a conflict. Inside an ent
// transaction the row is part of it and the task follows the commit; a task
// that cannot be queued is no error, since the sweeper finds the row. The
// errors are apierr: not_found, invalid_request, and conflict for a connector
// that is disabled or paused.
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
	case !connector.Enabled:
		return nil, apierr.New(apierr.Conflict, "The connector is disabled; enable it before you sync it.")
	case rests(connector):
		return nil, apierr.New(apierr.Conflict, "The connector is paused; resume it before you sync it.")
	}
	for range startTries {
		open, err := openJob(ctx, client, connectorID)
		if err != nil {
			return nil, err
		}
		if open != nil {
			return joined(open, o)
		}
		created, err := j.insert(ctx, client, connector, o)
		if err != nil {
			return nil, err
		}
		if created != nil {
			transaction.AfterCommit(ctx, func(ctx context.Context) {
				j.enqueue(ctx, created)
				j.publish(ctx, Event{Snapshot: SnapshotOf(created)})
			})
			return created, nil
		}
	}
	return nil, apierr.New(apierr.Conflict, "Other syncs of this connector start and end at the moment; try again.")
}

// openJob returns the connector's open job, or nil when there is none.
func openJob(ctx context.Context, client *ent.Client, connectorID uuid.UUID) (*ent.SyncJob, error) {
	rows, err := client.SyncJob.Query().
		Where(entjob.ConnectorID(connectorID), entjob.StatusIn(openStatuses()...)).
		Limit(1).All(ctx)
	if err != nil {
		return nil, apierr.Wrap("look for an open sync job", err)
	}
	if len(rows) == 0 {
		return nil, nil //nolint:nilnil // "none" is an ordinary answer here, not a failed look-up
	}
	return rows[0], nil
}

// joined answers with the open job where it does what is wanted.
func joined(open *ent.SyncJob, o StartOptions) (*ent.SyncJob, error) {
	switch refreshing := open.Mode == entjob.ModePermissions; {
	case refreshing && o.Mode != entjob.ModePermissions:
		return nil, apierr.New(apierr.Conflict, "The connector's permissions are being refreshed; try again when that job has ended.")
	case !refreshing && o.Mode == entjob.ModePermissions, o.Cause == entjob.CauseRetry, o.Cause == entjob.CauseWebhook:
		return nil, apierr.New(apierr.Conflict, "The connector is being synced; try again when that job has ended.")
	default:
		return open, nil
	}
}

// insert writes the row, or returns nil when another one was faster. A conflict
// is no error to the database: an error would spoil the caller's transaction.
func (j *Jobs) insert(ctx context.Context, client *ent.Client, connector *ent.Connector, o StartOptions) (*ent.SyncJob, error) {
	now := j.now()
	create := client.SyncJob.Create().
		SetConnectorID(connector.ID).
		SetWorkspaceID(connector.WorkspaceID).
		SetMode(o.Mode).
		SetCause(o.Cause).
		SetWarnings(append([]string{}, o.Warnings...)).
		SetHeartbeatAt(now).
		SetTurnAt(now).
		SetCreatedAt(now).
		SetUpdatedAt(now)
	if len(o.FileFilter) > 0 {
		create.SetFileFilter(slices.Clone(o.FileFilter))
	}
	create.OnConflict(entsql.DoNothing())
	row, err := create.Save(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil //nolint:nilnil // another job was faster
	case err != nil:
		return nil, apierr.Wrap("write the sync job", err)
	}
	return row, nil
}

// enqueue nudges a worker. Its failure is only logged: the row is there, and
// the sweeper looks for rows without a task.
func (j *Jobs) enqueue(ctx context.Context, row *ent.SyncJob) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), enqueueLimit)
	defer cancel()
	if err := j.queue.Enqueue(ctx, tasks.Sync{JobID: row.ID, Attempt: row.Attempt}); err != nil {
		j.log.WarnContext(ctx, "a sync job could not be put into the queue; the sweeper will", "job", row.ID, "error", err)
	}
}
