package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// NextIndexes names a collection, of any workspace, that has more than so many
// passages, has outgrown exact search, and has no search indexes for its model
// yet, or has doubled since its words were counted; the largest first. One that
// is changing its model waits until all its vectors are in their place. ok is
// false when there is none. It reads counters only.
func (s *Store) NextIndexes(ctx context.Context, above int64) (collection uuid.UUID, ok bool, err error) {
	err = s.pool.QueryRow(ctx, `select s.collection_id
		from search_settings e cross join collection_state s join collections c on c.id = s.collection_id
			left join search_indexes x on x.collection_id = s.collection_id
		where s.passages > greatest(e.exact_passages, $1) and not s.stale and c.deleting_at is null
			and (x.collection_id is null or x.model <> c.embedding_model or s.passages > 2 * x.passages)
		order by s.passages desc, s.collection_id limit 1`, above).Scan(&collection)
	if errors.Is(err, pgx.ErrNoRows) {
		return uuid.Nil, false, nil
	}
	if err != nil {
		return uuid.Nil, false, fmt.Errorf("look for search indexes to build: %w", readable(err))
	}
	return collection, true, nil
}
