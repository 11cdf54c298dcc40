package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/store/replica"
)

// A Source is one collection during one search. It holds a connection, and a
// transaction from the first query on.
type Source struct {
	tier       *Tier
	conn       *replica.Conn
	workspace  uuid.UUID
	collection uuid.UUID
	model      string
	generation int64
	filter     string
	phrases    []rank.Phrase // of the filter
	begun      bool
	state      state
	selection  *selection // nil until it is read

	frequencies map[string]int // document frequencies read so far
}

var _ rank.Source = (*Source)(nil)

// state is the collection's state in the transaction.
type state struct {
	documents, passages, words int64
	index.Position
	exact      int64 // largest number of passages that are searched without indexes
	counted    int64 // passages when the frequencies of common words were counted; 0 for never
	model      string
	dimensions int // of the vector index, 0 for none
}

const stateQuery = `select coalesce(s.documents, 0), coalesce(s.passages, 0), coalesce(s.words, 0), coalesce(s.generation, 0), coalesce(s.change_number, 0),
		e.exact_passages, coalesce(x.passages, 0), coalesce(x.model, ''), coalesce(x.dimensions, 0)
	from search_settings e
	left join collection_state s on s.collection_id = $1 and s.workspace_id = $2
	left join search_indexes x on x.collection_id = $1 and x.workspace_id = $2`

// queueBegin queues the begin of the transaction.
func (s *Source) queueBegin(b *pgx.Batch) {
	b.Queue("begin isolation level repeatable read read only")
	b.Queue("select set_config('magpie.workspace', $1, true), set_config('statement_timeout', $2, true)",
		s.workspace.String(), fmt.Sprintf("%dms", s.tier.opt.Timeout.Milliseconds()))
	b.Queue(stateQuery, s.collection, s.workspace).QueryRow(func(row pgx.Row) error {
		v := &s.state
		return row.Scan(&v.documents, &v.passages, &v.words, &v.Generation, &v.Change, &v.exact, &v.counted, &v.model, &v.dimensions)
	})
}

// connect acquires the connection. On a replica it begins the transaction, because its
// snapshot must have what the search must see.
func (s *Source) connect(ctx context.Context, required *index.State) (err error) {
	s.conn, err = s.tier.opt.Readers.Acquire(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		b := &pgx.Batch{}
		s.queueBegin(b)
		if err := conn.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		if !required.ReachedBy(s.state.Position) {
			return replica.ErrBehind
		}
		return nil
	})
	if s.begun = err == nil && s.conn.IsReplica(); !s.begun {
		s.state = state{} // that of a replica which cannot be used
	}
	return err
}

// query sends statements in one round trip. The first call begins the transaction.
func (s *Source) query(ctx context.Context, statements ...func(*pgx.Batch)) error {
	b := &pgx.Batch{}
	if !s.begun {
		s.queueBegin(b)
	}
	for _, add := range statements {
		add(b)
	}
	if b.Len() == 0 {
		return nil
	}
	s.begun = true
	return s.conn.Fault(ctx, s.conn.SendBatch(ctx, b).Close())
}

// Close ends the transaction and returns the connection to the pool, even if the
// context is done. The source must not be used afterwards.
func (s *Source) Close(ctx context.Context) {
	if s.conn == nil {
		return
	}
	s.conn.Release(ctx)
	s.conn = nil
}

// With returns the collection in the same transaction through another filter. The
// result shares the connection of s, and only s must be closed.
func (s *Source) With(ctx context.Context, f *rank.Filter) (*Source, error) {
	filter, err := filterJSON(f)
	if err != nil {
		return nil, fmt.Errorf("change the filter: %w", err)
	}
	if !s.begun {
		if err := s.query(ctx); err != nil {
			return nil, fmt.Errorf("change the filter: %w", err)
		}
	}
	other := &Source{
		tier: s.tier, conn: s.conn, workspace: s.workspace, collection: s.collection, model: s.model, generation: s.generation,
		filter: filter, begun: true, state: s.state, frequencies: make(map[string]int),
	}
	if f != nil {
		other.phrases = f.Phrases
	}
	return other, nil
}

// Statistics implements rank.Source.
func (s *Source) Statistics(ctx context.Context) (rank.Statistics, error) {
	if err := s.query(ctx); err != nil {
		return rank.Statistics{}, fmt.Errorf("read the collection's counters: %w", err)
	}
	return rank.Statistics{Documents: int(s.state.documents), Passages: int(s.state.passages), BodyWords: s.state.words}, nil
}

// selection is what a filter selects of a collection.
type selection struct {
	passages  int64
	documents []uuid.UUID // all of them if they have at most Options.FullScan passages, else nil
}

type selectionKey struct {
	collection uuid.UUID
	change     int64
	filter     string
}

// readSelection reads what the filter selects. The tier caches the selection until the
// collection changes.
func (s *Source) readSelection(ctx context.Context) error {
	if s.selection != nil {
		return nil
	}
	if !s.begun {
		if err := s.query(ctx); err != nil {
			return fmt.Errorf("read the collection's counters: %w", err)
		}
	}
	if s.filter == noFilter && s.state.passages > int64(s.tier.opt.FullScan) {
		s.selection = &selection{passages: s.state.passages}
		return nil
	}
	key := selectionKey{s.collection, s.state.Change, s.filter}
	if cached, ok := s.tier.selections.get(key); ok {
		s.selection = &cached
		return nil
	}
	var v selection
	err := s.query(ctx, func(b *pgx.Batch) {
		b.Queue("select passages, documents from magpie_filtered($1, $2, $3, $4)", s.workspace, s.collection, s.filter, s.tier.opt.FullScan).
			QueryRow(func(row pgx.Row) error {
				err := row.Scan(&v.passages, &v.documents)
				if errors.Is(err, pgx.ErrNoRows) { // another workspace's collection
					v.documents = []uuid.UUID{}
					return nil
				}
				return err
			})
	})
	if err != nil {
		return fmt.Errorf("apply the filter: %w", err)
	}
	s.tier.selections.put(key, v)
	s.selection = &v
	return nil
}
