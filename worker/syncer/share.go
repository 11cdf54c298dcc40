package syncer

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/connector/throttle"
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

// useLimiter makes the source share the limit of all connectors with its
// credentials. It ends the slice while the platform asks to wait.
func (s *slice) useLimiter(ctx context.Context, settings *connectors.Settings) error {
	s.limiter = s.engine.limiterOf(s.kind, s.connector, settings)
	if s.limiter == nil {
		return nil
	}
	if wait := s.limiter.PausedFor(ctx); wait > 0 {
		return &waitError{delay: wait, hinted: true, cause: errPaused}
	}
	return nil
}

// limiterOf returns the limiter of a connector's credentials and sets it in the
// settings. It returns nil without Options.Limiters.
func (e *Engine) limiterOf(kind connectors.Kind, row *ent.Connector, settings *connectors.Settings) *throttle.Limiter {
	if e.opt.Limiters == nil {
		return nil
	}
	limiter := e.opt.Limiters.For(kind, *settings, row.GrantID)
	settings.Limiter = limiter.Wait
	return limiter
}

// errPaused says that the platform asked another connector with the same
// credentials to wait.
var errPaused = errors.New("the platform asked to be left alone for a while")

// pauseLimiter makes all connectors with the same credentials wait when the
// platform asked for it. It ignores waits that come from the limiter itself or from
// a model service.
func (s *slice) pauseLimiter(ctx context.Context, wait *waitError) {
	_, ofLimiter := errors.AsType[*throttle.WaitError](wait)
	_, ofSource := errors.AsType[*sourceError](wait)
	if s.limiter != nil && ofSource && !ofLimiter {
		s.limiter.Pause(ctx, wait.delay)
	}
}
