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

// The usual settings.
const (
	// MaxAge is how long groups count that cannot be read anew.
	MaxAge = 24 * time.Hour
	// Every is how often groups are read.
	Every = time.Hour
	// knownFor is how old a person's principals may be.
	knownFor = 2 * time.Second
	// mostGroups bounds how many groups of a person count.
	mostGroups = 20_000
)

// Options of a Store; the zero value is useful.
type Options struct {
	MaxAge time.Duration // 0: the constant
	Every  time.Duration // 0: the constant
	For    time.Duration // how old a person's principals may be; 0: 2 s
}

// Store keeps groups and their members. It is safe for concurrent use; Close it
// once.
type Store struct {
	pool  *pgxpool.Pool
	opt   Options
	known *ttlcache.Cache[person, []string]
}

type person struct {
	workspace uuid.UUID
	mail      string
}

var _ viewer.Principals = (*Store)(nil)

// New makes a Store on the application's pool (internal/store).
func New(pool *pgxpool.Pool, o Options) *Store {
	if o.MaxAge <= 0 {
		o.MaxAge = MaxAge
	}
	if o.Every <= 0 {
		o.Every = Every
	}
	if o.For <= 0 {
		o.For = knownFor
	}
	s := &Store{pool: pool, opt: o}
	s.known = ttlcache.New(s.read, ttlcache.Options{MaxAge: o.For})
	return s
}

// Close ends what is being read.
func (s *Store) Close() { s.known.Close() }

// MaxAge is how long groups count that cannot be read anew.
func (s *Store) MaxAge() time.Duration { return s.opt.MaxAge }

// Of returns a person and the groups of all connectors of a workspace that they
// belong to, directly or through other groups. Groups that were read too long ago
// are left out. The answer is at most a few seconds old; it is not to be changed.
func (s *Store) Of(ctx context.Context, workspace uuid.UUID, mail string) ([]string, error) {
	principals, _, err := s.known.Get(ctx, person{workspace, mail})
	if err != nil {
		return nil, fmt.Errorf("find out who somebody is at the sources: %w", err)
	}
	return principals, nil
}

// The groups of somebody: those that name them, those that name these, and so on.
// What was found already is not followed again, so that a circle ends.
const groupsOf = `with recursive directories as materialized (
		select id, groups_generation as generation from connectors
		where workspace_id = $1 and deleting_at is null and groups_generation > 0 and groups_at > now() - $3::interval
	), mine as (
		select m.connector_id, m.generation, m.principal
		from principal_members m join directories d on d.id = m.connector_id and d.generation = m.generation
		where m.workspace_id = $1 and m.member = $2
		union
		select m.connector_id, m.generation, m.principal
		from mine join principal_members m on m.workspace_id = $1 and m.connector_id = mine.connector_id
			and m.generation = mine.generation and m.member = mine.principal
	)
	select connector_id, principal from mine limit $4`

func (s *Store) read(ctx context.Context, p person) ([]string, bool, error) {
	rows, err := s.pool.Query(ctx, groupsOf, p.workspace, User(p.mail), s.opt.MaxAge, mostGroups)
	if err != nil {
		return nil, false, fmt.Errorf("read the groups of a person: %w", err)
	}
	principals := []string{User(p.mail)}
	var connector uuid.UUID
	var own string
	if _, err := pgx.ForEachRow(rows, []any{&connector, &own}, func() error {
		principals = append(principals, group(connector, own))
		return nil
	}); err != nil {
		return nil, false, fmt.Errorf("read the groups of a person: %w", err)
	}
	return principals, true, nil
}
