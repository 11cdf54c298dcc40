package analytics

import (
	"context"
	"fmt"
	"time"
)

const (
	// slice is how many rows one statement of a sweep deletes or changes.
	slice = 5000
	// slices is how many statements a table gets in one sweep; the next goes on.
	slices = 20
)

// forgotten are the statements that delete what is older than is kept, at most
// $2 rows: rows by their id, counts by their day. Rows that another sweep has
// are left to it.
func forgotten(keep time.Time) []statement {
	id, day := firstID(keep), dayOf(keep)
	return []statement{
		{`delete from query_log where id in (
			select id from query_log where id < $1 order by id limit $2 for update skip locked)`, id},
		{`delete from query_events where id in (
			select id from query_events where id < $1 order by id limit $2 for update skip locked)`, id},
		{`with gone as (
			delete from query_text_days where ctid = any (array(
				select ctid from query_text_days where day < $1 order by day limit $2 for update skip locked))
			returning workspace_id, text_id, queries, zero_results
		), fewer as (
			update query_texts t set queries = t.queries - s.queries, zero_results = t.zero_results - s.zero_results
			from (select workspace_id, text_id, sum(queries) as queries, sum(zero_results) as zero_results from gone group by 1, 2) s
			where t.workspace_id = s.workspace_id and t.id = s.text_id
		)
		select from gone`, day},
		{`delete from query_stats where ctid = any (array(
			select ctid from query_stats where day < $1 order by day limit $2 for update skip locked))`, day},
		// A text's day is raised by whoever asks it again.
		{`delete from query_texts where ctid = any (array(
			select ctid from query_texts where last_day < $1 order by last_day limit $2 for update skip locked))`, day},
	}
}

// statement is one with its argument; nil for none.
type statement struct {
	sql      string
	argument any
}

// untexted are the statements that remove texts, and what was told apart by them.
func untexted() []statement {
	return []statement{
		{`delete from query_texts where ctid = any (array(select ctid from query_texts limit $1 for update skip locked))`, nil},
		{`delete from query_text_days where ctid = any (array(select ctid from query_text_days limit $1 for update skip locked))`, nil},
		{`update query_log set text_id = null where id in (
			select id from query_log where text_id is not null order by id limit $1 for update skip locked)`, nil},
		{`update query_events set comment = null where id in (
			select id from query_events where comment is not null order by id limit $1 for update skip locked)`, nil},
	}
}

// Sweep deletes what is older than the retention, and all texts when none are
// kept (any more), of all workspaces. It works in bounded slices and stops
// after a number of them; the next sweep goes on. Several may run at once. It
// returns the number of rows that it deleted or changed.
func (s *Store) Sweep(ctx context.Context) (int, error) {
	statements := []statement{}
	if s.opt.Retention > 0 {
		statements = append(statements, forgotten(s.opt.Now().Add(-s.opt.Retention))...)
	}
	if s.opt.Mode != Full {
		statements = append(statements, untexted()...)
	}
	swept := 0
	for _, one := range statements {
		n, err := s.slices(ctx, one)
		if swept += n; err != nil {
			return swept, err
		}
	}
	return swept, nil
}

// slices runs a statement until it finds nothing more, or often enough.
func (s *Store) slices(ctx context.Context, one statement) (int, error) {
	arguments := []any{slice}
	if one.argument != nil {
		arguments = []any{one.argument, slice}
	}
	swept := 0
	for range slices {
		var rows int64
		err := retried(ctx, func() error {
			tag, err := s.pool.Exec(ctx, one.sql, arguments...)
			rows = tag.RowsAffected()
			return err
		})
		if err != nil {
			return swept, fmt.Errorf("sweep the query log: %w", readable(err))
		}
		swept += int(rows)
		if rows < slice {
			break
		}
	}
	return swept, nil
}
