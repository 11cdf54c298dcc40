package live

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Events answers one operation as server-sent events, in the "distinct
// connections" mode of the graphql-sse protocol: an event "next" for each
// result, and "complete" at the end. refused is not nil when too much is open,
// and then nothing has been written.
func (s *Server) Events(ctx context.Context, w http.ResponseWriter, exec graphql.GraphExecutor, rc *graphql.OperationContext, wrong gqlerror.List, address string) (refused error) {
	v, _ := viewer.From(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x := &events{server: s, w: w, viewer: v, cancel: cancel}
	if !s.join(x) {
		return apierr.New(apierr.Unavailable, goingAway().reason)
	}
	defer s.leave(x)
	release, full := s.gate.operation(owner(v, address))
	if full != nil {
		return &apierr.Error{Code: full.error, Message: full.reason, RetryAfter: time.Minute}
	}
	defer release()
	x.run(ctx, exec, rc, wrong)
	return nil
}

// events is a stream of events.
type events struct {
	server *Server
	viewer viewer.Viewer
	cancel context.CancelCauseFunc

	mu     sync.Mutex // orders what is written
	w      http.ResponseWriter
	over   bool
	timer  *time.Timer
	broken bool
}

func (x *events) who() (viewer.Viewer, bool) { return x.viewer, true }
func (x *events) end(e *ending)              { x.cancel(e) }

func (x *events) run(ctx context.Context, exec graphql.GraphExecutor, rc *graphql.OperationContext, wrong gqlerror.List) {
	h := x.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	x.write([]byte(":\n\n"))
	x.mu.Lock()
	x.timer = time.AfterFunc(x.server.opt.Event, x.beat)
	x.mu.Unlock()
	defer x.finish()
	if len(wrong) > 0 {
		x.next(exec.DispatchError(graphql.WithOperationContext(ctx, rc), wrong))
		return
	}
	responses, dispatched := exec.DispatchOperation(graphql.WithOperationContext(ctx, rc), rc)
	for {
		response := responses(dispatched)
		if response == nil || ctx.Err() != nil {
			break
		}
		if !x.next(response) {
			return
		}
	}
	if why, ok := errors.AsType[*ending](context.Cause(ctx)); ok {
		x.next(&graphql.Response{Errors: gqlerror.List{{Message: why.reason, Extensions: map[string]any{"code": string(why.error)}}}})
	}
}

// finish says that nothing follows.
func (x *events) finish() {
	x.write([]byte("event: complete\ndata:\n\n"))
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over = true
	x.timer.Stop()
	// The connection may serve further requests.
	_ = http.NewResponseController(x.w).SetWriteDeadline(time.Time{})
}

func (x *events) next(response *graphql.Response) bool {
	b, err := json.Marshal(response)
	if err != nil {
		x.server.opt.Log.Error("an event cannot be written", slog.Any("error", err))
		return false
	}
	return x.write(append(append([]byte("event: next\ndata: "), b...), "\n\n"...))
}

func (x *events) beat() {
	if x.write([]byte(":\n\n")) {
		x.mu.Lock()
		defer x.mu.Unlock()
		if !x.over {
			x.timer.Reset(x.server.opt.Event)
		}
	}
}

// write sends bytes; false when the stream has ended or its client is cut off.
func (x *events) write(b []byte) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over || x.broken {
		return false
	}
	control := http.NewResponseController(x.w)
	_ = control.SetWriteDeadline(time.Now().Add(x.server.opt.Write)) // a recorder of a test has none
	_, err := x.w.Write(b)
	if err == nil {
		err = control.Flush()
	}
	if err != nil {
		x.broken = true
		x.cancel(err)
		if timeout, ok := errors.AsType[interface {
			error
			Timeout() bool
		}](err); ok && timeout.Timeout() {
			x.server.slow.Add(1)
			x.server.opt.Log.Info("a stream of events was cut off since nothing is read from it")
		}
		return false
	}
	return true
}
