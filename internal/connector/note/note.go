package note

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/viewer"
)

// The bounds of a note, in bytes.
const (
	MaxName = 200
	MaxData = 1 << 20
)

// Store keeps the notes of all connectors. It is safe for concurrent use.
type Store struct{ pool *pgxpool.Pool }

// New makes a Store on the application's pool (internal/store).
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// Notes are those of one connector. They end with it.
type Notes struct {
	pool                 *pgxpool.Pool
	workspace, connector uuid.UUID
}

// Of returns the notes of a connector of the scope's workspace; those of
// another one's connector are empty and cannot be written.
func (s *Store) Of(scope viewer.Scope, connector uuid.UUID) (*Notes, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("notes: %w", err)
	}
	return &Notes{pool: s.pool, workspace: workspace, connector: connector}, nil
}

// Put keeps data under a name, in place of what was there.
func (n *Notes) Put(ctx context.Context, name string, data []byte) error {
	if name == "" || len(name) > MaxName {
		return fmt.Errorf("the name of a note has %d bytes; it must have 1 to %d", len(name), MaxName)
	}
	if len(data) > MaxData {
		return fmt.Errorf("a note has %d bytes, at most %d are allowed", len(data), MaxData)
	}
	if data == nil {
		data = []byte{}
	}
	_, err := n.pool.Exec(ctx, `insert into connector_notes (workspace_id, connector_id, name, data) values ($1, $2, $3, $4)
		on conflict (connector_id, name) do update set data = excluded.data where connector_notes.workspace_id = excluded.workspace_id`,
		n.workspace, n.connector, name, data)
	if err != nil {
		return fmt.Errorf("keep a note: %w", err)
	}
	return nil
}

// Get returns what is kept under a name, nil for nothing.
func (n *Notes) Get(ctx context.Context, name string) ([]byte, error) {
	var data []byte
	err := n.pool.QueryRow(ctx, "select data from connector_notes where workspace_id = $1 and connector_id = $2 and name = $3",
		n.workspace, n.connector, name).Scan(&data)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("read a note: %w", err)
	}
	return data, nil
}

// Keys returns all names that begin with a prefix, in the order of their bytes.
func (n *Notes) Keys(ctx context.Context, prefix string) ([]string, error) {
	rows, err := n.pool.Query(ctx, `select name from connector_notes
		where workspace_id = $1 and connector_id = $2 and name >= $3 and starts_with(name, $3) order by name`,
		n.workspace, n.connector, prefix)
	if err != nil {
		return nil, fmt.Errorf("list notes: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list notes: %w", err)
	}
	return names, nil
}

// DeletePrefix forgets all names that begin with a prefix.
func (n *Notes) DeletePrefix(ctx context.Context, prefix string) error {
	_, err := n.pool.Exec(ctx, `delete from connector_notes
		where workspace_id = $1 and connector_id = $2 and name >= $3 and starts_with(name, $3)`, n.workspace, n.connector, prefix)
	if err != nil {
		return fmt.Errorf("forget notes: %w", err)
	}
	return nil
}
