package syncjob

import (
	"context"
	"fmt"
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

// StartOptions say what kind of sync is wanted.
type StartOptions struct {
	// Mode is auto when empty.
	Mode entjob.Mode
	// ForceFull is the old name of the mode full and wins over Mode.
	ForceFull bool
	// FileFilter names the paths to sync: required with incremental, makes an
	// auto sync look at these only, and is ignored with full.
	FileFilter []string
	// Plan finds out what such a sync would do.
	Plan bool
	// Target is the job whose deletions a restore undoes.
	Target uuid.UUID
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

// Syncs reports whether a job of the mode is a sync, and no plan of one, refresh
// of permissions, deletion or restoration.
func Syncs(m entjob.Mode) bool {
	return m == entjob.ModeAuto || m == entjob.ModeFull || m == entjob.ModeIncremental
}

// needsSource reports whether a job of the mode asks the source.
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

// Start queues a sync of a connector the viewer may see. While a sync of it is
// open that job is answered instead, whatever its mode. Jobs of other kinds
// (plans, refreshes of permissions, deletions, restorations) take the place of
// equal ones only, and nothing that of a retry or of what a webhook told:
// everything else is a conflict. Inside an ent
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
	case !connector.Enabled && needsSource(o.Mode):
		return nil, apierr.New(apierr.Conflict, "The connector is disabled; enable it before you sync it.")
	case rests(connector):
		return nil, apierr.New(apierr.Conflict, "The connector is paused; resume it before you sync it.")
	}
	var job *ent.SyncJob
	err = transaction.In(ctx, j.client, func(ctx context.Context, client *ent.Client) error {
		// A connector has one open job at most. The lock keeps two starts from both
		// finding none.
		if _, err := client.ExecContext(ctx, "select pg_advisory_xact_lock(hashtextextended($1, 0))", "sync job "+connectorID.String()); err != nil {
			return apierr.Wrap("lock the jobs of the connector", err)
		}
		open, err := openJob(ctx, client, connectorID)
		if err != nil {
			return err
		}
		if open != nil {
			job, err = joined(open, o)
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
	if o.Cause != entjob.CauseRetry && o.Cause != entjob.CauseWebhook && o.equals(open) {
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

// equals reports whether an open job does what is wanted; a sync does for any
// other one.
func (o StartOptions) equals(open *ent.SyncJob) bool {
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

// mode is that of the job.
func (o StartOptions) mode() entjob.Mode {
	if o.Plan {
		return entjob.ModePlan
	}
	return o.Mode
}

// enqueue nudges a worker. Its failure is only logged: the row is there, and
// the sweeper looks for rows without a task.
func (j *Jobs) enqueue(ctx context.Context, row *ent.SyncJob) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), enqueueLimit)
	defer cancel()
	if err := j.queue.Enqueue(ctx, queue.Sync{JobID: row.ID, Attempt: row.Attempt}); err != nil {
		j.log.WarnContext(ctx, "a sync job could not be put into the queue; the sweeper will", "job", row.ID, "error", err)
	}
}
