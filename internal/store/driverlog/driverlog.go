package driverlog

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Options of a Log. Driver and Log are required.
type Options struct {
	Driver string // names the driver in events
	Log    *slog.Logger
	Every  time.Duration    // least interval of events of one kind: 10 s
	Now    func() time.Time // nil: the system's clock
}

// maxKinds bounds the kinds of lines that are remembered.
const maxKinds = 200

// A Log turns the lines of a driver into events. Printf is the form of go-redis,
// the other methods are the form of asynq. It is safe for concurrent use.
type Log struct {
	opt Options

	mu    sync.Mutex
	kinds map[string]*kind
}

// A kind is a line without its variable part.
type kind struct {
	logged  time.Time
	omitted int
}

// New returns a Log.
func New(o Options) *Log {
	if o.Every <= 0 {
		o.Every = 10 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Log{opt: o, kinds: map[string]*kind{}}
}

// event is the message of all events. The attributes have the content.
const event = "driver reports"

// Printf logs a warning, for drivers without levels.
func (l *Log) Printf(ctx context.Context, format string, args ...any) {
	if attributes, due := l.attributes(format, fmt.Sprintf(format, args...), args); due {
		l.opt.Log.WarnContext(ctx, event, attributes...)
	}
}

// Debug drops a line, since drivers report every look at an empty queue.
func (l *Log) Debug(...any) {}

// Info logs a line at the level debug.
func (l *Log) Info(args ...any) { l.line(l.opt.Log.Debug, args) }

// Warn logs a warning.
func (l *Log) Warn(args ...any) { l.line(l.opt.Log.Warn, args) }

// Error logs an error.
func (l *Log) Error(args ...any) { l.line(l.opt.Log.Error, args) }

// Fatal logs an error. It does not end the process.
func (l *Log) Fatal(args ...any) { l.Error(args...) }

// line logs a line whose kind is the text before its first colon.
func (l *Log) line(write func(string, ...any), args []any) {
	text := fmt.Sprint(args...)
	kindName, _, _ := strings.Cut(text, ":")
	if attributes, due := l.attributes(kindName, text, args); due {
		write(event, attributes...)
	}
}

// attributes returns the attributes of an event; due is false if an event of the
// kind was logged a moment ago.
func (l *Log) attributes(kindName, text string, args []any) (attributes []any, due bool) {
	omitted, due := l.due(kindName)
	if !due {
		return nil, false
	}
	attributes = []any{slog.String("driver", l.opt.Driver), slog.String("line", strings.TrimSpace(text))}
	for _, arg := range args {
		if err, ok := arg.(error); ok {
			attributes = append(attributes, slog.Any("error", err))
			break
		}
	}
	if omitted > 0 {
		attributes = append(attributes, slog.Int("omitted", omitted))
	}
	return attributes, true
}

// due reports whether a line of a kind is logged now, and how many have been
// omitted since the last one.
func (l *Log) due(kindName string) (omitted int, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.opt.Now()
	k := l.kinds[kindName]
	if k == nil {
		if len(l.kinds) >= maxKinds {
			clear(l.kinds)
		}
		k = &kind{logged: now.Add(-l.opt.Every)}
		l.kinds[kindName] = k
	}
	if now.Sub(k.logged) < l.opt.Every {
		k.omitted++
		return 0, false
	}
	omitted, k.omitted, k.logged = k.omitted, 0, now
	return omitted, true
}
