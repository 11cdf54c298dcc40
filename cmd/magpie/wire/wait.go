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

// The parts that a process waits for, as logs and /readyz name them.
const (
	Database = "database"
	Queue    = "redis"
)

const (
	// waitEvery is how often a part that is away is asked for.
	waitEvery = 500 * time.Millisecond
	// waitSay is how often the log says that it still is.
	waitSay = 10 * time.Second
	// redisTime bounds what Redis gets to answer in at the start.
	redisTime = 2 * time.Second
)

// Await is Open for a process that waits for PostgreSQL as long as it cannot be
// reached, until ctx ends; missed is called with the part each time it was not.
// What waiting does not mend is an error at once: a login that is refused, a
// database that does not exist, a schema that does not fit.
func Await(ctx context.Context, c *config.Config, log *slog.Logger, missed func(part string)) (*App, error) {
	began, said := time.Now(), time.Time{}
	for {
		app, err := Open(ctx, c, log)
		if err == nil {
			if !said.IsZero() {
				log.InfoContext(ctx, "PostgreSQL answers", slog.Duration("waited", time.Since(began)))
			}
			return app, nil
		}
		if ctx.Err() != nil || !comesBack(err) {
			return nil, err
		}
		missed(Database)
		if time.Since(said) >= waitSay {
			said = time.Now()
			log.WarnContext(ctx, "waiting for PostgreSQL", slog.Duration("waited", time.Since(began)), slog.Any("error", err))
		}
		if !pause(ctx, waitEvery) {
			return nil, fmt.Errorf("wait for PostgreSQL: %w", ctx.Err())
		}
	}
}

// unopened is the error of a database that could not be opened.
type unopened struct{ error }

// Unwrap gives the error itself.
func (u unopened) Unwrap() error { return u.error }

// comesBack reports whether an error of Open is of a database that is away, and
// not of a wrong setting.
func comesBack(err error) bool {
	if !errors.As(err, new(unopened)) {
		return false
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return apierr.From(refused).Code == apierr.Unavailable
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	return connecting || errors.Is(err, context.DeadlineExceeded)
}

// pause waits; false when ctx ended before.
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

// reachRedis asks Redis whether it is there. A login that it refuses is an
// error. While it is away, a goroutine of the application's says so.
func (a *App) reachRedis(ctx context.Context) error {
	err := a.pingRedis(ctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("reach Redis: %w", ctx.Err())
	case refusedByRedis(err):
		return fmt.Errorf("REDIS_URL: Redis refuses it: %w", err)
	}
	a.Log.WarnContext(ctx, "waiting for Redis; what needs it does without", slog.Any("error", err))
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.waitForRedis(life)
	}()
	a.closers = append(a.closers, func() error {
		stop()
		<-ended
		return nil
	})
	return nil
}

// waitForRedis says again and again that Redis is away, until it is not.
func (a *App) waitForRedis(ctx context.Context) {
	began := time.Now()
	for said := began; pause(ctx, waitEvery); {
		err := a.pingRedis(ctx)
		switch {
		case err == nil:
			a.Log.InfoContext(ctx, "Redis answers", slog.Duration("waited", time.Since(began)))
			return
		case ctx.Err() == nil && time.Since(said) >= waitSay:
			said = time.Now()
			a.Log.WarnContext(ctx, "waiting for Redis", slog.Duration("waited", time.Since(began)), slog.Any("error", err))
		}
	}
}

func (a *App) pingRedis(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisTime)
	defer cancel()
	return a.Redis.Ping(ctx).Err()
}

// refusedByRedis reports whether an error is Redis's word on the address that
// it was reached by: waiting does not mend the login or the database's number.
func refusedByRedis(err error) bool {
	for _, prefix := range []string{"NOAUTH", "WRONGPASS", "NOPERM", "invalid password", "AUTH", "Client sent AUTH", "DB index"} {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}
