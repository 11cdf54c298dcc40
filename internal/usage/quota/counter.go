package quota

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/apierr"
)

// writeTimeout limits one write of the counts in memory.
const writeTimeout = 5 * time.Second

// batchSize is the largest number of counters that one transaction writes.
const batchSize = 500

var errNoWorkspace = errors.New("workspace does not exist")

// begin is the first statement of each transaction. The transaction does not wait for the
// disk, so that a crash of the database may lose the last counts.
const begin = "select set_config('magpie.workspace', $1, true), set_config('synchronous_commit', 'off', true)"

// takeOne reads the limit and counts a query unless the limit is reached. The lock of the
// row serializes nodes.
const takeOne = `
with w as (
	select id, coalesce(query_limit, $3) as most from workspaces where id = $1
), taken as (
	insert into usage_counters as u (workspace_id, month, queries)
	select id, $2, 1 from w where most > 0
	on conflict (workspace_id, month) do update set queries = u.queries + 1 where u.queries < (select most from w)
	returning queries
)
select most, exists (select from taken) from w`

const addMany = `
insert into usage_counters as u (workspace_id, month, queries)
select id, $2, $3 from workspaces where id = $1
on conflict (workspace_id, month) do update set queries = u.queries + excluded.queries`

const readUsage = `
select coalesce(w.query_limit, $3), coalesce(u.queries, 0)
from workspaces w left join usage_counters u on u.workspace_id = w.id and u.month = $2
where w.id = $1`

// readLimit returns the limit of a workspace, 0 for none.
func (q *Quota) readLimit(ctx context.Context, workspace uuid.UUID) (limit int64, found bool, err error) {
	err = q.pool.QueryRow(ctx, "select coalesce(query_limit, $2) from workspaces where id = $1", workspace, q.o.Limit).Scan(&limit)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	return limit, err == nil, err
}

// take counts one query in PostgreSQL, unless the limit is reached. Without a limit, it
// returns the limit 0 and counts nothing.
func (q *Quota) take(ctx context.Context, at period) (limit int64, taken bool, err error) {
	b := &pgx.Batch{}
	b.Queue(begin, at.workspace.String())
	b.Queue(takeOne, at.workspace, at.month, q.o.Limit).QueryRow(func(row pgx.Row) error { return row.Scan(&limit, &taken) })
	err = q.pool.SendBatch(ctx, b).Close()
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, apierr.NotFound("Workspace")
	}
	return limit, taken, err
}

func (q *Quota) read(ctx context.Context, at period) (limit, queries int64, err error) {
	b := &pgx.Batch{}
	b.Queue("select set_config('magpie.workspace', $1, true)", at.workspace.String())
	b.Queue(readUsage, at.workspace, at.month, q.o.Limit).QueryRow(func(row pgx.Row) error { return row.Scan(&limit, &queries) })
	err = q.pool.SendBatch(ctx, b).Close()
	if errors.Is(err, pgx.ErrNoRows) {
		err = errNoWorkspace
	}
	return limit, queries, err
}

// write writes the counts in memory. After an error it keeps those that are not written.
func (q *Quota) write(ctx context.Context) error {
	q.writing.Lock()
	defer q.writing.Unlock()
	q.mu.Lock()
	counted := maps.Clone(q.counted)
	clear(q.counted)
	q.mu.Unlock()
	// All nodes use the same order, so that they cannot deadlock.
	order := slices.SortedFunc(maps.Keys(counted), func(a, b period) int {
		if c := bytes.Compare(a.workspace[:], b.workspace[:]); c != 0 {
			return c
		}
		return a.month.Compare(b.month)
	})
	for chunk := range slices.Chunk(order, batchSize) {
		b := &pgx.Batch{}
		for _, at := range chunk {
			b.Queue(begin, at.workspace.String())
			b.Queue(addMany, at.workspace, at.month, counted[at])
		}
		if err := q.pool.SendBatch(ctx, b).Close(); err != nil {
			for at, n := range counted {
				q.count(at, n)
			}
			return err
		}
		for _, at := range chunk {
			delete(counted, at)
		}
	}
	return nil
}

// writeLoop writes the counts periodically, and at the end.
func (q *Quota) writeLoop(ctx context.Context) {
	tick := time.NewTicker(q.o.Interval)
	defer tick.Stop()
	failed := false
	for {
		select {
		case <-tick.C:
		case <-q.stop:
			q.writeNow(ctx, failed)
			return
		}
		failed = !q.writeNow(ctx, failed)
	}
}

// writeNow writes the counts and reports whether that succeeded. It logs the first of
// several failures.
func (q *Quota) writeNow(ctx context.Context, failed bool) bool {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err := q.write(ctx)
	if err != nil && !failed {
		q.o.Log.WarnContext(ctx, "write query counts failed, will retry", slog.Any("error", err))
	}
	return err == nil
}
