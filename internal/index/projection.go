package index

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/magpie-search/magpie/internal/viewer"
)

// A ProjectionState is how far the projection of a collection into a search engine is.
type ProjectionState string

// The states.
const (
	ProjectionBuilding ProjectionState = "BUILDING" // the class does not have everything yet
	ProjectionReady    ProjectionState = "READY"    // searches may use it
	ProjectionFailed   ProjectionState = "FAILED"   // the engine refuses the class or its objects
)

// A Covered says which documents of a collection are done: all whose newest change is at
// most Change, and of the change after it those whose ids are at most Document. The zero
// value is for none.
type Covered struct {
	Change   int64
	Document uuid.UUID
}

// Position returns the position after what is done.
func (c Covered) Position() FeedPosition { return FeedPosition{c.Change + 1, c.Document} }

// A Projection is the class of a search engine that has a collection, and what it has. The
// row in the database belongs to one process at a time, which has claimed it.
type Projection struct {
	Workspace, Collection uuid.UUID
	Class                 string
	ClassGeneration       int64
	// IndexGeneration is the generation of the collection's changes that the class follows.
	IndexGeneration  int64
	Model            string
	Dimensions       int // of the vectors, 0 for none
	Shards, Replicas int
	// History is that of the database (Instance) that the class follows.
	History string
	State   ProjectionState
	// Written is what was sent to the engine. Confirmed is what every replica has.
	Written, Confirmed Covered
	// Refused are the covered documents of which the engine refuses an object.
	Refused   []uuid.UUID
	Objects   int64  // that were sent to the class
	LastError string // of the last try, "" if it did not fail
	Failures  int    // in a row
	// RetryIn is the time from a save to the next try.
	RetryIn time.Duration
	// IsBehind says that there is something to confirm. BehindSince says since when; the
	// zero time for nothing. The database sets it.
	IsBehind    bool
	BehindSince time.Time
	// CheckedAgo is the time since the replicas were last looked at, when the row was
	// claimed. Checked sets it to now.
	CheckedAgo time.Duration
	Checked    bool

	holder  uuid.UUID
	attempt int64
}

// ErrProjectionHeld is returned if another process has the projection.
var ErrProjectionHeld = errors.New("another process projects the collection")

// An Instance is this installation as a search engine knows it.
type Instance struct {
	// Name begins the names of its classes. It is 12 hexadecimal digits.
	Name string
	// History changes when the database may have lost committed changes: it was restored, or
	// a replica was promoted.
	History string
}

// Instance returns the identity of the installation, which is made at the first call.
func (s *Store) Instance(ctx context.Context) (Instance, error) {
	var i Instance
	var origin, timeline string
	read := func() error {
		err := s.pool.QueryRow(ctx, `select o.origin, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
				coalesce((select e.name from engine_instance e where e.origin = o.origin), '')
			from (select c.system_identifier::text || '/' || d.oid::text as origin from pg_control_system() c, pg_database d where d.datname = current_database()) o`).
			Scan(&origin, &timeline, &i.Name)
		i.History = origin + "/" + timeline
		return err
	}
	if err := read(); err != nil {
		return Instance{}, fmt.Errorf("read the identity of the installation: %w", readable(err))
	}
	if i.Name != "" {
		return i, nil
	}
	name := make([]byte, 6)
	_, _ = rand.Read(name) // documented never to fail
	// A copy of a database that has a name gets another one.
	if _, err := s.pool.Exec(ctx, `insert into engine_instance as e (name, origin) values ($1, $2)
		on conflict (only_row) do update set name = excluded.name, origin = excluded.origin where e.origin <> excluded.origin`,
		hex.EncodeToString(name), origin); err != nil {
		return Instance{}, fmt.Errorf("name the installation: %w", readable(err))
	}
	if err := read(); err != nil {
		return Instance{}, fmt.Errorf("read the identity of the installation: %w", readable(err))
	}
	return i, nil
}

// ProjectionWork is a collection that is in the search engine, or is to be in it.
type ProjectionWork struct {
	Workspace, Collection uuid.UUID
	// Wanted says that the collection is to be in the engine.
	Wanted bool
	// Due says that no other process has the projection, and that the time of the next try
	// has come.
	Due bool
	// Model, Generation, Change and Passages are those of the collection.
	Model              string
	Generation, Change int64
	Passages           int64
	Projection         *Projection // nil if there is none
}

