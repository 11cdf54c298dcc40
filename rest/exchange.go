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
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/request/accesslog"
	"github.com/magpie-search/magpie/internal/request/requestid"
	"github.com/magpie-search/magpie/internal/request/storedop"
	"github.com/magpie-search/magpie/internal/viewer"
)

// exchange is one request and its response.
type exchange struct {
	t       *Transport
	w       http.ResponseWriter
	r       *http.Request
	control *http.ResponseController
	exec    graphql.GraphExecutor
	ctx     context.Context // with the request ID, and with the viewer after authentication
	route   *route
	started bool // the header was sent
	// cookieMode is true if the refresh token goes into a cookie, usesCookie if it came
	// from there.
	cookieMode, usesCookie bool
}

// Do serves a request.
func (t *Transport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	x := &exchange{t: t, w: w, r: r, control: http.NewResponseController(w), exec: exec}
	id := t.requestID(r)
	w.Header().Set(requestid.Header, id)
	client := ratelimit.Client(r, t.proxies)
	x.ctx = ratelimit.WithClient(requestid.With(r.Context(), id), client)
	x.ctx = authn.WithClient(x.ctx, authn.ClientInfo{Address: client, UserAgent: r.UserAgent()})
	defer x.recover()
	if err := x.serve(); err != nil {
		x.forgetSession(err)
		x.fail(err)
	}
}

// requestID returns the request ID: that of an earlier handler, an acceptable one of
// the client, or a new one.
func (t *Transport) requestID(r *http.Request) string {
	if id := requestid.From(r.Context()); id != "" {
		return id
	}
	if id := r.Header.Get(requestid.Header); requestid.Acceptable(id) {
		return id
	}
	return t.newID()
}

// recover converts a panic to an internal error. After the start of the response
// it aborts the connection instead, so that the client sees the response is
// incomplete.
func (x *exchange) recover() {
	switch cause := recover(); {
	case cause == nil:
	case cause == http.ErrAbortHandler || x.started: //nolint:errorlint // net/http compares with ==, too
		panic(http.ErrAbortHandler)
	default:
		x.fail(apierr.Wrap("panic", fmt.Errorf("%v\n%s", cause, debug.Stack())))
	}
}

// serve checks the request in the order that the interface defines: route, size,
// caller, rate limit, content type, content, scope. Then it runs the operation,
// which makes all further checks and counts the query last.
func (x *exchange) serve() error {
	found, parameters, allowed := x.t.matcher.match(x.r.Method, x.r.URL.EscapedPath())
	x.route = found
	if found == nil {
		return x.noRoute(allowed)
	}
	accesslog.From(x.ctx).SetRoute(found.Pattern)
	if err := x.rejectHead(); err != nil {
		return err
	}
	raw, err := x.body()
	if err == nil {
		err = x.authenticate(raw)
	} else if !x.dashboard() {
		x.peekRate(x.anonymousCaller())
	}
	if err != nil {
		return err
	}
	if err := x.readCookieMode(); err != nil {
		return err
	}
	values := variables{}
	if found.input {
		values["input"] = map[string]any{}
	}
	if err := x.readPath(parameters, values); err != nil {
		return err
	}
	uploaded, err := x.readInput(raw, values)
	defer uploaded.discard()
	if err != nil {
		return err
	}
	if err := x.checkScope(values); err != nil {
		return err
	}
	x.readBinding(values)
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

// noRoute returns the error of a request without a route.
func (x *exchange) noRoute(allowed []string) error {
	if !x.dashboard() {
		x.peekRate(x.anonymousCaller())
	}
	if len(allowed) == 0 {
		return apierr.NotFound("Page")
	}
	x.w.Header().Set("Allow", strings.Join(allowed, ", "))
	return apierr.New(apierr.MethodNotAllowed, "Method not allowed; this path allows "+strings.Join(allowed, ", "))
}

// body reads the body up to the limit. The body of an upload is read later.
func (x *exchange) body() ([]byte, error) {
	limit := x.t.limits.Body
	if x.route.from == multipartForm {
		limit = x.t.limits.Upload
	}
	tooLarge := apierr.New(apierr.TooLarge, "The request body may have at most "+bytesText(limit))
	if x.r.ContentLength > limit {
		x.w.Header().Set("Connection", "close") // instead of reading all of it
		return nil, tooLarge
	}
	if x.route.from == multipartForm || x.r.Body == nil || x.r.Body == http.NoBody {
		return nil, nil
	}
	_ = x.control.SetReadDeadline(time.Now().Add(x.t.limits.Read)) // the wall clock, which deadlines use
	raw, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, limit))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge
	case err != nil:
		return nil, apierr.New(apierr.InvalidRequest, "The request body is incomplete")
	}
	_ = x.control.SetReadDeadline(time.Time{}) // otherwise it would cancel the request like a disconnect
	return raw, nil
}

