package index

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/viewer"
)

// DocumentReaders say who may find a document, as [Record].Readers does.
type DocumentReaders struct {
	Document uuid.UUID
	Readers  []string
	// Unsaid tells that it is not the source who says so.
	Unsaid bool
}

// SetReaders changes who may find documents and says of how many it did; those
// that have these readers already, and ids that are unknown, out of reach or
// named twice, are passed over. Searches see it at once.
func (s *Store) SetReaders(ctx context.Context, scope viewer.Scope, f Fence, changes []DocumentReaders) (int, error) {
	const what = "set the readers of documents"
	within, err := reachOf(scope)
	if err != nil {
		return 0, err
	}
	if len(changes) == 0 {
		return 0, nil
	}
	ids, everyone, lists := make([]uuid.UUID, len(changes)), make([]bool, len(changes)), make([]string, len(changes))
	var said, unsaid []uuid.UUID
	for i, c := range changes {
		ids[i], everyone[i], lists[i] = c.Document, c.Readers == nil, readersText(c.Readers)
		if c.Unsaid {
			unsaid = append(unsaid, c.Document)
		} else {
			said = append(said, c.Document)
		}
	}
	count := 0
	err = s.write(ctx, func(conn *pgx.Conn) error {
		b := &pgx.Batch{}
		beginWrite(b, within.workspace)
		count = 0
		changed := map[uuid.UUID][]uuid.UUID{}
		var order []uuid.UUID
		// An array of arrays of different lengths does not exist: the lists come
		// as texts that the database takes apart.
		b.Queue(`with wanted as (
				select distinct on (t.id) t.id, case when t.everyone then null else string_to_array(nullif(t.list, ''), e'\x1f') end as readers, t.everyone
				from unnest($5::uuid[], $6::boolean[], $7::text[]) as t (id, everyone, list) order by t.id
			), d as materialized (
				select d.id, d.collection_id, case when w.everyone then null else coalesce(w.readers, '{}') end as readers
				from documents d join wanted w on w.id = d.id
				where d.id = any($1) and d.workspace_id = $2 and ($3 or d.collection_id = any($4))
					and d.readers is distinct from case when w.everyone then null else coalesce(w.readers, '{}') end
				order by d.id for no key update of d
			), changed as (
				update documents set readers = d.readers, readers_at = case when d.id = any($8) then now() end, updated_at = now()
				from d where documents.id = d.id
			)
			select collection_id, array_agg(id) from d group by collection_id order by collection_id`,
			ids, within.workspace, within.all, within.collections, ids, everyone, lists, said).
			Query(func(rows pgx.Rows) error {
				var collection uuid.UUID
				var documents []uuid.UUID
				_, err := pgx.ForEachRow(rows, []any{&collection, &documents}, func() error {
					count += len(documents)
					changed[collection] = slices.Clone(documents)
					order = append(order, collection)
					return nil
				})
				return err
			})
		// That the source has said what was stored already is no change of it.
		for _, told := range []struct {
			documents []uuid.UUID
			set       string
		}{{said, "readers_at = now() where readers_at is null"}, {unsaid, "readers_at = null where readers_at is not null"}} {
			if len(told.documents) > 0 {
				b.Queue("update documents set "+told.set+" and id = any($1) and workspace_id = $2 and ($3 or collection_id = any($4))",
					told.documents, within.workspace, within.all, within.collections)
			}
		}
		if err := run(ctx, conn, b, what); err != nil {
			return err
		}
		end := &pgx.Batch{}
		queueFence(end, within.workspace, f)
		for _, collection := range order {
			queueState(end, within.workspace, collection, change{documents: changed[collection], required: true})
		}
		end.Queue("commit")
		return run(ctx, conn, end, what)
	})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	return count, nil
}

// Restricted lists documents of a connector that are not for everybody, at most
// limit; with unsaid those of which the source did not say so, and that somebody
// may find.
func (s *Store) Restricted(ctx context.Context, scope viewer.Scope, connector uuid.UUID, unsaid bool, limit int) ([]uuid.UUID, error) {
	within, err := reachOf(scope)
	if err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, `select id from documents
		where connector_id = $1 and workspace_id = $2 and ($3 or collection_id = any($4))
			and case when $5 then readers_at is null and readers is distinct from '{}' else readers is not null end
		order by id limit $6`, connector, within.workspace, within.all, within.collections, unsaid, limit)
	if err != nil {
		return nil, fmt.Errorf("list documents by their readers: %w", readable(err))
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("list documents by their readers: %w", readable(err))
	}
	return ids, nil
}

// mayRead is the condition under which a document (alias d) may be read, with the
// parameters $n and $n+1.
func mayRead(n int) string {
	return fmt.Sprintf(` and ($%d or (d.readers is null or d.readers && $%[2]d::text[]) and (d.restricted_to is null or d.restricted_to && $%[2]d::text[])
		and d.connector_id not in (select id from connectors where closed))`, n, n+1)
}

// readersOf are the two parameters of mayRead for the viewer in ctx.
func readersOf(ctx context.Context) (everything bool, principals []string, err error) {
	r, err := viewer.ReadersOf(ctx)
	if err != nil {
		return false, nil, fmt.Errorf("find out who may read: %w", err)
	}
	return r.Everything(), r.Principals(), nil
}

// hiddenOf returns those documents that are not for the viewer in ctx because their
// source does not let the person read them now. No transaction is open meanwhile.
func hiddenOf(ctx context.Context, documents []uuid.UUID) (map[uuid.UUID]bool, error) {
	verdict, err := viewer.HiddenNow(ctx, documents)
	if err != nil {
		return nil, fmt.Errorf("verify who may read documents: %w", err)
	}
	return verdict.Hidden, nil
}

// deleteHidden deletes the entries of documents that hiddenOf returns.
func deleteHidden[T any](ctx context.Context, found map[uuid.UUID]T) error {
	hidden, err := hiddenOf(ctx, slices.Collect(maps.Keys(found)))
	for id := range hidden {
		delete(found, id)
	}
	return err
}

// readersText joins principals by a character that none of them has then, each
// once and in order, so that the same readers are the same text.
func readersText(readers []string) string {
	cleaned := make([]string, 0, len(readers))
	for _, reader := range readers {
		if reader = strings.ReplaceAll(clean(reader), headingBreak, " "); reader != "" {
			cleaned = append(cleaned, reader)
		}
	}
	slices.Sort(cleaned)
	return strings.Join(slices.Compact(cleaned), headingBreak)
}
