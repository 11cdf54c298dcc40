package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

// Default names of the database and of the roles.
const (
	DefaultDatabase = "magpie"
	DefaultAppRole  = "magpie_app"
	OwnerRole       = "magpie_owner"
	adminRole       = "postgres"
)

// Options configures a stack. Only Dir is required.
type Options struct {
	// Dir is the data folder. It is created when missing.
	Dir string
	// Log receives the events of Start and Stop; nil discards them.
	Log *slog.Logger
	// Database is created when missing; empty means DefaultDatabase.
	Database string
	// AppRole is the login role of the application, neither owner nor superuser; empty means DefaultAppRole.
	AppRole string
	// Fast trades durability for speed (no fsync): data may be lost when the machine stops. It is meant for tests.
	Fast bool
	// WithoutRedis starts PostgreSQL alone; RedisURL stays empty.
	WithoutRedis bool
	// IdleStop stops PostgreSQL after about this time (in whole minutes) without a connected client or a call of Start.
	// Zero disables it. It requires WithoutRedis.
	IdleStop time.Duration
}

var identifier = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// withDefaults validates the options and fills in defaults.
func (o Options) withDefaults() (Options, error) {
	if o.Dir == "" {
		return o, errors.New("private services: no data folder")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, fmt.Errorf("private services: data folder %s: %w", o.Dir, err)
	}
	o.Dir = dir
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Database == "" {
		o.Database = DefaultDatabase
	}
	if o.AppRole == "" {
		o.AppRole = DefaultAppRole
	}
	for field, name := range map[string]string{"database": o.Database, "application role": o.AppRole} {
		if !identifier.MatchString(name) {
			return o, fmt.Errorf("private services: %s %q: use at most 63 lower case letters, digits and underscores", field, name)
		}
	}
	if o.AppRole == OwnerRole || o.AppRole == adminRole {
		return o, fmt.Errorf("private services: application role %q is reserved; choose another one", o.AppRole)
	}
	if o.IdleStop > 0 && !o.WithoutRedis {
		return o, errors.New("private services: IdleStop requires WithoutRedis")
	}
	return o, nil
}

// Stack is a running PostgreSQL and Redis, which this process holds until Stop or Release.
type Stack struct {
	// DatabaseURL connects as the application role, which is neither owner nor superuser.
	DatabaseURL string
	// OwnerURL connects as the owner of the database, who may create roles. The database has the pgvector extension.
	OwnerURL string
	// AdminURL connects to the maintenance database as superuser. It is for tests and repairs only.
	AdminURL string
	// RedisURL is a unix:// URL as go-redis reads it; empty with Options.WithoutRedis.
	RedisURL string
	// Adopted reports whether PostgreSQL was running before Start.
	Adopted bool

	options  Options
	layout   layout
	postgres *postgres
	redis    *redisServer

	mutex sync.Mutex
	hold  *os.File
}

// Start starts PostgreSQL and Redis under o.Dir, or adopts the running ones, and returns when both answer. It creates the
// database and the roles when they are missing. The caller must call Stop or Release. When Start fails, it stops the
// servers that it started. The error of a missing program wraps ErrProgramMissing and says how to install it.
func Start(ctx context.Context, o Options) (*Stack, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := makeDataDir(o.Dir); err != nil {
		return nil, err
	}
	unlock, err := lock(ctx, filepath.Join(o.Dir, startLock))
	if err != nil {
		return nil, err
	}
	defer unlock()
	l, err := openLayout(o.Dir)
	if err != nil {
		return nil, err
	}
	hold, err := lockShared(filepath.Join(o.Dir, holdersLock))
	if err != nil {
		return nil, err
	}
	s := newStack(o, l)
	s.hold = hold
	if err := s.start(ctx); err != nil {
		// Clean up even when the caller's context is the reason for the failure.
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return nil, errors.Join(err, s.release(cleanup))
	}
	return s, nil
}

func newStack(o Options, l layout) *Stack {
	s := &Stack{options: o, layout: l, postgres: newPostgres(o, l)}
	s.AdminURL = s.postgres.url(adminRole, "postgres")
	s.OwnerURL = s.postgres.url(OwnerRole, o.Database)
	s.DatabaseURL = s.postgres.url(o.AppRole, o.Database)
	s.redis = newRedisServer(o, l)
	if !o.WithoutRedis {
		s.RedisURL = s.redis.url()
	}
	return s
}

func (s *Stack) start(ctx context.Context) error {
	adopted, err := s.postgres.adopt(ctx)
	if err != nil {
		return err
	}
	s.Adopted = adopted
	redisReady := s.options.WithoutRedis
	if !redisReady {
		if redisReady, err = s.redis.adopt(ctx); err != nil {
			return err
		}
	}
	// Look for both programs before starting either, so that a missing program leaves no server running.
	var programs postgresPrograms
	if !adopted {
		if programs, err = findPostgres(ctx, s.postgres.majorOnDisk()); err != nil {
			return err
		}
	}
	redisProgram := ""
	if !redisReady {
		if redisProgram, err = findRedis(); err != nil {
			return err
		}
	}
	if !adopted {
		if err := s.postgres.start(ctx, programs); err != nil {
			return err
		}
	}
	if err := s.postgres.provision(ctx, !adopted); err != nil {
		return err
	}
	if !redisReady {
		if err := s.redis.start(ctx, redisProgram); err != nil {
			return err
		}
	}
	if err := s.layout.renewLease(); err != nil {
		return err
	}
	if !adopted && s.options.IdleStop > 0 {
		return watchIdle(ctx, s.layout, s.postgres, programs, s.options.IdleStop)
	}
	return nil
}

