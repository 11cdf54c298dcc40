package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/google/uuid"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/request/storedop"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Local runs operations inside the process, as the system viewer of one
// workspace, through the same schema, transactions and errors as requests from
// outside. Operations come from the binary and are bound by no limits.
type Local struct {
	server    *handler.Server
	document  string
	workspace uuid.UUID
}

// NewLocal runs the named operations of document on server for a workspace.
func NewLocal(server *handler.Server, document string, workspace uuid.UUID) *Local {
	server.AddTransport(inside{})
	return &Local{server: server, document: document, workspace: workspace}
}

// Do runs a query or mutation and decodes its data into into, which may be nil.
// The error of a failed operation is an *apierr.Error.
func (l *Local) Do(ctx context.Context, operation string, variables map[string]any, into any) error {
	answered := false
	err := l.Subscribe(ctx, operation, variables, func(data json.RawMessage) error {
		answered = true
		if into == nil {
			return nil
		}
		if err := json.Unmarshal(data, into); err != nil {
			return fmt.Errorf("read the answer of %s: %w", operation, err)
		}
		return nil
	})
	if err == nil && !answered {
		return fmt.Errorf("%s gave no answer", operation)
	}
	return err
}

// Subscribe runs an operation and calls each with the data of every answer. An
// error of each ends the operation and is returned.
func (l *Local) Subscribe(ctx context.Context, operation string, variables map[string]any, each func(json.RawMessage) error) error {
	ctx, cancel := context.WithCancel(storedop.With(viewer.With(ctx, viewer.System(l.workspace))))
	defer cancel()
	plain := make(map[string]any, len(variables))
	for name, value := range variables {
		var err error
		if plain[name], err = asWire(value); err != nil {
			return fmt.Errorf("the variable %s of %s: %w", name, operation, err)
		}
	}
	call := &call{params: &graphql.RawParams{Query: l.document, OperationName: operation, Variables: plain}, each: each}
	request, err := http.NewRequestWithContext(context.WithValue(ctx, callKey{}, call), http.MethodPost, "/", http.NoBody)
	if err != nil {
		return fmt.Errorf("run %s: %w", operation, err)
	}
	l.server.ServeHTTP(nowhere{}, request)
	if call.err != nil {
		return call.err
	}
	if !call.ended {
		return apierr.From(fmt.Errorf("run %s: it panicked", operation))
	}
	return context.Cause(ctx)
}

// asWire gives a variable the form that it would have come in from outside;
// uploads are passed as they are.
func asWire(value any) (any, error) {
	if list, ok := value.([]client.Upload); ok {
		uploads := make([]any, len(list))
		for i, u := range list {
			uploads[i] = graphql.Upload{File: u.Content, Filename: u.Name, Size: u.Size, ContentType: u.ContentType}
		}
		return uploads, nil
	}
	content, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("cannot be written as JSON: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return nil, fmt.Errorf("cannot be read as JSON: %w", err)
	}
	return plain, nil
}

type callKey struct{}

// call is one operation on its way through the server.
type call struct {
	params *graphql.RawParams
	each   func(json.RawMessage) error
	err    error
	ended  bool
}

// inside is the transport of calls.
type inside struct{}

// Supports recognises requests that NewLocal's users made.
func (inside) Supports(r *http.Request) bool {
	_, ok := r.Context().Value(callKey{}).(*call)
	return ok
}

// Do runs the operation of a call.
func (inside) Do(_ http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	ctx := r.Context()
	c, _ := ctx.Value(callKey{}).(*call)
	now := graphql.Now()
	c.params.ReadTime = graphql.TraceTiming{Start: now, End: now}
	operation, wrong := exec.CreateOperationContext(ctx, c.params)
	if len(wrong) > 0 {
		c.err = edgeError(exec.DispatchError(graphql.WithOperationContext(ctx, operation), wrong).Errors)
		return
	}
	responses, ctx := exec.DispatchOperation(ctx, operation)
	for {
		response := responses(ctx)
		switch {
		case response == nil:
			c.ended = true
			return
		case len(response.Errors) > 0:
			c.err = edgeError(response.Errors)
			return
		}
		if c.err = c.each(response.Data); c.err != nil {
			return
		}
		if operation.Operation.Operation != "subscription" {
			c.ended = true
			return
		}
	}
}

func edgeError(list gqlerror.List) error {
	if len(list) == 0 {
		return apierr.From(fmt.Errorf("the operation failed without an error"))
	}
	e := &apierr.Error{Code: apierr.Internal, Message: list[0].Message, Cause: list[0]}
	if code, ok := list[0].Extensions["code"]; ok {
		e.Code = apierr.Code(fmt.Sprint(code))
	}
	return e
}

// nowhere is the writer of answers that are taken elsewhere.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}
