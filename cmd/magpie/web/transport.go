package web

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/magpie-search/magpie/internal/apierr"
)

// formExecutor rejects subscriptions and records whether an operation was started.
type formExecutor struct {
	graphql.GraphExecutor
	started bool
}

// CreateOperationContext rejects subscriptions.
func (o *formExecutor) CreateOperationContext(ctx context.Context, params *graphql.RawParams) (*graphql.OperationContext, gqlerror.List) {
	o.started = true
	operation, errs := o.GraphExecutor.CreateOperationContext(ctx, params)
	if len(errs) == 0 && operation.Operation.Operation == ast.Subscription {
		return operation, gqlerror.List{subscriptionRejected()}
	}
	return operation, errs
}

// forms is the multipart transport. It converts the library's errors of malformed forms
// to client errors, also panics: the library does not check list indexes of variables.
type forms struct{ transport.MultipartForm }

// Do runs the operation of a form.
func (t forms) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	executor := &formExecutor{GraphExecutor: exec}
	buffered := &errorBuffer{ResponseWriter: w, executor: executor}
	defer func() {
		switch cause := recover(); {
		case executor.started && cause != nil:
			panic(cause)
		case executor.started:
		case cause != nil:
			writeGraphQLError(w, apierr.New(apierr.InvalidRequest, "map: has a path that the variables do not have"))
		default:
			writeGraphQLError(w, buffered.formError(r))
		}
	}()
	t.MultipartForm.Do(buffered, r, executor)
}

// errorBuffer buffers the response before an operation was started, which is an error.
type errorBuffer struct {
	http.ResponseWriter
	executor *formExecutor
	body     bytes.Buffer
}

// WriteHeader writes the status of an operation's response.
func (h *errorBuffer) WriteHeader(code int) {
	if h.executor.started {
		h.ResponseWriter.WriteHeader(code)
	}
}

// Write writes or buffers a part of the response.
func (h *errorBuffer) Write(b []byte) (int, error) {
	if h.executor.started {
		return h.ResponseWriter.Write(b)
	}
	return h.body.Write(b)
}

// formError returns the error for the buffered response.
func (h *errorBuffer) formError(r *http.Request) error {
	var response struct{ Errors []struct{ Message string } }
	message := "the form is malformed"
	if err := json.Unmarshal(h.body.Bytes(), &response); err == nil && len(response.Errors) > 0 {
		message = response.Errors[0].Message
	}
	// The library only detects a declared length that is too large.
	if _, err := r.Body.Read(make([]byte, 1)); isTooLarge(err) || bytes.Contains(h.body.Bytes(), []byte("too large")) {
		return apierr.New(apierr.TooLarge, "The form is too large")
	}
	return apierr.New(apierr.InvalidRequest, message)
}
