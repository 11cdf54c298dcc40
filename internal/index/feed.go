package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/viewer"
)

// FeedPosition is a place in the order of a collection's changes: that of a
// document's newest change. Numbers are given under a lock that is held to the
// commit, so that nothing can appear before a position that was read.
type FeedPosition struct {
	Number   int64
	Document uuid.UUID // several documents may have changed in one write
}

// FeedEnd is after everything that has a number.
func FeedEnd(number int64) FeedPosition { return FeedPosition{number, uuid.Max} }

// DocumentChange is a document that changed, as it is at the time of reading.
type DocumentChange struct {
	At       FeedPosition
	Document uuid.UUID
	// Connector, Title and Path are zero for a document whose row is gone.
	Connector   uuid.UUID
	Title, Path string
	Status      string // as the database has it; DELETED for a row that is gone
	Failure     string // why its newest version could not be indexed
	// Readers are the principals that may read it, as [Record].Readers are; Closed
	// tells that nobody may yet.
	Readers []string
	// Restriction are those to whom it is restricted beside; nil for no restriction.
	Restriction []string
	Closed      bool
}

// StatusCounts are numbers of documents by status.
type StatusCounts struct {
	Pending, Processing, Indexed, Failed, Deleted int64
	WithFailure                                   int64 // of any status
}

// ChangeNumbers returns the change numbers of the collections that the scopes
// name, in one statement; collections that are gone or being deleted, or of
// another workspace than their scope's, are left out.
func (s *Store) ChangeNumbers(ctx context.Context, scopes []viewer.Scope) (map[uuid.UUID]int64, error) {
	workspaces, collections, err := named(scopes)
	if err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, `select c.id, coalesce(s.change_number, 0)
		from unnest($1::uuid[], $2::uuid[]) w (workspace, collection)
		join collections c on c.id = w.collection and c.workspace_id = w.workspace and c.deleting_at is null
		left join collection_state s on s.collection_id = c.id`, workspaces, collections)
	if err != nil {
		return nil, fmt.Errorf("read change numbers: %w", readable(err))
	}
	numbers := make(map[uuid.UUID]int64, len(collections))
	var id uuid.UUID
	var number int64
	if _, err := pgx.ForEachRow(rows, []any{&id, &number}, func() error { numbers[id] = number; return nil }); err != nil {
		return nil, fmt.Errorf("read change numbers: %w", readable(err))
	}
	return numbers, nil
}

// named lists the pairs of workspace and collection that scopes are narrowed to.
func named(scopes []viewer.Scope) (workspaces, collections []uuid.UUID, err error) {
	for _, scope := range scopes {
		within, err := reachOf(scope)
		if err != nil {
			return nil, nil, err
		}
		for _, id := range within.collections {
			workspaces, collections = append(workspaces, within.workspace), append(collections, id)
		}
	}
	return workspaces, collections, nil
}

// ConnectorsThere returns those of the connectors that exist in the collections
// that the scopes name and are not being deleted, in one statement.
func (s *Store) ConnectorsThere(ctx context.Context, scopes []viewer.Scope, connectors []uuid.UUID) (map[uuid.UUID]bool, error) {
	workspaces, collections, err := named(scopes)
	if err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, `select k.id
		from unnest($1::uuid[], $2::uuid[]) w (workspace, collection)
		join connectors k on k.collection_id = w.collection and k.workspace_id = w.workspace
		where k.id = any($3) and k.deleting_at is null`, workspaces, collections, connectors)
	if err != nil {
		return nil, fmt.Errorf("look for connectors: %w", readable(err))
	}
	there := make(map[uuid.UUID]bool, len(connectors))
	var id uuid.UUID
	if _, err := pgx.ForEachRow(rows, []any{&id}, func() error { there[id] = true; return nil }); err != nil {
		return nil, fmt.Errorf("look for connectors: %w", readable(err))
	}
	return there, nil
}

// StatusCounts counts the documents of a collection, with a connector or a
// document named only those, and says which change number that is the state of.
// A collection that is gone, being deleted or out of reach is viewer.ErrOutOfScope.
func (s *Store) StatusCounts(ctx context.Context, scope viewer.Scope, collection, connector, document uuid.UUID) (number int64, c StatusCounts, err error) {
	narrow, err := scope.Narrow(collection)
	if err != nil {
		return 0, c, fmt.Errorf("count documents: %w", err)
	}
	workspace, err := narrow.Workspace()
	if err != nil {
		return 0, c, fmt.Errorf("count documents: %w", err)
	}
	// One statement, and so one moment of the database.
	err = s.pool.QueryRow(ctx, `select coalesce(s.change_number, 0), n.pending, n.processing, n.indexed, n.failed, n.deleted, n.failure
		from collections c
		left join collection_state s on s.collection_id = c.id
		cross join lateral (
			select count(*) filter (where d.status = 'PENDING') as pending, count(*) filter (where d.status = 'PROCESSING') as processing,
				count(*) filter (where d.status = 'INDEXED') as indexed, count(*) filter (where d.status = 'FAILED') as failed,
				count(*) filter (where d.status = 'DELETED') as deleted, count(d.failure) as failure
			from documents d
			where d.workspace_id = c.workspace_id and d.collection_id = c.id
				and ($3::uuid is null or d.connector_id = $3) and ($4::uuid is null or d.id = $4)
		) n
		where c.id = $1 and c.workspace_id = $2 and c.deleting_at is null`, collection, workspace, orNull(connector), orNull(document)).
		Scan(&number, &c.Pending, &c.Processing, &c.Indexed, &c.Failed, &c.Deleted, &c.WithFailure)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, c, fmt.Errorf("count documents: %w", viewer.ErrOutOfScope)
	case err != nil:
		return 0, c, fmt.Errorf("count documents: %w", readable(err))
	}
	return number, c, nil
}

// orNull is null for the zero id.
func orNull(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

// DocumentChanges returns the documents of a collection whose newest change is
// after a position, in the order of those changes, at most limit.
func (s *Store) DocumentChanges(ctx context.Context, scope viewer.Scope, collection uuid.UUID, after FeedPosition, limit int) ([]DocumentChange, error) {
	narrow, err := scope.Narrow(collection)
	if err != nil {
		return nil, fmt.Errorf("read changed documents: %w", err)
	}
	workspace, err := narrow.Workspace()
	if err != nil {
		return nil, fmt.Errorf("read changed documents: %w", err)
	}
	rows, err := s.pool.Query(ctx, `select x.change_number, x.document_id, coalesce(d.connector_id, $6), coalesce(d.title, ''), coalesce(d.path, ''),
			coalesce(d.status, 'DELETED'), coalesce(d.failure, ''), d.readers, d.restricted_to, coalesce(k.closed, false)
		from (
			select change_number, document_id from document_changes
			where collection_id = $1 and workspace_id = $2 and change_number >= $3 and (change_number, document_id) > ($3, $4)
			order by change_number, document_id limit $5
		) x
		left join documents d on d.id = x.document_id and d.collection_id = $1 and d.workspace_id = $2
		left join connectors k on k.id = d.connector_id
		order by x.change_number, x.document_id`, collection, workspace, after.Number, after.Document, limit, uuid.Nil)
	if err != nil {
		return nil, fmt.Errorf("read changed documents: %w", readable(err))
	}
	changes, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c DocumentChange, err error) {
		err = row.Scan(&c.At.Number, &c.Document, &c.Connector, &c.Title, &c.Path, &c.Status, &c.Failure, &c.Readers, &c.Restriction, &c.Closed)
		c.At.Document = c.Document
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("read changed documents: %w", readable(err))
	}
	return changes, nil
}
