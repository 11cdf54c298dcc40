package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	pgxvec "github.com/pgvector/pgvector-go/pgx"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/migrate/migrations"
	_ "github.com/magpie-search/magpie/ent/runtime" // policies and defaults of the entities
	"github.com/magpie-search/magpie/internal/audit"
)

// AppRole is the database role that the application works as. The migrations make it.
const AppRole = "magpie_app"

// reachTime bounds the making of the first connection.
const reachTime = 10 * time.Second

// DB is an open database: a pool for plain SQL, and the ent client over a pool
// of its own. With one pool for both, mutations that hold a connection while
// they ask for another could wait for each other for ever. Close it once.
type DB struct {
	Pool     *pgxpool.Pool
	Ent      *ent.Client
	entities *pgxpool.Pool
	sql      *sql.DB

	statements *atomic.Int64
}

// Open connects to url, whose schema must be current (Migrate). Every
// connection works as AppRole, whatever the login is; a login that is no
// member of it is refused with a *Mismatch, and so is a database without pgvector.
// maxConns bounds each of the two pools; 0 keeps the
// driver's default.
func Open(ctx context.Context, url string, maxConns int32) (*DB, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the database URL cannot be read; it has the form postgres://user:password@host:5432/name")
	}
	if maxConns > 0 {
		cfg.MaxConns = maxConns
	}
	statements := new(atomic.Int64)
	renew := &renewal{}
	cfg.ConnConfig.Tracer = counter{statements, renew}
	cfg.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		ctx = uncounted(ctx)
		if _, err := c.Exec(ctx, "set role "+AppRole); err != nil {
			return notBecome(c.Config().User, err)
		}
		if err := pgxvec.RegisterTypes(ctx, c); err != nil {
			return fmt.Errorf("look the vector types up: %w", noVector(ctx, c, err))
		}
		return nil
	}
	// A connection that broke while it was idle is found before a query is lost on it.
	cfg.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool {
		return p.IdleDuration > time.Second || !quiet(p.Conn)
	}
	pool, err := open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	entities, err := open(ctx, cfg.Copy())
	if err != nil {
		pool.Close()
		return nil, err
	}
	renew.of(pool, entities)
	db := stdlib.OpenDBFromPool(entities)
	under := driver{entsql.OpenDB(dialect.Postgres, db)}
	client := ent.NewClient(ent.Driver(under))
	client.Use(audit.Hook(under.atomic), visibleEdges)
	return &DB{Pool: pool, Ent: client, entities: entities, sql: db, statements: statements}, nil
}

func open(ctx context.Context, cfg *pgxpool.Config) (*pgxpool.Pool, error) {
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	reaching, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	if err := pool.Ping(reaching); err != nil {
		pool.Close()
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	return pool, nil
}

// Close ends every connection.
func (d *DB) Close() {
	_ = d.sql.Close()
	d.entities.Close()
	d.Pool.Close()
}

// Migrate brings the database behind url, given with the owner's login, to the
// newest schema. Calling it on a current database is cheap.
func Migrate(ctx context.Context, url string) error {
	return withOwner(url, func(db *sql.DB) error { return migrations.Up(ctx, db) })
}

// Status lists the migrations of the database behind url.
func Status(ctx context.Context, url string) (steps []migrations.Step, err error) {
	err = withOwner(url, func(db *sql.DB) error {
		steps, err = migrations.Status(ctx, db)
		return err
	})
	return steps, err
}

func withOwner(url string, do func(*sql.DB) error) error {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return errors.New("the migration database URL cannot be read; it has the form postgres://user:password@host:5432/name")
	}
	db := stdlib.OpenDB(*cfg)
	defer func() { _ = db.Close() }()
	return do(db)
}
