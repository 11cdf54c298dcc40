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

// ErrBuilding is returned while a vector index is being built, by this process
// or another one: builds take all the memory and both cores, so one runs at a time.
var ErrBuilding = errors.New("a vector index is being built already")

// vectorIndexes begins the names of all vector indexes; the collection's id
// without dashes follows.
const vectorIndexes = "passage_index_vectors_"

// buildLock is the advisory lock that a build holds.
const buildLock = 0x6d61677069650001

// BuildVectorIndex makes a large collection's vector index, without blocking
// its readers and writers, and counts its common words; searches use both from
// then on. With a valid index there it only counts. It may run for minutes. The
// connection must have the owner's login and no transaction; it is busy
// meanwhile. Indexes that an earlier build left broken, and those of collections
// that are gone, are dropped first. A collection without passages gets nothing.
func BuildVectorIndex(ctx context.Context, owner *pgx.Conn, collection uuid.UUID) error {
	var held bool
	if err := owner.QueryRow(ctx, "select pg_try_advisory_lock($1)", int64(buildLock)).Scan(&held); err != nil {
		return fmt.Errorf("build a vector index: %w", err)
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
		return fmt.Errorf("build a vector index: %w", err)
	}
	b := build{collection: collection, name: vectorIndexes + hex.EncodeToString(collection[:])}
	err := owner.QueryRow(ctx, `select c.workspace_id, c.embedding_model, vector_dims(i.embedding), s.passages
		from collections c
		join collection_state s on s.collection_id = c.id
		join passage_index i on i.collection_id = c.id and i.model = c.embedding_model
		where c.id = $1 limit 1`, collection).Scan(&b.workspace, &b.model, &b.dimensions, &b.passages)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("build a vector index: read the collection: %w", err)
	}
	if err := b.create(ctx, owner); err != nil {
		return fmt.Errorf("build a vector index: %w", err)
	}
	if err := b.count(ctx, owner); err != nil {
		return fmt.Errorf("build a vector index: count the words: %w", err)
	}
	return nil
}

// sweep drops what no search can use: indexes whose build broke off, those of
// other dimensions than noted, and those of collections that are gone. No build
// runs meanwhile, so an invalid index is a leftover.
func sweep(ctx context.Context, owner *pgx.Conn) error {
	rows, err := owner.Query(ctx, `select r.relname from pg_index x join pg_class r on r.oid = x.indexrelid
		where x.indrelid = 'passage_index'::regclass and starts_with(r.relname, $1)
			and (not x.indisvalid or not exists (
				select from collections c where r.relname = $1 || replace(c.id::text, '-', '')))`, vectorIndexes)
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

// build is one build of a vector index.
type build struct {
	collection, workspace uuid.UUID
	name, model           string
	dimensions            int
	passages              int64
}

const buildMemory = "512MB" // of which a build takes what its vectors need

// create builds the index unless a valid one for the model and these dimensions is there.
func (b *build) create(ctx context.Context, owner *pgx.Conn) error {
	var current bool
	err := owner.QueryRow(ctx, `select exists (
			select from pg_indexes where indexname = $1 and strpos(indexdef, format('halfvec(%s)', $2::int)) > 0
				and strpos(indexdef, format('model = %L::text', $3::text)) > 0)`,
		b.name, b.dimensions, b.model).Scan(&current)
	if err != nil || current {
		return err
	}
	// DDL takes no parameters: the database quotes the values itself.
	var create string
	err = owner.QueryRow(ctx, `select format(
			'create index concurrently %I on passage_index using hnsw ((embedding::halfvec(%s)) halfvec_cosine_ops) where collection_id = %L and model = %L',
			$1::text, $2::int, $3::uuid, $4::text)`, b.name, b.dimensions, b.collection, b.model).Scan(&create)
	if err != nil {
		return err
	}
	if err := drop(ctx, owner, b.name); err != nil {
		return err
	}
	if _, err := owner.Exec(ctx, "set maintenance_work_mem = '"+buildMemory+"'"); err != nil {
		return err
	}
	_, err = owner.Exec(ctx, create)
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if err != nil && !owner.IsClosed() {
		err = errors.Join(err, drop(undo, owner, b.name))
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

// count lists the common words and makes the index known to searches.
func (b *build) count(ctx context.Context, owner *pgx.Conn) error {
	batch := &pgx.Batch{}
	begin(batch, b.workspace)
	batch.Queue("delete from collection_terms where collection_id = $1", b.collection)
	batch.Queue(`insert into collection_terms (collection_id, workspace_id, term, passages)
		select $1, $2, word, ndoc
		from ts_stat(format('select lexemes from passage_index where collection_id = %L', $1::uuid))
		where ndoc > $3 and not starts_with(word, '#')`, b.collection, b.workspace, b.passages/rare)
	batch.Queue(`insert into vector_indexes (collection_id, workspace_id, index_name, model, dimensions, passages)
		values ($1, $2, $3, $4, $5, $6)
		on conflict (collection_id) do update set index_name = excluded.index_name, model = excluded.model,
			dimensions = excluded.dimensions, passages = excluded.passages, built_at = now()`,
		b.collection, b.workspace, b.name, b.model, b.dimensions, b.passages)
	batch.Queue("commit")
	if err := run(ctx, owner, batch, "note the index"); err != nil {
		if !owner.IsClosed() {
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
			defer cancel()
			_, _ = owner.Exec(end, "rollback")
		}
		return err
	}
	return nil
}
