package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	redisFolder = "redis"
	redisSocket = "redis.sock"
	// redisForkTimeout is the time until the daemon must have written its PID file.
	redisForkTimeout = 5 * time.Second
)

// redisServer is the Redis server of one data folder.
type redisServer struct {
	layout  layout
	log     *slog.Logger
	fast    bool
	folder  string
	socket  string
	pidFile string
	logFile string
}

func newRedisServer(o Options, l layout) *redisServer {
	folder := filepath.Join(l.base, redisFolder)
	return &redisServer{
		layout:  l,
		log:     o.Log,
		fast:    o.Fast,
		folder:  folder,
		socket:  filepath.Join(l.sockets, redisSocket),
		pidFile: filepath.Join(folder, "redis.pid"),
		logFile: filepath.Join(folder, "server.log"),
	}
}

func findRedis() (string, error) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if program, err := exec.LookPath(name); err == nil {
			return program, nil
		}
	}
	for _, program := range []string{"/usr/bin/redis-server", "/usr/local/bin/redis-server", "/opt/homebrew/bin/redis-server"} {
		if _, err := os.Stat(program); err == nil {
			return program, nil
		}
	}
	return "", fmt.Errorf("%w: redis-server was not found; run make setup, or set REDIS_URL", ErrProgramMissing)
}

func (r *redisServer) url() string {
	address := url.URL{Scheme: "unix", Path: r.socket, RawQuery: "db=0"}
	return address.String()
}

func redisClient(socket string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Network: "unix", Addr: socket,
		DialTimeout: time.Second, ReadTimeout: 3 * time.Second, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// dial checks that the socket accepts connections. go-redis would write each failure to standard error.
func dial(ctx context.Context, socket string) error {
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("dial redis: %w", err)
	}
	if err := connection.Close(); err != nil {
		return fmt.Errorf("dial redis: %w", err)
	}
	return nil
}

// ping checks that the server answers and uses this data folder.
func (r *redisServer) ping(ctx context.Context) error {
	if err := dial(ctx, r.socket); err != nil {
		return err
	}
	client := redisClient(r.socket)
	defer func() { _ = client.Close() }() // nothing was written
	answer, err := client.ConfigGet(ctx, "dir").Result()
	if err == nil {
		// PING fails while Redis loads its append-only file; CONFIG may succeed.
		err = client.Ping(ctx).Err()
	}
	if err != nil {
		return fmt.Errorf("ping redis: %w", err)
	}
	found, err := os.Stat(answer["dir"])
	if err != nil {
		return fmt.Errorf("stat the folder of the running redis: %w", err)
	}
	expected, err := os.Stat(r.folder)
	if err != nil {
		return fmt.Errorf("stat the redis folder: %w", err)
	}
	if !os.SameFile(found, expected) {
		return fmt.Errorf("the redis at %s uses the folder %s", r.socket, answer["dir"])
	}
	return nil
}

// adopt reports whether a healthy server of this data folder is running. It waits for a server that loads its data, and
// stops a server that does not answer.
func (r *redisServer) adopt(ctx context.Context) (bool, error) {
	limit, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := r.ping(limit)
		if err == nil {
			return true, nil
		}
		pid := readPID(r.pidFile)
		if identify(limit, pid, r.folder) != ownServer {
			return false, nil
		}
		if !strings.Contains(err.Error(), "LOADING") {
			r.log.WarnContext(ctx, "redis does not answer, restarting", slog.Int("pid", pid))
			return false, r.stop(limit)
		}
		if waitErr := pause(limit); waitErr != nil {
			return false, fmt.Errorf("wait for the running redis (process %d): %w", pid, errors.Join(waitErr, err))
		}
	}
}

func (r *redisServer) start(ctx context.Context, program string) error {
	start := time.Now()
	if err := r.layout.makeOwned(r.folder); err != nil {
		return err
	}
	configuration := filepath.Join(r.folder, "redis.conf")
	if err := replaceFile(configuration, []byte(r.settings()), 0o600, r.layout.account); err != nil {
		return err
	}
	if err := r.layout.account.rotateLog(r.logFile); err != nil {
		return err
	}
	for _, stale := range []string{r.pidFile, r.socket} {
		if err := os.Remove(stale); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove stale file of redis: %w", err)
		}
	}
	// The command returns at once, since Redis becomes a daemon.
	output, err := r.layout.account.command(ctx, r.folder, program, configuration).CombinedOutput()
	if err != nil {
		return fmt.Errorf("start redis: %w: %s\n%s", err, strings.TrimSpace(string(output)), tail(r.logFile, 12))
	}
	limit, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := r.ping(limit)
		if err == nil {
			r.log.InfoContext(ctx, "redis started", slog.Duration("took", time.Since(start)))
			return nil
		}
		if time.Since(start) > redisForkTimeout && identify(limit, readPID(r.pidFile), r.folder) != ownServer {
			return fmt.Errorf("redis exited during startup: %w\n%s", err, tail(r.logFile, 12))
		}
		if waitErr := pause(limit); waitErr != nil {
			return fmt.Errorf("wait for redis: %w\n%s", errors.Join(waitErr, err), tail(r.logFile, 12))
		}
	}
}

func (r *redisServer) settings() string {
	sync := "everysec"
	if r.fast {
		sync = "no"
	}
	values := [][2]string{
		{"port", "0"},
		{"unixsocket", r.socket},
		{"unixsocketperm", "700"},
		{"daemonize", "yes"},
		{"pidfile", r.pidFile},
		{"logfile", r.logFile},
		{"dir", r.folder},
		{"databases", "16"},
		{"appendonly", "yes"},
		{"appendfsync", sync},
		{"maxmemory-policy", "noeviction"},
		{"loglevel", "notice"},
	}
	var text strings.Builder
	text.WriteString("# Written at each start; changes made here are lost.\nsave \"\"\n")
	for _, value := range values {
		fmt.Fprintf(&text, "%s \"%s\"\n", value[0], strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value[1]))
	}
	return text.String()
}

func (r *redisServer) flush(ctx context.Context) error {
	client := redisClient(r.socket)
	defer func() { _ = client.Close() }() // the command was answered
	if err := client.FlushAll(ctx).Err(); err != nil {
		return fmt.Errorf("flush redis: %w", err)
	}
	return nil
}

// stop stops the server, which writes its append-only file first. It succeeds when none is running.
func (r *redisServer) stop(ctx context.Context) error {
	pid := readPID(r.pidFile)
	if identify(ctx, pid, r.folder) != ownServer {
		return nil
	}
	if err := terminate(ctx, pid, r.folder, terminateStep{syscall.SIGTERM, stopTimeout / 4}, terminateStep{syscall.SIGKILL, stopTimeout / 4}); err != nil {
		return fmt.Errorf("stop redis: %w", err)
	}
	r.log.InfoContext(ctx, "redis stopped", slog.Int("pid", pid))
	return nil
}
