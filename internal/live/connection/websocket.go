package connection

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/request/accesslog"
	"github.com/magpie-search/magpie/internal/request/body"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Protocol is the only supported sub-protocol.
const Protocol = "graphql-transport-ws"

// closeTimeout is the time for a client to answer a close frame.
const closeTimeout = 2 * time.Second

// WebSocket returns the transport for upgrade requests. address returns the client
// address of a request, for the limits of anonymous clients.
func (s *Server) WebSocket(address func(context.Context) string) graphql.Transport {
	return webSocket{s, address}
}

type webSocket struct {
	server  *Server
	address func(context.Context) string
}

// Supports reports whether a request upgrades to WebSocket.
func (t webSocket) Supports(r *http.Request) bool {
	return strings.Contains(strings.ToLower(r.Header.Get("Upgrade")), "websocket")
}

// Do serves the connection in a goroutine of the server, so that the memory of the
// request is freed: thousands of quiet connections do not hold it.
func (t webSocket) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	// Clients of other protocols are accepted and get a close code. The page in a
	// browser would not see why an upgrade was refused.
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols: append([]string{Protocol}, offered(r)...), OriginPatterns: t.server.opt.Origins,
	})
	if err != nil {
		return // Accept has responded
	}
	ws.SetReadLimit(body.MaxBytes)
	c := &conn{
		server: t.server, ws: ws, exec: exec, header: r.Header, address: t.address(r.Context()), active: make(map[string]*running), maxBytes: body.MaxAnonymousBytes,
	}
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(r.Context()))
	ended := accesslog.From(r.Context()).Hold()
	if !t.server.join(c) {
		c.shut(goingAway())
		c.stop()
		ended()
		return
	}
	go func() {
		defer t.server.leave(c)
		defer ended()
		c.serve()
	}()
}

// offered returns the sub-protocols that a client offers.
func offered(r *http.Request) (list []string) {
	for _, line := range r.Header.Values("Sec-WebSocket-Protocol") {
		for name := range strings.SplitSeq(line, ",") {
			list = append(list, strings.TrimSpace(name))
		}
	}
	return list
}

// A conn is a WebSocket. One goroutine reads; each operation has its own goroutine,
// which writes.
type conn struct {
	server  *Server
	ws      *websocket.Conn
	exec    graphql.GraphExecutor
	header  http.Header
	address string
	ctx     context.Context // until the connection ends
	cancel  context.CancelCauseFunc

	// For the reading goroutine.
	viewerCtx context.Context // ctx with the viewer
	maxBytes  int64           // of a message

	writing sync.Mutex
	pings   atomic.Int64 // without a pong
	timer   *time.Timer  // of the next ping

	mu        sync.Mutex
	closed    *closing
	stopped   bool // no goroutine may be started
	viewer    viewer.Viewer
	known     bool // viewer
	active    map[string]*running
	idleSince time.Time // the end of the last operation
	helpers   sync.WaitGroup
}

// A running is a running operation.
type running struct{ cancel context.CancelFunc }

// serve reads until the connection ends.
func (c *conn) serve() {
	defer c.stop()
	defer func() {
		if cause := recover(); cause != nil {
			c.server.opt.Log.ErrorContext(c.ctx, "panic in websocket", slog.Any("cause", cause), slog.String("stack", string(debug.Stack())))
			c.shut(&closing{closeInternal, "Something went wrong on our side", apierr.Internal})
		}
	}()
	if c.ws.Subprotocol() != Protocol {
		c.shut(&closing{closeSubprotocol, "Subprotocol not acceptable", apierr.InvalidRequest})
		return
	}
	c.mu.Lock()
	c.timer = time.AfterFunc(c.server.opt.Hello, func() {
		c.end(&closing{closeInitTimeout, "Connection initialisation timeout", apierr.Unauthorized})
	})
	c.mu.Unlock()
	release, refusal := c.open()
	defer release()
	if refusal == nil {
		refusal = c.handleMessages()
	}
	if refusal != nil {
		c.shut(refusal)
	}
}

// stop ends all goroutines of the connection and waits for them.
func (c *conn) stop() {
	c.mu.Lock()
	c.stopped = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	c.cancel(context.Canceled)
	c.ws.CloseNow() //nolint:errcheck // it may be closed
	c.helpers.Wait()
}

// start runs do in a goroutine that stop waits for. It reports false after stop.
func (c *conn) start(do func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return false
	}
	c.helpers.Go(do)
	return true
}

// owner implements stream.
func (c *conn) owner() (viewer.Viewer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.viewer, c.known
}

// end implements stream. The goroutine of the connection uses shut.
func (c *conn) end(e *closing) {
	c.mu.Lock()
	again := c.closed != nil
	if !again {
		c.closed = e
	}
	c.mu.Unlock()
	if !again {
		c.start(func() { c.close(e) })
	}
}

