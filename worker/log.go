package worker

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/hibiken/asynq"
)

// bridge gives asynq's log lines to slog. asynq names tasks by their ids, and
// payloads hold ids only.
type bridge struct{ log *slog.Logger }

var _ asynq.Logger = bridge{}

func (b bridge) line(level slog.Level, args []any) {
	b.log.Log(context.Background(), level, "asynq", "line", fmt.Sprint(args...)) //nolint:forbidigo // asynq hands no context over
}

// Debug is dropped: it tells of every look at an empty queue.
func (b bridge) Debug(...any) {}

// Info is of interest to people who look into the queue itself.
func (b bridge) Info(args ...any) { b.line(slog.LevelDebug, args) }

func (b bridge) Warn(args ...any)  { b.line(slog.LevelWarn, args) }
func (b bridge) Error(args ...any) { b.line(slog.LevelError, args) }

// Fatal does not end the process: that is for cmd to decide.
func (b bridge) Fatal(args ...any) { b.line(slog.LevelError, args) }
