package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/request/requestid"
	"github.com/magpie-search/magpie/internal/request/storedop"
	"github.com/magpie-search/magpie/internal/viewer"
)

// exchange is one request on its way through the transport.
type exchange struct {
	t       *Transport
	w       http.ResponseWriter
	r       *http.Request
	control *http.ResponseController
	exec    graphql.GraphExecutor
	ctx     context.Context // the request's, with request id and viewer once they are known
	route   *route
	began   bool // the answer's head is out
}

// Do answers one request.
func (t *Transport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	x := &exchange{t: t, w: w, r: r, control: http.NewResponseController(w), exec: exec}
	id := t.identify(r)
	w.Header().Set(requestid.Header, id)
	client := ratelimit.Client(r, t.proxies)
	x.ctx = ratelimit.WithClient(requestid.With(r.Context(), id), client)
	x.ctx = authn.WithClient(x.ctx, authn.ClientInfo{Address: client, UserAgent: r.UserAgent()})
	defer x.recover()
	if err := x.answer(); err != nil {
		x.fail(err)
	}
}

// identify is the request's id: that of an earlier layer, a harmless one of the
// client, or a new one.
func (t *Transport) identify(r *http.Request) string {
	if id := requestid.From(r.Context()); id != "" {
		return id
	}
	if id := r.Header.Get(requestid.Header); requestid.Acceptable(id) {
		return id
	}
	return t.newID()
}

// recover turns a panic into an internal error, or into a broken connection
// where the answer has begun, so that nobody takes half of one for whole.
func (x *exchange) recover() {
	switch cause := recover(); {
	case cause == nil:
	case cause == http.ErrAbortHandler || x.began: //nolint:errorlint // the value net/http compares with
		panic(http.ErrAbortHandler)
	default:
		x.fail(apierr.Wrap("panic", fmt.Errorf("%v\n%s", cause, debug.Stack())))
	}
}

// answer takes the request through its checks in the order of the interface:
// route, size, caller, rate, content type and content, reach. The operation
// checks the rest and counts the query last.
func (x *exchange) answer() error {
	found, parameters, allowed := x.t.matcher.match(x.r.Method, x.r.URL.EscapedPath())
	x.route = found
	if found == nil {
		return x.unrouted(allowed)
	}
	if err := x.once(); err != nil {
		return err
	}
	raw, err := x.body()
	if err == nil {
		err = x.admit(raw)
	} else if !x.dashboard() {
		x.standing(x.unknownCaller())
	}
	if err != nil {
		return err
	}
	values := variables{}
	if found.input {
		values["input"] = map[string]any{}
	}
	if err := x.path(parameters, values); err != nil {
		return err
	}
	uploaded, err := x.read(raw, values)
	defer uploaded.discard()
	if err != nil {
		return err
	}
	if err := x.reachable(values); err != nil {
		return err
	}
	x.binding(values)
	if x.t.operations[found.Operation].stream {
		return x.stream(values)
	}
	if found.file != "" {
		return x.file(values)
	}
	return x.run(values)
}

func (x *exchange) dashboard() bool { return isDashboard(x.r.URL.Path) }

func isDashboard(path string) bool { return strings.HasPrefix(path, "/api/") }

func (x *exchange) unrouted(allowed []string) error {
	if !x.dashboard() {
		x.standing(x.unknownCaller())
	}
	if len(allowed) == 0 {
		return apierr.NotFound("Page")
	}
	x.w.Header().Set("Allow", strings.Join(allowed, ", "))
	return apierr.New(apierr.MethodNotAllowed, "Method not allowed; this path takes "+strings.Join(allowed, ", "))
}

// body reads the whole body, bounded; an upload's stays where it is.
func (x *exchange) body() ([]byte, error) {
	limit := x.t.limits.Body
	if x.route.from == multipartForm {
		limit = x.t.limits.Upload
	}
	tooLarge := apierr.New(apierr.TooLarge, "The request body may have at most "+bytesText(limit))
	if x.r.ContentLength > limit {
		x.w.Header().Set("Connection", "close") // rather than reading all of it
		return nil, tooLarge
	}
	if x.route.from == multipartForm || x.r.Body == nil || x.r.Body == http.NoBody {
		return nil, nil
	}
	_ = x.control.SetReadDeadline(time.Now().Add(x.t.limits.Read)) // the wall clock: it is the connection's
	raw, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, limit))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge
	case err != nil:
		return nil, apierr.New(apierr.InvalidRequest, "The request body could not be read to its end")
	}
	_ = x.control.SetReadDeadline(time.Time{}) // else it would end the request as if the client had left
	return raw, nil
}

