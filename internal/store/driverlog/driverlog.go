package driverlog

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Options of a Log. Driver and Log are needed.
type Options struct {
	Driver string // the name by which events say whose they are
	Log    *slog.Logger
	Every  time.Duration    // how often a line of one kind is told: 10 s
	Now    func() time.Time // nil: the system's clock
}

// maxKinds bounds the kinds of lines that are remembered.
const maxKinds = 200

// Log takes a driver's lines in the forms that drivers know: Printf is that of
// go-redis, the others are those of asynq. It is safe for concurrent use.
type Log struct {
	opt Options

	mu    sync.Mutex
	kinds map[string]*kind
}

// kind is a line without what changes in it.
type kind struct {
	told    time.Time
	omitted int
}

// New makes a Log.
func New(o Options) *Log {
	if o.Every <= 0 {
		o.Every = 10 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Log{opt: o, kinds: map[string]*kind{}}
}

// event is the message of all events; their attributes say the rest.
const event = "driver reports"

// Printf tells a line of a driver that has no levels: a warning.
func (l *Log) Printf(ctx context.Context, format string, args ...any) {
	if attributes, due := l.attributes(format, fmt.Sprintf(format, args...), args); due {
		l.opt.Log.WarnContext(ctx, event, attributes...)
	}
}

// Debug drops a line: they tell of every look at an empty queue.
func (l *Log) Debug(...any) {}

// Info tells a line that is of interest to people who look into the driver.
func (l *Log) Info(args ...any) { l.line(l.opt.Log.Debug, args) }

// Warn tells a warning.
func (l *Log) Warn(args ...any) { l.line(l.opt.Log.Warn, args) }

// Error tells an error.
func (l *Log) Error(args ...any) { l.line(l.opt.Log.Error, args) }

// Fatal tells an error and does not end the process: that is for cmd to decide.
func (l *Log) Fatal(args ...any) { l.Error(args...) }

// line tells a line whose kind is what comes before its first colon.
func (l *Log) line(write func(string, ...any), args []any) {
	text := fmt.Sprint(args...)
	about, _, _ := strings.Cut(text, ":")
	if attributes, due := l.attributes(about, text, args); due {
		write(event, attributes...)
	}
}

// attributes are what is told of a line, unless one of its kind was told a moment ago.
func (l *Log) attributes(about, text string, args []any) (attributes []any, due bool) {
	omitted, due := l.due(about)
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

// due says whether a line of this kind is told now, and how many were not since
// the last one that was.
func (l *Log) due(about string) (omitted int, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.opt.Now()
	k := l.kinds[about]
	if k == nil {
		if len(l.kinds) >= maxKinds {
			clear(l.kinds)
		}
		k = &kind{told: now.Add(-l.opt.Every)}
		l.kinds[about] = k
	}
	if now.Sub(k.told) < l.opt.Every {
		k.omitted++
		return 0, false
	}
	omitted, k.omitted, k.told = k.omitted, 0, now
	return omitted, true
}
