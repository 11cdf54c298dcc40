package mcp

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/request/storedop"
)

//go:embed ops/mcp.graphql
var operations string

// checkOperations validates the stored operations, so that a renamed field is an
// error at startup and not at the first request.
func checkOperations(schema *ast.Schema) error {
	if _, errs := gqlparser.LoadQueryWithRules(schema, operations, rules.NewDefaultRules()); len(errs) > 0 {
		return fmt.Errorf("mcp: the stored operations are not valid for the schema: %w", errs)
	}
	return nil
}

// caller runs stored operations as the caller of one request.
type caller struct {
	exec graphql.GraphExecutor
}

// run runs a query or mutation and decodes its data.
func (c caller) run(ctx context.Context, operation string, variables map[string]any, data any) error {
	responses, ctx, err := c.dispatch(ctx, operation, variables)
	if err != nil {
		return err
	}
	response := responses(ctx)
	if response == nil {
		return apierr.From(errors.Join(ctx.Err(), fmt.Errorf("%s has no result", operation)))
	}
	if len(response.Errors) > 0 {
		return toError(operation, response.Errors)
	}
	return apierr.Wrap("decode "+operation, json.Unmarshal(response.Data, data))
}

// event is an event of a subscription whose field is called event.
type event struct {
	Kind           string   `json:"__typename"`
	ConversationID string   `json:"conversationId"`
	RunID          string   `json:"runId"`
	Delta          string   `json:"delta"`
	Content        string   `json:"content"`
	Sources        []source `json:"sources"`
	Code           string   `json:"code"`
	Message        string   `json:"message"`
}

// follow runs a subscription and passes its events to handle until its end.
func (c caller) follow(ctx context.Context, operation string, variables map[string]any, handle func(event)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	responses, ctx, err := c.dispatch(ctx, operation, variables)
	if err != nil {
		return err
	}
	run := ""
	for {
		response := responses(ctx)
		if response == nil {
			return context.Cause(ctx)
		}
		if len(response.Errors) > 0 {
			return toError(operation, response.Errors)
		}
		var data struct{ Event event }
		if err := json.Unmarshal(response.Data, &data); err != nil {
			return apierr.Wrap("decode "+operation, err)
		}
		switch e := data.Event; {
		case e.Code != "":
			return apierr.New(apierr.Code(e.Code), e.Message)
		case e.RunID != "":
			run = e.RunID
		case e.Kind == "AgentRunWaiting":
			return apierr.New(apierr.Conflict, "The agent waits for a person to approve a call. It goes on after the decision, in the dashboard, as run "+run+".")
		}
		handle(data.Event)
	}
}

func (c caller) dispatch(ctx context.Context, operation string, variables map[string]any) (graphql.ResponseHandler, context.Context, error) {
	ctx = storedop.With(ctx)
	now := graphql.Now()
	prepared, errs := c.exec.CreateOperationContext(ctx, &graphql.RawParams{
		Query: operations, OperationName: operation, Variables: variables, ReadTime: graphql.TraceTiming{Start: now, End: now},
	})
	if len(errs) > 0 {
		response := c.exec.DispatchError(graphql.WithOperationContext(ctx, prepared), errs)
		return nil, nil, toError(operation, response.Errors)
	}
	responses, ctx := c.exec.DispatchOperation(ctx, prepared)
	return responses, ctx, nil
}

// toError converts the first error of an operation. Code and message are those of
// the server's error presenter.
func toError(operation string, list gqlerror.List) error {
	first := list[0]
	code := apierr.Internal
	switch value := first.Extensions["code"].(type) {
	case string:
		code = apierr.Code(value)
	case apierr.Code:
		code = value
	}
	switch code {
	case "GRAPHQL_VALIDATION_FAILED", "GRAPHQL_PARSE_FAILED", "BAD_USER_INPUT":
		code = apierr.InvalidRequest
	}
	if code.Status() == http.StatusInternalServerError {
		return &apierr.Error{Code: apierr.Internal, Message: "The operation failed on our side; try again.", Op: operation, Cause: errors.Join(first, first.Err)}
	}
	message := first.Message
	if input, problem, ok := strings.Cut(message, ": "); ok && code == apierr.InvalidRequest && isInput(input) {
		message = argumentName(input) + ": " + problem
	}
	return &apierr.Error{Code: code, Message: message, Op: operation, Cause: first.Err}
}

// isInput reports whether the beginning of a message names an input, and is no sentence:
// minScore, filters.dateAfter, ranges[0].
func isInput(text string) bool {
	return text != "" && 'a' <= text[0] && text[0] <= 'z' && !strings.ContainsFunc(text, unicode.IsSpace)
}

// argumentName returns the name of a tool's argument, which is that of the operation's
// input in snake case: min_score for minScore.
func argumentName(input string) string {
	var out strings.Builder
	for _, c := range input {
		if unicode.IsUpper(c) {
			out.WriteByte('_')
			c = unicode.ToLower(c)
		}
		out.WriteRune(c)
	}
	return out.String()
}