// read moves the route's inputs into values.
func (x *exchange) read(raw []byte, values variables) (*uploads, error) {
	if x.route.pages != "" {
		values["limit"] = int64(x.route.perPage)
	}
	switch x.route.from {
	case query:
		if err := readQuery(x.r.URL.RawQuery, x.route.fields, values); err != nil {
			return nil, err
		}
		if cursor, ok := values["after"].(string); ok {
			inner, ok := unwrapCursor(x.route.Pattern, cursor)
			if !ok {
				return nil, apierr.Invalid("cursor", "must be a next_cursor that this list gave")
			}
			values["after"] = inner
		}
	case body:
		if len(raw) > 0 {
			if err := checkContentType(x.r.Header); err != nil {
				return nil, err
			}
		}
		fields, err := parseBody(raw)
		if err != nil {
			return nil, err
		}
		return nil, readObject(fields, x.route.fields, "", values)
	case multipartForm:
		return x.upload(values)
	}
	return nil, nil //nolint:nilnil // no uploads is the usual case, and a nil *uploads is ready to use
}

// path moves the path's ids into values. A malformed id names nothing.
func (x *exchange) path(parameters []string, values variables) error {
	next := 0
	for i, s := range x.route.segments {
		if s.parameter == "" {
			continue
		}
		if x.route.named != "" {
			if !nameForm.MatchString(parameters[next]) {
				return apierr.NotFound(noun(x.route.segments[i-1].literal))
			}
			values.set(x.route.named, parameters[next])
			next++
			continue
		}
		id, ok := parseUUID(parameters[next])
		if !ok {
			return apierr.NotFound(noun(x.route.segments[i-1].literal))
		}
		values[s.parameter] = id
		next++
	}
	return nil
}

// run executes the route's operation and sends its answer.
func (x *exchange) run(values variables) error {
	ctx := x.ctx
	if x.route.from != multipartForm {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, x.t.limits.Request)
		defer cancel()
	}
	responses, ctx, err := x.dispatch(ctx, values)
	if err != nil {
		return err
	}
	response := responses(ctx)
	if response == nil {
		return apierr.From(errors.Join(ctx.Err(), errors.New("the operation gave no answer")))
	}
	if len(response.Errors) > 0 {
		return x.route.edgeError(response.Errors)
	}
	if err := x.bind(response.Data); err != nil {
		return apierr.Wrap("bind the browser", err)
	}
	if x.route.redirect != "" {
		if gone, err := x.leave(response.Data); gone || err != nil {
			return apierr.Wrap("send the browser on", err)
		}
	}
	if x.route.Status == http.StatusNoContent {
		x.send(http.StatusNoContent, nil)
		return nil
	}
	body, err := x.route.reshape(x.t.operations[x.route.Operation].shape, response.Data)
	if err != nil {
		return apierr.Wrap("reshape the answer", err)
	}
	x.send(x.route.Status, body)
	return nil
}

// dispatch starts the route's stored operation.
func (x *exchange) dispatch(ctx context.Context, values variables) (graphql.ResponseHandler, context.Context, error) {
	o := x.t.operations[x.route.Operation]
	ctx = storedop.With(ctx)
	now := graphql.Now()
	operation, wrong := x.exec.CreateOperationContext(ctx, &graphql.RawParams{
		Query: o.source, OperationName: o.name, Variables: values,
		ReadTime: graphql.TraceTiming{Start: now, End: now},
	})
	if len(wrong) > 0 {
		response := x.exec.DispatchError(graphql.WithOperationContext(ctx, operation), wrong)
		return nil, nil, x.route.edgeError(response.Errors)
	}
	responses, ctx := x.exec.DispatchOperation(ctx, operation)
	return responses, ctx, nil
}

// reachable refuses a collection that a key may not reach before the operation
// runs.
func (x *exchange) reachable(values variables) error {
	if x.route.reach == "" {
		return nil
	}
	named, ok := values.get(x.route.reach).(string)
	if !ok {
		return nil
	}
	id, err := uuid.Parse(named)
	if err != nil {
		return apierr.Wrap("reach of the key", err)
	}
	scope, err := viewer.ScopeOf(x.ctx)
	if err != nil {
		return apierr.Wrap("reach of the key", err)
	}
	if _, err := scope.Narrow(id); errors.Is(err, viewer.ErrOutOfReach) {
		return apierr.New(apierr.Forbidden, "Collection access denied")
	} else if err != nil {
		return apierr.Wrap("reach of the key", err)
	}
	return nil
}
