package analytics

import (
	"context"
	"fmt"
	"time"
)

const (
	// sweepRows is the largest number of rows that one statement of a sweep changes.
	sweepRows = 5000
	// sweepStatements is how often one sweep runs each statement.
	sweepStatements = 20
)

// expired returns the statements that delete up to $2 rows that are older than keep: rows by
// id, counts by day. They skip rows that another sweep has locked.
func expired(keep time.Time) []statement {
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
		{`delete from quality_runs where id in (
			select id from quality_runs where id < $1 order by id limit $2 for update skip locked)`, id},
		{`delete from query_stats where ctid = any (array(
			select ctid from query_stats where day < $1 order by day limit $2 for update skip locked))`, day},
		// last_day of a text is updated when it is asked again.
		{`delete from query_texts where ctid = any (array(
			select ctid from query_texts where last_day < $1 order by last_day limit $2 for update skip locked))`, day},
	}
}

// A statement is SQL with its first argument; nil for none.
type statement struct {
	sql      string
	argument any
}

// textRemoval returns the statements that remove texts and the counts of texts.
func textRemoval() []statement {
	return []statement{
		{`delete from query_texts where ctid = any (array(select ctid from query_texts limit $1 for update skip locked))`, nil},
		{`delete from query_text_days where ctid = any (array(select ctid from query_text_days limit $1 for update skip locked))`, nil},
		{`update query_log set text_id = null where id in (
			select id from query_log where text_id is not null order by id limit $1 for update skip locked)`, nil},
		{`update query_events set comment = null where id in (
			select id from query_events where comment is not null order by id limit $1 for update skip locked)`, nil},
	}
}

// Sweep deletes rows of all workspaces that are older than the retention, and all texts if
// the mode stores none. It returns the number of changed rows. One call changes a limited
// number of rows; the next one continues. Several sweeps may run at once.
func (s *Store) Sweep(ctx context.Context) (int, error) {
	statements := []statement{}
	if s.opt.Retention > 0 {
		statements = append(statements, expired(s.opt.Now().Add(-s.opt.Retention))...)
	}
	if s.opt.Mode != Full {
		statements = append(statements, textRemoval()...)
	}
	swept := 0
	for _, one := range statements {
		n, err := s.runStatement(ctx, one)
		if swept += n; err != nil {
			return swept, err
		}
	}
	return swept, nil
}

// runStatement runs a statement until it changes nothing more, up to sweepStatements times.
func (s *Store) runStatement(ctx context.Context, one statement) (int, error) {
	arguments := []any{sweepRows}
	if one.argument != nil {
		arguments = []any{one.argument, sweepRows}
	}
	swept := 0
	for range sweepStatements {
		var rows int64
		err := retry(ctx, func() error {
			tag, err := s.pool.Exec(ctx, one.sql, arguments...)
			rows = tag.RowsAffected()
			return err
		})
		if err != nil {
			return swept, fmt.Errorf("sweep query log: %w", clientError(err))
		}
		swept += int(rows)
		if rows < sweepRows {
			break
		}
	}
	return swept, nil
}
