package document

import (
	"context"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	entdocument "github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/syncitem"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/audit"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

// Delete deletes a document of a connector. Its ledger entry, which is changed in
// the same transaction, keeps later syncs from indexing it again.
func (d *Documents) Delete(ctx context.Context, id, connector uuid.UUID) error {
	if err := d.connectorExists(ctx, connector); err != nil {
		return err
	}
	row, err := d.Get(ctx, id, &connector)
	if err != nil {
		return err
	}
	scope, err := scopeOf(ctx, row)
	if err != nil {
		return err
	}
	err = transaction.In(ctx, d.o.Ent, func(ctx context.Context, client *ent.Client) error {
		if _, err := d.o.Index.SoftDeleteIn(ctx, client, scope, []uuid.UUID{id}); err != nil {
			return err
		}
		return client.SyncItem.Update().Where(syncitem.ConnectorID(connector), syncitem.SourceID(row.SourceID)).
			SetSuppressed(true).SetStatus(syncitem.StatusDeleted).SetReason("deleted by hand").ClearHold().ClearWaitingSince().Exec(ctx)
	})
	return apierr.Wrap("delete the document", err)
}

// errNotDeleted refuses to restore a document.
func errNotDeleted() error { return apierr.New(apierr.Conflict, "The document is not deleted.") }

// Restore restores a deleted document of a connector. Its ledger entry holds it,
// so that the next sync does not delete it again.
func (d *Documents) Restore(ctx context.Context, id, connector uuid.UUID) (*ent.Document, error) {
	if err := d.connectorExists(ctx, connector); err != nil {
		return nil, err
	}
	row, err := d.client(ctx).Document.Query().Where(entdocument.ID(id), entdocument.ConnectorID(connector)).Only(ctx)
	if err != nil {
		return nil, lookup.Error("Document", err)
	}
	if row.Status != entdocument.StatusDeleted {
		return nil, errNotDeleted()
	}
	scope, err := scopeOf(ctx, row)
	if err != nil {
		return nil, err
	}
	err = transaction.In(ctx, d.o.Ent, func(ctx context.Context, client *ent.Client) error {
		n, err := d.o.Index.RestoreIn(ctx, client, scope, []uuid.UUID{id})
		switch {
		case err != nil:
			return apierr.Wrap("restore the document", err)
		case n == 0:
			return errNotDeleted()
		}
		// The policy of ledger entries checks the role of the viewer.
		err = client.SyncItem.Update().Where(syncitem.ConnectorID(connector), syncitem.SourceID(row.SourceID)).
			SetSuppressed(false).SetHold(syncitem.HoldRestored).Exec(ctx)
		if err != nil {
			return err
		}
		return audit.Record(ctx, audit.ClientExec(client), audit.Event{
			Action: "document.restore", TargetKind: "document", TargetID: id, TargetName: row.Path,
		})
	})
	if err != nil {
		return nil, err
	}
	return d.client(ctx).Document.Get(ctx, id)
}
