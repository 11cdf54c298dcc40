package graph

import (
	"context"
	"maps"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/syncitem"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

func (r *Resolver) document(ctx context.Context, id uuid.UUID, connectorID *uuid.UUID) (*ent.Document, error) {
	query := r.client(ctx).Document.Query().Where(document.ID(id), document.StatusNEQ(document.StatusDeleted))
	if connectorID != nil {
		query.Where(document.ConnectorID(*connectorID))
	}
	row, err := query.Only(ctx)
	return found("Document", row, err)
}

func (r *Resolver) documents(ctx context.Context, collectionID, connectorID *uuid.UUID, status []document.Status, matching *string) *ent.DocumentQuery {
	query := r.client(ctx).Document.Query()
	if collectionID != nil {
		query.Where(document.CollectionID(*collectionID))
	}
	if connectorID != nil {
		query.Where(document.ConnectorID(*connectorID))
	}
	if len(status) > 0 {
		query.Where(document.StatusIn(status...))
	} else {
		query.Where(document.StatusNEQ(document.StatusDeleted))
	}
	if text := sought(matching); text != "" {
		query.Where(document.Or(document.TitleContainsFold(text), document.PathContainsFold(text)))
	}
	return query
}

// sought is what to look for in names, without the blanks around it; "" is
// nothing in particular.
func sought(matching *string) string { return strings.TrimSpace(orEmpty(matching)) }

func (r *Resolver) documentContent(ctx context.Context, row *ent.Document) (string, error) {
	text, err := loadersOf(ctx).contents.Load(ctx, row.ID)
	switch {
	case err != nil:
		return "", err
	case text == nil:
		return "", apierr.NotFound("Document")
	}
	return *text, nil
}

// documentSummary is the kept summary; where there is none yet it is made and kept.
func (r *Resolver) documentSummary(ctx context.Context, row *ent.Document) (string, error) {
	kept, err := loadersOf(ctx).summaries.Load(ctx, row.ID)
	switch {
	case err != nil:
		return "", err
	case kept == nil:
		return "", apierr.NotFound("Document")
	case *kept != "":
		return *kept, nil
	}
	reach, err := within(ctx, row.CollectionID)
	if err != nil {
		return "", err
	}
	text, err := r.Index.Content(ctx, reach, row.ID)
	if err != nil || text == "" { // it has failed, or there is nothing in it
		return "", err
	}
	made, err := r.Summaries.Summarize(ctx, row.Title, text)
	if err != nil {
		return "", err
	}
	return made, r.Index.SetSummary(ctx, reach, row.ID, made)
}

// documentMetadata has author, url and pages always, null when unknown.
func documentMetadata(row *ent.Document) map[string]any {
	m := maps.Clone(row.Metadata)
	if m == nil {
		m = map[string]any{}
	}
	m["author"], m["url"], m["pages"] = orNull(row.Author), orNull(row.URL), orNull(row.Pages)
	return m
}

func orNull[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// deleteDocument removes a document; its line in the ledger, written in the same
// transaction, keeps later syncs from bringing it back.
func (r *Resolver) deleteDocument(ctx context.Context, id, connectorID uuid.UUID) error {
	if err := r.connectorExists(ctx, connectorID); err != nil {
		return err
	}
	row, err := r.document(ctx, id, &connectorID)
	if err != nil {
		return err
	}
	reach, err := within(ctx, row.CollectionID)
	if err != nil {
		return err
	}
	err = transaction.In(ctx, r.Ent, func(ctx context.Context, client *ent.Client) error {
		if _, err := r.Index.SoftDeleteIn(ctx, client, reach, []uuid.UUID{id}); err != nil {
			return err
		}
		return client.SyncItem.Update().Where(syncitem.ConnectorID(connectorID), syncitem.SourceID(row.SourceID)).
			SetSuppressed(true).SetStatus(syncitem.StatusDeleted).SetReason("deleted by hand").ClearHold().ClearWaitingSince().Exec(ctx)
	})
	return apierr.Wrap("delete the document", err)
}
