package index

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pgvector/pgvector-go"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/ingest/passage"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A collection changes its model in steps, each of which may be done twice and
// broken off at any point. Fill: every passage gets a vector of the next model,
// which is kept apart. Switch: the next model becomes the collection's, and
// readers begin anew. Fold: the vectors move to where the old ones stand.
// Writers do not wait for any of it: a document that is stored meanwhile is
// filled too, even one whose writer had begun before the switch.

// ModelChange is a collection with vectors to be looked after.
type ModelChange struct {
	Collection, Workspace uuid.UUID
	Model                 string // the collection's
	Next                  string // that it is changing to; "" for none
	// Stale tells that passages may lack vectors of Model, or that vectors are
	// kept apart which are not of Next.
	Stale bool
}

// ModelChanges lists the collections, of any workspace, with vectors to be
// looked after, ordered by id.
func (s *Store) ModelChanges(ctx context.Context) ([]ModelChange, error) {
	rows, err := s.pool.Query(ctx, "select collection_id, workspace_id, model, coalesce(next_model, ''), stale from magpie_model_changes()")
	if err != nil {
		return nil, fmt.Errorf("look for changes of models: %w", readable(err))
	}
	changes, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c ModelChange, err error) {
		err = row.Scan(&c.Collection, &c.Workspace, &c.Model, &c.Next, &c.Stale)
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("look for changes of models: %w", readable(err))
	}
	return changes, nil
}

// RetireModel makes next the next model of every collection, of any workspace,
// that has the old one and is not changing, or that is changing to the old one,
// and returns how many.
func (s *Store) RetireModel(ctx context.Context, old, next string) (int, error) {
	tag, err := s.pool.Exec(ctx, `update collections set next_model = $2, updated_at = now()
		where $1 <> $2 and (embedding_model = $1 and next_model is null or next_model = $1)`, old, next)
	if err != nil {
		return 0, fmt.Errorf("retire a model: %w", readable(err))
	}
	return int(tag.RowsAffected()), nil
}

// Unembedded is a passage that lacks a vector.
type Unembedded struct {
	Passage, Document uuid.UUID
	Title             string // of the document
	Content           passage.Passage
}

// Lacking returns up to limit passages of a collection without a vector of the
// model, those of deleted documents too, in the order of their documents from
// an id on. With after over 0 only documents are looked at that changed after
// that change number.
func (s *Store) Lacking(ctx context.Context, scope viewer.Scope, collection uuid.UUID, model string, after int64, from uuid.UUID, limit int) ([]Unembedded, error) {
	workspace, err := only(scope, collection)
	if err != nil {
		return nil, fmt.Errorf("look for passages without a vector: %w", err)
	}
	var since *int64
	if after > 0 {
		since = &after
	}
	var found []Unembedded
	err = s.inTransaction(ctx, func(conn *pgx.Conn) error {
		b := &pgx.Batch{}
		begin(b, workspace)
		b.Queue(`select l.passage_id, l.document_id, d.title, p.headings, p.body, p.ordinal
			from magpie_lacking($1, $2, $3, $4, $5, $6) l
			join passages p on p.collection_id = $2 and p.id = l.passage_id join documents d on d.id = l.document_id
			order by l.document_id, p.ordinal`, workspace, collection, model, since, from, limit).
			Query(func(rows pgx.Rows) (err error) {
				found, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (u Unembedded, err error) {
					err = row.Scan(&u.Passage, &u.Document, &u.Title, &u.Content.Headings, &u.Content.Text, &u.Content.Ordinal)
					return u, err
				})
				return err
			})
		b.Queue("commit")
		return run(ctx, conn, b, "look for passages without a vector")
	})
	return found, readable(err)
}

// Embedded tells how far the passages of a collection have got with a model, those
// of deleted documents included.
type Embedded struct {
	Passages int
	Lacking  int // of them without a vector of the model
}

