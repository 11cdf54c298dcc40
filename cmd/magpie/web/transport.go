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

// once lets queries and mutations through, and remembers that it was reached.
type once struct {
	graphql.GraphExecutor
	reached bool
}

// CreateOperationContext refuses subscriptions.
func (o *once) CreateOperationContext(ctx context.Context, params *graphql.RawParams) (*graphql.OperationContext, gqlerror.List) {
	o.reached = true
	operation, wrong := o.GraphExecutor.CreateOperationContext(ctx, params)
	if len(wrong) == 0 && operation.Operation.Operation == ast.Subscription {
		return operation, gqlerror.List{refusedHere()}
	}
	return operation, wrong
}

// forms is the multipart transport. What is wrong with a form is the client's
// mistake and gets the interface's error, also where the library panics: it
// takes a file's place in a list on trust.
type forms struct{ transport.MultipartForm }

// Do answers one form.
func (t forms) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	gate := &once{GraphExecutor: exec}
	held := &heldAnswer{ResponseWriter: w, gate: gate}
	defer func() {
		switch cause := recover(); {
		case gate.reached && cause != nil:
			panic(cause)
		case gate.reached:
		case cause != nil:
			writeGraphQLError(w, apierr.New(apierr.InvalidRequest, "map: names a place that the operation's variables do not have"))
		default:
			writeGraphQLError(w, held.mistake(r))
		}
	}()
	t.MultipartForm.Do(held, r, gate)
}

// heldAnswer keeps back what is answered before the operation was reached.
type heldAnswer struct {
	http.ResponseWriter
	gate *once
	body bytes.Buffer
}

// WriteHeader passes the status of an operation's answer on.
func (h *heldAnswer) WriteHeader(code int) {
	if h.gate.reached {
		h.ResponseWriter.WriteHeader(code)
	}
}

// Write passes an operation's answer on.
func (h *heldAnswer) Write(b []byte) (int, error) {
	if h.gate.reached {
		return h.ResponseWriter.Write(b)
	}
	return h.body.Write(b)
}

// mistake is the error of the interface for what was held back.
func (h *heldAnswer) mistake(r *http.Request) error {
	var said struct{ Errors []struct{ Message string } }
	message := "the form cannot be read"
	if err := json.Unmarshal(h.body.Bytes(), &said); err == nil && len(said.Errors) > 0 {
		message = said.Errors[0].Message
	}
	// The library says so of a declared length only; a body that turns out to
	// be too long just cannot be read any further.
	if _, err := r.Body.Read(make([]byte, 1)); isTooLarge(err) || bytes.Contains(h.body.Bytes(), []byte("too large")) {
		return apierr.New(apierr.TooLarge, "The form is too large")
	}
	return apierr.New(apierr.InvalidRequest, message)
}
