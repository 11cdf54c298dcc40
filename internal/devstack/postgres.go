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
	// Crash recovery after a killed machine replays at most max_wal_size, which is done well within this.
	startTimeout = 2 * time.Minute
	stopTimeout  = time.Minute
	pingTimeout  = 5 * time.Second
	// The children of a killed postmaster need a moment to notice, and a new one does not start before they are gone.
	startAttempts = 5
)

// postgres is the PostgreSQL server of one place.
type postgres struct {
	place    place
	log      *slog.Logger
	database string
	appRole  string
	fast     bool
	data     string
	logFile  string
}

func newPostgres(o Options, where place) *postgres {
	return &postgres{
		place:    where,
		log:      o.Log,
		database: o.Database,
		appRole:  o.AppRole,
		fast:     o.Fast,
		data:     filepath.Join(where.base, postgresFolder),
		logFile:  filepath.Join(where.base, postgresFolder, "server.log"),
	}
}

func (p *postgres) url(role, database string) string {
	address := url.URL{
		Scheme:   "postgres",
		User:     url.User(role),
		Path:     "/" + database,
		RawQuery: url.Values{"host": {p.place.sockets}, "port": {"5432"}, "sslmode": {"disable"}}.Encode(),
	}
	return address.String()
}

// majorOnDisk is the version that made the data, 0 when there is none yet.
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

// adopt says whether a healthy server of this data folder answers. It waits for one that is starting up or shutting down,
// and ends one that lives without answering, so that a new one can be started.
func (p *postgres) adopt(ctx context.Context) (bool, error) {
	limit, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := p.ping(limit)
		if err == nil {
			return true, nil
		}
		pid := p.pid()
		if examine(limit, pid, p.data) != ours {
			return false, nil
		}
		if !passing(err) {
			p.log.WarnContext(ctx, "postgresql runs but does not answer; it is restarted", slog.Int("pid", pid))
			return false, p.stop(limit)
		}
		if waitErr := pause(limit); waitErr != nil {
			return false, fmt.Errorf("wait for the running PostgreSQL (process %d): %w", pid, errors.Join(waitErr, err))
		}
	}
}

// passing says whether the server refused for a reason that goes away: starting up, shutting down, too many clients.
func passing(err error) bool {
	var refusal *pgconn.PgError
	return errors.As(err, &refusal) && (refusal.Code == "57P03" || refusal.Code == "53300")
}

// ping connects and checks that the server behind the socket is the one of this data folder.
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
		return fmt.Errorf("ask PostgreSQL for its data folder: %w", err)
	}
	found, err := os.Stat(folder)
	if err != nil {
		return fmt.Errorf("look at the data folder of the running PostgreSQL: %w", err)
	}
	expected, err := os.Stat(p.data)
	if err != nil {
		return fmt.Errorf("look at the data folder: %w", err)
	}
	if !os.SameFile(found, expected) {
		return fmt.Errorf("the PostgreSQL that answers in %s belongs to %s", p.place.sockets, folder)
	}
	return nil
}

// start initialises the data folder where needed and starts the server. No server of this data folder may be running.
func (p *postgres) start(ctx context.Context, programs postgresPrograms) error {
	began := time.Now()
	fresh, err := p.initialise(ctx, programs)
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
			p.log.InfoContext(ctx, "postgresql started", slog.Bool("initialised", fresh), slog.Duration("took", time.Since(began)))
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

// launchScript starts a program that is nobody's child once the script has ended, and prints its process id. (pg_ctl would
// do it too, but not in a folder whose name has quotes.)
const launchScript = `"$1" -D "$2" </dev/null >>"$3" 2>&1 & echo $!`

func (p *postgres) launch(ctx context.Context, programs postgresPrograms) error {
	limit, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := p.place.account.newLog(p.logFile); err != nil {
		return err
	}
	launch := p.place.account.command(limit, p.place.base, "/bin/sh", "-c", launchScript, "launch", programs.path("postgres"), p.data, p.logFile)
	launch.Env = append(launch.Env, keepMemory()...)
	output, err := launch.CombinedOutput()
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w: %s", err, strings.TrimSpace(string(output)))
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(output)))
	if err != nil {
		return fmt.Errorf("start PostgreSQL: its process id is not a number: %w", err)
	}
	for {
		err := p.ping(limit)
		if err == nil {
			return nil
		}
		if examine(limit, pid, p.data) == gone {
			return fmt.Errorf("PostgreSQL ended at its start: %w\n%s", err, tail(p.logFile, 12))
		}
		if waitErr := pause(limit); waitErr != nil {
			return fmt.Errorf("wait for PostgreSQL: %w\n%s", errors.Join(waitErr, err), tail(p.logFile, 12))
		}
	}
}