// Embedded counts the passages of a collection that have a vector of a model. It
// reads an entry of an index for each passage, about a second for a million.
func (s *Store) Embedded(ctx context.Context, scope viewer.Scope, collection uuid.UUID, model string) (found Embedded, err error) {
	workspace, err := only(scope, collection)
	if err != nil {
		return found, fmt.Errorf("count the passages with a vector: %w", err)
	}
	err = s.inTransaction(ctx, func(conn *pgx.Conn) error {
		b := &pgx.Batch{}
		begin(b, workspace)
		b.Queue(`select (select count(*) from passages p where p.collection_id = $2 and p.workspace_id = $1),
			(select count(*) from magpie_lacking($1, $2, $3, null, $4, $5))`, workspace, collection, model, uuid.Nil, math.MaxInt32).
			QueryRow(func(row pgx.Row) error { return row.Scan(&found.Passages, &found.Lacking) })
		b.Queue("commit")
		return run(ctx, conn, b, "count the passages with a vector")
	})
	return found, readable(err)
}

// ErrModel is returned for vectors of a model that is neither the collection's
// nor its next one any more.
var ErrModel = errors.New("the collection has changed its mind about its model")

// AddVectors keeps one vector for each of the passages, all of them of the
// model; passages that are gone are passed over. When the model is the
// collection's, searches find the passages by them from now on.
func (s *Store) AddVectors(ctx context.Context, scope viewer.Scope, collection uuid.UUID, model string, passages []Unembedded, vectors [][]float32) error {
	workspace, err := only(scope, collection)
	if err != nil {
		return fmt.Errorf("add vectors: %w", err)
	}
	if len(vectors) != len(passages) {
		return fmt.Errorf("add vectors: %w: %d vectors for %d passages", ErrRecord, len(vectors), len(passages))
	}
	if err := checkVectors(vectors); err != nil {
		return fmt.Errorf("add vectors: %w", err)
	}
	ids, halves := make([]uuid.UUID, len(passages)), make([]pgvector.HalfVector, len(passages))
	var documents []uuid.UUID
	seen := make(map[uuid.UUID]bool)
	for i := range passages {
		ids[i], halves[i] = passages[i].Passage, pgvector.NewHalfVector(vectors[i])
		if d := passages[i].Document; !seen[d] {
			seen[d] = true
			documents = append(documents, d)
		}
	}
	return s.write(ctx, func(conn *pgx.Conn) error {
		var active, next string
		b := &pgx.Batch{}
		beginWrite(b, workspace)
		b.Queue("select embedding_model, coalesce(next_model, '') from collections where id = $1 and workspace_id = $2 for share", collection, workspace).
			QueryRow(func(row pgx.Row) error { return row.Scan(&active, &next) })
		// Who replaces the passages of a document waits until they have their
		// vectors, and takes them along.
		b.Queue("select from documents where id = any($1) and collection_id = $2 order by id for no key update", documents, collection)
		switch err := run(ctx, conn, b, "add vectors"); {
		case errors.Is(err, pgx.ErrNoRows):
			return apierr.NotFound("Collection")
		case err != nil:
			return err
		case model != active && model != next:
			return fmt.Errorf("add vectors: %w", ErrModel)
		}
		end := &pgx.Batch{}
		end.Queue(`insert into passage_vectors (passage_id, document_id, collection_id, workspace_id, model, embedding)
			select p.id, p.document_id, p.collection_id, p.workspace_id, $3, t.embedding
			from unnest($4::uuid[], $5::halfvec[]) as t (id, embedding)
			join passages p on p.id = t.id and p.collection_id = $1 and p.workspace_id = $2
			on conflict do nothing`, collection, workspace, model, ids, halves)
		if model == active {
			queueState(end, workspace, collection, change{documents: documents})
		}
		end.Queue("commit")
		return run(ctx, conn, end, "add vectors")
	})
}

