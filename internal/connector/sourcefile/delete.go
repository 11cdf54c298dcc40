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
	"github.com/magpie-search/magpie/internal/ingest/member"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	maxDeletions = 10_000
	// deletionBatch bounds what one statement names.
	deletionBatch = 1000
)

// Delete removes the files at these paths from a connector that the viewer may
// change, with their documents and what the ledger says of them, in one
// transaction; contents are deleted once that has committed. It returns the paths
// that had a file, sorted. Paths without one are no error: a document that is
// left of one goes too.
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
	err = f.inTransaction(ctx, step{do: func(ctx context.Context, client *ent.Client) error {
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
			// Documents are locked before their lines, as whoever stores them does.
			found, err := client.Document.Query().
				Where(document.ConnectorID(connector.ID), document.Or(document.SourceIDIn(batch...), member.Of(batch...)), document.StatusNEQ(document.StatusDeleted)).
				Order(ent.Asc(document.FieldID)).
				ForUpdate().IDs(ctx)
			if err != nil {
				return apierr.Wrap("look for the documents of deleted files", err)
			}
			documents = append(documents, found...)
			err = client.SyncItem.Update().
				Where(syncitem.ConnectorID(connector.ID), syncitem.Or(syncitem.SourceIDIn(batch...), member.Of(batch...)), syncitem.StatusNEQ(syncitem.StatusDeleted)).
				SetStatus(syncitem.StatusDeleted).SetReason("the file was deleted").SetRetryable(false).
				Exec(ctx)
			if err != nil {
				return apierr.Wrap("note deleted files in the ledger", err)
			}
		}
		return f.forget(ctx, connector, documents)
	}, after: func(ctx context.Context) error { return f.DeleteBlobs(ctx, keys) }})
	if err != nil {
		return nil, err
	}
	slices.Sort(deleted)
	return deleted, nil
}

// forget takes the documents out of the index, in the transaction of ctx.
func (f *Files) forget(ctx context.Context, connector *ent.Connector, documents []uuid.UUID) error {
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

// BlobKeys returns the keys of all files of connectors that the viewer may see,
// for DeleteBlobs once the connectors are gone.
func (f *Files) BlobKeys(ctx context.Context, connectorIDs ...uuid.UUID) ([]string, error) {
	if len(connectorIDs) == 0 {
		return nil, nil
	}
	client := transaction.Client(ctx, f.client)
	var keys []string
	err := client.SourceFile.Query().
		Where(entfile.ConnectorIDIn(connectorIDs...)).
		Select(entfile.FieldBlobKey).Scan(ctx, &keys)
	if err != nil {
		return nil, apierr.Wrap("list the blobs of connectors", err)
	}
	return keys, nil
}

// DeleteBlobs deletes the contents of files whose rows are gone. It goes on
// after a failure and returns all of them; the end of the caller's request does
// not stop it.
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

// Purge deletes up to limit files of a connector that is being deleted, their
// contents first, so that a deletion that is cut off finds them again. It says
// how many it was. It is for workers: no viewer is asked.
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