// Stop releases the stack and stops both servers when no other process holds the data folder. Further calls do nothing.
func (s *Stack) Stop(ctx context.Context) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.hold == nil {
		return nil
	}
	unlock, err := lock(ctx, filepath.Join(s.options.Dir, startLock))
	if err != nil {
		return err
	}
	defer unlock()
	return s.release(ctx)
}

// release releases the hold and stops the servers when it was the last one. The caller holds the start lock.
func (s *Stack) release(ctx context.Context) error {
	err := unlockFile(s.hold)
	s.hold = nil
	if err != nil {
		return fmt.Errorf("private services: release the data folder: %w", err)
	}
	held, err := isHeld(filepath.Join(s.options.Dir, holdersLock))
	if err != nil || held {
		return err
	}
	return s.stopServers(ctx)
}

func (s *Stack) stopServers(ctx context.Context) error {
	err := errors.Join(s.redis.stop(ctx), s.postgres.stop(ctx))
	if err == nil {
		// Leave no empty folder among the temporary files. A folder in use is not empty and stays.
		_ = os.Remove(s.layout.sockets)
	}
	return err
}

// Release releases the stack and leaves both servers running. A later Start adopts them.
func (s *Stack) Release() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.hold == nil {
		return nil
	}
	err := errors.Join(s.layout.renewLease(), unlockFile(s.hold))
	s.hold = nil
	return err
}

// Program returns the path of a program of the stack's PostgreSQL installation, such as pg_dump.
func (s *Stack) Program(ctx context.Context, name string) (string, error) {
	programs, err := findPostgres(ctx, s.postgres.majorOnDisk())
	if err != nil {
		return "", err
	}
	path := programs.path(name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w: %s", ErrProgramMissing, path)
	}
	return path, nil
}

// RestartPostgres restarts PostgreSQL in mode "fast": open transactions are rolled back and clients disconnected.
func (s *Stack) RestartPostgres(ctx context.Context) error {
	return s.withStartLock(ctx, func() error {
		programs, err := findPostgres(ctx, s.postgres.majorOnDisk())
		if err != nil {
			return err
		}
		if err := s.postgres.stop(ctx); err != nil {
			return err
		}
		return s.postgres.start(ctx, programs)
	})
}

// StopPostgres stops PostgreSQL only. RestartPostgres starts it again.
func (s *Stack) StopPostgres(ctx context.Context) error {
	return s.withStartLock(ctx, func() error { return s.postgres.stop(ctx) })
}

// StopRedis stops Redis only. RestartRedis starts it again.
func (s *Stack) StopRedis(ctx context.Context) error {
	return s.withStartLock(ctx, func() error { return s.redis.stop(ctx) })
}

// RestartRedis restarts Redis, which loads its append-only file.
func (s *Stack) RestartRedis(ctx context.Context) error {
	return s.withStartLock(ctx, func() error {
		program, err := findRedis()
		if err != nil {
			return err
		}
		if err := s.redis.stop(ctx); err != nil {
			return err
		}
		return s.redis.start(ctx, program)
	})
}

// FlushRedis deletes every key of Redis.
func (s *Stack) FlushRedis(ctx context.Context) error {
	return s.redis.flush(ctx)
}

func (s *Stack) withStartLock(ctx context.Context, do func() error) error {
	unlock, err := lock(ctx, filepath.Join(s.options.Dir, startLock))
	if err != nil {
		return err
	}
	defer unlock()
	return do()
}

// Shutdown stops the servers of o.Dir even when processes hold them. It succeeds when none run or the folder is missing.
func Shutdown(ctx context.Context, o Options) error {
	return withLayout(ctx, o, func(l layout, o Options) error {
		return newStack(o, l).stopServers(ctx)
	})
}

// ShutdownUnheld stops the servers of o.Dir unless a process holds them.
func ShutdownUnheld(ctx context.Context, o Options) error {
	return withLayout(ctx, o, func(l layout, o Options) error {
		held, err := isHeld(filepath.Join(o.Dir, holdersLock))
		if err != nil || held {
			return err
		}
		return newStack(o, l).stopServers(ctx)
	})
}

// Remove stops the servers of o.Dir and deletes their data and the socket folder. Other files in o.Dir stay.
func Remove(ctx context.Context, o Options) error {
	return withLayout(ctx, o, func(l layout, o Options) error {
		if err := newStack(o, l).stopServers(ctx); err != nil {
			return err
		}
		return l.remove()
	})
}

// withLayout calls do with the layout of an existing data folder, under the start lock. It does nothing without one.
func withLayout(ctx context.Context, o Options, do func(l layout, o Options) error) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(o.Dir, layoutFile)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	unlock, err := lock(ctx, filepath.Join(o.Dir, startLock))
	if err != nil {
		return err
	}
	defer unlock()
	l, err := openLayout(o.Dir)
	if err != nil {
		return err
	}
	return do(l, o)
}
