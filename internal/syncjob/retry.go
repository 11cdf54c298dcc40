package syncjob

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	entconnector "github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/predicate"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/ingest/entryid"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

// Retry starts an incremental sync of items of a connector: the items with ids,
// whatever their outcome, or all failed items if ids is nil. An incremental sync
// takes 10,000 paths; if there are more, the job has a warning. The errors are
// those of Start, not_found for an id that is not in the ledger, invalid_request
// for an item that was deleted by hand, and a conflict if there is nothing to
// retry.
func (j *Jobs) Retry(ctx context.Context, connectorID uuid.UUID, ids []uuid.UUID) (*ent.SyncJob, error) {
	if ids != nil && len(ids) == 0 {
		return nil, apierr.Invalid("ids", "must name at least one item; leave it out for all that failed")
	}
	if len(ids) > maxFilterPaths {
		return nil, apierr.Invalid("ids", fmt.Sprintf("has %d items, at most %d are allowed; leave it out for all that failed", len(ids), maxFilterPaths))
	}
	client := transaction.Client(ctx, j.client)
	if err := connectorExists(ctx, client, connectorID); err != nil {
		return nil, err
	}
	var selected predicate.SyncItem
	wanted := make(map[uuid.UUID]bool, len(ids))
	if ids == nil {
		selected = syncitem.And(syncitem.StatusEQ(syncitem.StatusFailed), syncitem.Suppressed(false))
	} else {
		selected = syncitem.IDIn(ids...)
		for _, id := range ids {
			wanted[id] = true
		}
	}
	rows, err := client.SyncItem.Query().Where(syncitem.ConnectorID(connectorID), selected).
		Order(syncitem.ByPath(), syncitem.ByID()).Limit(maxFilterPaths+1).
		Select(syncitem.FieldID, syncitem.FieldSourceID, syncitem.FieldPath, syncitem.FieldSuppressed).All(ctx)
	switch {
	case err != nil:
		return nil, apierr.Wrap("look for the items to retry", err)
	case len(rows) < len(wanted):
		return nil, apierr.NotFound("Item")
	case len(rows) == 0:
		return nil, apierr.New(apierr.Conflict, "No item has failed; there is nothing to retry.")
	}
	o := StartOptions{Mode: entjob.ModeIncremental, Cause: entjob.CauseRetry}
	if len(rows) > maxFilterPaths {
		rows = rows[:maxFilterPaths]
		o.Warnings = []string{fmt.Sprintf("More items failed than one retry takes: these are the first %d.", maxFilterPaths)}
	}
	if o.FileFilter, err = pathsOf(ctx, client, connectorID, rows); err != nil {
		return nil, err
	}
	return j.Start(ctx, connectorID, o)
}

// pathsOf returns the paths at the source of ledger entries. The path of an archive
// entry is that of its archive.
func pathsOf(ctx context.Context, client *ent.Client, connectorID uuid.UUID, rows []*ent.SyncItem) ([]string, error) {
	seen := make(map[string]bool, len(rows))
	var paths, archives []string
	add := func(list *[]string, text string) {
		if !seen[text] {
			seen[text] = true
			*list = append(*list, text)
		}
	}
	for _, row := range rows {
		if row.Suppressed {
			return nil, apierr.Invalid("ids", fmt.Sprintf("%q was deleted by hand; allow it first", row.Path))
		}
		if key, inside := entryid.Archive(row.SourceID); inside {
			add(&archives, key)
		} else {
			add(&paths, row.Path)
		}
	}
	if len(archives) == 0 {
		return paths, nil
	}
	found, err := client.SyncItem.Query().Where(syncitem.ConnectorID(connectorID), syncitem.SourceIDIn(archives...)).
		Select(syncitem.FieldPath).All(ctx)
	if err != nil {
		return nil, apierr.Wrap("look for the archives to retry", err)
	}
	for _, row := range found {
		add(&paths, row.Path)
	}
	if len(paths) == 0 {
		return nil, apierr.New(apierr.Conflict, "The archives of these items are not known any more; sync the connector as a whole.")
	}
	return paths, nil
}

// Allow lets the next sync index an item again that was deleted by hand. Other
// items are returned unchanged. If connectorID is not nil, the item must be one of
// that connector.
func (j *Jobs) Allow(ctx context.Context, itemID uuid.UUID, connectorID *uuid.UUID) (*ent.SyncItem, error) {
	client := transaction.Client(ctx, j.client)
	query := client.SyncItem.Query().Where(syncitem.ID(itemID))
	if connectorID != nil {
		query.Where(syncitem.ConnectorID(*connectorID))
	}
	row, err := query.Only(ctx)
	switch {
	case ent.IsNotFound(err):
		return nil, apierr.NotFound("Item")
	case err != nil:
		return nil, apierr.Wrap("read an item", err)
	}
	update := row.Update().SetSuppressed(false)
	if row.Suppressed {
		// A sync that reads changes looks for items that wait.
		update.SetReason("allowed again; the next sync takes it").SetWaitingSince(j.now())
	}
	if row, err = update.Save(ctx); err != nil {
		return nil, apierr.Wrap("let an item be synced again", err)
	}
	return row, nil
}

func connectorExists(ctx context.Context, client *ent.Client, id uuid.UUID) error {
	exists, err := client.Connector.Query().Where(entconnector.ID(id)).Exist(ctx)
	switch {
	case err != nil:
		return apierr.Wrap("look for the connector", err)
	case !exists:
		return apierr.NotFound("Connector")
	}
	return nil
}
