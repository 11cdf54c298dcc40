package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	postgresFolder = "postgres"
	// startTimeout is long enough for the crash recovery of max_wal_size.
	startTimeout = 2 * time.Minute
	stopTimeout  = time.Minute
	pingTimeout  = 5 * time.Second
	// A postmaster does not start before the children of a killed one have exited.
	startAttempts = 5
)

// postgres is the PostgreSQL server of one data folder.
type postgres struct {
	layout   layout
	log      *slog.Logger
	database string
	appRole  string
	fast     bool
	data     string
	logFile  string
}

func newPostgres(o Options, l layout) *postgres {
	return &postgres{
		layout:   l,
		log:      o.Log,
		database: o.Database,
		appRole:  o.AppRole,
		fast:     o.Fast,
		data:     filepath.Join(l.base, postgresFolder),
		logFile:  filepath.Join(l.base, postgresFolder, "server.log"),
	}
}

func (p *postgres) url(role, database string) string {
	address := url.URL{
		Scheme:   "postgres",
		User:     url.User(role),
		Path:     "/" + database,
		RawQuery: url.Values{"host": {p.layout.sockets}, "port": {"5432"}, "sslmode": {"disable"}}.Encode(),
	}
	return address.String()
}

// majorOnDisk returns the major version of the data folder, or 0 when there is none yet.
func (p *postgres) majorOnDisk() int {
	content, err := os.ReadFile(filepath.Join(p.data, "PG_VERSION"))
	if err != nil {
		return 0
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return 0
	}
	return major
}

func (p *postgres) pid() int { return readPID(filepath.Join(p.data, "postmaster.pid")) }

// adopt reports whether a healthy server of this data folder is running. It waits for a server that is starting up or
// shutting down, and stops a server that does not answer.
func (p *postgres) adopt(ctx context.Context) (bool, error) {
	limit, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := p.ping(limit)
		if err == nil {
			return true, nil
		}
		pid := p.pid()
		if identify(limit, pid, p.data) != ownServer {
			return false, nil
		}
		if !isTransient(err) {
			p.log.WarnContext(ctx, "postgresql does not answer, restarting", slog.Int("pid", pid))
			return false, p.stop(limit)
		}
		if waitErr := pause(limit); waitErr != nil {
			return false, fmt.Errorf("wait for the running PostgreSQL (process %d): %w", pid, errors.Join(waitErr, err))
		}
	}
}

// isTransient reports whether the server refused a connection while starting up or shutting down, or for too many clients.
func isTransient(err error) bool {
	var refusal *pgconn.PgError
	return errors.As(err, &refusal) && (refusal.Code == "57P03" || refusal.Code == "53300")
}

// ping connects and checks that the server uses this data folder.
func (p *postgres) ping(ctx context.Context) error {
	limit, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	connection, err := pgx.Connect(limit, p.url(adminRole, "postgres"))
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer func() { _ = connection.Close(limit) }() // nothing was written
	var folder string
	if err := connection.QueryRow(limit, "SHOW data_directory").Scan(&folder); err != nil {
		return fmt.Errorf("read the data folder of PostgreSQL: %w", err)
	}
	found, err := os.Stat(folder)
	if err != nil {
		return fmt.Errorf("stat the data folder of the running PostgreSQL: %w", err)
	}
	expected, err := os.Stat(p.data)
	if err != nil {
		return fmt.Errorf("stat the data folder: %w", err)
	}
	if !os.SameFile(found, expected) {
		return fmt.Errorf("the PostgreSQL at %s uses the data folder %s", p.layout.sockets, folder)
	}
	return nil
}

// start initialises the data folder when it is empty and starts the server, which must not be running.
func (p *postgres) start(ctx context.Context, programs postgresPrograms) error {
	start := time.Now()
	initialised, err := p.initialise(ctx, programs)
	if err != nil {
		return err
	}
	if err := p.configure(); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		if err := p.clearStale(ctx); err != nil {
			return err
		}
		err := p.launch(ctx, programs)
		if err == nil {
			p.log.InfoContext(ctx, "postgresql started", slog.Bool("initialised", initialised), slog.Duration("took", time.Since(start)))
			return nil
		}
		orphans := strings.Contains(err.Error(), "shared memory block")
		if !orphans || attempt == startAttempts {
			return err
		}
		for range int(500 * time.Millisecond / pollInterval) {
			if waitErr := pause(ctx); waitErr != nil {
				return errors.Join(waitErr, err)
			}
		}
	}
}

// launchScript starts a program in the background and prints its process ID. pg_ctl cannot be used, since it fails for
// folders with quotes in their names.
const launchScript = `"$1" -D "$2" </dev/null >>"$3" 2>&1 & echo $!`

