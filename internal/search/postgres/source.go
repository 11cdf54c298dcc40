package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/search/rank"
)

// Source is one collection as a search sees it; it implements rank.Source. It
// holds a connection, and a transaction from the first question on.
type Source struct {
	tier       *Tier
	conn       *pgxpool.Conn
	workspace  uuid.UUID
	collection uuid.UUID
	model      string
	generation int64
	filter     string
	phrases    []rank.Phrase // of the filter
	begun      bool
	state      state
	left       *leaves // once it has been looked up

	counts map[string]int // how many passages a term stands in, as far as asked
}

var _ rank.Source = (*Source)(nil)

// state is what the transaction sees of the collection.
type state struct {
	documents, passages, words, change int64
	exact                              int64 // up to so many passages no index is used
	counted                            int64 // passages when common words were counted; 0: never
	model                              string
	dimensions                         int // of the vector index, 0 when there is none
}

const readState = `select coalesce(s.documents, 0), coalesce(s.passages, 0), coalesce(s.words, 0), coalesce(s.change_number, 0),
		e.exact_passages, coalesce(x.passages, 0), coalesce(x.model, ''), coalesce(x.dimensions, 0)
	from search_settings e
	left join collection_state s on s.collection_id = $1 and s.workspace_id = $2
	left join search_indexes x on x.collection_id = $1 and x.workspace_id = $2`

// ask sends questions in one round trip, with the transaction's beginning
// before the first of all.
func (s *Source) ask(ctx context.Context, questions ...func(*pgx.Batch)) error {
	b := &pgx.Batch{}
	if !s.begun {
		b.Queue("begin isolation level repeatable read read only")
		b.Queue("select set_config('magpie.workspace', $1, true), set_config('statement_timeout', $2, true)",
			s.workspace.String(), fmt.Sprintf("%dms", s.tier.opt.Timeout.Milliseconds()))
		b.Queue(readState, s.collection, s.workspace).QueryRow(func(row pgx.Row) error {
			v := &s.state
			return row.Scan(&v.documents, &v.passages, &v.words, &v.change, &v.exact, &v.counted, &v.model, &v.dimensions)
		})
	}
	for _, q := range questions {
		q(b)
	}
	if b.Len() == 0 {
		return nil
	}
	s.begun = true
	return s.conn.SendBatch(ctx, b).Close()
}

// Close ends the transaction and gives the connection back, also when the
// context has ended. Nothing may be asked after it.
func (s *Source) Close(ctx context.Context) {
	if s.conn == nil {
		return
	}
	if s.conn.Conn().PgConn().TxStatus() != 'I' {
		// The pool closes the connection should this fail.
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, _ = s.conn.Exec(end, "rollback")
	}
	s.conn.Release()
	s.conn = nil
}

// With is the same collection at the same moment through another filter. It
// goes on on the connection of s, which stays the one to close.
func (s *Source) With(ctx context.Context, f *rank.Filter) (*Source, error) {
	filter, err := filterJSON(f)
	if err != nil {
		return nil, fmt.Errorf("look through another filter: %w", err)
	}
	if !s.begun {
		if err := s.ask(ctx); err != nil {
			return nil, fmt.Errorf("look through another filter: %w", err)
		}
	}
	other := &Source{
		tier: s.tier, conn: s.conn, workspace: s.workspace, collection: s.collection, model: s.model, generation: s.generation,
		filter: filter, begun: true, state: s.state, counts: make(map[string]int),
	}
	if f != nil {
		other.phrases = f.Phrases
	}
	return other, nil
}

// Statistics implements rank.Source.
func (s *Source) Statistics(ctx context.Context) (rank.Statistics, error) {
	if err := s.ask(ctx); err != nil {
		return rank.Statistics{}, fmt.Errorf("count a collection: %w", err)
	}
	return rank.Statistics{Documents: int(s.state.documents), Passages: int(s.state.passages), BodyWords: s.state.words}, nil
}

// leaves is what a filter leaves of a collection.
type leaves struct {
	passages  int64
	documents []uuid.UUID // all of them when their passages are few, else nil
}

type leavesKey struct {
	collection uuid.UUID
	change     int64
	filter     string
}

// prepare looks up what the filter leaves, so that few passages are looked at
// one by one. What it finds stays true until the collection changes.
func (s *Source) prepare(ctx context.Context) error {
	if s.left != nil {
		return nil
	}
	if !s.begun {
		if err := s.ask(ctx); err != nil {
			return fmt.Errorf("count a collection: %w", err)
		}
	}
	if s.filter == noFilter && s.state.passages > int64(s.tier.opt.Whole) {
		s.left = &leaves{passages: s.state.passages}
		return nil
	}
	key := leavesKey{s.collection, s.state.change, s.filter}
	if found, ok := s.tier.leaves.get(key); ok {
		s.left = &found
		return nil
	}
	var found leaves
	err := s.ask(ctx, func(b *pgx.Batch) {
		b.Queue("select passages, documents from magpie_filtered($1, $2, $3, $4)", s.workspace, s.collection, s.filter, s.tier.opt.Whole).
			QueryRow(func(row pgx.Row) error {
				err := row.Scan(&found.passages, &found.documents)
				if errors.Is(err, pgx.ErrNoRows) { // another workspace's collection
					found.documents = []uuid.UUID{}
					return nil
				}
				return err
			})
	})
	if err != nil {
		return fmt.Errorf("look up what a filter leaves: %w", err)
	}
	s.tier.leaves.put(key, found)
	s.left = &found
	return nil
}