// initialise makes the data folder under another name first, so that an interrupted one is never taken for a whole one.
func (p *postgres) initialise(ctx context.Context, programs postgresPrograms) (fresh bool, err error) {
	if p.majorOnDisk() != 0 {
		return false, nil
	}
	unfinished, err := filepath.Glob(filepath.Join(p.place.base, postgresFolder+".new-*"))
	if err != nil {
		return false, fmt.Errorf("look for an interrupted initialisation: %w", err)
	}
	for _, folder := range append(unfinished, p.data) {
		if err := os.RemoveAll(folder); err != nil {
			return false, fmt.Errorf("remove an interrupted initialisation: %w", err)
		}
	}
	folder, err := os.MkdirTemp(p.place.base, postgresFolder+".new-*")
	if err != nil {
		return false, fmt.Errorf("make the folder for PostgreSQL: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(folder))
		}
	}()
	if err := p.place.account.own(folder); err != nil {
		return false, err
	}
	if err := p.initdb(ctx, programs, folder); err != nil {
		return false, err
	}
	if err := os.Rename(folder, p.data); err != nil {
		return false, fmt.Errorf("put the initialised data folder in place: %w", err)
	}
	return true, nil
}

func (p *postgres) initdb(ctx context.Context, programs postgresPrograms, folder string) error {
	// Sorting by bytes is fast and the same everywhere; the character type makes lower() and friends know all of Unicode.
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
		output, err := p.place.account.command(ctx, p.place.base, programs.path("initdb"), arguments...).CombinedOutput()
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
		"postgresql.conf": settings(p.place.sockets, p.fast, p.place.account, availableMemory()),
		"pg_hba.conf":     accessRules,
	} {
		if err := replaceFile(filepath.Join(p.data, name), []byte(content), 0o600, p.place.account); err != nil {
			return err
		}
	}
	return nil
}

// clearStale removes what a server that was killed left behind and that would keep a new one from starting. A pid file
// stays unless its process is certainly not a server of this data folder: it is what keeps two servers off one folder.
func (p *postgres) clearStale(ctx context.Context) error {
	stale := []string{longestSocket, longestSocket + ".lock"}
	pidFile := filepath.Join(p.data, "postmaster.pid")
	switch pid := p.pid(); examine(ctx, pid, p.data) {
	case ours:
		return fmt.Errorf("PostgreSQL (process %d) already runs on %s", pid, p.data)
	case foreign:
		if err := os.Remove(pidFile); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove a stale pid file: %w", err)
		}
	case unknown: // PostgreSQL has to judge a process that we cannot see
		return nil
	case gone: // PostgreSQL tells a dead process by itself, unless nobody has taken note of its end
		lingers, err := waitReaped(ctx, pid)
		if err != nil {
			return err
		}
		if lingers {
			if err := os.Remove(pidFile); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("remove a stale pid file: %w", err)
			}
		}
	}
	for _, name := range stale {
		if err := os.Remove(filepath.Join(p.place.sockets, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove a stale socket: %w", err)
		}
	}
	return nil
}

// stop ends the server: open transactions are rolled back and a checkpoint is written. It is no error when none runs.
func (p *postgres) stop(ctx context.Context) error {
	pid := p.pid()
	if examine(ctx, pid, p.data) != ours {
		return nil
	}
	if err := end(ctx, pid, p.data, endStep{syscall.SIGINT, stopTimeout}, endStep{syscall.SIGQUIT, stopTimeout / 4}); err != nil {
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	p.log.InfoContext(ctx, "postgresql stopped", slog.Int("pid", pid))
	return nil
}