func (p *postgres) launch(ctx context.Context, programs postgresPrograms) error {
	limit, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := p.layout.account.rotateLog(p.logFile); err != nil {
		return err
	}
	launch := p.layout.account.command(limit, p.layout.base, "/bin/sh", "-c", launchScript, "launch", programs.path("postgres"), p.data, p.logFile)
	launch.Env = append(launch.Env, mallocSettings()...)
	output, err := launch.CombinedOutput()
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w: %s", err, strings.TrimSpace(string(output)))
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(output)))
	if err != nil {
		return fmt.Errorf("start PostgreSQL: parse its process ID: %w", err)
	}
	for {
		err := p.ping(limit)
		if err == nil {
			return nil
		}
		if identify(limit, pid, p.data) == noProcess {
			return fmt.Errorf("PostgreSQL exited during startup: %w\n%s", err, tail(p.logFile, 12))
		}
		if waitErr := pause(limit); waitErr != nil {
			return fmt.Errorf("wait for PostgreSQL: %w\n%s", errors.Join(waitErr, err), tail(p.logFile, 12))
		}
	}
}

// initialise creates the data folder when it is missing, and reports whether it did. It works under a temporary name, so
// that an interrupted initialisation leaves no incomplete data folder.
func (p *postgres) initialise(ctx context.Context, programs postgresPrograms) (initialised bool, err error) {
	if p.majorOnDisk() != 0 {
		return false, nil
	}
	unfinished, err := filepath.Glob(filepath.Join(p.layout.base, postgresFolder+".new-*"))
	if err != nil {
		return false, fmt.Errorf("look for an interrupted initialisation: %w", err)
	}
	for _, folder := range append(unfinished, p.data) {
		if err := os.RemoveAll(folder); err != nil {
			return false, fmt.Errorf("remove an interrupted initialisation: %w", err)
		}
	}
	folder, err := os.MkdirTemp(p.layout.base, postgresFolder+".new-*")
	if err != nil {
		return false, fmt.Errorf("create folder of PostgreSQL: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(folder))
		}
	}()
	if err := p.layout.account.chown(folder); err != nil {
		return false, err
	}
	if err := p.initdb(ctx, programs, folder); err != nil {
		return false, err
	}
	if err := os.Rename(folder, p.data); err != nil {
		return false, fmt.Errorf("rename the initialised data folder: %w", err)
	}
	return true, nil
}

func (p *postgres) initdb(ctx context.Context, programs postgresPrograms, folder string) error {
	// Collation C is fast and the same on every system; character type C.UTF-8 makes lower() work for all of Unicode.
	// Systems without C.UTF-8 (older macOS) get C.
	var failure error
	for _, characters := range []string{"C.UTF-8", "C"} {
		arguments := []string{
			"--pgdata", folder, "--username", adminRole, "--auth", "trust", "--encoding", "UTF8",
			"--locale", "C", "--lc-ctype", characters, "--no-instructions",
		}
		if p.fast {
			arguments = append(arguments, "--no-sync")
		}
		output, err := p.layout.account.command(ctx, p.layout.base, programs.path("initdb"), arguments...).CombinedOutput()
		if err == nil {
			return nil
		}
		failure = fmt.Errorf("initialise PostgreSQL: %w: %s", err, strings.TrimSpace(string(output)))
		if !strings.Contains(string(output), "locale") {
			break
		}
	}
	return failure
}

func (p *postgres) configure() error {
	for name, content := range map[string]string{
		"postgresql.conf": settings(p.layout.sockets, p.fast, p.layout.account, availableMemory()),
		"pg_hba.conf":     accessRules,
	} {
		if err := replaceFile(filepath.Join(p.data, name), []byte(content), 0o600, p.layout.account); err != nil {
			return err
		}
	}
	return nil
}

// clearStale removes the files of a killed server that prevent a new one from starting. The PID file protects the data
// folder from two servers, so it is only removed when its process is certainly not a server of this folder.
func (p *postgres) clearStale(ctx context.Context) error {
	stale := []string{longestSocket, longestSocket + ".lock"}
	pidFile := filepath.Join(p.data, "postmaster.pid")
	switch pid := p.pid(); identify(ctx, pid, p.data) {
	case ownServer:
		return fmt.Errorf("PostgreSQL (process %d) already runs on %s", pid, p.data)
	case otherProcess:
		if err := os.Remove(pidFile); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove stale PID file: %w", err)
		}
	case unknownProcess: // PostgreSQL checks the process itself
		return nil
	case noProcess: // PostgreSQL detects an exited process itself, unless it is a zombie
		reaped, err := waitReaped(ctx, pid)
		if err != nil {
			return err
		}
		if !reaped {
			if err := os.Remove(pidFile); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("remove stale PID file: %w", err)
			}
		}
	}
	for _, name := range stale {
		if err := os.Remove(filepath.Join(p.layout.sockets, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove stale socket: %w", err)
		}
	}
	return nil
}

// stop stops the server in mode "fast". It succeeds when none is running.
func (p *postgres) stop(ctx context.Context) error {
	pid := p.pid()
	if identify(ctx, pid, p.data) != ownServer {
		return nil
	}
	if err := terminate(ctx, pid, p.data, terminateStep{syscall.SIGINT, stopTimeout}, terminateStep{syscall.SIGQUIT, stopTimeout / 4}); err != nil {
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	p.log.InfoContext(ctx, "postgresql stopped", slog.Int("pid", pid))
	return nil
}
