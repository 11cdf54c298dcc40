package state

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/viewer"
)

// The largest key and value, in bytes.
const (
	MaxKey   = 200
	MaxValue = 1 << 20
)

// A Store holds the state of all connectors. It is safe for concurrent use.
type Store struct{ pool *pgxpool.Pool }

// New returns a Store on the application's pool (internal/store).
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// A State is the state of one connector. It is deleted with the connector.
type State struct {
	pool                 *pgxpool.Pool
	workspace, connector uuid.UUID
}

var _ connectors.State = (*State)(nil)

// Of returns the state of a connector of the scope's workspace. The state of a
// connector of another workspace is empty and cannot be written.
func (s *Store) Of(scope viewer.Scope, connector uuid.UUID) (*State, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("connector state: %w", err)
	}
	return &State{pool: s.pool, workspace: workspace, connector: connector}, nil
}

// Put implements [connectors.State].
func (s *State) Put(ctx context.Context, key string, value []byte) error {
	if key == "" || len(key) > MaxKey {
		return fmt.Errorf("store connector state: the key has %d bytes; it must have 1 to %d", len(key), MaxKey)
	}
	if len(value) > MaxValue {
		return fmt.Errorf("store connector state: the value has %d bytes, at most %d are allowed", len(value), MaxValue)
	}
	if value == nil {
		value = []byte{}
	}
	_, err := s.pool.Exec(ctx, `insert into connector_notes (workspace_id, connector_id, name, data) values ($1, $2, $3, $4)
		on conflict (connector_id, name) do update set data = excluded.data where connector_notes.workspace_id = excluded.workspace_id`,
		s.workspace, s.connector, key, value)
	if err != nil {
		return fmt.Errorf("store connector state: %w", err)
	}
	return nil
}

// Get implements [connectors.State].
func (s *State) Get(ctx context.Context, key string) ([]byte, error) {
	var value []byte
	err := s.pool.QueryRow(ctx, "select data from connector_notes where workspace_id = $1 and connector_id = $2 and name = $3",
		s.workspace, s.connector, key).Scan(&value)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("read connector state: %w", err)
	}
	return value, nil
}

// Keys implements [connectors.State].
func (s *State) Keys(ctx context.Context, prefix string) ([]string, error) {
	rows, err := s.pool.Query(ctx, `select name from connector_notes
		where workspace_id = $1 and connector_id = $2 and name >= $3 and starts_with(name, $3) order by name`,
		s.workspace, s.connector, prefix)
	if err != nil {
		return nil, fmt.Errorf("list connector state: %w", err)
	}
	keys, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list connector state: %w", err)
	}
	return keys, nil
}

// DeletePrefix implements [connectors.State].
func (s *State) DeletePrefix(ctx context.Context, prefix string) error {
	_, err := s.pool.Exec(ctx, `delete from connector_notes
		where workspace_id = $1 and connector_id = $2 and name >= $3 and starts_with(name, $3)`, s.workspace, s.connector, prefix)
	if err != nil {
		return fmt.Errorf("delete connector state: %w", err)
	}
	return nil
}
