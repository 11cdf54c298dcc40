package devstack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// childTimeout bounds the start of a child.
const childTimeout = 20 * time.Second

// RedisChild is a Redis server without persistence, which ends with this process at the latest.
type RedisChild struct {
	// URL is a unix:// URL as go-redis reads it.
	URL string

	child  *child
	folder string
}

// StartRedisChild starts a Redis server and returns when it answers.
func StartRedisChild(ctx context.Context) (*RedisChild, error) {
	program, err := findRedis()
	if err != nil {
		return nil, err
	}
	parent := os.TempDir()
	if len(parent)+len("/magpie-redis-0123456789/"+redisSocket) > socketPathLimit {
		parent = "/tmp"
	}
	folder, err := os.MkdirTemp(parent, "magpie-redis-")
	if err != nil {
		return nil, fmt.Errorf("create folder of redis: %w", err)
	}
	socket := filepath.Join(folder, redisSocket)
	server, err := startChild(filepath.Join(folder, "server.log"), nil, program,
		"--port", "0", "--unixsocket", socket, "--unixsocketperm", "700", "--dir", folder,
		"--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction")
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	address := url.URL{Scheme: "unix", Path: socket, RawQuery: "db=0"}
	r := &RedisChild{URL: address.String(), child: server, folder: folder}
	err = server.waitReady(ctx, childTimeout, func(ctx context.Context) error {
		if err := dial(ctx, socket); err != nil {
			return err
		}
		client := redisClient(socket)
		defer func() { _ = client.Close() }() // nothing was written
		return client.Ping(ctx).Err()
	})
	if err != nil {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return nil, errors.Join(err, r.Stop(cleanup))
	}
	return r, nil
}

// Stop stops the server and removes its folder.
func (r *RedisChild) Stop(ctx context.Context) error {
	if err := r.child.stop(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(r.folder); err != nil {
		return fmt.Errorf("remove the folder of redis: %w", err)
	}
	return nil
}
