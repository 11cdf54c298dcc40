package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/store/replica"
)

// replicaConnectTimeout bounds a connection to a replica whose URL has no connect_timeout.
const replicaConnectTimeout = 3 * time.Second

// Readers returns readers of the database and of its streaming replicas at urls; without
// urls they use the database alone. maxConns bounds the connections to each replica, as
// Open has it. The error is a *Mismatch for a server of another cluster; a replica that
// cannot be reached is left out until it can be. The readers must be closed before the
// DB.
func (d *DB) Readers(ctx context.Context, urls []string, maxConns int32, log *slog.Logger) (*replica.Readers, error) {
	if len(urls) == 0 {
		return replica.Primary(d.Pool), nil
	}
	var servers []replica.Server
	closeAll := func() {
		for _, s := range servers {
			s.Pool.Close()
		}
	}
	for i, url := range urls {
		// Replicas take no writes: a refused one is no sign of a failover.
		cfg, err := configuration(url, maxConns, counter{new(atomic.Int64), &poolReset{}})
		if err != nil {
			closeAll()
			return nil, fmt.Errorf("replica %d: %w", i+1, err)
		}
		if cfg.ConnConfig.ConnectTimeout == 0 {
			cfg.ConnConfig.ConnectTimeout = replicaConnectTimeout
		}
		pool, err := pgxpool.NewWithConfig(ctx, cfg)
		if err != nil {
			closeAll()
			return nil, fmt.Errorf("open replica %d: %w", i+1, err)
		}
		name := net.JoinHostPort(cfg.ConnConfig.Host, strconv.Itoa(int(cfg.ConnConfig.Port)))
		if slices.ContainsFunc(servers, func(s replica.Server) bool { return s.Name == name }) {
			name = fmt.Sprintf("%s (%d)", name, i+1) // metrics need another name for each
		}
		servers = append(servers, replica.Server{Name: name, Pool: pool})
	}
	readers, err := replica.Open(ctx, d.Pool, servers, replica.Options{Log: log}) // closes the pools if it fails
	if mismatch, ok := errors.AsType[*replica.Mismatch](err); ok {
		return nil, fmt.Errorf("DATABASE_READ_URL: %w", &Mismatch{Problem: mismatch.Problem, Remedy: mismatch.Remedy})
	}
	if err != nil {
		return nil, fmt.Errorf("open the replicas: %w", err)
	}
	return readers, nil
}