const projectionColumns = `e.workspace_id, e.collection_id, e.class, e.class_generation, e.index_generation, e.model, e.dimensions, e.shards, e.replicas,
	e.history, e.state, e.written_change, e.written_document, e.confirmed_change, e.confirmed_document, e.objects, coalesce(e.last_error, ''), e.failures,
	e.refused, e.behind_since, extract(epoch from now() - e.checked_at)::float8, e.attempt`

func (p *Projection) scan(row pgx.CollectableRow, more ...any) error {
	var behind *time.Time
	var checked float64
	err := row.Scan(append([]any{
		&p.Workspace, &p.Collection, &p.Class, &p.ClassGeneration, &p.IndexGeneration, &p.Model, &p.Dimensions, &p.Shards, &p.Replicas,
		&p.History, &p.State, &p.Written.Change, &p.Written.Document, &p.Confirmed.Change, &p.Confirmed.Document, &p.Objects, &p.LastError, &p.Failures,
		&p.Refused, &behind, &checked, &p.attempt,
	}, more...)...)
	if behind != nil {
		p.IsBehind, p.BehindSince = true, behind.UTC()
	}
	p.CheckedAgo = time.Duration(checked * float64(time.Second))
	return err
}

// ProjectionWork lists the collections, of any workspace, that are in the search engine
// or are to be in it, ordered by id. A collection that is in it leaves it when it has
// less than half of the passages of the limit.
func (s *Store) ProjectionWork(ctx context.Context) ([]ProjectionWork, error) {
	rows, err := s.pool.Query(ctx, `select w.workspace_id, w.id, w.wanted, e.collection_id is null or (e.held_until is null or e.held_until <= now()) and (e.next_try_at <= now() or not w.wanted),
			w.embedding_model, w.generation, w.change_number, w.passages, e.collection_id is not null
		from (
			select c.id, c.workspace_id, c.embedding_model, coalesce(s.generation, 0) as generation, coalesce(s.change_number, 0) as change_number,
				coalesce(s.passages, 0) as passages, c.deleting_at is null and (c.search_tier = 'ENGINE' or c.search_tier = 'AUTO' and coalesce(coalesce(s.passages, 0) >=
					case when exists (select from engine_collections x where x.collection_id = c.id) then (t.engine_passages + 1) / 2 else t.engine_passages end, false)) as wanted
			from collections c cross join search_settings t left join collection_state s on s.collection_id = c.id
		) w left join engine_collections e on e.collection_id = w.id
		where w.wanted or e.collection_id is not null
		order by w.id`)
	if err != nil {
		return nil, fmt.Errorf("look for collections to project: %w", readable(err))
	}
	work, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (w ProjectionWork, err error) {
		var there bool
		err = row.Scan(&w.Workspace, &w.Collection, &w.Wanted, &w.Due, &w.Model, &w.Generation, &w.Change, &w.Passages, &there)
		if there {
			w.Projection = &Projection{Workspace: w.Workspace, Collection: w.Collection}
		}
		return w, err
	})
	if err != nil {
		return nil, fmt.Errorf("look for collections to project: %w", readable(err))
	}
	return work, s.readProjections(ctx, work)
}

// readProjections fills the projections in.
func (s *Store) readProjections(ctx context.Context, work []ProjectionWork) error {
	var ids []uuid.UUID
	for i := range work {
		if work[i].Projection != nil {
			ids = append(ids, work[i].Collection)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := s.pool.Query(ctx, "select "+projectionColumns+" from engine_collections e where e.collection_id = any($1)", ids)
	if err != nil {
		return fmt.Errorf("read projections: %w", readable(err))
	}
	found := map[uuid.UUID]*Projection{}
	if _, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var p Projection
		err := p.scan(row)
		found[p.Collection] = &p
		return struct{}{}, err
	}); err != nil {
		return fmt.Errorf("read projections: %w", readable(err))
	}
	for i := range work {
		work[i].Projection = found[work[i].Collection]
	}
	return nil
}

