package graph

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"strings"

	"entgo.io/ent/privacy"
	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"magpie/ent"
	"magpie/ent/rule"
	"magpie/internal/apierr"
)

// complexityExceeded is gqlgen's code for an operation that asks for too much.
const complexityExceeded = "COMPLEXITY_LIMIT_EXCEEDED"

var errPanic = errors.New("a resolver panicked")

func stack() string { return string(debug.Stack()) }

// presenter gives every error of a resolver a code and a message that is safe
// to show, and logs the cause of those that are our own fault.
func presenter(log *slog.Logger) graphql.ErrorPresenterFunc {
	return func(ctx context.Context, err error) *gqlerror.Error {
		shown := graphql.DefaultErrorPresenter(ctx, err)
		e := edgeError(err)
		if e.Code == apierr.Internal && ofRequest(err) {
			e = invalid(shown)
		}
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

// ofRequest says that err comes from reading the operation or its variables:
// these are GraphQL errors from the start, while those of resolvers are made
// GraphQL errors by the presenter.
func ofRequest(err error) bool {
	var own *gqlerror.Error
	return errors.As(err, &own)
}

// invalid makes an error of the request from what the executor says of it; its
// message speaks of the request only.
func invalid(err *gqlerror.Error) *apierr.Error {
	if n := len(err.Path); n > 0 {
		if name, ok := err.Path[n-1].(ast.PathName); ok {
			message := err.Message
			if strings.Contains(strings.ToLower(message), "uuid") {
				message = "must be a UUID"
			}
			return apierr.Invalid(string(name), message)
		}
	}
	return apierr.New(apierr.InvalidRequest, err.Message)
}

// edgeError finds the code of an error from the layers below.
func edgeError(err error) *apierr.Error {
	var own *apierr.Error
	var invalid *ent.ValidationError
	var node *gqlerror.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &node) && node.Extensions["code"] == "NOT_FOUND": // entgql's word for it
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
		switch code, _ := err.Extensions["code"].(string); code {
		case "", errcode.ValidationFailed, errcode.ParseFailed, complexityExceeded:
			err.Extensions["code"] = string(apierr.InvalidRequest)
		}
	}
	return response
}
