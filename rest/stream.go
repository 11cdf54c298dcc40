package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/magpie-search/magpie/internal/apierr"
)

// conversationHeader tells the conversation of a chat stream.
const conversationHeader = "X-Conversation-Id"

// stream runs the route's stored subscription and writes its events as they
// come. Until the first one the answer is still open: an error then is a plain
// status. When the client leaves, the subscription is canceled.
func (x *exchange) stream(values variables) error {
	ctx, cancel := context.WithCancel(x.ctx)
	defer cancel()
	responses, ctx, err := x.dispatch(ctx, values)
	if err != nil {
		return err
	}
	events, stopped := make(chan streamed), make(chan struct{})
	go func() {
		defer close(stopped)
		defer close(events)
		x.pull(ctx, responses, events)
	}()
	defer func() {
		cancel()
		<-stopped
	}()
	first, ok := <-events
	if why := x.interrupted(); !ok && why != nil {
		return why
	}
	if !ok {
		return apierr.From(errors.Join(ctx.Err(), errors.New("the stream ended before it began")))
	}
	if first.err != nil {
		return first.err
	}
	if first.kind == "ChatStart" || first.kind == "AgentRunStart" {
		x.w.Header().Set(conversationHeader, first.conversation())
	}
	x.begin()
	if !x.write(first) {
		return nil
	}
	quiet := time.NewTicker(x.t.limits.KeepAlive)
	defer quiet.Stop()
	for {
		select {
		case e, ok := <-events:
			if !ok {
				why := x.interrupted()
				if why == nil && ctx.Err() == nil {
					why = apierr.New(apierr.Unavailable, "The answer ended early; try again.")
				}
				if why != nil {
					x.writeError(why)
				}
				return nil
			}
			quiet.Reset(x.t.limits.KeepAlive)
			if !x.write(e) || e.last() {
				return nil
			}
		case <-quiet.C:
			if !x.flush(appendComment(nil)) {
				return nil
			}
		case <-ctx.Done():
			if why := x.interrupted(); why != nil {
				x.writeError(why)
			}
			return nil
		}
	}
}

// interrupted is why the server ended the request, in words for the client; nil
// where it did not: a client that left is told nothing.
func (x *exchange) interrupted() error {
	if why, ok := errors.AsType[*apierr.Error](context.Cause(x.r.Context())); ok {
		return why
	}
	return nil
}

// streamed is one event of a subscription, or the error it ended with.
type streamed struct {
	kind string // the GraphQL type
	data []byte // its fields as JSON
	err  error
}

// pull reads the subscription until it ends; it is the only one to call next.
func (x *exchange) pull(ctx context.Context, next graphql.ResponseHandler, events chan<- streamed) {
	for {
		e, ok := x.next(ctx, next)
		if !ok {
			return
		}
		select {
		case events <- e:
		case <-ctx.Done():
			return
		}
		if e.err != nil {
			return
		}
	}
}

// next reads one event. A panic on the way is the stream's error, since nobody
// above this goroutine could catch it.
func (x *exchange) next(ctx context.Context, next graphql.ResponseHandler) (e streamed, ok bool) {
	defer func() {
		if cause := recover(); cause != nil {
			e, ok = streamed{err: apierr.Wrap("stream", fmt.Errorf("panic: %v", cause))}, true
		}
	}()
	response := next(ctx)
	if response == nil {
		return streamed{}, false
	}
	if len(response.Errors) > 0 {
		return streamed{err: x.route.edgeError(response.Errors)}, true
	}
	return x.event(response.Data), true
}

// event reshapes one response; its bytes are the executor's to use again.
func (x *exchange) event(data json.RawMessage) streamed {
	var named struct {
		Event struct {
			Kind    string      `json:"__typename"`
			Code    apierr.Code `json:"code"`
			Message string      `json:"message"`
		} `json:"event"`
	}
	raw, err := dig(data, "event")
	if err == nil {
		err = json.Unmarshal(data, &named)
	}
	if err != nil {
		return streamed{err: apierr.Wrap("read an event", err)}
	}
	if named.Event.Kind == "StreamError" || named.Event.Kind == "AgentError" {
		return streamed{err: apierr.New(named.Event.Code, named.Event.Message)}
	}
	fields, err := x.t.operations[x.route.Operation].shape.at("event").write(nil, raw)
	return streamed{kind: named.Event.Kind, data: fields, err: apierr.Wrap("reshape an event", err)}
}

// name is the event's name on the wire: ChatFollowUp is follow_up, AgentRunStart run_start.
func (e streamed) name() string {
	var name strings.Builder
	for i, r := range strings.TrimPrefix(strings.TrimPrefix(e.kind, "Chat"), "Agent") {
		if 'A' <= r && r <= 'Z' {
			if i > 0 {
				name.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		name.WriteRune(r)
	}
	return name.String()
}

// last reports whether the stream is complete with this event.
func (e streamed) last() bool {
	return e.err != nil || e.kind == "ChatDone" || e.kind == "AgentRunComplete"
}

func (e streamed) conversation() string {
	var start struct {
		Chat  string `json:"conversation_id"`
		Agent string `json:"conversationId"`
	}
	_ = json.Unmarshal(e.data, &start)
	return start.Chat + start.Agent
}

// begin sends the head of the stream.
func (x *exchange) begin() {
	h := x.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // a proxy must not collect events
	h.Set("X-Content-Type-Options", "nosniff")
	x.began = true
	x.w.WriteHeader(http.StatusOK)
}

// write sends one event; false when the client is gone. The start is told by a
// header and is no event on the wire.
func (x *exchange) write(e streamed) bool {
	switch {
	case e.err != nil:
		return x.writeError(e.err)
	case e.kind == "ChatStart":
		return x.flush(nil)
	default:
		return x.flush(appendEvent(nil, e.name(), e.data))
	}
}

// writeError ends a stream that has begun; its cause goes to the log.
func (x *exchange) writeError(err error) bool {
	e := apierr.From(err)
	if e.Code.Status() >= http.StatusInternalServerError && x.r.Context().Err() == nil {
		x.log(slog.LevelError, "stream failed", err)
	}
	return x.flush(appendEvent(nil, "error", errorBody(shown(e))))
}

// flush writes bytes and sends them on their way.
func (x *exchange) flush(b []byte) bool {
	x.deadline()
	if _, err := x.w.Write(b); err != nil {
		return false
	}
	err := x.control.Flush()
	return err == nil || errors.Is(err, http.ErrNotSupported)
}
