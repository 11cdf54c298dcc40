package graph

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"

	"entgo.io/ent/privacy"
	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"magpie/ent"
	"magpie/ent/rule"
	"magpie/internal/apierr"
)

var errPanic = errors.New("a resolver panicked")

func stack() string { return string(debug.Stack()) }

// presenter gives every error of a resolver a code and a message that is safe
// to show, and logs the cause of those that are our own fault.
func presenter(log *slog.Logger) graphql.ErrorPresenterFunc {
	return func(ctx context.Context, err error) *gqlerror.Error {
		shown := graphql.DefaultErrorPresenter(ctx, err)
		if isProtocol(shown) {
			return shown
		}
		e := edgeError(err)
		if e.Code == apierr.Internal {
			log.ErrorContext(ctx, "request failed", slog.String("path", shown.Path.String()), slog.Any("error", err))
		}
		shown.Message = e.Message
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

// isProtocol says that err comes from reading the operation or its variables:
// its message speaks of the request only.
func isProtocol(err *gqlerror.Error) bool {
	var own *apierr.Error
	if errors.As(err, &own) {
		return false
	}
	if err.Rule != "" {
		return true
	}
	switch err.Extensions["code"] {
	case errcode.ValidationFailed, errcode.ParseFailed, string(apierr.InvalidRequest):
		return true
	}
	return false
}

// edgeError finds the code of an error from the layers below.
func edgeError(err error) *apierr.Error {
	var own *apierr.Error
	var invalid *ent.ValidationError
	switch {
	case errors.As(err, &own):
		return own
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

// safeProtocolErrors gives the errors that gqlgen finds before any resolver
// runs the interface's code.
func safeProtocolErrors(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	response := next(ctx)
	if response == nil {
		return nil
	}
	for _, err := range response.Errors {
		if err.Extensions == nil {
			err.Extensions = map[string]any{}
		}
		code, ok := err.Extensions["code"].(string)
		if !ok || code == errcode.ValidationFailed || code == errcode.ParseFailed || code == "COMPLEXITY_LIMIT_EXCEEDED" || err.Rule != "" {
			if typed, isCode := err.Extensions["code"].(apierr.Code); isCode {
				code = string(typed)
			} else {
				code = string(apierr.InvalidRequest)
			}
			err.Extensions["code"] = code
		}
	}
	return response
}
