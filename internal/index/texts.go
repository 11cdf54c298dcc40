package index

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/viewer"
)

// Text is what is kept of a document beside its row; either may be "".
type Text struct{ Body, Summary string }

// Texts returns the texts of many documents in one transaction, whatever their
// number: with only summary set no bodies are read. Documents that are deleted,
// out of reach or not for the viewer in ctx are missing.
func (s *Store) Texts(ctx context.Context, scope viewer.Scope, documents []uuid.UUID, onlySummary bool) (map[uuid.UUID]Text, error) {
	within, err := reachOf(scope)
	if err != nil {
		return nil, err
	}
	everything, principals, err := readersOf(ctx)
	if err != nil {
		return nil, err
	}
	found := make(map[uuid.UUID]Text, len(documents))
	err = s.inTransaction(ctx, func(conn *pgx.Conn) error {
		b := &pgx.Batch{}
		begin(b, within.workspace)
		b.Queue(`select d.id, case when $5 then '' else coalesce(t.body, '') end, coalesce(t.summary, '')
			from documents d left join document_texts t on t.collection_id = d.collection_id and t.document_id = d.id
			where d.id = any($1) and d.workspace_id = $2 and ($3 or d.collection_id = any($4)) and d.deleted_at is null`+mayRead(6),
			documents, within.workspace, within.all, within.collections, onlySummary, everything, principals).
			Query(func(rows pgx.Rows) error {
				var id uuid.UUID
				var text Text
				_, err := pgx.ForEachRow(rows, []any{&id, &text.Body, &text.Summary}, func() error {
					found[id] = text
					return nil
				})
				return err
			})
		b.Queue("commit")
		return run(ctx, conn, b, "read the texts of documents")
	})
	if err != nil {
		return nil, readable(err)
	}
	return found, deleteHidden(ctx, found)
}
