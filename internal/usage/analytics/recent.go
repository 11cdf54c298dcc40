package analytics

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/viewer"
)

// recentQueries is how many of the last queries RecentScopes reads.
const recentQueries = 1000

// RecentScopes returns the scopes of the last queries of all workspaces, as far as the
// log has them: each scope once, the most recent first.
func (s *Store) RecentScopes(ctx context.Context) ([]viewer.Scope, error) {
	rows, err := s.pool.Query(ctx, `select workspace_id, collection_id
		from (select workspace_id, collection_id, row_number() over (order by id desc) as n from query_log order by id desc limit $1) q
		group by 1, 2 order by min(n)`, recentQueries)
	if err != nil {
		return nil, fmt.Errorf("read recent queries: %w", err)
	}
	var scopes []viewer.Scope
	var workspace uuid.UUID
	var collection *uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&workspace, &collection}, func() error {
		scope, err := viewer.System(workspace).Scope()
		if err == nil && collection != nil {
			scope, err = scope.Narrow(*collection)
		}
		scopes = append(scopes, scope)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read recent queries: %w", err)
	}
	return scopes, nil
}
