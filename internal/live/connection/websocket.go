package live

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
	"github.com/magpie-search/magpie/internal/request/body"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Protocol is the only sub-protocol that is spoken.
const Protocol = "graphql-transport-ws"

// closePatience is what a client gets to answer a close frame.
const closePatience = 2 * time.Second

// WebSocket is the transport for requests that upgrade. address says where a
// request comes from, for the limits of those who are nobody.
func (s *Server) WebSocket(address func(context.Context) string) graphql.Transport {
	return webSocket{s, address}
}

type webSocket struct {
	server  *Server
	address func(context.Context) string
}

// Supports takes every upgrade to WebSocket.
func (t webSocket) Supports(r *http.Request) bool {
	return strings.Contains(strings.ToLower(r.Header.Get("Upgrade")), "websocket")
}

// Do hands the connection to a goroutine of the server's: with the request goes
// what it took up, which thousands of quiet connections need not hold.
func (t webSocket) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	// Clients of other protocols are let in as well, to be told with a close code:
	// a refused upgrade would tell a browser's page nothing.
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols: append([]string{Protocol}, offered(r)...), OriginPatterns: t.server.opt.Origins,
	})
	if err != nil {
		return // what was wrong has been answered
	}
	ws.SetReadLimit(body.MaxBytes)
	c := &conn{
		server: t.server, ws: ws, exec: exec, header: r.Header, address: t.address(r.Context()), active: make(map[string]*running), most: body.MaxAnonymousBytes,
	}
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(r.Context()))
	if !t.server.join(c) {
		c.shut(goingAway())
		c.part()
		return
	}
	go func() {
		defer t.server.leave(c)
		c.serve()
	}()
}

// offered are the sub-protocols that a client names.
func offered(r *http.Request) (list []string) {
	for _, line := range r.Header.Values("Sec-WebSocket-Protocol") {
		for name := range strings.SplitSeq(line, ",") {
			list = append(list, strings.TrimSpace(name))
		}
	}
	return list
}

// conn is one WebSocket. One goroutine reads; each operation has one of its own,
// which writes.
type conn struct {
	server  *Server
	ws      *websocket.Conn
	exec    graphql.GraphExecutor
	header  http.Header
	address string
	ctx     context.Context // until the connection ends
	cancel  context.CancelCauseFunc
	ours    context.Context // ctx with the viewer, once there is one; of the goroutine that reads
	most    int64           // bytes of a message; of that goroutine, too

	writing sync.Mutex
	asked   atomic.Int64 // pings without an answer
	timer   *time.Timer  // of the next ping

	mu      sync.Mutex
	over    *ending
	left    bool // nothing may be started any more
	owner   viewer.Viewer
	known   bool
	active  map[string]*running
	busy    time.Time // when the last operation ended
	helpers sync.WaitGroup
}

// running is an operation under way.
type running struct{ cancel context.CancelFunc }

// serve reads until the connection ends.
func (c *conn) serve() {
	defer c.part()
	defer func() {
		if cause := recover(); cause != nil {
			c.server.opt.Log.ErrorContext(c.ctx, "panic in a WebSocket", slog.Any("cause", cause), slog.String("stack", string(debug.Stack())))
			c.shut(&ending{closeInternal, "Something went wrong on our side", apierr.Internal})
		}
	}()
	if c.ws.Subprotocol() != Protocol {
		c.shut(&ending{closeSubprotocol, "Subprotocol not acceptable", apierr.InvalidRequest})
		return
	}
	c.mu.Lock()
	c.timer = time.AfterFunc(c.server.opt.Hello, func() {
		c.end(&ending{closeInitTimeout, "Connection initialisation timeout", apierr.Unauthorized})
	})
	c.mu.Unlock()
	release, refusal := c.open()
	defer release()
	if refusal == nil {
		refusal = c.converse()
	}
	if refusal != nil {
		c.shut(refusal)
	}
}

// part ends everything that the connection started, and waits for it.
func (c *conn) part() {
	c.mu.Lock()
	c.left = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	c.cancel(context.Canceled)
	c.ws.CloseNow() //nolint:errcheck // it may be closed already
	c.helpers.Wait()
}

// start runs do in a goroutine that part waits for; false when it is too late.
func (c *conn) start(do func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left {
		return false
	}
	c.helpers.Go(do)
	return true
}

// who is the one that the connection belongs to, once it is open.
func (c *conn) who() (viewer.Viewer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owner, c.known
}

// end closes the connection from outside of its own goroutine.
func (c *conn) end(e *ending) {
	c.mu.Lock()
	again := c.over != nil
	if !again {
		c.over = e
	}
	c.mu.Unlock()
	if !again {
		c.start(func() { c.close(e) })
	}
}

// shut is end for the connection's own goroutine: it waits.
func (c *conn) shut(e *ending) {
	c.mu.Lock()
	again := c.over != nil
	if !again {
		c.over = e
	}
	c.mu.Unlock()
	if !again {
		c.close(e)
	}
}

func (c *conn) close(e *ending) {
	c.cancel(e)                                                       // no operation says anything more
	late := time.AfterFunc(closePatience, func() { c.ws.CloseNow() }) //nolint:errcheck // it may be closed already
	defer late.Stop()
	c.ws.Close(e.code, e.reason) //nolint:errcheck // the client may be gone
}

