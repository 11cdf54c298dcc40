package index

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// ErrBuilding is returned while indexes are being built, by this process or
// another one: builds take all the memory and both cores, so one runs at a time.
var ErrBuilding = errors.New("search indexes are being built already")

// Each large collection has an index of vectors and one of lexemes. These begin
// their names; the collection's id without dashes follows.
const (
	vectorIndexes = "passage_index_vectors_"
	lexemeIndexes = "passage_index_lexemes_"
)

// buildLock is the advisory lock that a build holds.
const buildLock = 0x6d61677069650001

// BuildIndexes makes a large collection's indexes of vectors and of lexemes,
// without blocking its readers and writers, and counts its common words; searches
// use all of them from then on. Where both indexes are valid it only counts. It
// may run for minutes. The connection must have the owner's login and no
// transaction; it is busy meanwhile. Indexes that an earlier build left broken,
// and those of collections that are gone, are dropped first. A collection without
// passages gets nothing.
func BuildIndexes(ctx context.Context, owner *pgx.Conn, collection uuid.UUID) error {
	var held bool
	if err := owner.QueryRow(ctx, "select pg_try_advisory_lock($1)", int64(buildLock)).Scan(&held); err != nil {
		return fmt.Errorf("build search indexes: %w", err)
	}
	if !held {
		return ErrBuilding
	}
	defer func() {
		// The lock must go even when the caller's time is up; should this fail,
		// it goes with the connection.
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
		defer cancel()
		_, _ = owner.Exec(end, "select pg_advisory_unlock($1)", int64(buildLock))
	}()
	if err := sweep(ctx, owner); err != nil {
		return fmt.Errorf("build search indexes: %w", err)
	}
	b := build{collection: collection}
	err := owner.QueryRow(ctx, `select c.workspace_id, c.embedding_model, vector_dims(i.embedding), s.passages, 'passage_index_p' || magpie_part(c.id)
		from collections c
		join collection_state s on s.collection_id = c.id
		join passage_index i on i.collection_id = $1 and i.model = c.embedding_model
		where c.id = $1 limit 1`, collection).Scan(&b.workspace, &b.model, &b.dimensions, &b.passages, &b.part)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("build search indexes: read the collection: %w", err)
	}
	if err := b.create(ctx, owner); err != nil {
		return fmt.Errorf("build search indexes: %w", err)
	}
	if err := b.count(ctx, owner); err != nil {
		return fmt.Errorf("build search indexes: count the words: %w", err)
	}
	return nil
}

