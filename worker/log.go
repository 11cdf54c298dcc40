package worker

import (
	"fmt"
	"log/slog"

	"github.com/hibiken/asynq"
)

// bridge gives asynq's log lines to slog. asynq names tasks by their ids, and
// payloads hold ids only.
type bridge struct{ log *slog.Logger }

var _ asynq.Logger = bridge{}

// Debug is dropped: it tells of every look at an empty queue.
func (b bridge) Debug(...any) {}

// Info is of interest to people who look into the queue itself.
func (b bridge) Info(args ...any) { b.log.Debug("asynq", "line", fmt.Sprint(args...)) }

// Warn passes a warning on.
func (b bridge) Warn(args ...any) { b.log.Warn("asynq", "line", fmt.Sprint(args...)) }

// Error passes an error on.
func (b bridge) Error(args ...any) { b.log.Error("asynq", "line", fmt.Sprint(args...)) }

// Fatal does not end the process: that is for cmd to decide.
func (b bridge) Fatal(args ...any) { b.Error(args...) }
