package principal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/viewer"
)

// ErrSuperseded says that a later reading of the same groups has started or that
// the connector was deleted. The reading has no effect.
var ErrSuperseded = errors.New("another reading of the groups has begun")

const (
	// lease is how long a reading may go without a page before it counts as dead.
	lease = 15 * time.Minute
	// maxBatch is the maximum number of members in a statement.
	maxBatch     = 10_000
	maxNameBytes = 500
	maxFailure   = 2000
	retryFailure = 5 * time.Minute
)

// Group is a group at a source, with the source's principals.
type Group struct {
	Principal, Name string
	Members         []string
}

// Reading is a new set of a connector's groups that is being read. It replaces the
// old set as a whole when Commit returns.
type Reading struct {
	store                *Store
	workspace, connector uuid.UUID
	number               int64
	startedAt            time.Time // by the clock of the database
}

// Begin starts to read the groups of a connector. Earlier readings can no longer
// commit.
func (s *Store) Begin(ctx context.Context, scope viewer.Scope, connector uuid.UUID) (*Reading, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("read groups: %w", err)
	}
	r := &Reading{store: s, workspace: workspace, connector: connector}
	err = s.pool.QueryRow(ctx, `update connectors set groups_attempt = groups_attempt + 1, groups_due_at = now() + $3::interval
		where id = $1 and workspace_id = $2 and deleting_at is null returning groups_attempt, now()`, connector, workspace, lease).Scan(&r.number, &r.startedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, apierr.NotFound("Connector")
	}
	if err != nil {
		return nil, fmt.Errorf("begin to read groups: %w", err)
	}
	return r, nil
}

// Add adds groups. A group that is added twice has the members of both.
func (r *Reading) Add(ctx context.Context, groups []Group) error {
	var ids, names, owners, members []string
	for _, g := range groups {
		principal := clean(g.Principal)
		if !strings.HasPrefix(principal, groupPrefix) {
			continue
		}
		ids, names = append(ids, principal), append(names, safetext.TruncateBytes(safetext.Line(g.Name), maxNameBytes))
		for _, m := range g.Members {
			if m = clean(m); m != "" && m != principal {
				owners, members = append(owners, principal), append(members, m)
			}
		}
	}
	b := &pgx.Batch{}
	b.Queue(`update connectors set groups_due_at = now() + $4::interval where id = $1 and workspace_id = $2 and groups_attempt = $3`,
		r.connector, r.workspace, r.number, lease)
	b.Queue(`insert into principal_groups (workspace_id, connector_id, generation, principal, name)
		select distinct on (g.id) $1::uuid, $2::uuid, $3::bigint, g.id, g.name from unnest($4::text[], $5::text[]) as g (id, name) on conflict do nothing`,
		r.workspace, r.connector, r.number, ids, names)
	for at := 0; at < len(owners); at += maxBatch {
		end := min(at+maxBatch, len(owners))
		b.Queue(`insert into principal_members (workspace_id, connector_id, generation, principal, member)
			select distinct $1::uuid, $2::uuid, $3::bigint, m.principal, m.member from unnest($4::text[], $5::text[]) as m (principal, member) on conflict do nothing`,
			r.workspace, r.connector, r.number, owners[at:end], members[at:end])
	}
	err := pgx.BeginFunc(ctx, r.store.pool, func(tx pgx.Tx) error {
		results := tx.SendBatch(ctx, b)
		tag, err := results.Exec()
		if err == nil && tag.RowsAffected() == 0 {
			err = ErrSuperseded
		}
		return errors.Join(err, results.Close())
	})
	if err != nil {
		return fmt.Errorf("keep groups: %w", err)
	}
	return nil
}

// Commit replaces the old set and schedules the next reading, an early one if an
// unknown group was met since the beginning (ExpediteGroups). The error wraps
// ErrSuperseded if a later reading has started.
func (r *Reading) Commit(ctx context.Context) error {
	tag, err := r.store.pool.Exec(ctx, `update connectors set groups_generation = $3, groups_at = $4::timestamptz, groups_failure = null,
			groups_due_at = case when groups_wanted_at is null or groups_wanted_at < $4::timestamptz then $4::timestamptz + $5::interval
				when groups_generation = 0 then now() else $4::timestamptz + $6::interval end
		where id = $1 and workspace_id = $2 and groups_attempt = $3`,
		r.connector, r.workspace, r.number, r.startedAt, r.store.opt.RefreshInterval, minGroupsAge)
	if err == nil && tag.RowsAffected() == 0 {
		err = errors.Join(ErrSuperseded, r.deleteOld(ctx))
	}
	if err != nil {
		return fmt.Errorf("exchange the groups: %w", err)
	}
	return r.deleteOld(ctx)
}

// Fail ends the reading, keeps the old set and stores the reason. The next reading
// is due after the given time, at least a few minutes.
func (r *Reading) Fail(ctx context.Context, reason string, after time.Duration) error {
	_, err := r.store.pool.Exec(ctx, `update connectors set groups_failure = $4, groups_due_at = now() + $5::interval
		where id = $1 and workspace_id = $2 and groups_attempt = $3`, r.connector, r.workspace, r.number, safetext.TruncateBytes(safetext.Storable(reason), maxFailure), max(after, retryFailure))
	if err != nil {
		return fmt.Errorf("note that groups cannot be read: %w", err)
	}
	return r.deleteOld(ctx)
}

// deleteOld deletes the sets that are neither current nor being read.
func (r *Reading) deleteOld(ctx context.Context) error {
	b := &pgx.Batch{}
	for _, table := range []string{"principal_members", "principal_groups"} {
		b.Queue(`delete from `+table+` t using connectors k where t.connector_id = $1 and t.workspace_id = $2 and k.id = t.connector_id
			and t.generation <> k.groups_generation and t.generation <= $3`, r.connector, r.workspace, r.number)
	}
	if err := r.store.pool.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("forget old groups: %w", err)
	}
	return nil
}