// sweep drops what no search can use: indexes whose build broke off, and those
// of collections that are gone. No build runs meanwhile, so an invalid index is a
// leftover.
func sweep(ctx context.Context, owner *pgx.Conn) error {
	rows, err := owner.Query(ctx, `select r.relname from pg_index x join pg_class r on r.oid = x.indexrelid
		join unnest($1::text[]) kind on starts_with(r.relname, kind)
		where x.indrelid in (select inhrelid from pg_inherits where inhparent = 'passage_index'::regclass)
			and (not x.indisvalid or not exists (
				select from collections c where r.relname = kind || replace(c.id::text, '-', '')))`,
		[]string{vectorIndexes, lexemeIndexes})
	if err != nil {
		return fmt.Errorf("look for broken indexes: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("look for broken indexes: %w", err)
	}
	for _, name := range names {
		if err := drop(ctx, owner, name); err != nil {
			return err
		}
	}
	return nil
}

func drop(ctx context.Context, owner *pgx.Conn, name string) error {
	if _, err := owner.Exec(ctx, "drop index concurrently if exists "+pgx.Identifier{name}.Sanitize()); err != nil {
		return fmt.Errorf("drop %s: %w", name, err)
	}
	return nil
}

// build is one build of a collection's indexes.
type build struct {
	collection, workspace uuid.UUID
	part                  string // the partition of passage_index that the collection is in
	model                 string
	dimensions            int
	passages              int64
}

// buildMemory is the memory of a build, of which it takes what its entries need: that
// of the server if it has more. A vector index that does not fit takes many times as long.
const buildMemory = "512MB"

// create builds the indexes, except for valid ones that are there. The conditions
// are those that searches write (magpie_passages): the one of the lexemes' index
// is such that no other index serves it.
func (b *build) create(ctx context.Context, owner *pgx.Conn) error {
	id := hex.EncodeToString(b.collection[:])
	wanted := [2]struct {
		name, definition string
		there            bool
	}{{name: lexemeIndexes + id}, {name: vectorIndexes + id}}
	// DDL takes no parameters: the database quotes the values itself.
	err := owner.QueryRow(ctx, `select
			format('using gin (lexemes) with (gin_pending_list_limit = 1024) where coalesce(collection_id = %L, false)', $1::uuid),
			exists (select from pg_indexes where indexname = $4),
			format('using hnsw ((embedding::halfvec(%s)) halfvec_cosine_ops) where collection_id = %L and model = %L', $2::int, $1::uuid, $3::text),
			exists (select from pg_indexes where indexname = $5 and strpos(indexdef, format('halfvec(%s)', $2::int)) > 0
				and strpos(indexdef, format('model = %L::text', $3::text)) > 0)`,
		b.collection, b.dimensions, b.model, wanted[0].name, wanted[1].name).
		Scan(&wanted[0].definition, &wanted[0].there, &wanted[1].definition, &wanted[1].there)
	if err != nil {
		return err
	}
	for _, w := range wanted {
		if w.there {
			continue
		}
		if err := b.replace(ctx, owner, w.name, w.definition); err != nil {
			return err
		}
	}
	return nil
}

// replace makes an index of the collection's partition, after dropping the one of that name: PostgreSQL makes none of the
// whole table concurrently.
func (b *build) replace(ctx context.Context, owner *pgx.Conn, name, definition string) error {
	if err := drop(ctx, owner, name); err != nil {
		return err
	}
	if _, err := owner.Exec(ctx, `select set_config('maintenance_work_mem',
		greatest(pg_size_bytes(current_setting('maintenance_work_mem')), pg_size_bytes($1)) / 1024 || 'kB', false)`, buildMemory); err != nil {
		return err
	}
	_, err := owner.Exec(ctx, "create index concurrently "+pgx.Identifier{name}.Sanitize()+" on "+b.part+" "+definition)
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if err != nil && !owner.IsClosed() {
		err = errors.Join(err, drop(undo, owner, name))
	}
	if !owner.IsClosed() {
		_, reset := owner.Exec(undo, "reset maintenance_work_mem")
		err = errors.Join(err, reset)
	}
	return err
}

// rare is the share of passages, one in this many, up to which a word counts as
// rare and is not listed.
const rare = 10000

// count lists the common words and makes the indexes known to searches.
func (b *build) count(ctx context.Context, owner *pgx.Conn) error {
	batch := &pgx.Batch{}
	begin(batch, b.workspace)
	batch.Queue("delete from collection_terms where collection_id = $1", b.collection)
	batch.Queue(`insert into collection_terms (collection_id, workspace_id, term, passages)
		select $1, $2, word, ndoc
		from ts_stat(format('select lexemes from %I where collection_id = %L', $4::text, $1::uuid))
		where ndoc > $3 and not starts_with(word, '#')`, b.collection, b.workspace, b.passages/rare, b.part)
	batch.Queue(`insert into search_indexes (collection_id, workspace_id, model, dimensions, passages)
		values ($1, $2, $3, $4, $5)
		on conflict (collection_id) do update set model = excluded.model,
			dimensions = excluded.dimensions, passages = excluded.passages, built_at = now()`,
		b.collection, b.workspace, b.model, b.dimensions, b.passages)
	batch.Queue("commit")
	if err := run(ctx, owner, batch, "note the indexes"); err != nil {
		if !owner.IsClosed() {
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
			defer cancel()
			_, _ = owner.Exec(end, "rollback")
		}
		return err
	}
	return nil
}
