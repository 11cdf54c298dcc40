package devstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// PgBouncer is a pooler in transaction mode in front of a stack's PostgreSQL, for tests. It
// ends with this process at the latest.
type PgBouncer struct {
	// DatabaseURL is that of the stack, through the pooler.
	DatabaseURL string

	child  *child
	folder string
}

// StartPgBouncer starts a pooler with a number of connections to the server, and returns
// when it answers.
func (s *Stack) StartPgBouncer(ctx context.Context, connections int) (_ *PgBouncer, err error) {
	program := ""
	for _, folder := range []string{"", "/usr/sbin/", "/usr/bin/", "/opt/homebrew/bin/", "/usr/local/bin/"} {
		if program, err = exec.LookPath(folder + "pgbouncer"); err == nil {
			break
		}
	}
	if program == "" {
		return nil, fmt.Errorf("%w: pgbouncer was not found; run scripts/setup.sh --tests", ErrProgramMissing)
	}
	folder, err := os.MkdirTemp("/tmp", "magpie-pgbouncer-")
	if err != nil {
		return nil, fmt.Errorf("create the folder of PgBouncer: %w", err)
	}
	p := &PgBouncer{folder: folder}
	defer func() {
		if err != nil {
			cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
			defer cancel()
			err = errors.Join(err, p.Stop(cleanup))
		}
	}()
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	users, settings := filepath.Join(folder, "users.txt"), filepath.Join(folder, "pgbouncer.ini")
	lines := []string{
		"[databases]", "* = host=" + s.layout.sockets + " port=5432",
		"[pgbouncer]", "listen_addr = " + host, "listen_port = " + port, "unix_socket_dir =", "auth_type = trust", "auth_file = " + users,
		"pool_mode = transaction", "max_client_conn = 200", fmt.Sprintf("default_pool_size = %d", connections),
	}
	for path, content := range map[string]string{users: `"` + s.options.AppRole + `" ""` + "\n", settings: strings.Join(lines, "\n") + "\n"} {
		if err := replaceFile(path, []byte(content), 0o600, s.layout.account); err != nil {
			return nil, err
		}
	}
	if err := s.layout.account.chown(folder); err != nil {
		return nil, err
	}
	arguments := []string{settings}
	if s.layout.account.isOther {
		arguments = []string{"--user", s.layout.account.name, settings}
	}
	if p.child, err = startChild(filepath.Join(folder, "server.log"), nil, program, arguments...); err != nil {
		return nil, err
	}
	through := url.URL{Scheme: "postgres", User: url.User(s.options.AppRole), Host: address, Path: "/" + s.options.Database, RawQuery: "sslmode=disable"}
	p.DatabaseURL = through.String()
	return p, p.child.waitReady(ctx, childTimeout, func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return fmt.Errorf("connect to PgBouncer: %w", err)
		}
		return conn.Close()
	})
}

// Stop stops the pooler and removes its folder.
func (p *PgBouncer) Stop(ctx context.Context) error {
	if p.child != nil {
		if err := p.child.stop(ctx); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(p.folder); err != nil {
		return fmt.Errorf("remove the folder of PgBouncer: %w", err)
	}
	return nil
}