// Projections returns the projections of the collections in scope, ordered by collection.
func (s *Store) Projections(ctx context.Context, scope viewer.Scope) ([]Projection, error) {
	within, err := reachOf(scope)
	if err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, "select "+projectionColumns+` from engine_collections e join collections c on c.id = e.collection_id
		where c.workspace_id = $1 and ($2 or c.id = any($3)) and c.deleting_at is null order by c.id`, within.arguments()...)
	if err != nil {
		return nil, fmt.Errorf("read projections: %w", readable(err))
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p Projection, err error) {
		err = p.scan(row)
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("read projections: %w", readable(err))
	}
	return all, nil
}

// AddProjection adds the projection of a collection that has none, and claims it. It
// returns ErrProjectionHeld if there is one, and viewer.ErrOutOfScope for a collection
// that is gone, or not of the scope.
func (s *Store) AddProjection(ctx context.Context, scope viewer.Scope, p *Projection, lease time.Duration) error {
	workspace, err := only(scope, p.Collection)
	if err != nil {
		return fmt.Errorf("add a projection: %w", err)
	}
	p.Workspace, p.holder, p.attempt = workspace, uuid.New(), 1
	tag, err := s.pool.Exec(ctx, `insert into engine_collections (collection_id, workspace_id, class, class_generation, index_generation, model, dimensions,
			shards, replicas, history, holder, held_until, behind_since)
		select c.id, c.workspace_id, $3, $4, $5, $6, $7, $8, $9, $10, $11, now() + $12::bigint * interval '1 microsecond', now()
		from collections c where c.id = $1 and c.workspace_id = $2 and c.deleting_at is null
		on conflict do nothing`, // any: the name of the class is unique, too, and is asked in no certain order
		p.Collection, workspace, p.Class, p.ClassGeneration, p.IndexGeneration, p.Model, p.Dimensions, p.Shards, p.Replicas, p.History, p.holder, lease.Microseconds())
	if err != nil {
		return fmt.Errorf("add a projection: %w", readable(err))
	}
	if tag.RowsAffected() > 0 {
		p.State, p.IsBehind = ProjectionBuilding, true
		return nil
	}
	var there bool
	err = s.pool.QueryRow(ctx, "select exists (select from collections where id = $1 and workspace_id = $2 and deleting_at is null)", p.Collection, workspace).Scan(&there)
	switch {
	case err != nil:
		return fmt.Errorf("add a projection: %w", readable(err))
	case there:
		return ErrProjectionHeld
	default:
		return fmt.Errorf("add a projection: %w", viewer.ErrOutOfScope)
	}
}

// ClaimProjection claims the projection of a collection for the time of the lease. It
// returns ErrProjectionHeld if another process has it or it is gone.
func (s *Store) ClaimProjection(ctx context.Context, scope viewer.Scope, collection uuid.UUID, lease time.Duration) (*Projection, error) {
	workspace, err := only(scope, collection)
	if err != nil {
		return nil, fmt.Errorf("claim a projection: %w", err)
	}
	p := &Projection{holder: uuid.New()}
	rows, err := s.pool.Query(ctx, `update engine_collections e set holder = $3, attempt = e.attempt + 1, held_until = now() + $4::bigint * interval '1 microsecond'
		where e.collection_id = $1 and e.workspace_id = $2 and (e.held_until is null or e.held_until <= now())
		returning `+projectionColumns, collection, workspace, p.holder, lease.Microseconds())
	if err != nil {
		return nil, fmt.Errorf("claim a projection: %w", readable(err))
	}
	_, err = pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (struct{}, error) { return struct{}{}, p.scan(row) })
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, ErrProjectionHeld
	}
	if err != nil {
		return nil, fmt.Errorf("claim a projection: %w", readable(err))
	}
	return p, nil
}

