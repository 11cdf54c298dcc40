package sourcefile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	entconnector "github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/document"
	entfile "github.com/magpie-search/magpie/ent/sourcefile"
	"github.com/magpie-search/magpie/ent/syncitem"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/ingest/entryid"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	maxDeletions = 10_000
	// deletionBatch bounds what one statement names.
	deletionBatch = 1000
)

// Delete deletes the files at paths from a connector that the viewer may change.
// Their documents and ledger entries are marked as deleted in the same
// transaction; their contents are deleted after it. Delete returns the paths that
// had a file, sorted. Other paths are no error, and their documents are deleted
// too.
func (f *Files) Delete(ctx context.Context, connectorID uuid.UUID, paths []string) ([]string, error) {
	switch {
	case len(paths) == 0:
		return nil, apierr.Invalid("paths", "must name at least one file")
	case len(paths) > maxDeletions:
		return nil, apierr.Invalid("paths", fmt.Sprintf("has %d files, at most %d can be deleted at once", len(paths), maxDeletions))
	}
	for _, path := range paths {
		if err := CheckPath(path); err != nil {
			return nil, err
		}
	}
	connector, err := f.connector(ctx, connectorID)
	if err != nil {
		return nil, err
	}
	paths = slices.Compact(slices.Sorted(slices.Values(paths)))
	deleted, keys := []string{}, []string{}
	err = transaction.In(ctx, f.client, func(ctx context.Context, client *ent.Client) error {
		var documents []uuid.UUID
		for batch := range slices.Chunk(paths, deletionBatch) {
			rows, err := client.SourceFile.Query().
				Where(entfile.ConnectorID(connector.ID), entfile.PathIn(batch...)).
				Order(ent.Asc(entfile.FieldPath)).
				ForUpdate().All(ctx)
			if err != nil {
				return apierr.Wrap("look for the files to delete", err)
			}
			ids := make([]uuid.UUID, len(rows))
			for i, row := range rows {
				ids[i] = row.ID
				deleted, keys = append(deleted, row.Path), append(keys, row.BlobKey)
			}
			if _, err := client.SourceFile.Delete().Where(entfile.IDIn(ids...)).Exec(ctx); err != nil {
				return apierr.Wrap("delete files", err)
			}
			// index.Store locks documents before ledger entries, too.
			found, err := client.Document.Query().
				Where(document.ConnectorID(connector.ID), document.Or(document.SourceIDIn(batch...), entryid.InArchives(batch...)), document.StatusNEQ(document.StatusDeleted)).
				Order(ent.Asc(document.FieldID)).
				ForUpdate().IDs(ctx)
			if err != nil {
				return apierr.Wrap("look for the documents of deleted files", err)
			}
			documents = append(documents, found...)
			err = client.SyncItem.Update().
				Where(syncitem.ConnectorID(connector.ID), syncitem.Or(syncitem.SourceIDIn(batch...), entryid.InArchives(batch...)), syncitem.StatusNEQ(syncitem.StatusDeleted)).
				SetStatus(syncitem.StatusDeleted).SetReason("the file was deleted").SetRetryable(false).
				Exec(ctx)
			if err != nil {
				return apierr.Wrap("mark files as deleted in the ledger", err)
			}
		}
		transaction.AfterCommit(ctx, func(ctx context.Context) { f.logFailure(ctx, f.DeleteBlobs(ctx, keys)) })
		return f.deleteDocuments(ctx, connector, documents)
	})
	if err != nil {
		return nil, apierr.Wrap("delete files", err)
	}
	slices.Sort(deleted)
	return deleted, nil
}

// deleteDocuments deletes documents from the index, in the transaction of ctx.
func (f *Files) deleteDocuments(ctx context.Context, connector *ent.Connector, documents []uuid.UUID) error {
	if len(documents) == 0 {
		return nil
	}
	scope, err := viewer.System(connector.WorkspaceID).Scope()
	if err != nil {
		return apierr.Wrap("delete the documents of files", err)
	}
	if scope, err = scope.Narrow(connector.CollectionID); err != nil {
		return apierr.Wrap("delete the documents of files", err)
	}
	if _, err := f.documents(ctx, scope, documents); err != nil {
		return apierr.Wrap("delete the documents of files", err)
	}
	return nil
}

// WorkspaceBlobKeys returns the blob keys of all files in a workspace, for
// DeleteBlobs after the workspace has been deleted. It ignores the viewer.
func (f *Files) WorkspaceBlobKeys(ctx context.Context, workspace uuid.UUID) ([]string, error) {
	client := transaction.Client(ctx, f.client)
	var keys []string
	err := client.SourceFile.Query().
		Where(entfile.WorkspaceID(workspace)).
		Select(entfile.FieldBlobKey).Scan(viewer.With(ctx, viewer.System(uuid.Nil)), &keys)
	return keys, apierr.Wrap("list the blobs of a workspace", err)
}

// DeleteBlobs deletes the contents of files whose rows have been deleted. It tries
// all keys, also after the context has ended, and returns all failures.
func (f *Files) DeleteBlobs(ctx context.Context, keys []string) error {
	var failures []error
	for _, key := range keys {
		one, cancel := cleanupContext(ctx)
		if err := f.blobs.Delete(one, key); err != nil {
			failures = append(failures, fmt.Errorf("delete the blob %s: %w", key, err))
		}
		cancel()
	}
	return errors.Join(failures...)
}

// Purge deletes up to limit files of a connector that is marked as deleted, and
// returns how many. It deletes contents before rows, so that it finds them again
// after a failure. Purge is for workers and ignores the viewer.
func (f *Files) Purge(ctx context.Context, connectorID uuid.UUID, limit int) (int, error) {
	ctx = viewer.With(ctx, viewer.System(uuid.Nil))
	rows, err := f.client.SourceFile.Query().
		Where(entfile.ConnectorID(connectorID), entfile.HasConnectorWith(entconnector.DeletingAtNotNil())).
		Limit(limit).Select(entfile.FieldID, entfile.FieldBlobKey).All(ctx)
	if err != nil {
		return 0, fmt.Errorf("list the files of a connector: %w", err)
	}
	ids, keys := make([]uuid.UUID, len(rows)), make([]string, len(rows))
	for i, row := range rows {
		ids[i], keys[i] = row.ID, row.BlobKey
	}
	if err := f.DeleteBlobs(ctx, keys); err != nil {
		return 0, err
	}
	n, err := f.client.SourceFile.Delete().Where(entfile.IDIn(ids...)).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("delete the files of a connector: %w", err)
	}
	return n, nil
}
