package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/request/storedop"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Local executes operations in process as a viewer. Schema, transactions and errors are the
// same as for requests. The operations are part of the binary, so no limits apply.
type Local struct {
	server   *handler.Server
	document string
	viewer   viewer.Viewer
}

// NewLocal returns an executor of the named operations of a document.
func NewLocal(server *handler.Server, document string, v viewer.Viewer) *Local {
	server.AddTransport(localTransport{})
	return &Local{server: server, document: document, viewer: v}
}

// Do runs a query or mutation and decodes its data into a value, which may be nil.
// The error of a failed operation is an *apierr.Error.
func (l *Local) Do(ctx context.Context, operation string, variables map[string]any, into any) error {
	hasResult := false
	err := l.Subscribe(ctx, operation, variables, func(data json.RawMessage) error {
		hasResult = true
		if into == nil {
			return nil
		}
		if err := json.Unmarshal(data, into); err != nil {
			return fmt.Errorf("decode the result of %s: %w", operation, err)
		}
		return nil
	})
	if err == nil && !hasResult {
		return fmt.Errorf("%s has no result", operation)
	}
	return err
}

// Subscribe runs an operation and calls each with the data of every result. It
// stops at an error of each and returns it.
func (l *Local) Subscribe(ctx context.Context, operation string, variables map[string]any, each func(json.RawMessage) error) error {
	ctx, cancel := context.WithCancel(storedop.With(viewer.With(ctx, l.viewer)))
	defer cancel()
	plain := make(map[string]any, len(variables))
	for name, value := range variables {
		var err error
		if plain[name], err = toVariable(value); err != nil {
			return fmt.Errorf("variable %s of %s: %w", name, operation, err)
		}
	}
	call := &call{params: &graphql.RawParams{Query: l.document, OperationName: operation, Variables: plain}, each: each}
	request, err := http.NewRequestWithContext(context.WithValue(ctx, callKey{}, call), http.MethodPost, "/", http.NoBody)
	if err != nil {
		return fmt.Errorf("run %s: %w", operation, err)
	}
	l.server.ServeHTTP(discardWriter{}, request)
	if call.err != nil {
		return call.err
	}
	if !call.ended {
		return apierr.From(fmt.Errorf("run %s: panic", operation))
	}
	return context.Cause(ctx)
}

// toVariable converts a value to the form of a decoded JSON variable. Uploads are
// passed unchanged.
func toVariable(value any) (any, error) {
	if list, ok := value.([]client.Upload); ok {
		uploads := make([]any, len(list))
		for i, u := range list {
			uploads[i] = graphql.Upload{File: u.Content, Filename: u.Name, Size: u.Size, ContentType: u.ContentType}
		}
		return uploads, nil
	}
	content, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode JSON: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return nil, fmt.Errorf("decode JSON: %w", err)
	}
	return plain, nil
}

type callKey struct{}

// call is an operation that the server executes.
type call struct {
	params *graphql.RawParams
	each   func(json.RawMessage) error
	err    error
	ended  bool
}

// localTransport is the transport of calls.
type localTransport struct{}

// Supports reports whether a request comes from a Local.
func (localTransport) Supports(r *http.Request) bool {
	_, ok := r.Context().Value(callKey{}).(*call)
	return ok
}

// Do runs the operation of a call.
func (localTransport) Do(_ http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	ctx := r.Context()
	c, _ := ctx.Value(callKey{}).(*call)
	now := graphql.Now()
	c.params.ReadTime = graphql.TraceTiming{Start: now, End: now}
	operation, errs := exec.CreateOperationContext(ctx, c.params)
	if len(errs) > 0 {
		c.err = apiError(exec.DispatchError(graphql.WithOperationContext(ctx, operation), errs).Errors)
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
			c.err = apiError(response.Errors)
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

func apiError(list gqlerror.List) error {
	if len(list) == 0 {
		return apierr.From(fmt.Errorf("the operation failed without a message"))
	}
	e := &apierr.Error{Code: apierr.Internal, Message: list[0].Message, Cause: list[0]}
	if code, ok := list[0].Extensions["code"]; ok {
		e.Code = apierr.Code(fmt.Sprint(code))
	}
	return e
}

// discardWriter discards the response, which the call receives.
type discardWriter struct{}

func (discardWriter) Header() http.Header         { return http.Header{} }
func (discardWriter) Write(b []byte) (int, error) { return len(b), nil }
func (discardWriter) WriteHeader(int)             {}
