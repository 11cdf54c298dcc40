package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// NextVectorIndex names a collection, of any workspace, that has outgrown exact
// search and has no vector index of its model yet, or has doubled since its
// words were counted; the largest first. One that is changing its model waits
// until all its vectors are in their place. ok is false when there is none. It
// reads counters only.
func (s *Store) NextVectorIndex(ctx context.Context) (collection uuid.UUID, ok bool, err error) {
	err = s.pool.QueryRow(ctx, `select s.collection_id
		from search_settings e cross join collection_state s join collections c on c.id = s.collection_id
			left join vector_indexes v on v.collection_id = s.collection_id
		where s.passages > e.exact_passages and not s.stale and c.deleting_at is null
			and (v.collection_id is null or v.model <> c.embedding_model or s.passages > 2 * v.passages)
		order by s.passages desc, s.collection_id limit 1`).Scan(&collection)
	if errors.Is(err, pgx.ErrNoRows) {
		return uuid.Nil, false, nil
	}
	if err != nil {
		return uuid.Nil, false, fmt.Errorf("look for a vector index to build: %w", readable(err))
	}
	return collection, true, nil
}
