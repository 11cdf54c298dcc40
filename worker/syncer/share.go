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

// lookEvery is how often a slice looks whether other jobs wait for its worker,
// and for how long one must have waited: a task on its way is no queue.
const lookEvery = time.Second

// turn is what a slice knows of those who wait.
type turn struct {
	mu     sync.Mutex
	looked time.Time
	over   bool
}

// spent reports whether the slice has had its share of a worker: SliceTime, or
// ShareTime when others wait. One that has never ends without having done something.
func (s *slice) spent(ctx context.Context) bool {
	o := s.engine.opt
	now := o.Now()
	gone := now.Sub(s.began)
	switch {
	case !s.progress.Load():
		return false
	case gone >= o.SliceTime:
		return true
	case gone < o.ShareTime:
		return false
	}
	t := &s.turn
	t.mu.Lock()
	defer t.mu.Unlock()
	pause := min(lookEvery, o.ShareTime)
	if t.over || now.Sub(t.looked) < pause {
		return t.over
	}
	t.looked = now
	others, err := s.run.Others(ctx, pause)
	if err != nil {
		return false // the slice finds out by itself what is wrong
	}
	t.over = others
	return others
}

// queueUp puts the source into the line of those who work with its credentials,
// and ends the slice at once while the platform is to be left alone.
func (s *slice) queueUp(ctx context.Context, settings *connectors.Settings) error {
	s.line = s.engine.lineOf(s.kind, s.connector, settings)
	if s.line == nil {
		return nil
	}
	if wait := s.line.Held(ctx); wait > 0 {
		return &waitError{delay: wait, hinted: true, cause: errHeld}
	}
	return nil
}

// lineOf is the line of those who work with a connector's credentials, from which
// settings take their turns; nil where there are no lines.
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

// errHeld says that the platform asked somebody else in the line to wait.
var errHeld = errors.New("the platform asked to be left alone for a while")

// holdLine lets everybody wait who works with the same credentials when the
// platform asked for it. What the line itself said is nothing new to it, and
// what a model service said is of no account.
func (s *slice) holdLine(ctx context.Context, wait *waitError) {
	_, own := errors.AsType[*pace.WaitError](wait)
	_, source := errors.AsType[*sourceError](wait)
	if s.line != nil && source && !own {
		s.line.Hold(ctx, wait.delay)
	}
}