// SaveProjection stores a claimed projection, and extends the claim by the lease; a lease of 0
// ends the claim. When it returns, everything that this process has read before is on
// disk, whatever the writers asked for. It returns ErrProjectionHeld, and stores nothing, if another process
// has claimed the projection meanwhile or it is gone.
func (s *Store) SaveProjection(ctx context.Context, scope viewer.Scope, p *Projection, lease time.Duration) error {
	workspace, err := only(scope, p.Collection)
	if err != nil {
		return fmt.Errorf("save a projection: %w", err)
	}
	var failed *string
	if p.LastError != "" {
		failed = &p.LastError
	}
	stored := false
	err = s.inTransaction(ctx, func(conn *pgx.Conn) error {
		b := &pgx.Batch{}
		b.Queue("begin")
		b.Queue("select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off'")
		b.Queue(`update engine_collections set class = $5, class_generation = $6, index_generation = $7, model = $8, dimensions = $9, shards = $10, replicas = $11,
				history = $12, state = $13, written_change = $14, written_document = $15, confirmed_change = $16, confirmed_document = $17, objects = $18,
				last_error = $19, failures = $20, next_try_at = now() + $21::bigint * interval '1 microsecond',
				behind_since = case when $22 then coalesce(behind_since, now()) end, checked_at = case when $23 then now() else checked_at end,
				holder = case when $24::bigint > 0 then holder end, held_until = case when $24 > 0 then now() + $24 * interval '1 microsecond' end, updated_at = now(),
				refused = $25
			where collection_id = $1 and workspace_id = $2 and holder = $3 and attempt = $4`,
			p.Collection, workspace, p.holder, p.attempt, p.Class, p.ClassGeneration, p.IndexGeneration, p.Model, p.Dimensions, p.Shards, p.Replicas,
			p.History, p.State, p.Written.Change, p.Written.Document, p.Confirmed.Change, p.Confirmed.Document, p.Objects,
			failed, p.Failures, p.RetryIn.Microseconds(), p.IsBehind, p.Checked, lease.Microseconds(), append([]uuid.UUID{}, p.Refused...)).
			Exec(func(tag pgconn.CommandTag) error { stored = tag.RowsAffected() > 0; return nil })
		b.Queue("commit")
		return run(ctx, conn, b, "save a projection")
	})
	switch {
	case err != nil:
		return readable(err)
	case !stored:
		return ErrProjectionHeld
	default:
		p.Checked = false
		return nil
	}
}

// RemoveProjection removes a claimed projection. It returns ErrProjectionHeld if another process has
// claimed it meanwhile or it is gone.
func (s *Store) RemoveProjection(ctx context.Context, scope viewer.Scope, p *Projection) error {
	workspace, err := only(scope, p.Collection)
	if err != nil {
		return fmt.Errorf("remove a projection: %w", err)
	}
	tag, err := s.pool.Exec(ctx, "delete from engine_collections where collection_id = $1 and workspace_id = $2 and holder = $3 and attempt = $4",
		p.Collection, workspace, p.holder, p.attempt)
	if err != nil {
		return fmt.Errorf("remove a projection: %w", readable(err))
	}
	if tag.RowsAffected() == 0 {
		return ErrProjectionHeld
	}
	return nil
}

// ProjectionClasses returns the names of the classes of all projections, of any workspace.
func (s *Store) ProjectionClasses(ctx context.Context) (map[string]bool, error) {
	rows, err := s.pool.Query(ctx, "select class from engine_collections")
	if err != nil {
		return nil, fmt.Errorf("list the classes of projections: %w", readable(err))
	}
	classes := map[string]bool{}
	var class string
	if _, err := pgx.ForEachRow(rows, []any{&class}, func() error { classes[class] = true; return nil }); err != nil {
		return nil, fmt.Errorf("list the classes of projections: %w", readable(err))
	}
	return classes, nil
}

// ProjectionTotals are numbers of all projections, of any workspace.
type ProjectionTotals struct {
	Building, Ready, Failed int
	// LagChanges is the largest number of changes that a ready projection has not confirmed,
	// and Lag the longest time for which one has had some.
	LagChanges int64
	Lag        time.Duration
}

// ProjectionTotals returns the numbers of all projections.
func (s *Store) ProjectionTotals(ctx context.Context) (t ProjectionTotals, err error) {
	var lag float64
	err = s.pool.QueryRow(ctx, `select count(*) filter (where e.state = 'BUILDING'), count(*) filter (where e.state = 'READY'), count(*) filter (where e.state = 'FAILED'),
			coalesce(max(greatest(s.change_number - e.confirmed_change, 0)) filter (where e.state = 'READY'), 0),
			coalesce(extract(epoch from max(now() - e.behind_since) filter (where e.state = 'READY')), 0)::float8
		from engine_collections e left join collection_state s on s.collection_id = e.collection_id`).
		Scan(&t.Building, &t.Ready, &t.Failed, &t.LagChanges, &lag)
	if err != nil {
		return ProjectionTotals{}, fmt.Errorf("count the projections: %w", readable(err))
	}
	t.Lag = time.Duration(lag * float64(time.Second))
	return t, nil
}
