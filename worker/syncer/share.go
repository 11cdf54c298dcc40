package syncer

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/connector/pace"
)

// shareInterval is the time between two checks for waiting jobs. A job waits only
// if it has waited for that long: other tasks are on their way to a worker.
const shareInterval = time.Second

// A shareCheck remembers the last check for waiting jobs.
type shareCheck struct {
	mu      sync.Mutex
	checked time.Time
	waiting bool
}

// timeUp reports whether the slice has used its time: SliceTime, or ShareTime while
// other jobs wait. A slice without progress goes on.
func (s *slice) timeUp(ctx context.Context) bool {
	o := s.engine.opt
	now := o.Now()
	elapsed := now.Sub(s.start)
	switch {
	case !s.progress.Load():
		return false
	case elapsed >= o.SliceTime:
		return true
	case elapsed < o.ShareTime:
		return false
	}
	c := &s.share
	c.mu.Lock()
	defer c.mu.Unlock()
	interval := min(shareInterval, o.ShareTime)
	if c.waiting || now.Sub(c.checked) < interval {
		return c.waiting
	}
	c.checked = now
	waiting, err := s.run.OthersWaiting(ctx, interval)
	if err != nil {
		return false // the next statement of the slice fails, too
	}
	c.waiting = waiting
	return waiting
}

// joinLine makes the source share the pace of all connectors with its credentials.
// It ends the slice while the platform asks to wait.
func (s *slice) joinLine(ctx context.Context, settings *connectors.Settings) error {
	s.line = s.engine.lineOf(s.kind, s.connector, settings)
	if s.line == nil {
		return nil
	}
	if wait := s.line.Held(ctx); wait > 0 {
		return &waitError{delay: wait, hinted: true, cause: errHeld}
	}
	return nil
}

// lineOf returns the line of a connector's credentials and limits the settings by
// it. It returns nil without a pacer.
func (e *Engine) lineOf(kind connectors.Kind, row *ent.Connector, settings *connectors.Settings) *pace.Line {
	if e.opt.Pacer == nil {
		return nil
	}
	grant := ""
	if row.GrantID != nil {
		grant = row.GrantID.String()
	}
	line := e.opt.Pacer.Of(kind, *settings, grant)
	settings.Limiter = line.Turn
	return line
}

// errHeld says that the platform asked another connector of the line to wait.
var errHeld = errors.New("the platform asked to be left alone for a while")

// holdLine makes all connectors with the same credentials wait when the platform
// asked for it. It ignores waits that come from the line itself or from a model
// service.
func (s *slice) holdLine(ctx context.Context, wait *waitError) {
	_, ofLine := errors.AsType[*pace.WaitError](wait)
	_, ofSource := errors.AsType[*sourceError](wait)
	if s.line != nil && ofSource && !ofLine {
		s.line.Hold(ctx, wait.delay)
	}
}
