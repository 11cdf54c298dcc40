package storedop

import "context"

type contextKey struct{}

// With returns a context that marks its operation as stored. Only code that takes
// the text of the operation from the binary may call it.
func With(ctx context.Context) context.Context {
	return context.WithValue(ctx, contextKey{}, true)
}

// Is reports whether the operation of ctx is stored.
func Is(ctx context.Context) bool {
	stored, _ := ctx.Value(contextKey{}).(bool)
	return stored
}
