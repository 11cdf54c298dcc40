package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/viewer"
)

// A Position is how far a reader of a collection has read. The zero value has read
// nothing.
type Position struct {
	// Generation rises when everything must be read again, Change with every committed
	// write.
	Generation, Change int64
}

// A State is what the counters of a collection say at one moment.
type State struct {
	Collection uuid.UUID
	Name       string
	Position
	// Required is the least change number that a search must see: that of the last write
	// outside of a sync, or of the last finished sync.
	Required int64
	// Model is the embedding model of the vectors that searches use.
	Model string
	// Documents and Passages count what searches can find; Words is the length of the
	// passages' bodies.
	Documents, Passages, Words int64
	// Restricted says that a document is not readable by everyone.
	Restricted bool
	// OpenConnectors are the ids of the connectors whose documents can be found, nil for
	// all. The readers of the other connectors' documents are not known yet.
	OpenConnectors []string
	// Indexed says that PostgreSQL has search indexes of the collection (BuildIndexes).
	Indexed bool
}

// ReachedBy reports whether a copy of the collection at a position has everything that a
// search with this state must see.
func (s *State) ReachedBy(at Position) bool {
	return at.Generation >= s.Generation && at.Change >= s.Required
}

// ErrNoCollection is returned by OldestState if no collection is in scope.
var ErrNoCollection = errors.New("no collection in scope")

const (
	statesQuery = statesInScope + " order by c.id"

	oldestStateQuery = statesInScope + " order by c.created_at, c.id limit 1"

	statesInScope = `select c.id, c.name, c.embedding_model, coalesce(s.generation, 0), coalesce(s.change_number, 0),
			coalesce(s.required_number, 0), coalesce(s.documents, 0), coalesce(s.passages, 0), coalesce(s.words, 0),
			exists (select from documents d where d.collection_id = c.id and d.readers is not null)
				or exists (select from documents d where d.collection_id = c.id and d.restricted_to is not null),
			case when exists (select from connectors k where k.workspace_id = c.workspace_id and k.collection_id = c.id and k.closed) then array(
				select k.id::text from connectors k where k.workspace_id = c.workspace_id and k.collection_id = c.id and not k.closed) end,
			exists (select from search_indexes x where x.collection_id = c.id)
		from collections c left join collection_state s on s.collection_id = c.id
		where c.workspace_id = $1 and ($2 or c.id = any($3)) and c.deleting_at is null`
)

// States returns the states of all collections in scope, ordered by id, in one
// statement. A collection without a write has zero counters.
func (s *Store) States(ctx context.Context, scope viewer.Scope) ([]State, error) {
	return s.states(ctx, scope, statesQuery)
}

// OldestState returns the state of the oldest collection in scope, in one statement. It
// returns ErrNoCollection if there is none.
func (s *Store) OldestState(ctx context.Context, scope viewer.Scope) (State, error) {
	states, err := s.states(ctx, scope, oldestStateQuery)
	if err != nil {
		return State{}, err
	}
	if len(states) == 0 {
		return State{}, ErrNoCollection
	}
	return states[0], nil
}

func (s *Store) states(ctx context.Context, scope viewer.Scope, query string) ([]State, error) {
	within, err := reachOf(scope)
	if err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, query, within.arguments()...)
	if err != nil {
		return nil, fmt.Errorf("read the states of collections: %w", readable(err))
	}
	states, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (v State, err error) {
		err = row.Scan(&v.Collection, &v.Name, &v.Model, &v.Generation, &v.Change, &v.Required,
			&v.Documents, &v.Passages, &v.Words, &v.Restricted, &v.OpenConnectors, &v.Indexed)
		return v, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the states of collections: %w", readable(err))
	}
	return states, nil
}

// A ChangeReader receives the changes that [Store.Changes] reads. An error of either
// method ends the read and is returned.
type ChangeReader interface {
	// Begin is called before any Entry, with the position that the reader has reached
	// when Changes returns without an error, and with the model of the vectors. With all,
	// every live document follows, and the reader discards what it has. Begin is called
	// again if the read starts over; what was read since the Begin before is discarded.
	Begin(at Position, model string, all bool) error
	// Entry is called for each document. The entry is valid during the call only.
	Entry(*Entry) error
}
