package devstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// portTries is the number of ports that a server tries, since another process may take a
// free port first.
const portTries = 5

// redisNode is one process of a RedisGroup: a server or a Sentinel.
type redisNode struct {
	folder    string
	program   string
	arguments []string // without those of the address
	address   string
	bus       string // the port of the messages between servers of a Cluster; otherwise empty
	child     *child
	hung      atomic.Bool // stopped by a signal
}

// startAnywhere starts the server on free ports.
func (n *redisNode) startAnywhere(ctx context.Context, isCluster bool) error {
	var failures []error
	for range portTries {
		var err error
		if n.address, err = freeAddress(ctx); err != nil {
			return err
		}
		if isCluster {
			other, err := freeAddress(ctx)
			if err != nil {
				return err
			}
			if _, n.bus, err = net.SplitHostPort(other); err != nil {
				return fmt.Errorf("start redis: %w", err)
			}
		}
		if err = n.start(ctx); err == nil {
			return nil
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// start starts the server at its address and returns when it answers.
func (n *redisNode) start(ctx context.Context) error {
	host, port, err := net.SplitHostPort(n.address)
	if err != nil {
		return fmt.Errorf("start redis: %w", err)
	}
	arguments := append(append([]string{}, n.arguments...),
		"--bind", host, "--port", port, "--dir", n.folder, "--pidfile", n.pidFile())
	if n.bus != "" {
		arguments = append(arguments, "--cluster-port", n.bus)
	}
	if n.child, err = startChild(filepath.Join(n.folder, "server.log"), nil, n.program, arguments...); err != nil {
		return err
	}
	err = n.child.waitReady(ctx, childTimeout, func(ctx context.Context) error {
		return n.do(ctx, func(ctx context.Context, c *redis.Client) error { return c.Ping(ctx).Err() })
	})
	if err != nil {
		return errors.Join(err, n.child.stop(ctx))
	}
	return nil
}

func (n *redisNode) pidFile() string { return filepath.Join(n.folder, "redis.pid") }

// do runs commands on the server. It fails at once if the server hangs.
func (n *redisNode) do(ctx context.Context, commands func(context.Context, *redis.Client) error) error {
	if n.hung.Load() {
		return fmt.Errorf("redis at %s: %w", n.address, errHung)
	}
	// go-redis would write each failure to connect to standard error.
	connection, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", n.address)
	if err != nil {
		return fmt.Errorf("dial redis: %w", err)
	}
	if err := connection.Close(); err != nil {
		return fmt.Errorf("dial redis: %w", err)
	}
	client := redis.NewClient(&redis.Options{
		Addr: n.address, DialTimeout: time.Second, ReadTimeout: 3 * time.Second, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer func() { _ = client.Close() }() // the commands were answered
	if err := commands(ctx, client); err != nil {
		return fmt.Errorf("redis at %s: %w", n.address, err)
	}
	return nil
}

// wait waits until commands succeed; what names the awaited state.
func (n *redisNode) wait(ctx context.Context, what string, commands func(context.Context, *redis.Client) error) error {
	for {
		failure := n.do(ctx, commands)
		if failure == nil {
			return nil
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("wait for %s: %w\n%s", what, errors.Join(err, failure), tail(n.child.log, 12))
		}
	}
}

var errHung = errors.New("the server hangs")

// kill kills the server and waits for its exit.
func (n *redisNode) kill(ctx context.Context) error {
	if err := n.signal(ctx, syscall.SIGKILL); err != nil {
		return err
	}
	select {
	case <-n.child.exited:
		return n.child.stop(ctx)
	case <-ctx.Done():
		return fmt.Errorf("kill redis: %w", context.Cause(ctx))
	}
}

// hang makes the server hang until proceed. Its connections stay open.
func (n *redisNode) hang(ctx context.Context) error {
	n.hung.Store(true)
	return n.signal(ctx, syscall.SIGSTOP)
}

// proceed ends hang.
func (n *redisNode) proceed(ctx context.Context) error {
	if err := n.signal(ctx, syscall.SIGCONT); err != nil {
		return err
	}
	n.hung.Store(false)
	return nil
}

func (n *redisNode) signal(ctx context.Context, signal syscall.Signal) error {
	pid := readPID(n.pidFile())
	if identify(ctx, pid, n.folder) != ownServer {
		return fmt.Errorf("signal redis: process %d is not the server at %s", pid, n.address)
	}
	if err := syscall.Kill(pid, signal); err != nil {
		return fmt.Errorf("signal redis: %w", err)
	}
	return nil
}