// next reads a message; false at the end of the connection.
func (c *conn) next() (m message, bad *ending, ok bool) {
	kind, r, err := c.ws.Reader(context.WithoutCancel(c.ctx))
	if err != nil {
		return message{}, nil, false
	}
	var b bytes.Buffer
	_, err = b.ReadFrom(io.LimitReader(r, c.most+1))
	large := int64(b.Len()) > c.most
	if large && err == nil {
		_, err = io.Copy(io.Discard, r) // a client that still sends would not see why it was closed
	}
	if err != nil {
		return message{}, nil, false
	}
	if large {
		return message{}, &ending{websocket.StatusMessageTooBig, "Message too large: at most " + body.FormatLimit(c.most), apierr.TooLarge}, true
	}
	c.asked.Store(0)
	if kind != websocket.MessageText {
		return message{}, invalid("Invalid message received: it must be text"), true
	}
	if m, err = decode(b.Bytes()); err != nil {
		return message{}, invalid(err.Error()), true
	}
	return m, nil, true
}

// open waits for the client to say who it is, and answers.
func (c *conn) open() (release func(), refused *ending) {
	release = func() {}
	for {
		m, bad, ok := c.next()
		switch {
		case !ok:
			return release, &ending{websocket.StatusNormalClosure, "", ""} // it is closed already
		case bad != nil:
			return release, bad
		case m.Type == typeInit:
			return c.init(m)
		case m.Type == typePing:
			c.write(encode(typePong, "", m.Payload))
		case m.Type == typePong:
		case m.Type == typeSubscribe, m.Type == typeComplete:
			return release, &ending{closeUnauthorized, "Unauthorized", apierr.Unauthorized}
		default:
			return release, unknown(m.Type)
		}
	}
}

func unknown(kind string) *ending {
	const most = 40
	if len(kind) > most {
		kind = strings.ToValidUTF8(kind[:most], "")
	}
	return invalid("Unexpected message of type " + kind + " received")
}

func (c *conn) init(m message) (release func(), refused *ending) {
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
			c.server.opt.Log.ErrorContext(c.ctx, "a WebSocket could not be opened", slog.Any("error", err))
			return release, unchecked()
		}
		const most = 100
		return release, &ending{closeForbidden, strings.ToValidUTF8(e.Message[:min(most, len(e.Message))], ""), apierr.Forbidden}
	}
	release, refused = c.server.gate.connection(owner(v, c.address))
	if refused != nil {
		return func() {}, refused
	}
	c.most = body.Limit(v)
	c.ours = viewer.With(c.ctx, v)
	c.mu.Lock()
	c.owner, c.known, c.busy = v, true, time.Now()
	c.timer.Stop()
	c.timer = time.AfterFunc(c.server.opt.Ping, c.beat)
	c.mu.Unlock()
	c.write(encode(typeAck, "", nil))
	return release, nil
}

// beat shows that the connection lives, and asks whether its client does.
func (c *conn) beat() {
	c.mu.Lock()
	patience := c.server.opt.Idle
	if c.owner.Kind == viewer.KindAnonymous {
		patience = min(patience, time.Minute)
	}
	unused := len(c.active) == 0 && time.Since(c.busy) > patience
	c.mu.Unlock()
	switch {
	case unused:
		c.end(idle())
	case c.asked.Add(1) > 3:
		c.end(silent())
	default:
		c.start(func() {
			c.write(encode(typePing, "", nil))
			c.mu.Lock()
			defer c.mu.Unlock()
			if !c.left {
				c.timer.Reset(c.server.opt.Ping)
			}
		})
	}
}

// converse answers what the client sends.
func (c *conn) converse() *ending {
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
			return &ending{closeTooManyInits, "Too many initialisation requests", apierr.InvalidRequest}
		default:
			return unknown(m.Type)
		}
	}
}

// drop forgets an operation, if it is the one that is meant (any with nil), and
// returns it; nil when it is forgotten already.
func (c *conn) drop(id string, op *running) *running {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.active[id]
	if known == nil || op != nil && known != op {
		return nil
	}
	delete(c.active, id)
	c.busy = time.Now()
	return known
}

func (c *conn) subscribe(m message) *ending {
	params, err := operation(m.Payload)
	if err != nil {
		return invalid(err.Error())
	}
	params.Headers = c.header
	ctx, cancel := context.WithCancel(c.ours)
	op := &running{cancel: cancel}
	c.mu.Lock()
	_, twice := c.active[m.ID]
	open := len(c.active)
	if !twice {
		c.active[m.ID] = op
	}
	who := owner(c.owner, c.address)
	c.mu.Unlock()
	if twice {
		cancel()
		const most = 60
		return &ending{closeDuplicate, "Subscriber for " + strings.ToValidUTF8(m.ID[:min(most, len(m.ID))], "") + " already exists", apierr.Conflict}
	}
	var release func()
	var refused *ending
	if most := c.server.opt.PerConnection; most > 0 && open >= most {
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
		c.server.opt.Log.ErrorContext(c.ctx, "panic in an operation", slog.Any("cause", cause), slog.String("stack", string(debug.Stack())))
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
	// Known no more before it is said, so that the client may use the id again.
	if c.drop(id, op) != nil && c.ctx.Err() == nil {
		c.write(encode(typeComplete, id, nil))
	}
}

// write sends a message; false when the connection has ended. A client that
// takes none for too long is cut off: what waits for it is bounded to a message
// an operation.
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
		c.server.opt.Log.InfoContext(c.ctx, "a WebSocket was cut off since nothing is read from it")
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
