package devstack_test

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/devstack"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

// folder creates a data folder that the account of the servers can reach. At the end it removes servers and data.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "devstack-test-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := devstack.Remove(context.Background(), devstack.Options{Dir: dir}); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func options(t *testing.T, dir string) devstack.Options {
	t.Helper()
	return devstack.Options{Dir: dir, Fast: true, Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
}

func start(t *testing.T, o devstack.Options) *devstack.Stack {
	t.Helper()
	begin := time.Now()
	stack, err := devstack.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("started in %s, adopted %t", time.Since(begin).Round(time.Millisecond), stack.Adopted)
	t.Cleanup(func() { stop(t, stack) })
	return stack
}

func stop(t *testing.T, stack *devstack.Stack) {
	t.Helper()
	if err := stack.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

// query returns the text of a statement's only row.
func query(t *testing.T, database, statement string) string {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close(context.Background()) }()
	var text string
	if err := connection.QueryRow(t.Context(), statement).Scan(&text); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return text
}

func execute(t *testing.T, database string, statements ...string) {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close(context.Background()) }()
	for _, statement := range statements {
		if _, err := connection.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// isRunning reports whether the database accepts connections.
func isRunning(database string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	connection, err := pgx.Connect(ctx, database)
	if err != nil {
		return false
	}
	return connection.Close(ctx) == nil
}

func redisDo(t *testing.T, address string, arguments ...any) any {
	t.Helper()
	parsed, err := redis.ParseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(parsed)
	defer func() { _ = client.Close() }()
	answer, err := client.Do(t.Context(), arguments...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return answer
}

func TestANewStackHasRolesDatabaseAndSettings(t *testing.T) {
	t.Parallel()
	stack := start(t, options(t, folder(t)))
	if stack.Adopted {
		t.Error("Adopted is true for a new folder")
	}
	if got := query(t, stack.DatabaseURL, "SELECT current_user || ' ' || current_database()"); got != "magpie_app magpie" {
		t.Errorf("the application connects as %s", got)
	}
	if got := query(t, stack.DatabaseURL, "SELECT rolsuper::text || rolbypassrls || rolcreaterole || rolcreatedb FROM pg_roles WHERE rolname = current_user"); got != "falsefalsefalsefalse" {
		t.Errorf("the application role has privileges: %s", got)
	}
	// The owner can do what migrations do, and can use the application role.
	execute(t, stack.OwnerURL,
		"CREATE EXTENSION IF NOT EXISTS vector",
		"CREATE TABLE passage (id int PRIMARY KEY, embedding halfvec(3))",
		"CREATE ROLE another NOLOGIN", "DROP ROLE another",
		"GRANT SELECT ON passage TO magpie_app",
		"ALTER ROLE magpie_app SET statement_timeout = '1min'", "ALTER ROLE magpie_app RESET statement_timeout",
		"SET ROLE magpie_app", "SELECT * FROM passage")
	if got := query(t, stack.OwnerURL, "SELECT rolsuper::text FROM pg_roles WHERE rolname = current_user"); got != "false" {
		t.Error("the owner is a superuser")
	}
	if got := query(t, stack.DatabaseURL, "SELECT pg_encoding_to_char(encoding) || ' ' || datcollate FROM pg_database WHERE datname = current_database()"); got != "UTF8 C" {
		t.Errorf("encoding and collation are %s", got)
	}
	if got := query(t, stack.DatabaseURL, "SHOW listen_addresses"); got != "" {
		t.Errorf("PostgreSQL listens on %s", got)
	}
	for name, want := range map[string]string{"appendonly": "yes", "maxmemory-policy": "noeviction", "port": "0"} {
		answer, ok := redisDo(t, stack.RedisURL, "CONFIG", "GET", name).(map[any]any)
		if !ok || answer[name] != want {
			t.Errorf("redis %s is %v, want %s", name, answer, want)
		}
	}
	sockets := mustParse(t, stack.DatabaseURL).Query().Get("host")
	info, err := os.Stat(sockets)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the socket folder %s has mode %v (%v)", sockets, info.Mode(), err)
	}
}

func mustParse(t *testing.T, address string) *url.URL {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestDataSurvivesAStop(t *testing.T) {
	t.Parallel()
	o := options(t, folder(t))
	stack := start(t, o)
	execute(t, stack.OwnerURL, "CREATE TABLE kept (word text)", "INSERT INTO kept VALUES ('magpie')")
	redisDo(t, stack.RedisURL, "SET", "kept", "magpie")
	stop(t, stack)
	if isRunning(stack.AdminURL) {
		t.Fatal("PostgreSQL answers after Stop")
	}
	if _, err := os.Stat(mustParse(t, stack.DatabaseURL).Query().Get("host")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket folder exists after Stop: %v", err)
	}
	begin := time.Now()
	second := start(t, o)
	t.Logf("second start: %s", time.Since(begin).Round(time.Millisecond))
	if second.Adopted {
		t.Error("a stopped stack was adopted")
	}
	if got := query(t, second.OwnerURL, "SELECT word FROM kept"); got != "magpie" {
		t.Errorf("PostgreSQL kept %q", got)
	}
	if got := redisDo(t, second.RedisURL, "GET", "kept"); got != "magpie" {
		t.Errorf("redis kept %v", got)
	}
}

func TestServersOutliveAKilledHolderAndAreAdopted(t *testing.T) {
	t.Parallel()
	o := options(t, folder(t))
	holder := hold(t, o.Dir)
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // it was killed
	stack := start(t, o)
	if !stack.Adopted {
		t.Error("the servers of a killed process were not adopted")
	}
	if got := query(t, stack.DatabaseURL, "SELECT current_user::text"); got != "magpie_app" {
		t.Errorf("connected as %s", got)
	}
	// The killed process is no holder any more.
	stop(t, stack)
	if isRunning(stack.AdminURL) {
		t.Error("PostgreSQL still runs although its last holder stopped")
	}
}

// hold starts a process that holds the stack of a folder.
func hold(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	holder := exec.Command(os.Args[0], "hold", dir)
	output, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	holder.Stderr = t.Output()
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Process.Kill(); _ = holder.Wait() })
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "holding") {
		t.Fatalf("the holder printed %q: %v", line, err)
	}
	return holder
}