// shut closes the connection and waits.
func (c *conn) shut(e *closing) {
	c.mu.Lock()
	again := c.closed != nil
	if !again {
		c.closed = e
	}
	c.mu.Unlock()
	if !again {
		c.close(e)
	}
}

// close sends a close frame and waits for the answer.
func (c *conn) close(e *closing) {
	c.cancel(e)                                                         // operations write no more
	timeout := time.AfterFunc(closeTimeout, func() { c.ws.CloseNow() }) //nolint:errcheck // it may be closed
	defer timeout.Stop()
	c.ws.Close(e.code, e.reason) //nolint:errcheck // the client may be gone
}

// next reads a message. It reports false at the end of the connection.
func (c *conn) next() (m message, bad *closing, ok bool) {
	kind, r, err := c.ws.Reader(context.WithoutCancel(c.ctx))
	if err != nil {
		return message{}, nil, false
	}
	var b bytes.Buffer
	_, err = b.ReadFrom(io.LimitReader(r, c.maxBytes+1))
	tooLarge := int64(b.Len()) > c.maxBytes
	if tooLarge && err == nil {
		_, err = io.Copy(io.Discard, r) // a client that is sending would not see the close code
	}
	if err != nil {
		return message{}, nil, false
	}
	if tooLarge {
		return message{}, &closing{websocket.StatusMessageTooBig, "Message too large: at most " + body.FormatLimit(c.maxBytes), apierr.TooLarge}, true
	}
	c.pings.Store(0)
	if kind != websocket.MessageText {
		return message{}, invalid("Invalid message received: it must be text"), true
	}
	if m, err = decode(b.Bytes()); err != nil {
		return message{}, invalid(err.Error()), true
	}
	return m, nil, true
}

// open waits for the connection_init of the client and answers it.
func (c *conn) open() (release func(), refused *closing) {
	release = func() {}
	for {
		m, bad, ok := c.next()
		switch {
		case !ok:
			return release, &closing{websocket.StatusNormalClosure, "", ""} // already closed
		case bad != nil:
			return release, bad
		case m.Type == typeInit:
			return c.init(m)
		case m.Type == typePing:
			c.write(encode(typePong, "", m.Payload))
		case m.Type == typePong:
		case m.Type == typeSubscribe, m.Type == typeComplete:
			return release, &closing{closeUnauthorized, "Unauthorized", apierr.Unauthorized}
		default:
			return release, unknownType(m.Type)
		}
	}
}

func unknownType(kind string) *closing {
	return invalid("Unexpected message of type " + safetext.TruncateBytes(kind, 40) + " received")
}

// init authenticates the client.
func (c *conn) init(m message) (release func(), refused *closing) {
	release = func() {}
	payload, err := object(m.Payload)
	if err != nil {
		return release, invalid(err.Error())
	}
	v, err := c.server.opt.Init(c.ctx, payload)
	if err != nil {
		if c.ctx.Err() != nil {
			return release, goingAway()
		}
		e := apierr.From(err)
		if e.Code.Status() >= http.StatusInternalServerError {
			c.server.opt.Log.ErrorContext(c.ctx, "websocket not opened", slog.Any("error", err))
			return release, unchecked()
		}
		return release, &closing{closeForbidden, safetext.TruncateBytes(e.Message, 100), apierr.Forbidden}
	}
	release, refused = c.server.gate.connection(ownerOf(v, c.address))
	if refused != nil {
		return func() {}, refused
	}
	c.maxBytes = body.Limit(v)
	c.viewerCtx = viewer.With(c.ctx, v)
	accesslog.From(c.ctx).SetCaller(v)
	c.mu.Lock()
	c.viewer, c.known, c.idleSince = v, true, time.Now()
	c.timer.Stop()
	c.timer = time.AfterFunc(c.server.opt.Ping, c.beat)
	c.mu.Unlock()
	c.write(encode(typeAck, "", nil))
	return release, nil
}

// beat sends a ping, or closes an unused or dead connection.
func (c *conn) beat() {
	c.mu.Lock()
	limit := c.server.opt.Idle
	if c.viewer.Kind == viewer.KindAnonymous {
		limit = min(limit, time.Minute)
	}
	isUnused := len(c.active) == 0 && time.Since(c.idleSince) > limit
	c.mu.Unlock()
	switch {
	case isUnused:
		c.end(idle())
	case c.pings.Add(1) > 3:
		c.end(noPong())
	default:
		c.start(func() {
			c.write(encode(typePing, "", nil))
			c.mu.Lock()
			defer c.mu.Unlock()
			if !c.stopped {
				c.timer.Reset(c.server.opt.Ping)
			}
		})
	}
}

