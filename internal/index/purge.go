package index

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/magpie-search/magpie/internal/viewer"
)

// Doomed is a connector that is being deleted.
type Doomed struct{ Connector, Workspace uuid.UUID }

// Doomed lists connectors that are being deleted, of any workspace, those that
// have waited longest first, at most limit.
func (s *Store) Doomed(ctx context.Context, limit int) ([]Doomed, error) {
	rows, err := s.pool.Query(ctx, "select id, workspace_id from connectors where deleting_at is not null order by deleting_at, id limit $1", limit)
	if err != nil {
		return nil, fmt.Errorf("look for connectors to delete: %w", readable(err))
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d Doomed, err error) {
		err = row.Scan(&d.Connector, &d.Workspace)
		return d, err
	})
	if err != nil {
		return nil, fmt.Errorf("look for connectors to delete: %w", readable(err))
	}
	return found, nil
}

// Purge deletes up to limit documents of a connector that is being deleted, with
// all that belongs to them, and up to as many lines of its ledger; it says how
// many rows it took, none when there are no more. Of any other connector it
// takes nothing.
func (s *Store) Purge(ctx context.Context, scope viewer.Scope, connector uuid.UUID, limit int) (int, error) {
	return s.purge(ctx, scope, "delete the documents of a connector", connector, limit,
		`delete from documents where id in (
			select d.id from documents d join connectors k on k.id = d.connector_id
			where k.id = $1 and k.workspace_id = $2 and k.deleting_at is not null limit $3)`,
		`delete from sync_items where id in (
			select i.id from sync_items i join connectors k on k.id = i.connector_id
			where k.id = $1 and k.workspace_id = $2 and k.deleting_at is not null limit $3)`)
}

// PurgeConnector ends a connector that is being deleted, of which Purge has left
// nothing.
func (s *Store) PurgeConnector(ctx context.Context, scope viewer.Scope, connector uuid.UUID) error {
	_, err := s.purge(ctx, scope, "delete a connector", connector, 0,
		"delete from connectors where id = $1 and workspace_id = $2 and deleting_at is not null and $3 = 0")
	return err
}

// PurgeCollections ends the collections, of any workspace, that are being
// deleted and have no connector any more.
func (s *Store) PurgeCollections(ctx context.Context) (int, error) {
	tag, err := s.pool.Exec(ctx, `delete from collections c
		where c.deleting_at is not null and not exists (select from connectors k where k.collection_id = c.id)`)
	if err != nil {
		return 0, fmt.Errorf("delete collections: %w", readable(err))
	}
	return int(tag.RowsAffected()), nil
}

func (s *Store) purge(ctx context.Context, scope viewer.Scope, what string, connector uuid.UUID, limit int, statements ...string) (taken int, err error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	err = s.write(ctx, func(conn *pgx.Conn) error {
		taken = 0
		b := &pgx.Batch{}
		beginWrite(b, workspace)
		for _, sql := range statements {
			b.Queue(sql, connector, workspace, limit).Exec(func(tag pgconn.CommandTag) error {
				taken += int(tag.RowsAffected())
				return nil
			})
		}
		b.Queue("commit")
		return run(ctx, conn, b, what)
	})
	return taken, err
}
