package storedop

import "context"

type contextKey struct{}

// With returns a context whose operation is a stored one. Only code that takes
// the operation's text from the binary may call it.
func With(ctx context.Context) context.Context {
	return context.WithValue(ctx, contextKey{}, true)
}

// Is reports whether ctx runs a stored operation.
func Is(ctx context.Context) bool {
	stored, _ := ctx.Value(contextKey{}).(bool)
	return stored
}