// handleMessages handles the messages of the client until the connection ends.
func (c *conn) handleMessages() *closing {
	for {
		m, bad, ok := c.next()
		switch {
		case !ok:
			return nil
		case bad != nil:
			return bad
		}
		switch m.Type {
		case typeSubscribe:
			if refused := c.subscribe(m); refused != nil {
				return refused
			}
		case typeComplete:
			if op := c.drop(m.ID, nil); op != nil {
				op.cancel()
			}
		case typePing:
			c.write(encode(typePong, "", m.Payload))
		case typePong:
		case typeInit:
			return &closing{closeTooManyInits, "Too many initialisation requests", apierr.InvalidRequest}
		default:
			return unknownType(m.Type)
		}
	}
}

// drop removes an operation, unless it is another one than op (nil is any), and
// returns it. It returns nil if there is no such operation.
func (c *conn) drop(id string, op *running) *running {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.active[id]
	if known == nil || op != nil && known != op {
		return nil
	}
	delete(c.active, id)
	c.idleSince = time.Now()
	return known
}

// subscribe starts an operation.
func (c *conn) subscribe(m message) *closing {
	params, err := operation(m.Payload)
	if err != nil {
		return invalid(err.Error())
	}
	params.Headers = c.header
	ctx, cancel := context.WithCancel(c.viewerCtx)
	op := &running{cancel: cancel}
	c.mu.Lock()
	_, duplicate := c.active[m.ID]
	open := len(c.active)
	if !duplicate {
		c.active[m.ID] = op
	}
	who := ownerOf(c.viewer, c.address)
	c.mu.Unlock()
	if duplicate {
		cancel()
		return &closing{closeDuplicate, "Subscriber for " + safetext.TruncateBytes(m.ID, 60) + " already exists", apierr.Conflict}
	}
	var release func()
	var refused *closing
	if limit := c.server.opt.PerConnection; limit > 0 && open >= limit {
		refused = full("This connection has its most open subscriptions; close some or open another connection")
	} else {
		release, refused = c.server.gate.operation(who)
	}
	if refused != nil {
		cancel()
		c.drop(m.ID, op)
		c.write(encode(typeError, m.ID, errorsOf(&gqlerror.Error{
			Message: refused.reason, Extensions: map[string]any{"code": string(refused.error)},
		})))
		return nil
	}
	if !c.start(func() {
		defer release()
		defer cancel()
		c.run(ctx, m.ID, op, params)
	}) {
		cancel()
		release()
	}
	return nil
}

// run executes an operation to its end.
func (c *conn) run(ctx context.Context, id string, op *running, params *graphql.RawParams) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		c.server.opt.Log.ErrorContext(c.ctx, "panic in operation", slog.Any("cause", cause), slog.String("stack", string(debug.Stack())))
		if c.drop(id, op) != nil {
			c.write(encode(typeError, id, errorsOf(internalError())))
		}
	}()
	ctx = graphql.StartOperationTrace(ctx)
	params.ReadTime = graphql.TraceTiming{Start: graphql.Now(), End: graphql.Now()}
	rc, wrong := c.exec.CreateOperationContext(ctx, params)
	if len(wrong) > 0 {
		response := c.exec.DispatchError(graphql.WithOperationContext(ctx, rc), wrong)
		if c.drop(id, op) != nil {
			c.write(encode(typeError, id, errorsOf(response.Errors...)))
		}
		return
	}
	responses, ctx := c.exec.DispatchOperation(graphql.WithOperationContext(ctx, rc), rc)
	for {
		response := responses(ctx)
		if response == nil || ctx.Err() != nil {
			break
		}
		payload, err := json.Marshal(response)
		if err != nil {
			panic(err)
		}
		if !c.write(encode(typeNext, id, payload)) {
			return
		}
	}
	// The id is free before the client sees the completion, so that it may use it again.
	if c.drop(id, op) != nil && c.ctx.Err() == nil {
		c.write(encode(typeComplete, id, nil))
	}
}

// write sends a message. It reports false when the connection has ended. A client
// that does not read for too long is disconnected, so at most one message of each
// operation waits for it.
func (c *conn) write(b []byte) bool {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.ctx.Err() != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), c.server.opt.Write)
	defer cancel()
	err := c.ws.Write(ctx, websocket.MessageText, b)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		c.server.slow.Add(1)
		c.server.opt.Log.InfoContext(c.ctx, "websocket closed, client does not read")
	}
	return err == nil
}

func internalError() *gqlerror.Error {
	return &gqlerror.Error{Message: "Something went wrong on our side", Extensions: map[string]any{"code": string(apierr.Internal)}}
}

func errorsOf(list ...*gqlerror.Error) []byte {
	b, err := json.Marshal(list)
	if err != nil {
		b = []byte(`[{"message":"Something went wrong on our side"}]`)
	}
	return b
}
