package redistrace

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/internal/tracing"
)

// Hook adds a span for each command, and one for commands that are sent together, below
// the span in their context. A span has the name of the command, and neither its keys
// nor its values. Add it by AddHook of a client.
type Hook struct{}

var _ redis.Hook = Hook{}

// DialHook implements [redis.Hook]. Connections have no spans.
func (Hook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return next(ctx, network, address)
	}
}

// ProcessHook implements [redis.Hook].
func (Hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		if tracing.From(ctx) == nil {
			return next(ctx, command)
		}
		start := time.Now()
		err := next(ctx, command)
		end(ctx, nameOf(command), start, err)
		return err
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (Hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		if tracing.From(ctx) == nil {
			return next(ctx, commands)
		}
		start := time.Now()
		err := next(ctx, commands)
		end(ctx, "PIPELINE", start, err, slog.Int("db.operation.batch.size", len(commands)))
		return err
	}
}

func end(ctx context.Context, operation string, start time.Time, err error, more ...slog.Attr) {
	if errors.Is(err, redis.Nil) { // there is no such key
		err = nil
	}
	attributes := append([]slog.Attr{slog.String("db.system.name", "redis"), slog.String("db.operation.name", operation)}, more...)
	tracing.After(ctx, tracing.Client, "redis "+operation, start, err, attributes...)
}

// nameOf returns the name of a command in upper case. What is no word was made of data.
func nameOf(command redis.Cmder) string {
	name := strings.ToUpper(command.Name())
	if name == "" || len(name) > 32 || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ._") != "" {
		return "COMMAND"
	}
	return name
}
