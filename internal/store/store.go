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

// AppRole is the database role of the application. The migrations create it.
const AppRole = "magpie_app"

// connectTimeout bounds the first connection.
const connectTimeout = 10 * time.Second

// A DB is an open database: a pool for plain SQL, and the ent client with a pool of
// its own. With one pool, mutations that hold a connection and need another one
// could block each other. Close it once.
type DB struct {
	Pool    *pgxpool.Pool
	Ent     *ent.Client
	entPool *pgxpool.Pool
	sql     *sql.DB

	statements *atomic.Int64
}

// Open connects to url, whose schema must be current (Migrate). Every connection
// uses AppRole. A login that is not a member of it, and a database without
// pgvector, are refused with a *Mismatch. maxConns bounds each pool; 0 means the
// default of the driver.
func Open(ctx context.Context, url string, maxConns int32) (*DB, error) {
	statements := new(atomic.Int64)
	reset := &poolReset{}
	cfg, err := configuration(url, maxConns, counter{statements, reset})
	if err != nil {
		return nil, err
	}
	pool, err := open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	entPool, err := open(ctx, cfg.Copy())
	if err != nil {
		pool.Close()
		return nil, err
	}
	reset.of(pool, entPool)
	db := stdlib.OpenDBFromPool(entPool)
	base := driver{entsql.OpenDB(dialect.Postgres, db)}
	client := ent.NewClient(ent.Driver(base))
	client.Use(audit.Hook(base.atomic), checkEdges)
	client.Membership.Intercept(withoutSuspended())
	return &DB{Pool: pool, Ent: client, entPool: entPool, sql: db, statements: statements}, nil
}

// configuration returns that of a pool whose connections use AppRole.
func configuration(url string, maxConns int32, tracer counter) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the database URL cannot be read; it has the form postgres://user:password@host:5432/name")
	}
	if maxConns > 0 {
		cfg.MaxConns = maxConns
	} else if cfg.MaxConns < 2 {
		return nil, errors.New("pool_max_conns of the database URL must be at least 2: a search that holds a connection reads texts with another")
	}
	cfg.ConnConfig.Tracer = tracer
	cfg.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		ctx = withoutCounter(ctx)
		if err := become(ctx, c); err != nil {
			return err
		}
		if err := pgxvec.RegisterTypes(ctx, c); err != nil {
			return fmt.Errorf("look the vector types up: %w", vectorError(ctx, c, err))
		}
		return nil
	}
	// Check idle connections, so that no query fails on a broken one.
	cfg.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool {
		return p.IdleDuration > time.Second || !isQuiet(p.Conn)
	}
	return cfg, nil
}

func open(ctx context.Context, cfg *pgxpool.Config) (*pgxpool.Pool, error) {
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	reaching, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := pool.Ping(reaching); err != nil {
		pool.Close()
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	return pool, nil
}

// Close closes every connection.
func (d *DB) Close() {
	_ = d.sql.Close()
	d.entPool.Close()
	d.Pool.Close()
}

// Migrate brings the schema of the database at url to the newest version. The login
// must be the owner's. On a current database it is cheap.
func Migrate(ctx context.Context, url string) error {
	return withOwner(url, func(db *sql.DB) error { return migrations.Up(ctx, db) })
}

// Grant makes a login a member of the role of the application, which the migrations
// create. The login at url must be the owner's; it must be able to create roles.
func Grant(ctx context.Context, url, login string) error {
	return withOwner(url, func(db *sql.DB) error {
		statement := "grant " + AppRole + " to " + pgx.Identifier{login}.Sanitize() //nolint:gosec // quoted; a statement of this kind has no parameters
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("as a superuser run: %s: %w", statement, err)
		}
		return nil
	})
}

// Status lists the migrations of the database at url.
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
