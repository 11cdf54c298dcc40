package syncjob

import (
	"context"
	_ "embed" // the statement
	"fmt"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

//go:embed sql/latest.sql
var latestSQL string

// Latest returns the newest job of each connector that has one, in two statements.
// Plans do not count.
func (j *Jobs) Latest(ctx context.Context, connectors []uuid.UUID) (map[uuid.UUID]*ent.SyncJob, error) {
	client := transaction.Client(ctx, j.client)
	ids, err := newest(ctx, client, connectors)
	if err != nil {
		return nil, err
	}
	rows, err := client.SyncJob.Query().Where(entjob.IDIn(ids...)).All(ctx) // subject to the viewer's policy
	if err != nil {
		return nil, fmt.Errorf("read the newest jobs of connectors: %w", err)
	}
	jobs := make(map[uuid.UUID]*ent.SyncJob, len(rows))
	for _, row := range rows {
		jobs[row.ConnectorID] = row
	}
	return jobs, nil
}

func newest(ctx context.Context, client *ent.Client, connectors []uuid.UUID) (ids []uuid.UUID, err error) {
	const what = "look for the newest jobs of connectors: %w"
	rows, err := client.QueryContext(ctx, latestSQL, connectors)
	if err != nil {
		return nil, fmt.Errorf(what, err)
	}
	defer func() { _ = rows.Close() }() // Err tells of everything that matters
	for rows.Next() {
		var id uuid.NullUUID
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf(what, err)
		}
		ids = append(ids, id.UUID)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf(what, err)
	}
	return ids, nil
}
