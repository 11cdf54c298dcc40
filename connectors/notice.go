package connectors

import "context"

type noticeKey struct{}

// WithNotices returns a context for calls of a source. notice gets what the platform
// says about its API meanwhile, such as the end of a version. It may be called
// concurrently and repeatedly with the same text.
func WithNotices(ctx context.Context, notice func(text string)) context.Context {
	return context.WithValue(ctx, noticeKey{}, notice)
}

// Notice reports what the platform says about its API to the caller of a source. It
// does nothing if the caller does not want to know.
func Notice(ctx context.Context, text string) {
	if notice, ok := ctx.Value(noticeKey{}).(func(string)); ok {
		notice(text)
	}
}
