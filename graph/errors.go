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
	"github.com/magpie-search/magpie/internal/viewer"
)

// complexityExceeded is gqlgen's code for an operation that asks for too much.
const complexityExceeded = "COMPLEXITY_LIMIT_EXCEEDED"

// maxMessage bounds what is shown of an error, in bytes: the executor's own
// repeat what they were given.
const maxMessage = 1000

// recovered makes an error of a panic. It is logged where every internal error
// is, once.
func recovered(_ context.Context, cause any) error {
	return fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
}

// presenter gives every error of a resolver a code and a message that is safe
// to show, and logs the cause of those that are our own fault. Whoever runs a
// stored operation gets the cause with the error and logs it in their place.
func presenter(log *slog.Logger) graphql.ErrorPresenterFunc {
	return func(ctx context.Context, err error) *gqlerror.Error {
		shown := graphql.DefaultErrorPresenter(ctx, err)
		e := edgeError(err)
		switch {
		case e.Code != apierr.Internal:
		case introspects(shown.Path):
			e = apierr.New(apierr.Unauthorized, "Only signed-in people may ask for the schema")
		case ofRequest(ctx, err):
			e = invalid(shown)
		}
		if e.Code == apierr.Internal && !isStored(ctx) && !gone(ctx, err) {
			log.ErrorContext(ctx, "request failed", slog.String("path", shown.Path.String()), slog.Any("error", err))
		}
		shown.Message = shortened(e.Message, maxMessage)
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

// gone says that an operation failed because its client left.
func gone(ctx context.Context, err error) bool {
	return errors.Is(err, context.Canceled) && errors.Is(ctx.Err(), context.Canceled)
}

// ofRequest says that err comes from reading the operation or its values, and
// so speaks of the request only. The executor makes every error a GraphQL one.
// Its own are GraphQL errors from the start, with nothing inside; those of
// values stand at the value's place, below the field that took it; all else is
// a resolver's, at the field itself.
func ofRequest(ctx context.Context, err error) bool {
	var own *gqlerror.Error
	if errors.As(err, new(*several)) {
		return true
	}
	return errors.As(err, &own) && (own.Err == nil || len(own.Path) > len(graphql.GetPath(ctx)))
}

// introspects says that a field describes the schema itself.
func introspects(path ast.Path) bool {
	if len(path) == 0 {
		return false
	}
	name, _ := path[0].(ast.PathName)
	return strings.HasPrefix(string(name), "__")
}

// invalid makes an error of the request from what the executor says of it; its
// message speaks of the request only.
func invalid(err *gqlerror.Error) *apierr.Error {
	for _, part := range slices.Backward(err.Path) {
		name, ok := part.(ast.PathName)
		if !ok {
			continue // a place in a list
		}
		message := err.Message
		if strings.Contains(strings.ToLower(message), "uuid") {
			message = "must be a UUID"
		}
		return apierr.Invalid(string(name), message)
	}
	return apierr.New(apierr.InvalidRequest, err.Message)
}

// edgeError finds the code of an error from the layers below.
func edgeError(err error) *apierr.Error {
	var own *apierr.Error
	var invalid *ent.ValidationError
	var node *gqlerror.Error
	switch {
	case errors.Is(err, viewer.ErrNoViewer), errors.Is(err, viewer.ErrNoScope):
		return &apierr.Error{Code: apierr.Unauthorized, Message: "Session required", Cause: err}
	case errors.Is(err, viewer.ErrOutOfReach):
		return &apierr.Error{Code: apierr.Forbidden, Message: "Collection access denied", Cause: err}
	case errors.As(err, &own) && (own.Code != apierr.Internal || !errors.Is(err, rule.ErrRole)):
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
	if response == nil || len(response.Errors) == 0 {
		return response
	}
	response.Errors = apart(response.Errors)
	for _, err := range response.Errors {
		if err.Extensions == nil {
			err.Extensions = map[string]any{}
		}
		err.Message = shortened(err.Message, maxMessage)
		switch code, _ := err.Extensions["code"].(string); code {
		case "", errcode.ValidationFailed, errcode.ParseFailed, complexityExceeded:
			err.Extensions["code"] = string(apierr.InvalidRequest)
		}
	}
	return response
}

// shortened cuts text that is longer than most bytes, between characters.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
