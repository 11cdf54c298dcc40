package analytics

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/viewer"
)

// lately is how many questions count as the last ones.
const lately = 1000

// Lately returns where the last questions of all workspaces were put, as far as
// the log has them: each reach once, the one asked last first.
func (s *Store) Lately(ctx context.Context) ([]viewer.Scope, error) {
	rows, err := s.pool.Query(ctx, `select workspace_id, collection_id
		from (select workspace_id, collection_id, row_number() over (order by id desc) as n from query_log order by id desc limit $1) q
		group by 1, 2 order by min(n)`, lately)
	if err != nil {
		return nil, fmt.Errorf("read where was asked lately: %w", err)
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
		return nil, fmt.Errorf("read where was asked lately: %w", err)
	}
	return scopes, nil
}
