package graph

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"

	"entgo.io/ent/privacy"
	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/rule"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/viewer"
)

// complexityExceeded is gqlgen's code for an operation that asks for too much.
const complexityExceeded = "COMPLEXITY_LIMIT_EXCEEDED"

// maxMessage is the largest number of characters of an error message. Messages of the executor
// quote the request.
const maxMessage = 1000

// recoverPanic returns the error of a panic. The presenter logs it.
func recoverPanic(_ context.Context, cause any) error {
	return fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
}

// presenter returns a function that gives every error a code and a message that is safe
// to show. It logs internal errors, but not those of stored operations: their caller
// gets the cause and logs it.
func presenter(log *slog.Logger) graphql.ErrorPresenterFunc {
	return func(ctx context.Context, err error) *gqlerror.Error {
		shown := graphql.DefaultErrorPresenter(ctx, err)
		e := apiError(err)
		switch {
		case e.Code != apierr.Internal:
		case isIntrospection(shown.Path):
			e = apierr.New(apierr.Unauthorized, "Only signed-in people may ask for the schema")
		case isRequestError(ctx, err):
			e = requestError(shown)
		}
		if e.Code == apierr.Internal && !isStored(ctx) && !clientGone(ctx, err) {
			log.ErrorContext(ctx, "request failed", slog.String("path", shown.Path.String()), slog.Any("error", err))
		}
		shown.Message = safetext.Truncate(e.Message, maxMessage)
		shown.Extensions = map[string]any{"code": string(e.Code)}
		if e.Field != "" {
			shown.Extensions["field"] = e.Field
		}
		if e.RetryAfter > 0 {
			shown.Extensions["retryAfter"] = int(e.RetryAfter.Seconds() + 0.999)
		}
		return shown
	}
}

// clientGone reports whether an operation failed because its client disconnected.
func clientGone(ctx context.Context, err error) bool {
	return errors.Is(err, context.Canceled) && errors.Is(ctx.Err(), context.Canceled)
}

// isRequestError reports whether err is about the operation or its values, not about
// the work of a resolver. The executor turns every error into a GraphQL error. Its own
// errors wrap nothing. Errors of values have the path of the value, which is below the
// field. Errors of resolvers have the path of the field.
func isRequestError(ctx context.Context, err error) bool {
	var own *gqlerror.Error
	if errors.As(err, new(*errorList)) {
		return true
	}
	return errors.As(err, &own) && (own.Err == nil || len(own.Path) > len(graphql.GetPath(ctx)))
}

// isIntrospection reports whether the path of a field begins in the schema's description
// of itself.
func isIntrospection(path ast.Path) bool {
	if len(path) == 0 {
		return false
	}
	name, _ := path[0].(ast.PathName)
	return strings.HasPrefix(string(name), "__")
}

// requestError returns the invalid_request error of an error of the executor.
func requestError(err *gqlerror.Error) *apierr.Error {
	for _, part := range slices.Backward(err.Path) {
		name, ok := part.(ast.PathName)
		if !ok {
			continue // an index of a list
		}
		message := err.Message
		if strings.Contains(strings.ToLower(message), "uuid") {
			message = "must be a UUID"
		}
		return apierr.Invalid(string(name), message)
	}
	return apierr.New(apierr.InvalidRequest, err.Message)
}

// apiError returns the error with a code for an error of the domain packages.
func apiError(err error) *apierr.Error {
	var own *apierr.Error
	var invalid *ent.ValidationError
	var node *gqlerror.Error
	switch {
	case errors.Is(err, viewer.ErrNoViewer), errors.Is(err, viewer.ErrNoScope):
		return &apierr.Error{Code: apierr.Unauthorized, Message: "Session required", Cause: err}
	case errors.Is(err, viewer.ErrOutOfScope):
		return &apierr.Error{Code: apierr.Forbidden, Message: "Collection access denied", Cause: err}
	case errors.As(err, &own) && (own.Code != apierr.Internal || !errors.Is(err, rule.ErrRole)):
		return own
	case errors.As(err, &node) && node.Extensions["code"] == "NOT_FOUND": // the code of entgql
		return &apierr.Error{Code: apierr.CodeNotFound, Message: "Not found", Cause: err}
	case errors.Is(err, rule.ErrRole):
		return &apierr.Error{Code: apierr.Forbidden, Message: "Your role does not allow this", Cause: err}
	case ent.IsNotFound(err), errors.Is(err, privacy.Deny):
		return &apierr.Error{Code: apierr.CodeNotFound, Message: "Not found", Cause: err}
	case errors.As(err, &invalid):
		return &apierr.Error{Code: apierr.InvalidRequest, Field: invalid.Name, Message: invalid.Name + ": is out of range", Cause: err}
	case ent.IsConstraintError(err):
		return &apierr.Error{Code: apierr.Conflict, Message: "This is in conflict with what exists", Cause: err}
	default:
		return apierr.From(err)
	}
}

// safeProtocolErrors gives the interface's codes to errors that gqlgen finds before any
// resolver runs.
func safeProtocolErrors(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	response := next(ctx)
	if response == nil || len(response.Errors) == 0 {
		return response
	}
	response.Errors = splitErrors(response.Errors)
	for _, err := range response.Errors {
		if err.Extensions == nil {
			err.Extensions = map[string]any{}
		}
		err.Message = safetext.Truncate(err.Message, maxMessage)
		switch code, _ := err.Extensions["code"].(string); code {
		case "", errcode.ValidationFailed, errcode.ParseFailed, complexityExceeded:
			err.Extensions["code"] = string(apierr.InvalidRequest)
		}
	}
	return response
}