// SwitchModel makes the next model the collection's, provided that it still is
// the next one and that no passage of a document that changed after the change
// number lacks a vector of it; the caller has made sure of all others. It
// reports whether it did.
func (s *Store) SwitchModel(ctx context.Context, scope viewer.Scope, collection uuid.UUID, next string, after int64) (switched bool, err error) {
	workspace, err := only(scope, collection)
	if err != nil {
		return false, fmt.Errorf("change a model: %w", err)
	}
	err = s.write(ctx, func(conn *pgx.Conn) error {
		lacking := true
		b := &pgx.Batch{}
		beginWrite(b, workspace)
		// In the order that all writers lock them.
		b.Queue("select from collections where id = $1 and workspace_id = $2 for no key update", collection, workspace)
		b.Queue(`insert into collection_state (collection_id, workspace_id, model)
			select id, workspace_id, embedding_model from collections where id = $1 and workspace_id = $2
			on conflict do nothing`, collection, workspace)
		b.Queue("select from collection_state where collection_id = $1 for update", collection)
		b.Queue("select magpie_lacking_since($1, $2, $3, $4, false)", workspace, collection, next, after).
			QueryRow(func(row pgx.Row) error { return row.Scan(&lacking) })
		if err := run(ctx, conn, b, "change a model"); err != nil || lacking {
			return err
		}
		end := &pgx.Batch{}
		end.Queue(`update collections set embedding_model = next_model, next_model = null, updated_at = now()
			where id = $1 and workspace_id = $2 and next_model = $3`, collection, workspace, next).
			Exec(func(tag pgconn.CommandTag) error { switched = tag.RowsAffected() > 0; return nil })
		end.Queue("commit")
		return run(ctx, conn, end, "change a model")
	})
	return switched && err == nil, err
}

// FoldVectors moves up to limit vectors of the collection's model from where
// they are kept apart to their place, and returns how many it took.
func (s *Store) FoldVectors(ctx context.Context, scope viewer.Scope, collection uuid.UUID, limit int) (int, error) {
	return s.tidy(ctx, scope, collection, limit, "select magpie_fold_vectors($1, $2, $3)")
}

// DropVectors deletes up to limit vectors that are kept apart for a model which
// is neither the collection's nor its next one, and returns how many it were.
func (s *Store) DropVectors(ctx context.Context, scope viewer.Scope, collection uuid.UUID, limit int) (int, error) {
	return s.tidy(ctx, scope, collection, limit, "select magpie_drop_vectors($1, $2, $3)")
}

func (s *Store) tidy(ctx context.Context, scope viewer.Scope, collection uuid.UUID, limit int, sql string) (n int, err error) {
	workspace, err := only(scope, collection)
	if err != nil {
		return 0, fmt.Errorf("tidy vectors up: %w", err)
	}
	err = s.write(ctx, func(conn *pgx.Conn) error {
		b := &pgx.Batch{}
		beginWrite(b, workspace)
		b.Queue(sql, workspace, collection, limit).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
		b.Queue("commit")
		return run(ctx, conn, b, "tidy vectors up")
	})
	return n, err
}

// Settle notes that every passage has its vector of the collection's model in
// its place, provided that this holds for documents that changed after the
// change number and that the model is the given one; the caller has made sure
// of all others. It reports whether it did.
func (s *Store) Settle(ctx context.Context, scope viewer.Scope, collection uuid.UUID, model string, after int64) (settled bool, err error) {
	workspace, err := only(scope, collection)
	if err != nil {
		return false, fmt.Errorf("settle a change of models: %w", err)
	}
	err = s.write(ctx, func(conn *pgx.Conn) error {
		b := &pgx.Batch{}
		beginWrite(b, workspace)
		b.Queue("select from collection_state where collection_id = $1 and workspace_id = $2 for update", collection, workspace)
		b.Queue(`update collection_state set stale = false
			where collection_id = $2 and workspace_id = $1 and model = $3 and not magpie_lacking_since($1, $2, $3, $4, true)`,
			workspace, collection, model, after).
			Exec(func(tag pgconn.CommandTag) error { settled = tag.RowsAffected() > 0; return nil })
		b.Queue("commit")
		return run(ctx, conn, b, "settle a change of models")
	})
	return settled && err == nil, err
}

// only is the workspace of a scope that reaches the collection.
func only(scope viewer.Scope, collection uuid.UUID) (uuid.UUID, error) {
	narrow, err := scope.Narrow(collection)
	if err != nil {
		return uuid.Nil, err
	}
	return narrow.Workspace()
}
