package connection

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

// Events executes an operation and writes its results as server-sent events, in the
// "distinct connections" mode of the protocol graphql-sse: an event "next" for each
// result, and "complete" at the end. It returns an error, and writes nothing, at a
// limit of open operations.
func (s *Server) Events(ctx context.Context, w http.ResponseWriter, exec graphql.GraphExecutor, rc *graphql.OperationContext, wrong gqlerror.List, address string) (refused error) {
	v, _ := viewer.From(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x := &eventStream{server: s, w: w, viewer: v, cancel: cancel}
	if !s.join(x) {
		return apierr.New(apierr.Unavailable, goingAway().reason)
	}
	defer s.leave(x)
	release, full := s.gate.operation(ownerOf(v, address))
	if full != nil {
		return &apierr.Error{Code: full.error, Message: full.reason, RetryAfter: time.Minute}
	}
	defer release()
	x.run(ctx, exec, rc, wrong)
	return nil
}

// An eventStream is a stream of server-sent events.
type eventStream struct {
	server *Server
	viewer viewer.Viewer
	cancel context.CancelCauseFunc

	mu     sync.Mutex // guards the following, and orders writes
	w      http.ResponseWriter
	done   bool
	timer  *time.Timer
	broken bool
}

func (x *eventStream) owner() (viewer.Viewer, bool) { return x.viewer, true }
func (x *eventStream) end(e *closing)               { x.cancel(e) }

// run executes the operation and writes its results.
func (x *eventStream) run(ctx context.Context, exec graphql.GraphExecutor, rc *graphql.OperationContext, wrong gqlerror.List) {
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
	if reason, ok := errors.AsType[*closing](context.Cause(ctx)); ok {
		x.next(&graphql.Response{Errors: gqlerror.List{{Message: reason.reason, Extensions: map[string]any{"code": string(reason.error)}}}})
	}
}

// finish writes the last event.
func (x *eventStream) finish() {
	x.write([]byte("event: complete\ndata:\n\n"))
	x.mu.Lock()
	defer x.mu.Unlock()
	x.done = true
	x.timer.Stop()
	// The connection may serve more requests.
	_ = http.NewResponseController(x.w).SetWriteDeadline(time.Time{})
}

// next writes a result.
func (x *eventStream) next(response *graphql.Response) bool {
	b, err := json.Marshal(response)
	if err != nil {
		x.server.opt.Log.Error("event not encoded", slog.Any("error", err))
		return false
	}
	return x.write(append(append([]byte("event: next\ndata: "), b...), "\n\n"...))
}

// beat sends a comment that keeps a quiet stream open.
func (x *eventStream) beat() {
	if x.write([]byte(":\n\n")) {
		x.mu.Lock()
		defer x.mu.Unlock()
		if !x.done {
			x.timer.Reset(x.server.opt.Event)
		}
	}
}

// write sends bytes. It reports false when the stream has ended.
func (x *eventStream) write(b []byte) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.done || x.broken {
		return false
	}
	control := http.NewResponseController(x.w)
	_ = control.SetWriteDeadline(time.Now().Add(x.server.opt.Write)) // a recorder of a test has no deadline
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
			x.server.opt.Log.Info("event stream closed, client does not read")
		}
		return false
	}
	return true
}
