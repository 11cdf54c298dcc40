package principal

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Due is a connector with something to read.
type Due struct{ Workspace, Connector uuid.UUID }

// keeping is true for connectors that keep to the permissions of their source.
const keeping = `(config->>'include_permissions' = 'true' and coalesce(config->>'permission_mode', 'strict') <> 'permissive')`

// DueGroups takes up to limit connectors whose groups are to be read, of all
// workspaces, each for one caller however many ask.
func (s *Store) DueGroups(ctx context.Context, limit int) ([]Due, error) {
	return s.due(ctx, `update connectors set groups_due_at = now() + $2::interval where id in (
			select id from connectors
			where enabled and deleting_at is null and (groups_due_at is null or groups_due_at <= now()) and `+keeping+`
			order by groups_due_at nulls first, id limit $1 for update skip locked)
		returning workspace_id, id`, limit, lease)
}

// hastened is the least age of groups that are read before their time.
const hastened = time.Minute

// Hasten has a connector's groups read soon when some of these, by the source's
// own principals, are not among those that count. Groups that were read less
// than a minute ago wait until it is over.
func (s *Store) Hasten(ctx context.Context, d Due, groups []string) error {
	_, err := s.pool.Exec(ctx, `update connectors k set groups_due_at = greatest(now(), coalesce(k.groups_at, now()) + $4::interval)
		where k.id = $1 and k.workspace_id = $2 and k.groups_due_at > greatest(now(), coalesce(k.groups_at, now()) + $4::interval)
			and exists (select from unnest($3::text[]) as g (name) where not exists
				(select from principal_groups p where p.connector_id = k.id and p.generation = k.groups_generation and p.principal = g.name))`,
		d.Connector, d.Workspace, groups, hastened)
	if err != nil {
		return fmt.Errorf("have groups read: %w", err)
	}
	return nil
}

// DueReaders lists up to limit connectors whose documents' readers are to be read,
// of all workspaces: whether they are enforced has changed, or they were read
// longer than an age ago. One whose job is open is left out.
func (s *Store) DueReaders(ctx context.Context, age time.Duration, limit int) ([]Due, error) {
	return s.due(ctx, `select k.workspace_id, k.id from connectors k
		where k.enabled and k.deleting_at is null
			and (k.readers_revision < k.permissions_revision or `+keeping+` and coalesce(k.readers_at, k.created_at) < now() - $2::interval)
			and not exists (select from sync_jobs j where j.connector_id = k.id and j.status in ('QUEUED', 'RUNNING'))
		order by k.readers_revision < k.permissions_revision desc, k.readers_at nulls first, k.id limit $1`, limit, age)
}

func (s *Store) due(ctx context.Context, query string, limit int, time time.Duration) ([]Due, error) {
	rows, err := s.pool.Query(ctx, query, limit, time)
	if err != nil {
		return nil, fmt.Errorf("look for permissions to read: %w", err)
	}
	due, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Due])
	if err != nil {
		return nil, fmt.Errorf("look for permissions to read: %w", err)
	}
	return due, nil
}

// BeginReaders notes which state of the connector's settings a job goes by that
// reads all readers from the beginning.
func (s *Store) BeginReaders(ctx context.Context, d Due, revision int) error {
	return s.mark(ctx, d, "readers_pending = $3", revision)
}

// EndReaders notes that such a job is complete. Documents that were kept back
// until then are kept back no more, unless the settings have changed since.
func (s *Store) EndReaders(ctx context.Context, d Due) error {
	return s.mark(ctx, d, `readers_revision = readers_pending, readers_at = case when `+keeping+` then now() end,
		closed = closed and readers_pending < permissions_revision`)
}

func (s *Store) mark(ctx context.Context, d Due, set string, more ...any) error {
	if _, err := s.pool.Exec(ctx, "update connectors set "+set+" where id = $1 and workspace_id = $2", append([]any{d.Connector, d.Workspace}, more...)...); err != nil {
		return fmt.Errorf("note how far readers are read: %w", err)
	}
	return nil
}