func TestStopLeavesServersThatAnotherProcessHolds(t *testing.T) {
	t.Parallel()
	o := options(t, folder(t))
	hold(t, o.Dir)
	stack := start(t, o)
	stop(t, stack)
	if !isRunning(stack.AdminURL) {
		t.Fatal("PostgreSQL was stopped under another process")
	}
	if err := devstack.ShutdownUnheld(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if !isRunning(stack.AdminURL) {
		t.Fatal("ShutdownUnheld stopped PostgreSQL under another process")
	}
	if err := devstack.Shutdown(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if isRunning(stack.AdminURL) {
		t.Error("PostgreSQL answers after Shutdown")
	}
}

func TestReleaseLeavesTheServersRunning(t *testing.T) {
	t.Parallel()
	o := options(t, folder(t))
	stack := start(t, o)
	if err := stack.Release(); err != nil {
		t.Fatal(err)
	}
	stop(t, stack) // does nothing after Release
	if second := start(t, o); !second.Adopted {
		t.Error("released servers were not adopted")
	}
}

func TestConcurrentStartsShareOneStack(t *testing.T) {
	t.Parallel()
	o := options(t, folder(t))
	var group sync.WaitGroup
	stacks := make([]*devstack.Stack, 4)
	for i := range stacks {
		group.Go(func() {
			stack, err := devstack.Start(t.Context(), o)
			if err != nil {
				t.Error(err)
				return
			}
			stacks[i] = stack
		})
	}
	group.Wait()
	fresh := 0
	for _, stack := range stacks {
		if stack == nil {
			t.FailNow()
		}
		if !stack.Adopted {
			fresh++
		}
	}
	if fresh != 1 {
		t.Errorf("%d of the starts started a server, want 1", fresh)
	}
	for i, stack := range stacks {
		if !isRunning(stack.AdminURL) {
			t.Errorf("PostgreSQL ended with %d holders left", len(stacks)-i)
		}
		stop(t, stack)
	}
	if isRunning(stacks[0].AdminURL) {
		t.Error("PostgreSQL outlived its last holder")
	}
}

func TestRestartAndFlush(t *testing.T) {
	t.Parallel()
	stack := start(t, options(t, folder(t)))
	execute(t, stack.OwnerURL, "CREATE TABLE kept (word text)", "INSERT INTO kept VALUES ('magpie')")
	if err := stack.RestartPostgres(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := query(t, stack.OwnerURL, "SELECT word FROM kept"); got != "magpie" {
		t.Errorf("PostgreSQL kept %q", got)
	}
	redisDo(t, stack.RedisURL, "SET", "key", "value")
	if err := stack.RestartRedis(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := redisDo(t, stack.RedisURL, "GET", "key"); got != "value" {
		t.Errorf("redis kept %v over its restart", got)
	}
	if err := stack.FlushRedis(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := redisDo(t, stack.RedisURL, "GET", "key"); got != nil {
		t.Errorf("redis kept %v over a flush", got)
	}
	if err := stack.StopPostgres(t.Context()); err != nil {
		t.Fatal(err)
	}
	if isRunning(stack.AdminURL) {
		t.Error("PostgreSQL answers after StopPostgres")
	}
}

// baseFolder returns the folder of the servers' data.
func baseFolder(t *testing.T, stack *devstack.Stack) string {
	t.Helper()
	return filepath.Dir(query(t, stack.AdminURL, "SHOW data_directory"))
}

func processOf(t *testing.T, pidFile string) int {
	t.Helper()
	content, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(string(content), "\n", 2)[0]))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestKilledServersAreStartedAgain(t *testing.T) {
	t.Parallel()
	o := options(t, folder(t))
	stack := start(t, o)
	execute(t, stack.OwnerURL, "CREATE TABLE kept (word text)", "INSERT INTO kept VALUES ('magpie')")
	execute(t, stack.AdminURL, "CHECKPOINT")
	base := baseFolder(t, stack)
	for _, file := range []string{"postgres/postmaster.pid", "redis/redis.pid"} {
		if err := syscall.Kill(processOf(t, filepath.Join(base, file)), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	second := start(t, o)
	if second.Adopted {
		t.Error("a killed PostgreSQL was adopted")
	}
	if got := query(t, second.OwnerURL, "SELECT word FROM kept"); got != "magpie" {
		t.Errorf("PostgreSQL kept %q", got)
	}
	redisDo(t, second.RedisURL, "PING")
}

func TestStalePidFilesOfAnotherProcessDoNotStopAStart(t *testing.T) {
	t.Parallel()
	o := options(t, folder(t))
	stack := start(t, o)
	base := baseFolder(t, stack)
	stop(t, stack)
	// After a reboot, the process IDs in these files may belong to any process; here, to this test.
	stale := strconv.Itoa(os.Getpid()) + "\n" + base + "/postgres\n"
	for _, file := range []string{"postgres/postmaster.pid", "redis/redis.pid"} {
		if err := os.WriteFile(filepath.Join(base, file), []byte(stale), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sockets := mustParse(t, stack.DatabaseURL).Query().Get("host")
	if err := os.Mkdir(sockets, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".s.PGSQL.5432", ".s.PGSQL.5432.lock", "redis.sock"} {
		if err := os.WriteFile(filepath.Join(sockets, name), []byte(stale), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	second := start(t, o)
	query(t, second.DatabaseURL, "SELECT 'answers'")
	redisDo(t, second.RedisURL, "PING")
}

func TestADeletedSocketFolderIsRestored(t *testing.T) {
	t.Parallel()
	o := options(t, folder(t))
	stack := start(t, o)
	// Cleaning up temporary files may delete the sockets of running servers.
	if err := os.RemoveAll(mustParse(t, stack.DatabaseURL).Query().Get("host")); err != nil {
		t.Fatal(err)
	}
	second := start(t, o)
	query(t, second.DatabaseURL, "SELECT 'answers'")
	redisDo(t, second.RedisURL, "PING")
}

func TestAnInterruptedInitialisationIsRepeated(t *testing.T) {
	t.Parallel()
	o := options(t, folder(t))
	// An interrupted initdb leaves these folders, under the temporary and the final name.
	for _, name := range []string{"postgres.new-1", "postgres"} {
		if err := os.MkdirAll(filepath.Join(o.Dir, name, "base"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	stack := start(t, o)
	query(t, stack.DatabaseURL, "SELECT 'answers'")
	if _, err := os.Stat(filepath.Join(o.Dir, "postgres.new-1")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the interrupted initialisation exists: %v", err)
	}
}

func TestAMovedDataFolderKeepsItsData(t *testing.T) {
	t.Parallel()
	parent := folder(t)
	o := options(t, filepath.Join(parent, "before"))
	o.Fast = false // for the server, moving its folder is a crash
	stack, err := devstack.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, stack.OwnerURL, "CREATE TABLE kept (word text)", "INSERT INTO kept VALUES ('magpie')")
	if err := stack.Release(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(o.Dir, filepath.Join(parent, "after")); err != nil {
		t.Fatal(err)
	}
	o.Dir = filepath.Join(parent, "after")
	t.Cleanup(func() {
		if err := devstack.Remove(context.Background(), o); err != nil {
			t.Error(err)
		}
	})
	second := start(t, o)
	if got := query(t, second.OwnerURL, "SELECT word FROM kept"); got != "magpie" {
		t.Errorf("PostgreSQL kept %q", got)
	}
}

func TestAFolderThatTheServersCannotReachWorks(t *testing.T) {
	t.Parallel()
	home := folder(t)
	if err := os.Chmod(home, 0o700); err != nil {
		t.Fatal(err)
	}
	o := options(t, filepath.Join(home, "clone", ".magpie"))
	t.Cleanup(func() {
		if err := devstack.Remove(context.Background(), o); err != nil {
			t.Error(err)
		}
	})
	stack := start(t, o)
	query(t, stack.DatabaseURL, "SELECT 'answers'")
	redisDo(t, stack.RedisURL, "PING")
	base := baseFolder(t, stack)
	if inside := strings.HasPrefix(base, home); inside == (os.Geteuid() == 0) {
		t.Errorf("the data is in %s", base)
	}
	stop(t, stack)
	if err := devstack.Remove(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(base, "postgres")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data exists after Remove: %v", err)
	}
}

func TestAFolderNamedWithSpacesAndQuotesWorks(t *testing.T) {
	t.Parallel()
	o := options(t, filepath.Join(folder(t), `it's a "data" folder \ one`))
	t.Cleanup(func() {
		if err := devstack.Remove(context.Background(), o); err != nil {
			t.Error(err)
		}
	})
	stack := start(t, o)
	query(t, stack.DatabaseURL, "SELECT 'answers'")
	redisDo(t, stack.RedisURL, "PING")
}

func TestTheRoleOfTheMigrationsMayLogIn(t *testing.T) {
	t.Parallel()
	o := options(t, folder(t))
	stack := start(t, o)
	execute(t, stack.AdminURL, "ALTER ROLE magpie_app NOLOGIN")
	second := start(t, o)
	query(t, second.DatabaseURL, "SELECT 'answers'")
	other := o
	other.Database, other.AppRole = "another", "another_app"
	third := start(t, other)
	if got := query(t, third.DatabaseURL, "SELECT current_user || ' ' || current_database()"); got != "another_app another" {
		t.Errorf("connected as %s", got)
	}
	if got := query(t, third.OwnerURL, "SELECT extname::text FROM pg_extension WHERE extname = 'vector'"); got != "vector" {
		t.Errorf("a second database has %q", got)
	}
}

func TestInvalidOptionsAreRejected(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options devstack.Options
		want    string
	}{
		"no folder":        {devstack.Options{}, "data folder"},
		"hostile database": {devstack.Options{Dir: "x", Database: `a"; DROP ROLE b`}, "database"},
		"owner as app":     {devstack.Options{Dir: "x", AppRole: "magpie_owner"}, "magpie_owner"},
		"idle with redis":  {devstack.Options{Dir: "x", IdleStop: time.Minute}, "WithoutRedis"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := devstack.Start(t.Context(), test.options)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error about %q", err, test.want)
			}
		})
	}
}

func TestAStackStartsAfterACanceledStart(t *testing.T) {
	t.Parallel()
	o := options(t, folder(t))
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	if _, err := devstack.Start(ctx, o); err == nil {
		t.Fatal("Start succeeded within 150 ms")
	}
	stack := start(t, o)
	query(t, stack.DatabaseURL, "SELECT 'answers'")
}

func TestShutdownOfAMissingFolder(t *testing.T) {
	t.Parallel()
	if err := devstack.Shutdown(t.Context(), devstack.Options{Dir: filepath.Join(t.TempDir(), "missing")}); err != nil {
		t.Error(err)
	}
}
