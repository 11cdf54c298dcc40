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

// Names of the roles and of the database that a private stack has when its Options name no others.
const (
	DefaultDatabase = "magpie"
	DefaultAppRole  = "magpie_app"
	OwnerRole       = "magpie_owner"
	adminRole       = "postgres"
)

// Options says which stack to start. Only Dir is required.
type Options struct {
	// Dir is the data folder. It is created when missing.
	Dir string
	// Log receives what Start and Stop do; nil discards it.
	Log *slog.Logger
	// Database is created when missing; empty means DefaultDatabase.
	Database string
	// AppRole is the login role of the application, neither owner nor superuser; empty means DefaultAppRole.
	AppRole string
	// Fast trades durability for speed (no fsync): data may be lost when the machine stops. It is meant for tests.
	Fast bool
	// WithoutRedis starts PostgreSQL alone; RedisURL stays empty.
	WithoutRedis bool
	// IdleStop lets PostgreSQL end itself once no client is connected and nobody has called Start for about this long
	// (counted in whole minutes). Zero keeps it running until it is stopped. It needs WithoutRedis.
	IdleStop time.Duration
}

var identifier = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

func (o Options) complete() (Options, error) {
	if o.Dir == "" {
		return o, errors.New("private services: no data folder was given")
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
			return o, fmt.Errorf("private services: %s %q: use lower case letters, digits and underscores, 63 at most", field, name)
		}
	}
	if o.AppRole == OwnerRole || o.AppRole == adminRole {
		return o, fmt.Errorf("private services: application role %q is taken; give another one", o.AppRole)
	}
	if o.IdleStop > 0 && !o.WithoutRedis {
		return o, errors.New("private services: IdleStop needs WithoutRedis, since only PostgreSQL tells who is connected")
	}
	return o, nil
}

// Stack is a running pair of servers, held by this process until Stop or Release.
type Stack struct {
	// DatabaseURL connects as the application role: neither owner nor superuser.
	DatabaseURL string
	// OwnerURL connects as the owner of the database, who may create roles; pgvector's extension is there already.
	OwnerURL string
	// AdminURL connects to the maintenance database as superuser. It is for tests and repairs only.
	AdminURL string
	// RedisURL is a unix:// URL as go-redis reads it; empty with Options.WithoutRedis.
	RedisURL string
	// Adopted says that PostgreSQL was running before this Start.
	Adopted bool

	options  Options
	place    place
	postgres *postgres
	redis    *redisServer

	mutex sync.Mutex
	hold  *os.File
}

// Start starts PostgreSQL and Redis under o.Dir, or adopts the ones that run there already, and returns when both answer.
// The database and the roles exist afterwards. The returned stack must be given back by Stop or Release.
// A missing program is an error that says what to install; nothing is left running that was not running before.
func Start(ctx context.Context, o Options) (*Stack, error) {
	o, err := o.complete()
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
	where, err := locate(o.Dir)
	if err != nil {
		return nil, err
	}
	hold, err := share(filepath.Join(o.Dir, holdersLock))
	if err != nil {
		return nil, err
	}
	s := newStack(o, where)
	s.hold = hold
	if err := s.start(ctx); err != nil {
		// The caller's context may be the reason for the failure, and cleaning up must still work.
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return nil, errors.Join(err, s.letGo(undo))
	}
	return s, nil
}

func newStack(o Options, where place) *Stack {
	s := &Stack{options: o, place: where, postgres: newPostgres(o, where)}
	s.AdminURL = s.postgres.url(adminRole, "postgres")
	s.OwnerURL = s.postgres.url(OwnerRole, o.Database)
	s.DatabaseURL = s.postgres.url(o.AppRole, o.Database)
	s.redis = newRedisServer(o, where)
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
	redisRuns := s.options.WithoutRedis
	if !redisRuns {
		if redisRuns, err = s.redis.adopt(ctx); err != nil {
			return err
		}
	}
	// Both programs are looked for before either is started, so that a missing one leaves nothing behind.
	var programs postgresPrograms
	if !adopted {
		if programs, err = findPostgres(ctx, s.postgres.majorOnDisk()); err != nil {
			return err
		}
	}
	redisProgram := ""
	if !redisRuns {
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
	if !redisRuns {
		if err := s.redis.start(ctx, redisProgram); err != nil {
			return err
		}
	}
	if err := s.place.renewLease(); err != nil {
		return err
	}
	if !adopted && s.options.IdleStop > 0 {
		return watchIdle(ctx, s.place, s.postgres, programs, s.options.IdleStop)
	}
	return nil
}

// Stop gives the stack back and, when no other process holds its data folder, ends both servers cleanly. Calling it again
// does nothing.
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
	return s.letGo(ctx)
}

