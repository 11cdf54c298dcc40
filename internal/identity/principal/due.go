package principal

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// ConnectorKey identifies a connector.
type ConnectorKey struct{ Workspace, Connector uuid.UUID }

// enforcesPermissions is true for connectors that enforce the permissions of their
// source.
const enforcesPermissions = `(config->>'include_permissions' = 'true' and coalesce(config->>'permission_mode', 'strict') <> 'permissive')`

// DueGroups returns up to limit connectors of all workspaces whose groups are due
// to be read. Concurrent callers get different connectors.
func (s *Store) DueGroups(ctx context.Context, limit int) ([]ConnectorKey, error) {
	return s.due(ctx, `update connectors set groups_due_at = now() + $2::interval where id in (
			select id from connectors
			where enabled and deleting_at is null and (groups_due_at is null or groups_due_at <= now()) and `+enforcesPermissions+`
			order by groups_due_at nulls first, id limit $1 for update skip locked)
		returning workspace_id, id`, limit, lease)
}

// minGroupsAge is the minimum age of groups that are read early.
const minGroupsAge = time.Minute

// ExpediteGroups makes a connector's groups due if one of the given groups is
// unknown: as soon as they are a minute old, the first ones at once, because they
// may have been read before the first document. While they are being read, or wait
// after a failure, Commit or the next reading sees to it.
func (s *Store) ExpediteGroups(ctx context.Context, d ConnectorKey, groups []string) error {
	_, err := s.pool.Exec(ctx, `update connectors k set groups_wanted_at = now(), groups_due_at = case
			when k.groups_attempt > k.groups_generation then k.groups_due_at
			else least(k.groups_due_at, greatest(now(), case when k.groups_generation > 1 then k.groups_at + $4::interval end)) end
		where k.id = $1 and k.workspace_id = $2 and k.groups_due_at is not null
			and exists (select from unnest($3::text[]) as g (name) where not exists
				(select from principal_groups p where p.connector_id = k.id and p.generation = k.groups_generation and p.principal = g.name))`,
		d.Connector, d.Workspace, groups, minGroupsAge)
	if err != nil {
		return fmt.Errorf("expedite groups: %w", err)
	}
	return nil
}

// DueReaders returns up to limit connectors of all workspaces whose document
// readers are due: their enforcement has changed, or they are older than age.
// Connectors with an open job are left out.
func (s *Store) DueReaders(ctx context.Context, age time.Duration, limit int) ([]ConnectorKey, error) {
	return s.due(ctx, `select k.workspace_id, k.id from connectors k
		where k.enabled and k.deleting_at is null
			and (k.readers_revision < k.permissions_revision or `+enforcesPermissions+` and coalesce(k.readers_at, k.created_at) < now() - $2::interval)
			and not exists (select from sync_jobs j where j.connector_id = k.id and j.status in ('QUEUED', 'RUNNING'))
		order by k.readers_revision < k.permissions_revision desc, k.readers_at nulls first, k.id limit $1`, limit, age)
}

func (s *Store) due(ctx context.Context, query string, limit int, interval time.Duration) ([]ConnectorKey, error) {
	rows, err := s.pool.Query(ctx, query, limit, interval)
	if err != nil {
		return nil, fmt.Errorf("read due permissions: %w", err)
	}
	due, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ConnectorKey])
	if err != nil {
		return nil, fmt.Errorf("read due permissions: %w", err)
	}
	return due, nil
}

// BeginReaders records the revision of the connector's settings for which a job
// reads all readers.
func (s *Store) BeginReaders(ctx context.Context, d ConnectorKey, revision int) error {
	return s.mark(ctx, d, "readers_pending = $3", revision)
}

// FinishReaders records that such a job is complete. It opens the connector's
// documents, unless the settings have changed since the beginning.
func (s *Store) FinishReaders(ctx context.Context, d ConnectorKey) error {
	return s.mark(ctx, d, `readers_revision = readers_pending, readers_at = case when `+enforcesPermissions+` then now() end,
		closed = closed and readers_pending < permissions_revision`)
}

func (s *Store) mark(ctx context.Context, d ConnectorKey, set string, more ...any) error {
	if _, err := s.pool.Exec(ctx, "update connectors set "+set+" where id = $1 and workspace_id = $2", append([]any{d.Connector, d.Workspace}, more...)...); err != nil {
		return fmt.Errorf("record the state of readers: %w", err)
	}
	return nil
}
