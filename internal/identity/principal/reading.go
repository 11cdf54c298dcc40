package principal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// ErrOvertaken says that a later reading of the same groups began, or that the
// connector is gone. Nothing of this one counts.
var ErrOvertaken = errors.New("another reading of the groups has begun")

const (
	// lease is how long a reading may go on without a page before it is taken for
	// dead.
	lease = 15 * time.Minute
	// together bounds the members that one statement carries.
	together     = 10_000
	maxTitle     = 500
	maxFailure   = 2000
	retryFailure = 5 * time.Minute
)

// Group is a group as a source tells of it: principals as the source says them.
type Group struct {
	Principal, Name string
	Members         []string
}

// Reading is a new set of a connector's groups that is being read. It counts as a
// whole, once Commit has returned; until then, and for ever if it does not get
// that far, the set before does.
type Reading struct {
	store                *Store
	workspace, connector uuid.UUID
	number               int64
	began                time.Time // by the database's clock
}

// Begin begins to read the groups of a connector. A reading that began before
// cannot end any more.
func (s *Store) Begin(ctx context.Context, scope viewer.Scope, connector uuid.UUID) (*Reading, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("read groups: %w", err)
	}
	r := &Reading{store: s, workspace: workspace, connector: connector}
	err = s.pool.QueryRow(ctx, `update connectors set groups_attempt = groups_attempt + 1, groups_due_at = now() + $3::interval
		where id = $1 and workspace_id = $2 and deleting_at is null returning groups_attempt, now()`, connector, workspace, lease).Scan(&r.number, &r.began)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, apierr.NotFound("Connector")
	}
	if err != nil {
		return nil, fmt.Errorf("begin to read groups: %w", err)
	}
	return r, nil
}

// Add takes a page of groups. One that comes twice has the members of both.
func (r *Reading) Add(ctx context.Context, groups []Group) error {
	var ids, names, of, members []string
	for _, g := range groups {
		own := clean(g.Principal)
		if !strings.HasPrefix(own, groupPrefix) {
			continue
		}
		ids, names = append(ids, own), append(names, title(g.Name))
		for _, m := range g.Members {
			if m = clean(m); m != "" && m != own {
				of, members = append(of, own), append(members, m)
			}
		}
	}
	b := &pgx.Batch{}
	b.Queue(`update connectors set groups_due_at = now() + $4::interval where id = $1 and workspace_id = $2 and groups_attempt = $3`,
		r.connector, r.workspace, r.number, lease)
	b.Queue(`insert into principal_groups (workspace_id, connector_id, generation, principal, name)
		select distinct on (g.id) $1::uuid, $2::uuid, $3::bigint, g.id, g.name from unnest($4::text[], $5::text[]) as g (id, name) on conflict do nothing`,
		r.workspace, r.connector, r.number, ids, names)
	for at := 0; at < len(of); at += together {
		end := min(at+together, len(of))
		b.Queue(`insert into principal_members (workspace_id, connector_id, generation, principal, member)
			select distinct $1::uuid, $2::uuid, $3::bigint, m.principal, m.member from unnest($4::text[], $5::text[]) as m (principal, member) on conflict do nothing`,
			r.workspace, r.connector, r.number, of[at:end], members[at:end])
	}
	err := pgx.BeginFunc(ctx, r.store.pool, func(tx pgx.Tx) error {
		results := tx.SendBatch(ctx, b)
		tag, err := results.Exec()
		if err == nil && tag.RowsAffected() == 0 {
			err = ErrOvertaken
		}
		return errors.Join(err, results.Close())
	})
	if err != nil {
		return fmt.Errorf("keep groups: %w", err)
	}
	return nil
}

// Commit makes the set count in the place of the one before, and says when the
// next one is due. ErrOvertaken is in its error when a later reading began.
func (r *Reading) Commit(ctx context.Context) error {
	tag, err := r.store.pool.Exec(ctx, `update connectors set groups_generation = $3, groups_at = $4::timestamptz, groups_failure = null,
			groups_due_at = $4::timestamptz + $5::interval where id = $1 and workspace_id = $2 and groups_attempt = $3`,
		r.connector, r.workspace, r.number, r.began, r.store.opt.Every)
	if err == nil && tag.RowsAffected() == 0 {
		err = errors.Join(ErrOvertaken, r.drop(ctx))
	}
	if err != nil {
		return fmt.Errorf("exchange the groups: %w", err)
	}
	return r.drop(ctx)
}

// Fail gives the reading up and keeps why; the set before goes on to count. The
// next reading is due after a while, at least a few minutes.
func (r *Reading) Fail(ctx context.Context, why string, after time.Duration) error {
	_, err := r.store.pool.Exec(ctx, `update connectors set groups_failure = $4, groups_due_at = now() + $5::interval
		where id = $1 and workspace_id = $2 and groups_attempt = $3`, r.connector, r.workspace, r.number, cut(why, maxFailure), max(after, retryFailure))
	if err != nil {
		return fmt.Errorf("note that groups cannot be read: %w", err)
	}
	return r.drop(ctx)
}

// drop deletes what counts no more, and what nobody goes on reading.
func (r *Reading) drop(ctx context.Context) error {
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

func title(name string) string {
	return cut(strings.Map(func(c rune) rune {
		if c < ' ' {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(name, "?")), maxTitle)
}

func cut(text string, most int) string {
	if text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", " "), "?"); len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
