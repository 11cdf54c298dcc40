package viewer

import "context"

type suspendedKey struct{}

// WithSuspended returns a context whose queries of members include those whom a directory
// has suspended. All others leave them out, so that suspended people have no access.
func WithSuspended(ctx context.Context) context.Context {
	return context.WithValue(ctx, suspendedKey{}, true)
}

// IncludesSuspended reports whether ctx is of WithSuspended.
func IncludesSuspended(ctx context.Context) bool {
	include, _ := ctx.Value(suspendedKey{}).(bool)
	return include
}