// readInput copies the input of the request to the variables. The caller must
// discard the uploads, also after an error.
func (x *exchange) readInput(raw []byte, values variables) (uploads, error) {
	if x.route.pages != "" {
		values["limit"] = int64(x.route.perPage)
	}
	switch x.route.from {
	case query:
		if err := readQuery(x.r.URL.RawQuery, x.route.fields, values); err != nil {
			return uploads{}, err
		}
		if cursor, ok := values["after"].(string); ok {
			inner, ok := unwrapCursor(x.route.Pattern, cursor)
			if !ok {
				return uploads{}, apierr.Invalid("cursor", "must be a next_cursor of this list")
			}
			values["after"] = inner
		}
	case body:
		if x.cookieMode && x.route.refreshes && len(raw) == 0 {
			return uploads{}, x.readSessionCookie(values)
		}
		if len(raw) > 0 {
			if err := checkContentType(x.r.Header); err != nil {
				return uploads{}, err
			}
		}
		fields, err := parseBody(raw)
		if err != nil {
			return uploads{}, err
		}
		return uploads{}, readObject(fields, x.route.fields, "", values)
	case multipartForm:
		return x.upload(values)
	}
	return uploads{}, nil
}

// readPath copies the path parameters to the variables. An object with a malformed
// ID does not exist.
func (x *exchange) readPath(parameters []string, values variables) error {
	next := 0
	for i, s := range x.route.segments {
		if s.parameter == "" {
			continue
		}
		if x.route.nameVariable != "" {
			if !nameRegexp.MatchString(parameters[next]) {
				return apierr.NotFound(noun(x.route.segments[i-1].literal))
			}
			values.set(x.route.nameVariable, parameters[next])
			next++
			continue
		}
		if s.parameter == x.route.textParameter {
			if !isPathText(parameters[next]) {
				return apierr.NotFound(noun(x.route.segments[i-1].literal))
			}
			values[s.parameter] = parameters[next]
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

// isPathText reports whether a path parameter can be the text that identifies an
// object: PostgreSQL can store it, and it is not longer than any such text.
func isPathText(text string) bool {
	return len(text) <= maxPathText && utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}

// run runs the operation of the route and sends its result.
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
		return apierr.From(errors.Join(ctx.Err(), errors.New("the operation has no result")))
	}
	if len(response.Errors) > 0 {
		return x.route.apiError(response.Errors)
	}
	if err := x.setBinding(response.Data); err != nil {
		return apierr.Wrap("set the binding cookie", err)
	}
	if x.route.redirect != "" {
		if redirected, err := x.redirect(response.Data); redirected || err != nil {
			return apierr.Wrap("redirect", err)
		}
	}
	if x.route.Status == http.StatusNoContent {
		x.send(http.StatusNoContent, nil)
		return nil
	}
	shape, err := x.keepSession(response.Data)
	if err != nil {
		return apierr.Wrap("set the session cookie", err)
	}
	body, err := x.route.reshape(shape, response.Data)
	if err != nil {
		return apierr.Wrap("convert the result", err)
	}
	x.send(x.route.Status, body)
	return nil
}

// dispatch starts the stored operation of the route.
func (x *exchange) dispatch(ctx context.Context, values variables) (graphql.ResponseHandler, context.Context, error) {
	o := x.t.operations[x.route.Operation]
	ctx = storedop.With(ctx)
	now := graphql.Now()
	operation, errs := x.exec.CreateOperationContext(ctx, &graphql.RawParams{
		Query: o.source, OperationName: o.name, Variables: values,
		ReadTime: graphql.TraceTiming{Start: now, End: now},
	})
	if len(errs) > 0 {
		response := x.exec.DispatchError(graphql.WithOperationContext(ctx, operation), errs)
		return nil, nil, x.route.apiError(response.Errors)
	}
	responses, ctx := x.exec.DispatchOperation(ctx, operation)
	return responses, ctx, nil
}

// checkScope fails when the collection of the request is not within the scope of
// the key.
func (x *exchange) checkScope(values variables) error {
	if x.route.scopeVariable == "" {
		return nil
	}
	text, ok := values.get(x.route.scopeVariable).(string)
	if !ok {
		return nil
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return apierr.Wrap("check the scope of the key", err)
	}
	scope, err := viewer.ScopeOf(x.ctx)
	if err != nil {
		return apierr.Wrap("check the scope of the key", err)
	}
	if _, err := scope.Narrow(id); errors.Is(err, viewer.ErrOutOfScope) {
		return apierr.New(apierr.Forbidden, "Collection access denied")
	} else if err != nil {
		return apierr.Wrap("check the scope of the key", err)
	}
	return nil
}
