package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// NextIndexes names a collection, of any workspace, that is to have search
// indexes and has none for its model yet, or has doubled since its words were
// counted; the largest first. Those of more than so many passages are to have
// them, and where all collections have more than that together, all that have
// outgrown exact search. One that is changing its model waits until all its
// vectors are in their place. ok is false when there is none. It reads counters only.
func (s *Store) NextIndexes(ctx context.Context, above, together int64) (collection uuid.UUID, ok bool, err error) {
	err = s.pool.QueryRow(ctx, `select s.collection_id
		from search_settings e cross join collection_state s join collections c on c.id = s.collection_id
			left join search_indexes x on x.collection_id = s.collection_id
		where s.passages > e.exact_passages and (s.passages > $1 or (select sum(passages) from collection_state) > $2) and not s.stale and c.deleting_at is null
			and (x.collection_id is null or x.model <> c.embedding_model or s.passages > 2 * x.passages)
		order by s.passages desc, s.collection_id limit 1`, above, together).Scan(&collection)
	if errors.Is(err, pgx.ErrNoRows) {
		return uuid.Nil, false, nil
	}
	if err != nil {
		return uuid.Nil, false, fmt.Errorf("look for search indexes to build: %w", readable(err))
	}
	return collection, true, nil
}
