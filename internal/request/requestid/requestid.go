package requestid

import "context"

// Header is the HTTP header with the id, in requests and responses.
const Header = "X-Request-Id"

// maxLength is the longest id that is accepted from a client.
const maxLength = 128

type contextKey struct{}

// With returns a context that carries id.
func With(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, contextKey{}, id)
}

// From returns the id in ctx, or "".
func From(ctx context.Context) string {
	id, _ := ctx.Value(contextKey{}).(string)
	return id
}

// Pattern is Acceptable as a regular expression.
const Pattern = `^[A-Za-z0-9._-]{1,128}$`

// Acceptable reports whether an id from a client is harmless in logs and headers: 1
// to 128 letters, digits, dots, underscores and hyphens.
func Acceptable(id string) bool {
	if id == "" || len(id) > maxLength {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