// letGo gives up the hold and ends the servers when it was the last one. The start lock must be held.
func (s *Stack) letGo(ctx context.Context) error {
	err := unlockFile(s.hold)
	s.hold = nil
	if err != nil {
		return fmt.Errorf("private services: give up the data folder: %w", err)
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
		// Nothing is left among the temporary files; a folder that is still in use is not empty and stays.
		_ = os.Remove(s.place.sockets)
	}
	return err
}

// Release gives the stack back and leaves both servers running; a later Start adopts them.
func (s *Stack) Release() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.hold == nil {
		return nil
	}
	err := errors.Join(s.place.renewLease(), unlockFile(s.hold))
	s.hold = nil
	return err
}

// Program is the path of a program of the PostgreSQL installation that the stack
// runs, such as pg_dump.
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

// RestartPostgres ends PostgreSQL the way an operator does (open transactions are rolled back, clients lose their
// connections) and starts it again.
func (s *Stack) RestartPostgres(ctx context.Context) error {
	return s.exclusively(ctx, func() error {
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

// StopPostgres ends PostgreSQL alone, so that a caller can see how it does without; RestartPostgres brings it back.
func (s *Stack) StopPostgres(ctx context.Context) error {
	return s.exclusively(ctx, func() error { return s.postgres.stop(ctx) })
}

// StopRedis ends Redis alone, so that a caller can see how it does without; RestartRedis brings it back.
func (s *Stack) StopRedis(ctx context.Context) error {
	return s.exclusively(ctx, func() error { return s.redis.stop(ctx) })
}

// RestartRedis ends Redis cleanly and starts it again with what its append-only file kept.
func (s *Stack) RestartRedis(ctx context.Context) error {
	return s.exclusively(ctx, func() error {
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

// FlushRedis removes everything from Redis, as a lost Redis would.
func (s *Stack) FlushRedis(ctx context.Context) error {
	return s.redis.flush(ctx)
}

func (s *Stack) exclusively(ctx context.Context, do func() error) error {
	unlock, err := lock(ctx, filepath.Join(s.options.Dir, startLock))
	if err != nil {
		return err
	}
	defer unlock()
	return do()
}

// Shutdown ends the servers of o.Dir whoever holds them. It is no error when none run or the folder does not exist.
func Shutdown(ctx context.Context, o Options) error {
	return atPlace(ctx, o, func(where place, o Options) error {
		return newStack(o, where).stopServers(ctx)
	})
}

// ShutdownUnheld ends the servers of o.Dir unless a process holds them.
func ShutdownUnheld(ctx context.Context, o Options) error {
	return atPlace(ctx, o, func(where place, o Options) error {
		held, err := isHeld(filepath.Join(o.Dir, holdersLock))
		if err != nil || held {
			return err
		}
		return newStack(o, where).stopServers(ctx)
	})
}

// Remove ends the servers of o.Dir and deletes their data, wherever it is, and the socket folder. Other files in o.Dir stay.
func Remove(ctx context.Context, o Options) error {
	return atPlace(ctx, o, func(where place, o Options) error {
		if err := newStack(o, where).stopServers(ctx); err != nil {
			return err
		}
		return where.remove()
	})
}

// atPlace works on a data folder that was used before, with the start lock held; it does nothing where there is none.
func atPlace(ctx context.Context, o Options, do func(where place, o Options) error) error {
	o, err := o.complete()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(o.Dir, placeFile)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	unlock, err := lock(ctx, filepath.Join(o.Dir, startLock))
	if err != nil {
		return err
	}
	defer unlock()
	where, err := locate(o.Dir)
	if err != nil {
		return err
	}
	return do(where, o)
}
