package principal

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/store/ttlcache"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	// MaxAge is how long groups count that cannot be read again.
	MaxAge = 24 * time.Hour
	// RefreshInterval is how often groups are read.
	RefreshInterval = time.Hour
	// defaultCacheFor is how long a person's principals are cached.
	defaultCacheFor = 2 * time.Second
	// maxGroups is the maximum number of a person's groups that count. Those of the directory come first.
	maxGroups = 20_000
)

// Options configure a Store. The zero value is useful.
type Options struct {
	MaxAge          time.Duration // default: MaxAge
	RefreshInterval time.Duration // default: RefreshInterval
	CacheFor        time.Duration // of a person's principals; default: 2 s
}

// Store stores groups and their members. It is safe for concurrent use. Call Close
// at the end.
type Store struct {
	pool     *pgxpool.Pool
	opt      Options
	cache    *ttlcache.Cache[person, []string]
	verifier viewer.Verifier // nil before Use
}

// A person is a member of a workspace by their account, or anybody by an address that they
// own.
type person struct {
	workspace uuid.UUID
	email     string
	account   uuid.UUID // without an address
}

var (
	_ viewer.Principals = (*Store)(nil)
	_ viewer.Verifier   = (*Store)(nil)
)

// New returns a Store that uses the application's pool.
func New(pool *pgxpool.Pool, o Options) *Store {
	if o.MaxAge <= 0 {
		o.MaxAge = MaxAge
	}
	if o.RefreshInterval <= 0 {
		o.RefreshInterval = RefreshInterval
	}
	if o.CacheFor <= 0 {
		o.CacheFor = defaultCacheFor
	}
	s := &Store{pool: pool, opt: o}
	s.cache = ttlcache.New(s.load, ttlcache.Options{MaxAge: o.CacheFor})
	return s
}

// Use lets v verify what people may read. It is called before requests are served.
func (s *Store) Use(v viewer.Verifier) { s.verifier = v }

// Verifies implements [viewer.Verifier].
func (s *Store) Verifies(ctx context.Context, workspace uuid.UUID) (bool, error) {
	if s.verifier == nil {
		return false, nil
	}
	return s.verifier.Verifies(ctx, workspace)
}

// HiddenNow implements [viewer.Verifier].
func (s *Store) HiddenNow(ctx context.Context, workspace uuid.UUID, email string, documents []uuid.UUID) (viewer.Verdict, error) {
	if s.verifier == nil {
		return viewer.Verdict{Hidden: map[uuid.UUID]bool{}}, nil
	}
	return s.verifier.HiddenNow(ctx, workspace, email, documents)
}

// Close ends running reads.
func (s *Store) Close() { s.cache.Close() }

// MaxAge returns how long groups count that cannot be read again.
func (s *Store) MaxAge() time.Duration { return s.opt.MaxAge }

// Of returns the principals of a person: their own, that of the domain of their
// address, the groups of all connectors of a workspace that these belong to, directly
// or through other groups, and the groups of the workspace's directory in which the
// member with the address is, unless they are suspended or nobody knows who they are.
// It leaves out groups of connectors that are older than MaxAge. The result is at most a few
// seconds old and must not be changed.
func (s *Store) Of(ctx context.Context, workspace uuid.UUID, email string) ([]string, error) {
	return s.of(ctx, person{workspace: workspace, email: email})
}

// OfAccount returns the principals of a member whose address nobody has verified: the
// groups of the workspace's directory in which they are, if the directory manages them
// and has not suspended them. The result is as that of Of.
func (s *Store) OfAccount(ctx context.Context, workspace, account uuid.UUID) ([]string, error) {
	return s.of(ctx, person{workspace: workspace, account: account})
}

func (s *Store) of(ctx context.Context, p person) ([]string, error) {
	principals, _, err := s.cache.Get(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("read the principals of a person: %w", err)
	}
	return principals, nil
}

// groupsOf selects the groups of a person, the groups that contain these, and so
// on. The union removes duplicates, so that cycles end.
const groupsOf = `with recursive directories as materialized (
		select id, groups_generation as generation from connectors
		where workspace_id = $1 and deleting_at is null and groups_generation > 0 and groups_at > now() - $3::interval
	), mine as (
		select m.connector_id, m.generation, m.principal
		from principal_members m join directories d on d.id = m.connector_id and d.generation = m.generation
		where m.workspace_id = $1 and m.member = any($2)
		union
		select m.connector_id, m.generation, m.principal
		from mine join principal_members m on m.workspace_id = $1 and m.connector_id = mine.connector_id
			and m.generation = mine.generation and m.member = mine.principal
	)
	select connector_id, principal from (
		(select null::uuid as connector_id, '` + directoryPrefix + `' || m.group_id as principal, 0 as rank from ` + directoryMembers + `
			where m.workspace_id = $1 and u.email = $5 limit $4)
		union all
		(select connector_id, principal, 1 from mine limit $4)
	) found order by rank limit $4`

// groupsOfAccount selects the groups of the directory of a member.
const groupsOfAccount = "select '" + directoryPrefix + "' || m.group_id from " + directoryMembers + " where m.workspace_id = $1 and u.id = $2 limit $3"

func (s *Store) load(ctx context.Context, p person) ([]string, bool, error) {
	if p.email == "" {
		rows, err := s.pool.Query(ctx, groupsOfAccount, p.workspace, p.account, maxGroups)
		if err != nil {
			return nil, false, fmt.Errorf("read the groups of an account: %w", err)
		}
		groups, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return nil, false, fmt.Errorf("read the groups of an account: %w", err)
		}
		return groups, true, nil
	}
	principals := own(p.email)
	rows, err := s.pool.Query(ctx, groupsOf, p.workspace, principals, s.opt.MaxAge, maxGroups, p.email)
	if err != nil {
		return nil, false, fmt.Errorf("read the groups of a person: %w", err)
	}
	var connector *uuid.UUID // nil for a group of the directory
	var name string
	if _, err := pgx.ForEachRow(rows, []any{&connector, &name}, func() error {
		if connector != nil {
			name = group(*connector, name)
		}
		principals = append(principals, name)
		return nil
	}); err != nil {
		return nil, false, fmt.Errorf("read the groups of a person: %w", err)
	}
	return principals, true, nil
}
