package analytics

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	// MinAsked is how often a question must be asked to be in the traffic. A conversation
	// counts once.
	MinAsked = 3
	// maxTraffic bounds the questions of a traffic: the most frequent ones.
	maxTraffic = 200
	// maxPositionWeight bounds the weight of a click on a result far below.
	maxPositionWeight = 10
)

// An Asked is a question that was asked at least MinAsked times, with the documents that
// people chose.
type Asked struct {
	TextID int64
	Text   string // scrubbed
	Count  int    // how often it was asked
	Clicks int    // requests with a click on a document
	Chosen []Chosen
}

// A Chosen is a document with clicks or feedback for a question.
type Chosen struct {
	Document           uuid.UUID
	Clicks             int
	Weight             float64 // of the clicks: each counts its position from 1, up to 10
	Positive, Negative int     // feedback
}

// Traffic returns the most frequent questions to a collection since a time, as far as
// they had no filters, with the clicks and feedback on documents that can still be found.
func (s *Store) Traffic(ctx context.Context, scope viewer.Scope, collection uuid.UUID, since time.Time) ([]Asked, error) {
	args, err := argsOf(scope)
	if err != nil {
		return nil, err
	}
	if _, err := scope.Narrow(collection); err != nil {
		return nil, fmt.Errorf("read the traffic: %w", err)
	}
	var asked []Asked
	err = pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select set_config('magpie.workspace', $1, true)", args.workspace.String()); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, askedSQL, args.workspace, collection, since, MinAsked, maxTraffic)
		if err != nil {
			return err
		}
		var a Asked
		indexes := make(map[int64]int)
		var texts []int64
		if _, err := pgx.ForEachRow(rows, []any{&a.TextID, &a.Text, &a.Count}, func() error {
			indexes[a.TextID] = len(asked)
			texts, asked = append(texts, a.TextID), append(asked, a)
			return nil
		}); err != nil || len(asked) == 0 {
			return err
		}
		if rows, err = tx.Query(ctx, judgementsSQL, args.workspace, collection, since, texts, maxPositionWeight); err != nil {
			return err
		}
		var text int64
		var c Chosen
		_, err = pgx.ForEachRow(rows, []any{&text, &c.Document, &c.Clicks, &c.Weight, &c.Positive, &c.Negative}, func() error {
			q := &asked[indexes[text]]
			q.Clicks += c.Clicks
			q.Chosen = append(q.Chosen, c)
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the traffic: %w", clientError(err))
	}
	return asked, nil
}
