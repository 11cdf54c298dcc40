package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Replica is a streaming replica of a stack's PostgreSQL, for tests. The caller must
// call Stop.
type Replica struct {
	// DatabaseURL and AdminURL are those of the stack, at the replica.
	DatabaseURL, AdminURL string

	folder   string
	postgres *postgres
	programs postgresPrograms
}

// StartReplica copies the stack's PostgreSQL and starts the copy as a replica that follows
// it. Settings are further lines of its configuration, such as hot_standby_feedback = on.
func (s *Stack) StartReplica(ctx context.Context, settings ...string) (_ *Replica, err error) {
	programs, err := findPostgres(ctx, s.postgres.majorOnDisk())
	if err != nil {
		return nil, err
	}
	user := s.layout.account
	folder, err := os.MkdirTemp("/tmp", "magpie-replica-") // the path of a socket must be short
	if err != nil {
		return nil, fmt.Errorf("create the folder of a replica: %w", err)
	}
	l := layout{dir: folder, base: folder, sockets: filepath.Join(folder, "s"), account: user}
	o := s.options
	r := &Replica{folder: folder, postgres: newPostgres(o, l), programs: programs}
	r.DatabaseURL, r.AdminURL = r.postgres.url(o.AppRole, o.Database), r.postgres.url(adminRole, "postgres")
	defer func() {
		if err != nil {
			cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
			defer cancel()
			err = errors.Join(err, r.Stop(cleanup))
		}
	}()
	if err := os.Mkdir(l.sockets, 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of a replica: %w", err)
	}
	for _, path := range []string{folder, l.sockets} {
		if err := user.chown(path); err != nil {
			return nil, err
		}
	}
	copying := user.command(ctx, folder, programs.path("pg_basebackup"), "--pgdata", r.postgres.data, "--write-recovery-conf",
		"--checkpoint=fast", "--no-sync", "--host", s.layout.sockets, "--port", "5432", "--username", adminRole)
	if output, err := copying.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("copy PostgreSQL: %w: %s", err, strings.TrimSpace(string(output)))
	}
	if err := r.configure(settings); err != nil {
		return nil, err
	}
	return r, r.Start(ctx)
}

// configure adds settings after those of pg_basebackup, which the server reads last.
func (r *Replica) configure(settings []string) error {
	path := filepath.Join(r.postgres.data, "postgresql.auto.conf")
	content, err := os.ReadFile(path) //nolint:gosec // a file of a private server
	if err != nil {
		return fmt.Errorf("configure a replica: %w", err)
	}
	content = append(content, strings.Join(settings, "\n")+"\n"...)
	return replaceFile(path, content, 0o600, r.postgres.layout.account)
}

// Start starts the replica after Halt.
func (r *Replica) Start(ctx context.Context) error { return r.postgres.start(ctx, r.programs) }

// Halt stops the replica in mode "fast". Its data stays.
func (r *Replica) Halt(ctx context.Context) error { return r.postgres.stop(ctx) }

// Stop stops the replica and removes its data.
func (r *Replica) Stop(ctx context.Context) error {
	if err := r.Halt(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(r.folder); err != nil {
		return fmt.Errorf("remove a replica: %w", err)
	}
	return nil
}
