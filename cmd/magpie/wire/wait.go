package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/config"
)

// Names of the services that a process waits for, in logs and /readyz.
const (
	Database = "database"
	Queue    = "redis"
)

const (
	// retryInterval is the time between two attempts to reach a service.
	retryInterval = 500 * time.Millisecond
	// logInterval is the time between two log messages about it.
	logInterval = 10 * time.Second
	// pingTimeout is the timeout of a ping of Redis.
	pingTimeout = 2 * time.Second
)

// Await is like Open, but waits for an unavailable PostgreSQL until ctx ends. It
// calls missed with the service after each failed attempt. Permanent errors are
// returned immediately: a rejected login, a missing database, an unsupported schema.
func Await(ctx context.Context, c *config.Config, log *slog.Logger, missed func(part string)) (*App, error) {
	start, logged := time.Now(), time.Time{}
	for {
		app, err := Open(ctx, c, log)
		if err == nil {
			if !logged.IsZero() {
				log.InfoContext(ctx, "PostgreSQL is available", slog.Duration("waited", time.Since(start)))
			}
			return app, nil
		}
		if ctx.Err() != nil || !isTransient(err) {
			return nil, err
		}
		missed(Database)
		if time.Since(logged) >= logInterval {
			logged = time.Now()
			log.WarnContext(ctx, "waiting for PostgreSQL", slog.Duration("waited", time.Since(start)), slog.Any("error", err))
		}
		if !pause(ctx, retryInterval) {
			return nil, fmt.Errorf("wait for PostgreSQL: %w", ctx.Err())
		}
	}
}

// databaseError is an error of opening the database.
type databaseError struct{ error }

// Unwrap returns the wrapped error.
func (e databaseError) Unwrap() error { return e.error }

// isTransient reports whether an error of Open means that the database is
// unavailable, and not that a setting is wrong.
func isTransient(err error) bool {
	if !errors.As(err, new(databaseError)) {
		return false
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return apierr.From(refused).Code == apierr.Unavailable
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	return connecting || errors.Is(err, context.DeadlineExceeded)
}

// pause waits and reports whether the time has passed before ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// checkRedis pings Redis. A rejected login is an error. While Redis is unavailable,
// a goroutine logs it.
func (a *App) checkRedis(ctx context.Context) error {
	err := a.pingRedis(ctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("connect to Redis: %w", ctx.Err())
	case isRedisRejection(err):
		return fmt.Errorf("REDIS_URL: rejected by Redis: %w", err)
	}
	a.Log.WarnContext(ctx, "waiting for Redis", slog.Any("error", err))
	lifetime, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.waitForRedis(lifetime)
	}()
	a.closers = append(a.closers, func() error {
		stop()
		<-done
		return nil
	})
	return nil
}

// waitForRedis logs that Redis is unavailable until it is available.
func (a *App) waitForRedis(ctx context.Context) {
	start := time.Now()
	for logged := start; pause(ctx, retryInterval); {
		err := a.pingRedis(ctx)
		switch {
		case err == nil:
			a.Log.InfoContext(ctx, "Redis is available", slog.Duration("waited", time.Since(start)))
			return
		case ctx.Err() == nil && time.Since(logged) >= logInterval:
			logged = time.Now()
			a.Log.WarnContext(ctx, "waiting for Redis", slog.Duration("waited", time.Since(start)), slog.Any("error", err))
		}
	}
}

func (a *App) pingRedis(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return a.Redis.Ping(ctx).Err()
}

// isRedisRejection reports whether Redis has rejected the login or the database of
// the address, which is a permanent error.
func isRedisRejection(err error) bool {
	for _, prefix := range []string{"NOAUTH", "WRONGPASS", "NOPERM", "invalid password", "AUTH", "Client sent AUTH", "DB index"} {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}
