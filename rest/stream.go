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

// conversationHeader has the ID of a chat stream's conversation.
const conversationHeader = "X-Conversation-Id"

// stream runs the stored subscription of the route and sends its events. An error
// before the first event is an error response. A disconnect of the client cancels
// the subscription.
func (x *exchange) stream(values variables) error {
	ctx, cancel := context.WithCancel(x.ctx)
	defer cancel()
	responses, ctx, err := x.dispatch(ctx, values)
	if err != nil {
		return err
	}
	events, stopped := make(chan streamEvent), make(chan struct{})
	go func() {
		defer close(stopped)
		defer close(events)
		x.readEvents(ctx, responses, events)
	}()
	defer func() {
		cancel()
		<-stopped
	}()
	first, ok := <-events
	if err := x.shutdownError(); !ok && err != nil {
		return err
	}
	if !ok {
		return apierr.From(errors.Join(ctx.Err(), errors.New("the stream has no event")))
	}
	if first.err != nil {
		return first.err
	}
	if first.kind == "ChatStart" || first.kind == "AgentRunStart" {
		x.w.Header().Set(conversationHeader, first.conversation())
	}
	x.startStream()
	if !x.writeEvent(first) {
		return nil
	}
	idle := time.NewTicker(x.t.limits.KeepAlive)
	defer idle.Stop()
	for {
		select {
		case e, ok := <-events:
			if !ok {
				err := x.shutdownError()
				if err == nil && ctx.Err() == nil {
					err = apierr.New(apierr.Unavailable, "The answer ended early; try again.")
				}
				if err != nil {
					x.writeError(err)
				}
				return nil
			}
			idle.Reset(x.t.limits.KeepAlive)
			if !x.writeEvent(e) || e.last() {
				return nil
			}
		case <-idle.C:
			if !x.flush(appendComment(nil)) {
				return nil
			}
		case <-ctx.Done():
			if err := x.shutdownError(); err != nil {
				x.writeError(err)
			}
			return nil
		}
	}
}

// shutdownError returns the error with which the server has canceled the request,
// or nil.
func (x *exchange) shutdownError() error {
	if err, ok := errors.AsType[*apierr.Error](context.Cause(x.r.Context())); ok {
		return err
	}
	return nil
}

// streamEvent is an event of a subscription, or the error that ends it.
type streamEvent struct {
	kind string // the GraphQL type
	data []byte // the fields as JSON
	err  error
}

// readEvents sends the events of a subscription to a channel until its end.
func (x *exchange) readEvents(ctx context.Context, next graphql.ResponseHandler, events chan<- streamEvent) {
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

// next returns the next event. A panic becomes the error of the stream, since this
// goroutine has no other recover.
func (x *exchange) next(ctx context.Context, next graphql.ResponseHandler) (e streamEvent, ok bool) {
	defer func() {
		if cause := recover(); cause != nil {
			e, ok = streamEvent{err: apierr.Wrap("stream", fmt.Errorf("panic: %v", cause))}, true
		}
	}()
	response := next(ctx)
	if response == nil {
		return streamEvent{}, false
	}
	if len(response.Errors) > 0 {
		return streamEvent{err: x.route.apiError(response.Errors)}, true
	}
	return x.event(response.Data), true
}

// event converts a response. It copies the data, which the executor reuses.
func (x *exchange) event(data json.RawMessage) streamEvent {
	var header struct {
		Event struct {
			Kind    string      `json:"__typename"`
			Code    apierr.Code `json:"code"`
			Message string      `json:"message"`
		} `json:"event"`
	}
	raw, err := valueAt(data, "event")
	if err == nil {
		err = json.Unmarshal(data, &header)
	}
	if err != nil {
		return streamEvent{err: apierr.Wrap("read event", err)}
	}
	if header.Event.Kind == "StreamError" || header.Event.Kind == "AgentError" {
		return streamEvent{err: apierr.New(header.Event.Code, header.Event.Message)}
	}
	fields, err := x.t.operations[x.route.Operation].shape.lookup("event").write(nil, raw)
	return streamEvent{kind: header.Event.Kind, data: fields, err: apierr.Wrap("convert event", err)}
}

// name returns the name of the server-sent event: follow_up for ChatFollowUp,
// run_start for AgentRunStart.
func (e streamEvent) name() string {
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

// last reports whether this is the last event of the stream.
func (e streamEvent) last() bool {
	return e.err != nil || e.kind == "ChatDone" || e.kind == "AgentRunComplete"
}

// conversation returns the conversation ID of a start event.
func (e streamEvent) conversation() string {
	var start struct {
		Chat  string `json:"conversation_id"`
		Agent string `json:"conversationId"`
	}
	_ = json.Unmarshal(e.data, &start)
	return start.Chat + start.Agent
}

// startStream sends the header of the stream.
func (x *exchange) startStream() {
	h := x.w.Header()
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // proxies must not buffer events
	h.Set("X-Content-Type-Options", "nosniff")
	x.started = true
	x.w.WriteHeader(http.StatusOK)
}

// writeEvent sends an event, and reports whether that succeeded. The start of a chat
// is a header instead of an event.
func (x *exchange) writeEvent(e streamEvent) bool {
	switch {
	case e.err != nil:
		return x.writeError(e.err)
	case e.kind == "ChatStart":
		return x.flush(nil)
	default:
		return x.flush(appendEvent(nil, e.name(), e.data))
	}
}

// writeError sends the error that ends the stream, and logs its cause.
func (x *exchange) writeError(err error) bool {
	e := apierr.From(err)
	if e.Code.Status() >= http.StatusInternalServerError && x.r.Context().Err() == nil {
		x.log(slog.LevelError, "stream failed", err)
	}
	return x.flush(appendEvent(nil, "error", errorBody(publicError(e))))
}

// flush writes and flushes bytes, and reports whether that succeeded.
func (x *exchange) flush(b []byte) bool {
	x.extendDeadline()
	if _, err := x.w.Write(b); err != nil {
		return false
	}
	err := x.control.Flush()
	return err == nil || errors.Is(err, http.ErrNotSupported)
}
