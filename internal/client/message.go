package client

import (
	"context"
	"errors"
	"strings"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/magpie-search/magpie/internal/apierr"
)

// Message returns an error as one line for an operator. It shows the cause of an
// internal error, which clients do not see.
func Message(err error) string {
	text := err.Error()
	var edge *apierr.Error
	if errors.As(err, &edge) {
		text = edge.Message
		if edge.Code == apierr.Internal || edge.Code == apierr.Unavailable {
			text = hiddenCause(edge)
		}
	}
	if errors.Is(err, context.Canceled) {
		text = "interrupted"
	}
	return strings.Join(strings.FieldsFunc(text, func(c rune) bool { return c == '\n' || c == '\r' }), "; ")
}

// hiddenCause returns the text of the innermost cause that an error hides from
// clients.
func hiddenCause(edge *apierr.Error) string {
	var cause error = edge
	for {
		var inner *apierr.Error
		switch unwrapped := errors.Unwrap(cause); {
		case errors.As(cause, &inner) && inner.Cause != nil:
			cause = inner.Cause
		case errors.As(cause, new(*gqlerror.Error)) && unwrapped != nil:
			cause = unwrapped
		default:
			return cause.Error()
		}
	}
}
