package accesslog

import (
	"context"
	"log/slog"
	"sync"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/viewer"
)

// maxName is the maximum length of the name of an operation, which clients choose, in
// bytes.
const maxName = 64

// Entry is what is known of one request. It is safe for concurrent use. The methods of
// a nil Entry do nothing.
type Entry struct {
	mu         sync.Mutex
	route      string
	caller     viewer.Viewer
	operations int
	name, kind string // of the first operation
	holds      int    // calls of Hold that are not released
	write      func() // waits for the last of them
}

type contextKey struct{}

// With returns a context with an empty Entry.
func With(ctx context.Context) (context.Context, *Entry) {
	e := &Entry{}
	return context.WithValue(ctx, contextKey{}, e), e
}

// From returns the Entry in ctx, or nil.
func From(ctx context.Context) *Entry {
	e, _ := ctx.Value(contextKey{}).(*Entry)
	return e
}

// SetRoute sets the pattern of the path, such as /v1/collections/{id}. The last call
// counts.
func (e *Entry) SetRoute(pattern string) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.route = pattern
}

// Route returns the pattern of the path; "" as long as it is not known.
func (e *Entry) Route() string {
	if e == nil {
		return ""
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.route
}

// Caller returns who sent the request; zero as long as it is not known.
func (e *Entry) Caller() viewer.Viewer {
	if e == nil {
		return viewer.Viewer{}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.caller
}

// SetCaller sets who sent the request. The last call counts.
func (e *Entry) SetCaller(v viewer.Viewer) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.caller = v
}

// AddOperation adds a GraphQL operation: its name, which may be empty, and its type.
// A GraphQL name has only letters, digits and underscores; it is cut to 64 bytes.
func (e *Entry) AddOperation(name, kind string) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.operations++; e.operations == 1 {
		e.name, e.kind = safetext.TruncateBytes(name, maxName), kind
	}
}

// Hold makes the line wait for release, for a connection that outlives its handler.
// release must be called once.
func (e *Entry) Hold() (release func()) {
	if e == nil {
		return func() {}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.holds++
	return func() {
		e.mu.Lock()
		e.holds--
		write := e.write
		last := e.holds == 0 && write != nil
		e.mu.Unlock()
		if last {
			write()
		}
	}
}

// End calls write, which logs the request, at once or by the goroutine that releases
// the last Hold. It is called once, when the handler has returned.
func (e *Entry) End(write func()) {
	e.mu.Lock()
	held := e.holds > 0
	if held {
		e.write = write
	}
	e.mu.Unlock()
	if !held {
		write()
	}
}

// Attributes returns what is known as attributes of a log line. The caller has a kind
// and the ids that belong to it. A request with several operations, such as a
// WebSocket, has their number instead of a name.
func (e *Entry) Attributes() []slog.Attr {
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	all := []slog.Attr{slog.String("route", e.route)}
	if e.caller.Kind != "" {
		all = append(all, slog.String("caller", string(e.caller.Kind)))
	}
	subject := e.caller.Subject
	if e.caller.Kind == viewer.KindService { // it is the token
		subject = uuid.Nil
	}
	for _, id := range []struct {
		name  string
		value uuid.UUID
	}{
		{subjectName(e.caller.Kind), subject}, {"session_id", e.caller.Session}, {"token_id", e.caller.Token}, {"workspace_id", e.caller.Workspace},
	} {
		if id.value != uuid.Nil {
			all = append(all, slog.String(id.name, id.value.String()))
		}
	}
	switch {
	case e.operations > 1:
		all = append(all, slog.Int("operations", e.operations))
	case e.operations == 1:
		all = append(all, slog.String("operation_type", e.kind))
		if e.name != "" {
			all = append(all, slog.String("operation", e.name))
		}
	}
	return all
}

func subjectName(kind viewer.Kind) string {
	if kind == viewer.KindKey {
		return "key_id"
	}
	return "user_id"
}
